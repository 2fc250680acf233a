#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The real gyrfalcON with graft_acc.so against its own gravity. usage: gyrfalcon_test.py NEMO_ROOT (ACCPATH, GRAFT_LIBRARY set)

A Plummer sphere of 2,000 bodies to t = 1, once with falcON's gravity (kernel P_0, which is Plummer's), once with Grav=0 and Graft's,
halved in the deck because gyrfalcON counts an external potential in full. The logs must agree in E and W at t = 0, and Graft's energy
must hold. Where NEMO is missing this is not run (tests/hosts/nemo/mini_nemo.hpp stands in for it).
"""
import os
import subprocess
import sys
import tempfile

DECK = "softening: {kind: plummer, length: 0.05}\nmac: {accuracy: 0.0003}\norder: 3\nhost: {half_potential: true}\n"
COMMON = ("eps=0.05", "kernel=0", "theta=0.4", "kmax=6", "tstop=1", "step=0", "out=.")


def run(root, folder, program, *parameters):
    environment = dict(os.environ, NEMO=root, PATH=os.path.join(root, "bin") + ":" + os.environ["PATH"])
    environment["LD_LIBRARY_PATH"] = os.path.join(root, "lib") + ":" + environment.get("LD_LIBRARY_PATH", "")
    done = subprocess.run([os.path.join(root, "bin", program), *parameters], cwd=folder, env=environment, text=True, timeout=250,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise SystemExit(f"{program} {' '.join(parameters)} ended with {done.returncode}:\n{done.stdout}")


def log_of(path):
    """Columns by name: gyrfalcON's log has a commented head (time, E=T+V, T, V_in or V_ex, W, ...) and a line a step."""
    names, rows = [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if line.startswith("#") and "E=T+V" in line:
                names = [word for word in words if word != "#"]
            elif words and not line.startswith("#"):
                rows.append(words)
    if not names or len(rows) < 2:
        raise SystemExit(f"{path} is no log of gyrfalcON that this test can read")
    return {name: [float(row[names.index(name)]) for row in rows] for name in ("E=T+V", "W")}


def main(root):
    root = os.path.abspath(root)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "deck.yaml"), "w", encoding="utf-8") as file:
            file.write(DECK)
        run(root, folder, "mkplummer", "out=p.nemo", "nbody=2000", "seed=1")
        run(root, folder, "gyrfalcON", "in=p.nemo", "logfile=own.log", *COMMON)
        run(root, folder, "gyrfalcON", "in=p.nemo", "logfile=graft.log", "Grav=0", "accname=graft_acc", "accfile=deck.yaml", *COMMON)
        own, graft = (log_of(os.path.join(folder, name)) for name in ("own.log", "graft.log"))
    drift, own_drift = (log["E=T+V"][-1] / log["E=T+V"][0] - 1 for log in (graft, own))
    print(f"gyrfalcON: E(0) {graft['E=T+V'][0]:.6f} with Graft, {own['E=T+V'][0]:.6f} with its own; W(0) {graft['W'][0]:.6f}, "
          f"{own['W'][0]:.6f}; energy changed by {drift:.1e}, {own_drift:.1e}")
    near = all(abs(graft[name][0] / own[name][0] - 1) < 2e-3 for name in ("E=T+V", "W"))
    if not near or abs(drift) > max(2 * abs(own_drift), 1e-4):
        raise SystemExit("that is wrong")


if __name__ == "__main__":
    main(*sys.argv[1:])
