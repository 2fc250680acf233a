"""The whole Coulomb interaction of periodic boxes through Graft, against LAMMPS's own Ewald sum at 1e-8: forces, energy, energy per
atom, pressure, triclinic and changing boxes; a short run beside pppm. About 3,000 atoms: molten salt and SPC/E water."""
import sys
import unittest

import numpy
import systems

DECK = "{interaction: coulomb, method: direct, precision: fp64, backend: cpu, ewald: {accuracy: 1e-7}}"
TREE = "{interaction: coulomb, method: tree, backend: cpu, ewald: {accuracy: 5e-6}, mac: {type: error, accuracy: 1e-6}}"
LATTICE_ALONE = "kspace_style ewald 1e-8\npair_modify table 0"  # no tables of erfc: they are good to 1e-6 only


def with_special(deck):
    return deck[:-1] + ", host: {lammps: {special: 0 0 0}}}"


def start(units):
    lmp = systems.open_lammps()
    systems.each_line(lmp, f"units {units}\natom_style full\nboundary p p p\nbond_style zero\nangle_style zero")
    return lmp


def attach(lmp, deck):
    try:
        return systems.graft_lammps.attach(lmp, "es", deck)
    except systems.graft_lammps.Error as failure:
        if "graft 104" in str(failure) or "'ewald'" in str(failure):  # an engine without periodic boxes
            raise unittest.SkipTest(str(failure)) from None
        raise


def results(lmp):
    systems.each_line(lmp, """
        compute each all pe/atom
        thermo_style custom step pe pxx pyy pzz pxy pxz pyz
        thermo_modify norm no
        compute sum_of_each all reduce sum c_each
        thermo_style custom step pe c_sum_of_each pxx pyy pzz pxy pxz pyz
        run 0 post no
        """)
    names = ["pe", "pxx", "pyy", "pzz", "pxy", "pxz", "pyz"]
    return systems.gathered(lmp, "f", 3), {name: systems.number(lmp, name) for name in names}


class Lattice(unittest.TestCase):
    """Coulomb forces alone: the short-range parts are zero."""

    def answers(self, data, units, deck, change=""):
        found = []
        for graft in (True, False):
            lmp = start(units)
            data.read_into(lmp)
            if data.bonds:
                systems.each_line(lmp, "bond_coeff *\nangle_coeff *" if False else "bond_coeff * 1.0\nangle_coeff * 109.47")
            pair = "lj/cut" if graft else "lj/cut/coul/long"
            systems.each_line(lmp, f"pair_style {pair} 10.0\npair_coeff * * 0.0 1.0")
            if graft:
                attached = attach(lmp, with_special(deck) if data.bonds else deck)
            else:
                systems.each_line(lmp, LATTICE_ALONE)
            if change:
                systems.each_line(lmp, "run 0 post no\n" + change)
            found.append(results(lmp))
            if graft and data.bonds:
                self.assertGreater(attached.query("adapter.exclusions"), 0)
            systems.close(lmp)
        return found

    def compare(self, graft, reference, force=1e-5, energy=1e-6):
        error = systems.relative_error(graft[0], reference[0])
        pressures = [name for name in reference[1] if name != "pe"]
        scale = max(abs(reference[1][name]) for name in pressures)
        worst = max(abs(graft[1][name] - reference[1][name]) for name in pressures) / scale
        of_energy = abs(graft[1]["pe"] / reference[1]["pe"] - 1)
        print(f"{self.id()}: rms force error {error:.2e}, energy {of_energy:.1e}, pressure tensor {worst:.1e}", flush=True)
        self.assertLess(error, force)
        self.assertLess(of_energy, energy)
        self.assertLess(worst, 1e-5)

    def test_salt(self):
        self.compare(*self.answers(systems.salt(), "metal", DECK))

    def test_water(self):
        self.compare(*self.answers(systems.water(), "real", DECK))

    def test_salt_by_tree(self):
        self.compare(*self.answers(systems.salt(), "metal", TREE))

    def test_triclinic(self):
        tilt = (5.0, -7.5, 9.0)
        self.compare(*self.answers(systems.salt(cells=4, tilt=tilt), "metal", DECK))

    def test_box_that_has_changed(self):
        change = "change_box all x scale 1.05 y scale 0.98 z scale 1.01 remap"
        self.compare(*self.answers(systems.salt(cells=4), "metal", DECK, change))


class Run(unittest.TestCase):
    def test_salt_moves_as_with_pppm(self):
        """50 steps from one start: the energies stay together, and Graft's is kept as well as pppm's."""
        kept = []
        for graft in (True, False):
            lmp = start("metal")
            systems.salt(cells=4, shake=0.2).read_into(lmp)
            pair = "born 9.0" if graft else "born/coul/long 9.0"
            systems.each_line(lmp, f"pair_style {pair}\n{systems.SALT_PAIRS}")
            if graft:
                attach(lmp, TREE)
            else:
                lmp.command("kspace_style pppm 1e-5")
            systems.each_line(lmp, """
                velocity all create 1100 4711 loop all
                timestep 0.001
                fix move all nve
                thermo_modify norm no
                run 0 post no
                """)
            begin = systems.number(lmp, "etotal")
            lmp.command("run 50 post no")
            kept.append((systems.number(lmp, "etotal") - begin, systems.number(lmp, "pe"), begin))
            systems.close(lmp)
        print(f"{self.id()}: change of the energy {kept[0][0]:.2e} eV, with pppm {kept[1][0]:.2e} eV", flush=True)
        self.assertLess(abs(kept[0][0]), 2 * abs(kept[1][0]) + 1e-6 * abs(kept[0][2]))
        self.assertAlmostEqual(kept[0][1], kept[1][1], delta=1e-4 * abs(kept[1][1]))


if __name__ == "__main__":
    program = unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]], exit=False)
    systems.finish()
    sys.exit(not program.result.wasSuccessful())
