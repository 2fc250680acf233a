#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whole steps of LAMMPS with Graft's Coulomb forces beside LAMMPS's own pppm, at the same measured force error.

usage: beside_lammps.py --plugin libgraft_lammps.so [--lmp lmp] [--mpiexec mpiexec] [--backend cpu|gpu] [--part all|long_range]
                        [--cutoff 10] [--systems salt,water]
                        [--cells 7,16,32] [--accuracy 1e-4,1e-5] [--own 16x1,4x4] [--graft 1x16,4x4] [--steps 100] [--json FILE]

Needs an lmp with the packages KSPACE, MOLECULE, OPENMP, PLUGIN and RIGID, as PyPI's wheel has them, and libgraft (GRAFT_LIBRARY).
salt: 8 ions a cell of 6.3 A, 1200 K. water: 8 molecules of SPC/E a cell of 6.2 A, rigid by SHAKE, 300 K. Cut-off 10 A, steps of 1 fs.
--part long_range: LAMMPS's pairs are summed by LAMMPS, and Graft is in the place of pppm alone (ewald.part).
RANKSxTHREADS: how lmp is started, always with OPENMP's styles; of several the fastest is shown. The forces of water are compared with
bonds that can bend, the steps have SHAKE. The cut-off of pppm is not sought; that of Graft's whole sums is Graft's choice.

The error is rms over rms of the whole forces on the first 3,000 atoms, against Graft's sums in double with ewald.accuracy 1e-9; in the
smallest box these are compared with kspace_style ewald 1e-8 first. For each accuracy of pppm Graft takes the largest
ewald.accuracy whose own error is not larger. Times are those of LAMMPS's loop, after 20 steps that are not counted.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile

ACCURACIES = [5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5, 5e-6, 2e-6, 1e-6]
WATER = """one SPC/E molecule

3 atoms
2 bonds
1 angles

Coords

1 0.0 0.0 0.0
2 0.81649 0.57736 0.0
3 -0.81649 0.57736 0.0

Types

1 1
2 2
3 2

Charges

1 -0.8476
2 0.4238
3 0.4238

Bonds

1 1 1 2
2 1 1 3

Angles

1 1 2 1 3

Special Bond Counts

1 2 0 0
2 1 1 0
3 1 1 0

Special Bonds

1 2 3
2 1 3
3 1 2

Shake Flags

1 1
2 1
3 1

Shake Atoms

1 1 2 3
2 1 2 3
3 1 2 3

Shake Bond Types

1 1 1 1
2 1 1 1
3 1 1 1
"""
SYSTEMS = {
    "salt": {
        "head": "units metal\natom_style charge\n",
        "make": """lattice custom 6.30 a1 1 0 0 a2 0 1 0 a3 0 0 1 &
                   basis 0 0 0 basis 0.5 0.5 0 basis 0.5 0 0.5 basis 0 0.5 0.5 &
                   basis 0.5 0 0 basis 0 0.5 0 basis 0 0 0.5 basis 0.5 0.5 0.5
                   region box block 0 {cells} 0 {cells} 0 {cells}
                   create_box 2 box
                   create_atoms 1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2
                   mass 1 22.98977
                   mass 2 35.453
                   set type 1 charge 1.0
                   set type 2 charge -1.0
                   displace_atoms all random 0.1 0.1 0.1 4711
                   velocity all create 1200 4711
                """,
        "pair": ("born/coul/long", "born"),
        "coefficients": """pair_coeff 1 1 0.2637 0.317 2.340 1.0486 -0.4993
                           pair_coeff 1 2 0.2110 0.317 2.755 6.9906 -8.6758
                           pair_coeff 2 2 0.1582 0.317 3.170 72.4022 -145.4285
                        """,
        "move": "timestep 0.001\nfix cool all langevin 1200 1200 0.05 4711\nfix move all nve\n", "steps": "timestep 0.001\nfix move all nve\n"},
    "water": {
        "head": "units real\natom_style full\nbond_style harmonic\nangle_style harmonic\n",
        "make": """lattice sc 3.1
                   region box block 0 {twice} 0 {twice} 0 {twice}
                   create_box 2 box bond/types 1 angle/types 1 extra/bond/per/atom 2 extra/angle/per/atom 1 extra/special/per/atom 2
                   mass 1 15.9994
                   mass 2 1.008
                   molecule water water.mol
                   create_atoms 0 box mol water 4711
                   velocity all create 300 4711
                """,
        "pair": ("lj/cut/coul/long", "lj/cut"),
        "coefficients": """pair_coeff * * 0 1
                           pair_coeff 1 1 0.1553 3.166
                           bond_coeff 1 1000 1.0
                           angle_coeff 1 100 109.47
                        """,
        "move": "minimize 0 0 100 1000\ntimestep 0.5\nfix cool all langevin 300 300 50 4711\nfix move all nve/limit 0.05\n",
        "steps": "timestep 1.0\nfix rigid all shake 1e-5 20 0 b 1 a 1\nfix move all nve\n"}}
