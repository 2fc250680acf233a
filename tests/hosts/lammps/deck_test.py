# SPDX-License-Identifier: BSD-3-Clause
"""The distribution's lmp, unmodified, with Graft from its deck's python block; and the C driver: the same numbers as LAMMPS's own
coul/cut in its thermo output, on 1, 2 and 3 ranks; refusals are LAMMPS's errors. usage: deck_test.py LMP MPIEXEC DRIVER"""
import os
import re
import sys
import tempfile
import unittest

import decks
from decks import HERE, OWN, last_row

MODULE = os.path.join(os.environ["GRAFT_LAMMPS_PYTHON"], "graft_lammps.py")
PROGRAM, DRIVER = decks.Program(*sys.argv[1:3]), sys.argv[3]
WITH_GRAFT = f"""
include {HERE}/cluster.in
python graft_attach input 3 SELF coulomb {HERE}/cluster.yaml format pss file {MODULE}
python graft_attach invoke
run 20
"""
run = PROGRAM.run


class Deck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reference = last_row(run(OWN).stdout)

    def test_python_block_on_one_to_three_ranks(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                done = run(WITH_GRAFT, ranks)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertIn(f"constant 332.06371, {ranks} ranks", done.stdout)
                for found, expected in zip(last_row(done.stdout), self.reference):
                    self.assertAlmostEqual(found, expected, delta=1e-10 * abs(expected))

    def test_driver_on_one_to_three_ranks(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks), tempfile.TemporaryDirectory() as folder:
                done = PROGRAM.start(ranks, [DRIVER, f"{HERE}/cluster.in", f"{HERE}/cluster.yaml", "20", "-log", "none"], folder)
                self.assertEqual(done.returncode, 0, done.stdout)
                energy = float(re.search(r"^potential energy (\S+),", done.stdout, re.MULTILINE).group(1))
                self.assertAlmostEqual(energy, self.reference[1], delta=1e-10 * abs(self.reference[1]))

    def test_example_is_molten_salt_as_lammps_has_it(self):
        folder = os.environ["GRAFT_LAMMPS_PYTHON"]
        with open(os.path.join(folder, "example.in"), encoding="utf-8") as file:
            example = file.read()
        own = re.sub(r"^python .*$", "", example, flags=re.MULTILINE).replace("thermo_style ", "kspace_style ewald 1e-6\nthermo_style ")
        own = re.sub(r"^pair_style .*$", "pair_style born/coul/long 9.0", own, flags=re.MULTILINE)
        options = ["-var", "steps", "20", "-log", "none"]
        with tempfile.TemporaryDirectory() as elsewhere:
            with open(os.path.join(elsewhere, "own.in"), "w", encoding="utf-8") as file:
                file.write(own)
            expected = last_row(PROGRAM.start(1, [PROGRAM.lmp, "-in", "own.in", *options], elsewhere).stdout)
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                done = PROGRAM.start(ranks, [PROGRAM.lmp, "-in", "example.in", *options], folder)
                self.assertEqual(done.returncode, 0, done.stdout)
                found = last_row(done.stdout)
                for at, tolerance in enumerate((0, 1e-4, 1e-5, 1e-3, 1e-5)):  # step temp pe press etotal
                    self.assertAlmostEqual(found[at], expected[at], delta=tolerance * abs(expected[at]))

    def refused(self, done, *words):
        self.assertNotEqual(done.returncode, 0)
        for word in words:
            self.assertIn(word, done.stdout)

    def test_several_ranks_without_a_way_between_them(self):
        without = {"GRAFT_MPI_LIBRARY": "/nowhere/libgraft_mpi.so"}
        self.refused(run(WITH_GRAFT, 2, without), "LAMMPS runs on 2 ranks", "/nowhere/libgraft_mpi.so", "ERROR")
        self.assertEqual(run(WITH_GRAFT, 1, without).returncode, 0)

    def test_bad_deck_is_lammps_error(self):
        done = run(WITH_GRAFT.replace("cluster.yaml", "cluster.in"), 1)
        self.refused(done, "cluster.in")
        self.assertRegex(done.stdout, "ERROR.*: Python (function evaluation|evaluation of function graft_attach) failed")  # to 2022; 2025

    def test_bad_value_within_a_run_is_lammps_error(self):
        poison = "variable bad atom 1e308*1e308\nrun 5\nset group all charge v_bad\nrun 20\nprint 'went on'\n"
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                done = run(WITH_GRAFT.replace("run 20\n", poison), ranks)
                self.refused(done, "ERROR", "Graft, fix coulomb, step 5", "charge: item 0")
                self.assertNotIn("went on", done.stdout)

    def test_without_graft(self):
        self.refused(run(WITH_GRAFT, 1, {"GRAFT_LIBRARY": "/nowhere/libgraft.so.1"}), "/nowhere/libgraft.so.1", "ERROR")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
