#!/usr/bin/env python3
"""Runs the demo on one rank and on many, and compares the energies before and after. usage: compare_demo.py DECK GALAXY_DEMO
COMMAND...   COMMAND is the run on ranks without the deck (mpiexec -n 3 galaxy_demo_mpich). Exit status 1 when an energy
differs by more than 1e-5 of itself, or a galaxy does not stay in equilibrium."""
import re
import subprocess
import sys


def energies(command):
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"energy: (-?[\d.]+) before, (-?[\d.]+)", done.stdout)
    if done.returncode != 0 or not found or "galaxy_demo: passed" not in done.stdout:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr}")
    return [float(value) for value in found.groups()]


def main(deck, demo, *command):
    one, many = energies([demo, deck]), energies([*command, deck])
    differences = [abs(b / a - 1) for a, b in zip(one, many)]
    print(f"energy before: {one[0]} and {many[0]}, after: {one[1]} and {many[1]}; "
          f"differences {differences[0]:.1e} and {differences[1]:.1e}")
    return 0 if max(differences) < DIFFERENCE else 1


DIFFERENCE = 1e-5

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
