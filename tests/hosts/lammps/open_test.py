# SPDX-License-Identifier: BSD-3-Clause
"""Forces, energy, virial and per-atom energy through Graft in open boxes, against LAMMPS's own `coul/cut` with a cutoff beyond
everything (the exact sum) and, for gravity, a direct sum by numpy. On any number of ranks: all see the same numbers."""
import sys
import unittest

import numpy
import systems

DECK = "{interaction: coulomb, method: direct, precision: fp64, backend: cpu}"
TREE = "{interaction: coulomb, method: tree, precision: fp64, backend: cpu, order: 4, mac: {type: error, accuracy: 1e-7}}"
GRAVITY = "{interaction: gravity, method: direct, precision: fp64, backend: cpu}"


def start(units="real", style="full", more=""):
    lmp = systems.open_lammps()
    systems.each_line(lmp, f"units {units}\natom_style {style}\nboundary f f f\n{more}")
    return lmp


def results(lmp):
    systems.each_line(lmp, """
        compute each all pe/atom
        compute sum_of_each all reduce sum c_each
        thermo_style custom step pe c_sum_of_each pxx pyy pzz pxy pxz pyz
        thermo_modify norm no
        run 0
        """)
    names = ["pe", "pxx", "pyy", "pzz", "pxy", "pxz", "pyz"]
    lmp.command("variable sum_of_each equal c_sum_of_each")
    return systems.gathered(lmp, "f", 3), {name: systems.number(lmp, name) for name in names}


class Open(unittest.TestCase):
    def compare(self, graft, reference, force=1e-12, number=1e-11):
        self.assertLess(systems.relative_error(graft[0], reference[0]), force)
        scale = max(abs(value) for name, value in reference[1].items() if name != "pe")
        for name, value in reference[1].items():
            self.assertAlmostEqual(graft[1][name], value, delta=number * (scale if name != "pe" else abs(value)), msg=name)

    def coulomb(self, data, units, deck, special="", read="", dielectric=1, later=""):
        answers = []
        for graft in (False, True):
            lmp = start(units, more=f"dielectric {dielectric}\nbond_style zero")
            data.read_into(lmp, read)
            if data.bonds:
                lmp.command("bond_coeff * 1.0")
                lmp.command("special_bonds lj/coul " + special)
            lmp.command("comm_modify cutoff 12.0" if graft else "pair_style coul/cut 200")
            lmp.command("pair_style zero 10.0" if graft else "pair_coeff * *")
            if graft:
                lmp.command("pair_coeff * *")
                attached = systems.graft_lammps.attach(lmp, "es", deck)
            if later:
                systems.each_line(lmp, "run 0\n" + later)
            answers.append(results(lmp))
            if graft and data.bonds:
                self.assertGreaterEqual(attached.query("adapter.exclusions"), 0)
            systems.close(lmp)
        return answers[1], answers[0]

    def test_cluster_in_three_unit_systems(self):
        for units in ("real", "metal", "lj"):
            with self.subTest(units=units):
                self.compare(*self.coulomb(systems.cluster(), units, DECK))

    def test_dielectric(self):
        self.compare(*self.coulomb(systems.cluster(100), "real", DECK, dielectric=2.5))

    def test_tree(self):
        graft, reference = self.coulomb(systems.cluster(2000), "real", TREE)
        self.assertLess(systems.relative_error(graft[0], reference[0]), 1e-5)
        self.assertAlmostEqual(graft[1]["pe"] / reference[1]["pe"], 1, delta=1e-6)

    def test_bonded_pairs(self):
        for special in ("0 0 1", "0 0.3 0.6", "1 1 1", "0.2 1 0"):
            with self.subTest(special=special):
                self.compare(*self.coulomb(systems.chains(), "real", DECK, special))

    def test_bonds_that_come_later(self):
        lmp = start()
        crashes = lmp.extract_setting("world_size") > 1 and lmp.version() < 20230000  # LAMMPS does, in create_bonds
        systems.close(lmp)
        if crashes:
            self.skipTest("create_bonds of this LAMMPS does not work on several ranks")
        read, later = "extra/bond/per/atom 2 extra/special/per/atom 30", "create_bonds single/bond 1 1 10"
        self.compare(*self.coulomb(systems.chains(), "real", DECK, "0 0.3 0.6", read=read, later=later))

    def test_forces_move_atoms_as_lammps_does(self):
        ends = []
        for graft in (False, True):
            lmp = start("real")
            systems.cluster(300).read_into(lmp)
            systems.each_line(lmp, "comm_modify cutoff 5.0" if graft else "pair_style coul/cut 200\npair_coeff * *")
            if graft:
                systems.graft_lammps.attach(lmp, "es", DECK)
            systems.each_line(lmp, "neigh_modify every 1 delay 0\nfix move all nve\ntimestep 1.0\nrun 30")
            ends.append(systems.gathered(lmp, "x", 3))
            systems.close(lmp)
        self.assertLess(numpy.abs(ends[0] - ends[1]).max(), 1e-9)

    def test_gravity(self):
        g_in = {"lj": 1.0,  # else energy length / mass^2, from CODATA's G and the units of LAMMPS's manual
                "si": 6.67430e-11,
                "metal": 6.67430e-11 * 1.66053906660e-27**2 / 1e-10 / 1.602176634e-19,
                "real": 6.67430e-11 * 1.66053906660e-27**2 / 1e-10 / 4184 * 6.02214076e23}
        for units, constant in g_in.items():
            with self.subTest(units=units):
                lmp = start(units)
                systems.cluster(300).read_into(lmp)
                lmp.command("comm_modify cutoff 5.0")
                systems.graft_lammps.attach(lmp, "gravity", GRAVITY)
                forces, numbers = results(lmp)
                x = systems.gathered(lmp, "x", 3)
                mass = numpy.where(numpy.arange(len(x)) % 2 == 0, 23.0, 35.5)
                systems.close(lmp)
                d = x[None, :, :] - x[:, None, :]
                r = numpy.sqrt((d**2).sum(axis=2)) + numpy.eye(len(x))
                pair = constant * mass[:, None] * mass[None, :] * (1 - numpy.eye(len(x)))
                expected = (pair[:, :, None] * d / r[:, :, None] ** 3).sum(axis=1)
                # 1e-6: LAMMPS's own ftm2v is rounded and follows an older CODATA
                self.assertLess(systems.relative_error(forces, expected), 1e-6 if units != "lj" else 1e-12)
                self.assertAlmostEqual(numbers["pe"] / (-0.5 * (pair / r).sum()), 1, delta=1e-6)

    def test_masses_of_each_atom(self):
        lmp = start("lj", "sphere", "region all block -5 5 -5 5 -5 5\ncreate_box 1 all")
        systems.each_line(lmp, """
            create_atoms 1 single 0 0 0
            create_atoms 1 single 2 0 0
            set atom 1 mass 3.0
            set atom 2 mass 5.0
            comm_modify cutoff 2.0
            """)
        systems.graft_lammps.attach(lmp, "gravity", "{constant: 2.0, method: direct, precision: fp64}")
        forces, numbers = results(lmp)
        systems.close(lmp)
        self.assertAlmostEqual(forces[0][0], 2 * 15 / 4, delta=1e-6)
        self.assertAlmostEqual(forces[1][0], -2 * 15 / 4, delta=1e-6)
        self.assertAlmostEqual(numbers["pe"], -2 * 15 / 2, delta=1e-6)