COMMON = "pair_modify shift yes\nneigh_modify every 1 delay 0 check yes\nthermo_modify norm no\n"


class Runs:
    """Decks that lmp runs in one folder."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder

    def lmp(self, deck, mode):
        ranks, threads = mode
        with open(os.path.join(self.folder, "in"), "w", encoding="utf-8") as file:
            file.write(deck)
        command = [self.options.mpiexec, "-n", str(ranks), self.options.lmp, "-in", "in", "-log", "none"]
        command += ["-sf", "omp", "-pk", "omp", str(threads)]
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        done = subprocess.run(command, cwd=self.folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0 or "ERROR" in done.stdout:
            raise SystemExit(f"beside_lammps.py: lmp failed:\n{done.stdout[-2000:]}")
        return done.stdout

    def interaction(self, what, method):
        """The pair style, and who computes Coulomb forces: ("pppm" or "ewald", accuracy) or ("graft", precision, accuracy)."""
        own, long_range = method[0] != "graft", self.options.part == "long_range"
        text = f"pair_style {what['pair'][0 if own or long_range else 1]} {self.options.cutoff}\n" + what["coefficients"] + COMMON
        if own:
            return text + f"kspace_style {method[0]} {method[1]}\n"
        deck = (f"{{interaction: coulomb, backend: {self.options.backend}, precision: {method[1]}, "
                f"ewald: {{accuracy: {method[2]}, part: {self.options.part}}}}}")
        text += "kspace_style ewald 0.1\n" if long_range else ""
        return text + f"plugin load {os.path.abspath(self.options.plugin)}\ngraft attach coulomb \"{deck}\"\n"

    def prepare(self, what, cells):
        with open(os.path.join(self.folder, "water.mol"), "w", encoding="utf-8") as file:
            file.write(WATER)
        make = what["make"].format(cells=cells, twice=2 * cells)
        self.lmp(what["head"] + make + self.interaction(what, ("pppm", 1e-4)) + what["move"] +
                 "run 300\nwrite_data start.data nocoeff\n", self.options.own[0])

    def forces(self, what, method, mode):
        self.lmp(what["head"] + "read_data start.data\n" + self.interaction(what, method) +
                 "group some id <= 3000\ndump 1 some custom 1 forces id fx fy fz\n"
                 "dump_modify 1 sort id format float %.15g\nrun 0\n", mode)
        with open(os.path.join(self.folder, "forces"), encoding="utf-8") as file:
            rows = [line.split()[1:] for line in file.read().split("ITEM: ATOMS")[1].splitlines()[1:]]
        return [float(value) for row in rows for value in row]

    def step_ms(self, what, method, modes, n):
        steps = max(30, self.options.steps * 30000 // max(n, 30000))
        best = None
        for mode in modes:
            text = self.lmp(what["head"] + "read_data start.data\n" + self.interaction(what, method) + what["steps"] +
                            f"thermo 1000\nrun 20\nrun {steps}\n", mode)
            ms = 1000 * float(re.findall(r"Loop time of (\S+) on", text)[-1]) / steps
            parts = {name: float(value) for name, value in re.findall(r"^(Pair|Kspace|Neigh|Comm|Modify) *\|(?: *\S+ *\|)? *(\S+) *\|",
                                                                      text.split("Loop time")[-1], re.MULTILINE)}
            if best is None or ms < best[0]:
                best = (ms, mode, {name: 1000 * value / steps for name, value in parts.items()})
        return best


def rms_error(forces, right):
    return (sum((a - b)**2 for a, b in zip(forces, right)) / sum(b * b for b in right))**0.5


def beside(name, cells, options, folder):
    what, runs = SYSTEMS[name], Runs(options, folder)
    runs.prepare(what, cells)
    first = options.graft[0]
    right = runs.forces(what, ("graft", "fp64", 1e-9), first)
    n = 8 * cells**3 * (3 if name == "water" else 1)
    if cells == min(options.cells):
        print(f"{name}, {n}: the reference beside ewald 1e-8: {rms_error(runs.forces(what, ('ewald', 1e-8), options.own[0]), right):.1e}",
              flush=True)
    rows = []
    for accuracy in options.accuracy:
        error = rms_error(runs.forces(what, ("pppm", accuracy), options.own[0]), right)
        for ours in ACCURACIES:
            own_error = rms_error(runs.forces(what, ("graft", "mixed", ours), first), right)
            if own_error <= error:
                break
        else:
            raise SystemExit(f"beside_lammps.py: no ewald.accuracy down to {ours:g} reaches {error:.1e}")
        own, graft = (runs.step_ms(what, method, modes, n) for method, modes in
                      ((("pppm", accuracy), options.own), (("graft", "mixed", ours), options.graft)))
        rows.append({"system": name, "n": n, "pppm": accuracy, "pppm_error": error, "pppm_ms": own[0], "pppm_mode": own[1],
                     "pppm_parts_ms": own[2], "graft": ours, "graft_error": own_error, "graft_ms": graft[0], "graft_mode": graft[1],
                     "graft_parts_ms": graft[2]})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def numbers(kind):
    return lambda text: [kind(float(word)) for word in text.split(",")]


def modes(text):
    return [tuple(int(number) for number in word.split("x")) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--lmp", default="lmp")
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--part", choices=["all", "long_range"], default="all")
    parser.add_argument("--cutoff", type=float, default=10.0)
    parser.add_argument("--systems", type=lambda text: text.split(","), default=["salt", "water"])
    parser.add_argument("--cells", type=numbers(int), default=[7, 16, 32])
    parser.add_argument("--accuracy", type=numbers(float), default=[1e-4, 1e-5])
    parser.add_argument("--own", type=modes, default=[(os.cpu_count(), 1)])
    parser.add_argument("--graft", type=modes, default=[(1, os.cpu_count())])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--json")
    options = parser.parse_args()
    options.lmp = os.path.abspath(options.lmp) if os.path.exists(options.lmp) else options.lmp
    rows = []
    for name in options.systems:
        for cells in options.cells:
            with tempfile.TemporaryDirectory() as folder:
                rows += beside(name, cells, options, folder)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    print(f"\n{'system':6} {'n':>8} {'pppm: error':>12} {'ms':>8}   {'Graft: error':>12} {'ms':>8} {'ratio':>6}")
    for row in rows:
        print(f"{row['system']:6} {row['n']:8d} {row['pppm_error']:12.1e} {row['pppm_ms']:8.2f}   {row['graft_error']:12.1e} "
              f"{row['graft_ms']:8.2f} {row['graft_ms'] / row['pppm_ms']:6.2f}")


if __name__ == "__main__":
    main()
