# SPDX-License-Identifier: BSD-3-Clause
"""How well the energy is kept over 10 ps of NVE with Graft's Coulomb forces and with LAMMPS's own: molten salt (2,744 ions, 1 fs)
and SPC/E water (3,000 atoms, rigid by SHAKE, 1 fs). Each method starts from one equilibrated state, which is kept in the folder (one
for each seed).

usage: drift.py FOLDER salt|water METHOD... [--ps 10] [--seed 4711]      METHOD: pppm=1e-5, ewald=1e-8, graft=DECK (path or "{...}")
Prints a line a method: the slope of a straight line through the energy that the steps keep (systems.Kept: LAMMPS's own sum swings by
the step's square, a hundred times what a force's error does), in units of the kinetic energy per ns, with its standard error; the same
of LAMMPS's own sum; the rms about the line; time a step; of the callback, the share within Graft."""
import argparse
import os
import time

import numpy
import systems

SYSTEMS = {
    "salt": {"units": "metal", "fs": 0.001, "kelvin": 1200, "data": systems.salt, "pairs": systems.SALT_PAIRS, "cutoff": 9.0,
             "pair": ("born", "born/coul/long"), "more": "", "rigid": ""},
    "water": {"units": "real", "fs": 1.0, "kelvin": 300, "data": systems.water, "pairs": systems.WATER_PAIRS, "cutoff": 9.0,
              "pair": ("lj/cut", "lj/cut/coul/long"),
              "more": "bond_style harmonic\nangle_style harmonic\nbond_coeff * 1000.0 1.0\nangle_coeff * 100.0 109.47",
              "rigid": "fix rigid all shake 1e-8 200 0 b 1 a 1"},
}


def start(what, data_path, method):
    """LAMMPS with the system and one way to Coulomb forces; the attachment, if it is Graft."""
    lmp = systems.open_lammps()
    styles = [line for line in what["more"].splitlines() if "style" in line]
    systems.each_line(lmp, f"units {what['units']}\natom_style full\n" + "\n".join(styles))
    lmp.command(f"read_data {data_path}")
    kind, _, value = method.partition("=")
    pair = what["pair"][0 if kind == "graft" else 1]
    systems.each_line(lmp, f"pair_style {pair} {what['cutoff']}\n{what['pairs']}")
    systems.each_line(lmp, "\n".join(line for line in what["more"].splitlines() if "coeff" in line))
    # a pair force that is cut off must not jump in energy: that would be the drift
    systems.each_line(lmp, "pair_modify shift yes\nneigh_modify every 1 delay 0 check yes")
    attached = None
    if kind == "graft":
        attached = systems.graft_lammps.attach(lmp, "es", value)
    else:
        lmp.command(f"kspace_style {kind} {value}")
    systems.each_line(lmp, what["rigid"])
    return lmp, attached


def equilibrate(what, folder, path, seed):
    made = os.path.join(folder, "made.data")
    with open(made, "w", encoding="utf-8") as file:
        file.write(what["data"]().text())
    lmp, _ = start(what, made, "pppm=1e-4")
    systems.each_line(lmp, f"""
        velocity all create {what['kelvin']} {seed} loop all
        timestep {0.5 * what['fs']}
        fix slow all nve/limit 0.02
        fix heat all langevin {what['kelvin']} {what['kelvin']} {50 * what['fs']} {seed}
        run 2000 post no
        unfix slow
        fix move all nve
        timestep {what['fs']}
        run 3000 post no
        write_data {path} nocoeff
        """)
    systems.close(lmp)


def line(times, energies):
    """Slope; its standard error, from the scatter of the means of ten blocks, which are nearly independent; rms about the line."""
    energies = numpy.array(energies)
    slope, offset = numpy.polyfit(times, energies, 1)
    rest = energies - (slope * numpy.array(times) + offset)
    blocks = numpy.array([block.mean() for block in numpy.array_split(rest, 10)])
    return slope, numpy.sqrt(12 / 10) * blocks.std(ddof=2) / times[-1], rest.std()


def measure(what, path, method, ps):
    lmp, attached = start(what, path, method)
    fs = what["fs"]
    systems.each_line(lmp, f"timestep {fs}\nfix move all nve\nthermo_modify norm no\nrun 0 post no")
    kept = systems.Kept(lmp)
    times, sums, energies, kinetic, every = [], [], [], [], 10
    begin, cpu = time.time(), time.process_time()
    for block in range(1, int(1000 * ps) // every + 1):
        total, corrected = kept.sample(every)
        times.append(block * every * 1e-6)  # ns
        sums.append(total)
        energies.append(corrected)
        kinetic.append(systems.number(lmp, "ke"))
    steps, scale = len(times) * every, numpy.mean(kinetic)
    slope, doubt, rest = (number / scale for number in line(times, energies))
    plain = [number / scale for number in line(times, sums)]
    share = ""
    if attached:
        share = f", of the callback {attached.query('adapter.time_s.graft') / attached.query('adapter.time_s.call'):.4f} in Graft"
    print(f"{method}: drift {slope:+.2e} +- {doubt:.1e} of the kinetic energy a ns over {ps} ps, rms about the line {rest:.1e}; LAMMPS's sum "
          f"{plain[0]:+.1e} +- {plain[1]:.1e}, {plain[2]:.1e}; {1e3 * (time.time() - begin) / steps:.1f} ms a step, "
          f"{1e3 * (time.process_time() - cpu) / steps:.1f} of the processor{share}", flush=True)
    systems.close(lmp)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("methods", nargs="+")
    parser.add_argument("--ps", type=float, default=10)
    parser.add_argument("--seed", type=int, default=4711)
    wanted = parser.parse_args()
    what = SYSTEMS[wanted.system]
    path = os.path.join(wanted.folder, f"{wanted.system}-{wanted.seed}.data")
    os.makedirs(wanted.folder, exist_ok=True)
    if not os.path.exists(path):
        equilibrate(what, wanted.folder, path, wanted.seed)
    for method in wanted.methods:
        measure(what, path, method, wanted.ps)


if __name__ == "__main__":
    main()