class Life(unittest.TestCase):
    def test_detach_leaves_lammps_as_it_was(self):
        lmp = start()
        systems.chains(8).read_into(lmp)
        systems.each_line(lmp, "bond_style zero\nbond_coeff * 1.0\npair_style zero 10\npair_coeff * *")
        for _ in range(2):
            attached = systems.graft_lammps.attach(lmp, "es", DECK)
            lmp.command("run 0")
            self.assertGreater(numpy.abs(systems.gathered(lmp, "f", 3)).max(), 1)
            self.assertEqual(attached.query("adapter.calls"), 1)
            self.assertGreater(attached.query("adapter.time_s.graft"), 0)
            attached.detach()
            lmp.command("run 0")
            self.assertEqual(numpy.abs(systems.gathered(lmp, "f", 3)).max(), 0)
        systems.close(lmp)

    def test_fixes_that_must_come_later(self):
        lmp = start()
        systems.cluster(10).read_into(lmp)
        systems.each_line(lmp, "group few id 1 2 3\nfix hold few setforce 0 0 0\ncomm_modify cutoff 5.0")
        self.refused(lmp, DECK, ["fix hold", "setforce", "attach Graft first"])
        systems.each_line(lmp, "unfix hold\nfix es all nve")
        self.refused(lmp, DECK, ["fix es", "nve"])
        systems.each_line(lmp, "unfix es\nfix es few external pf/callback 1 1")
        self.refused(lmp, DECK, ["group few", "group all"])
        systems.each_line(lmp, "unfix es\nfix es all external pf/callback 1 1\nfix hold few setforce 0 0 0")
        systems.graft_lammps.attach(lmp, "es", DECK)
        lmp.command("run 0")
        forces = numpy.abs(systems.gathered(lmp, "f", 3)).max(axis=1)
        self.assertEqual(forces[:3].max(), 0)
        self.assertGreater(forces[3:].min(), 0)
        systems.close(lmp)

    def refused(self, lmp, deck, words, fix="es"):
        with self.assertRaises(systems.graft_lammps.Error) as failure:
            systems.graft_lammps.attach(lmp, fix, deck)
        if "another rank failed" not in str(failure.exception):  # only one of several ranks reads LAMMPS's list of fixes
            for word in words:
                self.assertIn(word, str(failure.exception))

    def test_refusals(self):
        lmp = start()
        self.refused(lmp, DECK, ["no simulation box", "read_data"])
        systems.cluster(10).read_into(lmp)
        self.refused(lmp, "{interaction: coulomp}", ["coulomp", "nearest: coulomb"])
        self.refused(lmp, "/nowhere/graft.yaml", ["/nowhere/graft.yaml"])
        self.refused(lmp, "{dimension: 2}", ["two dimensions"])
        self.refused(lmp, DECK, ["name of the fix"], fix="x" * 64)
        self.refused(lmp, DECK, ["name of the fix"], fix="")
        self.refused(lmp, DECK, ["name of the fix", "letters, digits or _"], fix="two words")
        systems.each_line(lmp, "pair_style lj/cut/coul/cut 10.0\npair_coeff * * 0.0 1.0")
        self.refused(lmp, DECK, ["lj/cut/coul/cut", "count twice"])
        systems.each_line(lmp, "pair_style lj/cut 10.0\npair_coeff * * 0.0 1.0")
        lmp.command("run 0")  # it lives
        systems.close(lmp)
        lmp = start("lj", "atomic")
        systems.each_line(lmp, "region r block 0 1 0 1 0 1\ncreate_box 1 r\nmass 1 1.0")
        if lmp.has_exceptions:
            systems.graft_lammps.attach(lmp, "es", DECK)
            for _ in range(2):  # the host lives on, and is told again
                with self.assertRaises(Exception) as failure:
                    lmp.command("run 0")
                self.assertIn("atom_style charge", str(failure.exception))
        systems.close(lmp)


if __name__ == "__main__":
    program = unittest.main(argv=[sys.argv[0], "-v"], exit=False)
    systems.finish()
    sys.exit(not program.result.wasSuccessful())
