#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Figure 15 of rehmann2022 redrawn: what the run-time model says for the machines of his table 1. Standard library only.

  model.py measure [--graft PATH]   writes data/orb_model.csv: one call of `graft model orb --csv` for examples/machines
  model.py draw                     writes orb_model.svg: as printed (full bars), and put right (the lighter ones)
"""
import argparse
import csv
import os
import subprocess

from svg import COLOURS

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data", "orb_model.csv")
MACHINES = ["piz-daint", "summit", "alps"]
# (name in the paper's model, name put right, label)
VARIANTS = [("cpu", "cpu", "CPU"), ("gpu-count", "gpu-count", "GPU counting"),
            ("gpu-partition", "gpu", "GPU counting and partitioning")]


def measure(graft):
    folder = os.path.join(HERE, "..", "..", "..", "examples", "machines")
    words = [word for name in MACHINES for word in ("--machine", os.path.join(folder, name + ".yaml"))]
    # His N and d; cuts may miss by 5 particles, with which a level takes the 20 iterations that he measured.
    done = subprocess.run([graft, "model", "orb", "--csv", "--n", "1e9", "--leaves", "4096", "--miss", "5", *words],
                          check=True, stdout=subprocess.PIPE, text=True)
    with open(DATA, "w", encoding="utf-8") as file:
        file.write(done.stdout)


def totals():
    """{(machine, model, variant): seconds}"""
    with open(DATA, encoding="utf-8") as file:
        return {(row["machine"], row["model"], row["variant"]): float(row["seconds"])
                for row in csv.DictReader(file) if row["step"] == "total"}


def text(x, y, words, anchor="middle", size=12):
    return '<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d">%s</text>' % (x, y, anchor, size, words)


def bar(x, y, width, height, colour, opacity):
    return ('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" fill-opacity="%g"/>'
            % (x, y, width, height, colour, opacity))


def draw():
    values = totals()
    machines = list(dict.fromkeys(key[0] for key in values))
    left, top, base, wide, thick = 60, 50, 360, 200, 24
    scale = (base - top) / 70.0
    width = left + wide * len(machines) + 20
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="440" font-family="sans-serif">' % width,
           '<rect width="100%" height="100%" fill="white"/>',
           text(left, 22, "ORB of 1e9 particles into 4,096 leaves by the run-time model, seconds", "start", 14)]
    for tick in range(0, 71, 10):
        y = base - tick * scale
        out += ['<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>' % (left, y, width - 20, y),
                text(left - 6, y + 4, "%d" % tick, "end")]
    for m, machine in enumerate(machines):
        for v, (printed, right, _) in enumerate(VARIANTS):
            x = left + m * wide + 12 + v * (2 * thick + 8)
            for k, key in enumerate(((machine, "paper", printed), (machine, "corrected", right))):
                if key in values:
                    height = values[key] * scale
                    out += [bar(x + k * thick, base - height, thick - 2, height, COLOURS[v], 1 - 0.55 * k),
                            text(x + k * thick + thick / 2 - 1, base - height - 4, "%.3g" % values[key], size=10)]
        out.append(text(left + m * wide + wide / 2, base + 18, machine))
    for v, (_, _, label) in enumerate(VARIANTS):
        x = left + v * 190
        out += [bar(x, base + 38, 14, 12, COLOURS[v], 1), text(x + 20, base + 48, label, "start")]
    out += [text(left, base + 70, "full: equations 14 to 16 as printed; light: put right (4 B a particle and count, "
                 "20 iterations, columns, partition)", "start", 11), "</svg>"]
    with open(os.path.join(HERE, "orb_model.svg"), "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["measure", "draw"])
    parser.add_argument("--graft", default="graft", help="the command to use")
    arguments = parser.parse_args()
    if arguments.action == "measure":
        measure(arguments.graft)
    else:
        draw()


if __name__ == "__main__":
    main()
