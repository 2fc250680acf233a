"""How well the energy is kept over 10 ps of NVE with Graft's Coulomb forces and with LAMMPS's own: molten salt (2,744 ions, 1 fs)
and SPC/E water (3,000 atoms, rigid by SHAKE, 1 fs). Each method starts from one equilibrated state, which is kept in the folder.

usage: drift.py FOLDER salt|water METHOD... [--ps 10]      METHOD: pppm=1e-5, ewald=1e-8, graft=DECK (path or "{...}")
Prints a line a method: the slope of a straight line through the total energy, in units of the kinetic energy per ns, with its
standard error; the change over the run; the rms about the line; time a step; of the callback, the share within Graft."""
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


def equilibrate(what, folder, path):
    made = os.path.join(folder, "made.data")
    with open(made, "w", encoding="utf-8") as file:
        file.write(what["data"]().text())
    lmp, _ = start(what, made, "pppm=1e-4")
    systems.each_line(lmp, f"""
        velocity all create {what['kelvin']} 4711 loop all
        timestep {0.5 * what['fs']}
        fix slow all nve/limit 0.02
        fix heat all langevin {what['kelvin']} {what['kelvin']} {50 * what['fs']} 4711
        run 2000 post no
        unfix slow
        fix move all nve
        timestep {what['fs']}
        run 3000 post no
        write_data {path} nocoeff
        """)
    systems.close(lmp)


def measure(what, path, method, ps):
    lmp, attached = start(what, path, method)
    fs = what["fs"]
    systems.each_line(lmp, f"timestep {fs}\nfix move all nve\nthermo_modify norm no\nrun 0 post no")
    times, energies, kinetic, every = [], [], [], 10
    begin = time.time()
    for block in range(int(1000 * ps) // every + 1):
        if block > 0:
            lmp.command(f"run {every} pre no post no")
        times.append(block * every * 1e-6)  # ns
        energies.append(systems.number(lmp, "etotal"))
        kinetic.append(systems.number(lmp, "ke"))
    seconds = (time.time() - begin) / (len(times) - 1) / every
    slope, offset = numpy.polyfit(times, energies, 1)
    line = numpy.array(energies) - (slope * numpy.array(times) + offset)
    # of the slope: from the scatter of the means of ten blocks, which are nearly independent
    blocks = numpy.array([block.mean() for block in numpy.array_split(line, 10)])
    doubt = numpy.sqrt(12 / 10) * blocks.std(ddof=2) / times[-1]
    scale = numpy.mean(kinetic)
    share = ""
    if attached:
        share = f", of the callback {attached.query('adapter.time_s.graft') / attached.query('adapter.time_s.call'):.4f} in Graft"
    print(f"{method}: drift {slope / scale:+.2e} +- {doubt / scale:.1e} of the kinetic energy a ns; over {ps} ps {slope * times[-1] / scale:+.2e}; "
          f"rms about the line {line.std() / scale:.2e}; {1e3 * seconds:.1f} ms a step{share}", flush=True)
    systems.close(lmp)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("methods", nargs="+")
    parser.add_argument("--ps", type=float, default=10)
    wanted = parser.parse_args()
    what = SYSTEMS[wanted.system]
    path = os.path.join(wanted.folder, wanted.system + ".data")
    if not os.path.exists(path):
        equilibrate(what, wanted.folder, path)
    for method in wanted.methods:
        measure(what, path, method, wanted.ps)


if __name__ == "__main__":
    main()
