# SPDX-License-Identifier: BSD-3-Clause
"""An unmodified lmp with the package PLUGIN, and Graft by `plugin load`: the same numbers as LAMMPS's own coul/cut, on 1, 2 and
3 ranks; refusals are LAMMPS's errors; what is attached outlives `plugin unload`. usage: plugin_test.py LMP MPIEXEC LIBRARY"""
import sys
import unittest

import decks
from decks import HERE, OWN, last_row

run, LIBRARY = decks.Program(*sys.argv[1:3]).run, sys.argv[3]
ATOMS = f"include {HERE}/cluster.in\n"
LOAD = f"plugin load {LIBRARY}\n"
ATTACH = f"graft attach coulomb {HERE}/cluster.yaml\n"


class LongRange(unittest.TestCase):
    """CHARMM's pairs, whose Coulomb law is their own within the cut-off, beside `kspace_style ewald`."""
    ATOMS = """
        units real
        atom_style full
        region box block 0 24 0 24 0 24
        create_box 2 box
        lattice sc 3.0
        create_atoms 1 box
        group other id 1:512:2
        set group other type 2
        set type 1 charge 0.4
        set type 2 charge -0.4
        mass * 12.0
        displace_atoms all random 0.1 0.1 0.1 1234
        special_bonds charmm
        pair_style lj/charmm/coul/long 7 9
        pair_coeff * * 0.1 2.5
        pair_modify table 0
        timestep 0.5
        thermo_style custom step pe press etotal pxx pxy
        thermo_modify norm no format float %.13g
        fix move all nve
        """
    DECK = "{interaction: coulomb, backend: cpu, precision: fp64, ewald: {part: long_range, accuracy: 1e-7}}"

    def test_charmm(self):
        own = last_row(run(self.ATOMS + "kspace_style ewald 1e-8\nrun 20\n").stdout)
        for ranks in (1, 2, 3):
            attach = LOAD + f'graft attach far "{self.DECK}"\n'
            done = run(self.ATOMS + "kspace_style ewald 0.1\n" + attach + "run 20\n", ranks)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("computes the long-range part of Coulomb forces through fix far", done.stdout)
            for found, expected in zip(last_row(done.stdout), own):
                self.assertAlmostEqual(found, expected, delta=1e-6 * max(abs(expected), 1000))

    def test_detached_the_kspace_style_computes_again(self):
        own = last_row(run(self.ATOMS + "kspace_style ewald 1e-6\nrun 0\nrun 20\n").stdout)
        done = run(self.ATOMS + "kspace_style ewald 1e-6\n" + LOAD + f'graft attach far "{self.DECK}"\nrun 0\ngraft detach far\nrun 20\n')
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(last_row(done.stdout), own)


    def test_the_kspace_style_computes_again(self):
        """Where the fix is gone, or another deck comes through it"""
        own = last_row(run(self.ATOMS + "kspace_style ewald 1e-6\nrun 0\nrun 20\n").stdout)
        start = self.ATOMS + "kspace_style ewald 1e-6\n" + LOAD + f'graft attach far "{self.DECK}"\nrun 0\n'
        for after in ("unfix far\ngraft detach far\n",
                      'graft attach far "{interaction: gravity, constant: 1e-30, backend: cpu}"\n'):
            done = run(start + after + "run 20\n")
            self.assertEqual(done.returncode, 0, done.stdout)
            for found, expected in zip(last_row(done.stdout), own):
                self.assertAlmostEqual(found, expected, delta=1e-4 * max(abs(expected), 1000), msg=after)

    def test_attached_before_the_charges(self):
        """How the sum is split does not hang on them."""
        own = last_row(run(self.ATOMS + "kspace_style ewald 1e-8\nrun 20\n").stdout)
        without = self.ATOMS.replace("set type 1 charge 0.4", "set type 1 charge 0").replace("set type 2 charge -0.4", "set type 2 charge 0")
        done = run(without + "kspace_style ewald 0.1\n" + LOAD + f'graft attach far "{self.DECK}"\n' +
                   "set type 1 charge 0.4\nset type 2 charge -0.4\nrun 20\n")
        self.assertEqual(done.returncode, 0, done.stdout)
        for found, expected in zip(last_row(done.stdout), own):
            self.assertAlmostEqual(found, expected, delta=1e-6 * max(abs(expected), 1000))


