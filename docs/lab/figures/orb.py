#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Figures 22, 24, 26, 27 and 28 of rehmann2022 redrawn for this machine's GPU. Standard library only.

  orb.py measure GRAFT   writes data/rehmann2022.jsonl: one call of tests/gpu/studies/rehmann2022.py (needs a GPU)
  orb.py draw            writes orb_22_launches.svg, orb_22_seconds.svg, orb_24_bytes.svg, orb_26_split.svg and, where the data has
                         them, orb_27_points.svg and orb_28_leaves.svg
"""
import argparse
import json
import os
import subprocess

from svg import COLOURS, chart

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data", "rehmann2022.jsonl")
STUDY = os.path.join(HERE, "..", "..", "..", "tests", "gpu", "studies", "rehmann2022.py")


def measure(graft):
    subprocess.run(["python3", STUDY, graft, "--json", DATA], check=True)


def rows(figure):
    with open(DATA, encoding="utf-8") as file:
        return [row for row in map(json.loads, file) if row["figure"] == figure]


def lines(data, x, columns):
    """[(name, points, style)] of the columns that have numbers."""
    series = [(name, [(row[x], row[column]) for row in data if row.get(column)], "both") for name, column in columns]
    return [one for one in series if one[1]]


def draw_chart(name, title, x_name, y_name, series):
    if series:
        chart(os.path.join(HERE, name + ".svg"), title, x_name, y_name, series)


def launches():
    data = rows("22")
    draw_chart("orb_22_launches", "Count-left kernels in one iteration of a level", "cells of the level", "kernels",
               lines(data, "cells", [("a kernel a cell", "calls_cell"), ("one launch a level", "calls_level")]))
    draw_chart("orb_22_seconds", "Counting at a level, all iterations", "cells of the level", "seconds",
               lines(data, "cells", [("a kernel a cell", "count_s_cell"), ("one launch a level", "count_s_level"),
                                     ("warp primitives", "count_s_warp")]))


def copies():
    draw_chart("orb_24_bytes", "Bytes to the device", "leaves", "bytes",
               lines(rows("24"), "leaves", [("a column a level", "bytes_without"), ("partition on the device", "bytes_with")]))


def bars(data, steps):
    """Stacked bars, one a row: [(name, row)], steps: [(label, column)]."""
    left, top, high, width = 250, 60, 26, 860
    scale = (width - left - 80) / max(sum(row[c] for _, c in steps) for _, row in data)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">'
           % (width, top + high * len(data) + 20), '<rect width="100%" height="100%" fill="white"/>',
           '<text x="10" y="20" font-size="14">Seconds of one ORB, by step</text>']
    for k, (label, _) in enumerate(steps):
        out.append('<rect x="%d" y="32" width="12" height="12" fill="%s"/><text x="%d" y="42">%s</text>'
                   % (left + 130 * k, COLOURS[k], left + 130 * k + 16, label))
    for i, (name, row) in enumerate(data):
        x, y = float(left), top + high * i
        out.append('<text x="%d" y="%d" text-anchor="end">%s</text>' % (left - 8, y + 15, name))
        for k, (_, column) in enumerate(steps):
            out.append('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>' % (x, y, row[column] * scale, high - 6, COLOURS[k]))
            x += row[column] * scale
        out.append('<text x="%.1f" y="%d">%.3g</text>' % (x + 6, y + 15, row["total"]))
    return "\n".join(out + ["</svg>"]) + "\n"


def split():
    data = [("%s, %s%s%s" % (row["variant"], row["axis"], "" if row["temporaries"] == 3 else ", permutation",
                             "" if row["tolerance"] == 0 else ", tolerance %g" % row["tolerance"]), row) for row in rows("26")]
    for row in rows("26 ours"):
        cuts = sum(row[c] for c in ("bounds", "sample", "bracket", "count", "select"))
        data.append(("ours (rounds)", {"make_axis": 0, "count": cuts, "partition": row["move"], "total": row["total"]}))
    if data:
        with open(os.path.join(HERE, "orb_26_split.svg"), "w", encoding="utf-8") as file:
            file.write(bars(data, [("make-axis", "make_axis"), ("count", "count"), ("partition", "partition")]))


def scaling():
    columns = [("CPU, bisection", "cpu_bisection_s"), ("CPU, sampled", "cpu_sampled_s"), ("GPU, warp", "gpu_warp_s"),
               ("GPU, ours", "gpu_rounds_s")]
    draw_chart("orb_27_points", "ORB into 4,096 leaves", "points", "seconds", lines(rows("27"), "n", columns))
    draw_chart("orb_28_leaves", "ORB over leaves", "leaves", "seconds", lines(rows("28"), "leaves", columns))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("measure").add_argument("graft")
    commands.add_parser("draw")
    given = parser.parse_args()
    if given.command == "measure":
        measure(given.graft)
    for figure in (launches, copies, split, scaling):
        figure()


if __name__ == "__main__":
    main()
