#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the demo on one rank and on many and compares the energies after the last step.
usage: compare_demo.py DECK SCOPE DIFFERENCE GALAXY_DEMO COMMAND...

SCOPE is the deck's tree.scope: local (a tree for each rank: forces equal to within their errors) or global (one tree for all:
equal to rounding). COMMAND is the run on ranks without the deck (mpiexec -n 3 galaxy_demo_mpich). Exit status 1 when the
energies differ by more than DIFFERENCE of themselves, or a galaxy does not stay in equilibrium."""
import re
import subprocess
import sys


def energies(command):
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"energy: (-?[\d.]+) before, (-?[\d.]+)", done.stdout)
    if done.returncode != 0 or not found or "galaxy_demo: passed" not in done.stdout:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr}")
    return [float(value) for value in found.groups()]


def main(deck, scope, difference, demo, *command):
    own_deck = f"compare_{scope}.yaml"
    with open(deck, encoding="utf-8") as source, open(own_deck, "w", encoding="utf-8") as copy:
        copy.write(re.sub(r"scope: *\w+", f"scope: {scope}", source.read()))
    one, many = energies([demo, own_deck]), energies([*command, own_deck])
    differences = [abs(b / a - 1) for a, b in zip(one, many)]
    print(f"energy before: {one[0]} and {many[0]}, after: {one[1]} and {many[1]}; "
          f"differences {differences[0]:.1e} and {differences[1]:.1e}, allowed after {difference}")
    return 0 if differences[1] <= float(difference) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