class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reference = last_row(run(OWN).stdout)

    def same(self, done):
        self.assertEqual(done.returncode, 0, done.stdout)
        for found, expected in zip(last_row(done.stdout), self.reference):
            self.assertAlmostEqual(found, expected, delta=1e-10 * abs(expected))

    def refused(self, done, *words):
        self.assertNotEqual(done.returncode, 0, done.stdout)
        for word in ("ERROR", *words):
            self.assertIn(word, done.stdout)
        self.assertNotIn("went on", done.stdout)

    def test_one_to_three_ranks(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                done = run(ATOMS + LOAD + ATTACH + "run 20\n", ranks)
                self.assertIn(f"constant 332.06371, {ranks} ranks", done.stdout)
                self.assertNotIn("compiled for LAMMPS version", done.stdout)
                self.same(done)

    def test_loaded_before_the_atoms_and_unloaded_before_the_run(self):
        self.same(run(LOAD + ATOMS + ATTACH + "plugin unload command graft\nrun 20\n"))

    def test_again_after_clear(self):
        self.same(run(LOAD + ATOMS + ATTACH + "run 0\nclear\n" + ATOMS + ATTACH + "run 20\n"))

    def test_detached(self):
        done = run(LOAD + ATOMS + ATTACH + "run 0\ngraft detach coulomb\nrun 20\n")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(last_row(done.stdout)[1], 0)
        self.same(run(LOAD + ATOMS + ATTACH + "graft detach coulomb\n" + ATTACH + "run 20\n"))

    def test_again_through_the_same_fix(self):
        self.same(run(LOAD + ATOMS + ATTACH + "run 0\n" + ATTACH + "run 20\n", 2))
        done = run(LOAD + ATOMS + ATTACH + ATTACH + "graft detach coulomb\nrun 1\ninfo fixes\n")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("style = external", done.stdout)

    def test_a_name_that_the_deck_takes_after_clear(self):
        ours, theirs = ATTACH.replace("coulomb ", "move "), ATTACH.replace("coulomb ", "other ")
        first = ATOMS.replace("cluster.in", "cluster.in\nunfix move")
        for ranks in (1, 2):
            done = run(LOAD + first + ours + "run 0\nclear\n" + ATOMS + theirs + "run 20\n", ranks)
            self.same(done)
            done = run(LOAD + first + ours + "run 0\nclear\n" + ATOMS + "graft detach move\n" + theirs + "run 20\n", ranks)
            self.same(done) # the deck's own fix of that name is still there

    def test_refusals(self):
        for command, words in (("graft attach coulomb /nowhere.yaml", ["/nowhere.yaml: "]),
                               ("graft attach coulomb '{order: many}'", ["key 'order': 'many' is not a number"]),
                               (ATTACH + ATTACH.replace("coulomb ", "other "), ["through fix coulomb", "fix other", "twice"]),
                               ("graft detach coulomb", ["no `graft attach coulomb"]),
                               ("graft attach", ["expected `graft attach FIX [DECK]`"]),
                               ("graft", ["expected `graft attach FIX [DECK]`"]),
                               ("graft remove coulomb", ["or `graft detach FIX`"])):
            for ranks in (1, 2):
                with self.subTest(command=command, ranks=ranks):
                    self.refused(run(LOAD + ATOMS + command + "\nprint 'went on'\nrun 1\n", ranks), *words)
        self.refused(run(LOAD + ATTACH + "print 'went on'\n"), "no simulation box")

    def test_bad_value_within_a_run(self):
        poison = "variable bad atom 1e308*1e308\nrun 5\nset group all charge v_bad\nrun 20\nprint 'went on'\n"
        self.refused(run(LOAD + ATOMS + ATTACH + poison, 2), "Graft, fix coulomb, step 5", "charge: item 0")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
