#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures and draws the figures of the documentation with the `graft` command.

  figures.py measure NAME... [--graft PATH] [--quick]   writes data/NAME.jsonl (NAME: all, or one of those below)
  figures.py draw [NAME...]                             draws NAME.png from the data; needs matplotlib

  error_distribution   fraction of particles above a given force error (gaburov2010, figure 3.4)
  error_scaling        error over theta and over N at N_leaf 64 and 8 (gaburov2010, figure 3.5)
  belt_distance        mean distance from the direct run after a year over theta (thuering2023, figure 5.7b);
                       with GRAFT_TEST_DATA the table planets_and_moons.csv, else the built-in one
  accuracy_cost        error against time for orders and acceptance criteria, beside other codes (README)
"""
import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# gaburov2010: Barnes-Hut with quadrupoles, tight boxes, a galaxy of disc, bulge and halo (1:1:4).
GABUROV = ["--ic", "galaxy", "--order", "2", "--mac", "box", "--precision", "mixed", "--repeat", "0"]
THETAS = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]


def check(graft, *words):
    """The answers of one `graft check`, as dictionaries."""
    print("graft check", *words, file=sys.stderr)
    text = subprocess.run([graft, "check", "--json", *words], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def joined(values):
    return ",".join("%g" % value for value in values)


def measure_error_distribution(graft, quick):
    sizes = [30000, 100000] if quick else [30000, 100000, 1000000]
    return check(graft, *GABUROV, "--leaf", "64", "--targets", "3000", "--curve", "--sweep", "n=" + joined(sizes),
                 "--sweep", "theta=" + joined(THETAS))


def measure_error_scaling(graft, quick):
    sizes = [1e4, 3e4, 1e5] if quick else [1e4, 3e4, 1e5, 3e5, 1e6]
    return check(graft, *GABUROV, "--targets", "2000", "--sweep", "n=%s" % ",".join("%d" % n for n in sizes),
                 "--sweep", "leaf=64,8", "--sweep", "theta=" + joined([0.2, 0.3, 0.4, 0.5, 0.6, 0.7]))


def belt_positions(graft, folder, snapshot, method, theta, quick):
    """Positions by id after a year at steps of an hour (quick: a tenth of a year)."""
    deck, out = os.path.join(folder, "deck.yaml"), os.path.join(folder, "out.csv")
    steps = 876 if quick else 8766
    with open(deck, "w") as file:
        file.write("method: %s\nprecision: fp64\norder: 0\nmac: {type: edge, theta: %g}\nthreads: 1\n"
                   "constant: %s\nrun: {input: %s, output: %s, time_step: %.17g, steps: %d, energy_every: 0, "
                   "progress: false}\n" % (method, theta, gravity(snapshot), snapshot, out, 1 / 24, steps))
    print("belt:", method, theta, file=sys.stderr)
    subprocess.run([graft, "run", deck, "--quiet"], check=True)
    final = os.path.join(folder, "out_%06d.csv" % steps)
    with open(final) as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return [tuple(float(row[axis]) for axis in "xyz") for row in rows]


def gravity(snapshot):
    with open(snapshot) as file:
        return next(line.split("=")[1].strip() for line in file if line.startswith("# gravitational_constant"))


def measure_belt_distance(graft, quick):
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        snapshot = os.path.join(folder, "belt.csv")
        data = os.environ.get("GRAFT_TEST_DATA")
        table = ["--table", os.path.join(data, "planets_and_moons.csv")] if data else []
        subprocess.run([graft, "ic", "belt", "--n", "2500", "-o", snapshot, *table], check=True, stdout=sys.stderr)
        exact = belt_positions(graft, folder, snapshot, "direct", 0.5, quick)
        for theta in [0.2, 0.4, 0.6, 0.8, 1.0]:
            found = belt_positions(graft, folder, snapshot, "tree", theta, quick)
            distances = [math.dist(a, b) for a, b in zip(exact, found)]
            answers.append({"theta": theta, "n": len(exact), "mean_au": sum(distances) / len(distances),
                            "median_au": sorted(distances)[len(distances) // 2], "max_au": max(distances),
                            "days": 36.5 if quick else 365.25})
    return answers


def measure_accuracy_cost(graft, quick):
    common = ["--n", "100000" if quick else "1000000", "--precision", "fp32", "--threads", "1",
              "--repeat", "5"]
    return (check(graft, *common, "--mac", "error", "--sweep", "order=2,3,4",
                  "--sweep", "accuracy=3e-5,1e-4,3e-4,1e-3,3e-3,1e-2")
            + check(graft, *common, "--mac", "box", "--sweep", "order=2,4", "--sweep", "theta=0.4,0.5,0.6,0.7,0.8"))


def by(rows, key):
    """Rows grouped by a key function, in order of first appearance."""
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def draw_error_distribution(plt, rows):
    panels = by(rows, lambda row: row["n"])
    figure, axes = plt.subplots(1, len(panels), figsize=(3.4 * len(panels), 3.4), sharey=True, squeeze=False)
    for axis, (n, group) in zip(axes[0], panels.items()):
        for row in group:
            axis.loglog(*zip(*[(e, f) for e, f in row["curve"] if f > 0]), label="θ = %g" % row["theta"])
        for level in (0.5, 0.1, 0.01):
            axis.axhline(level, color="0.6", linestyle=":", linewidth=0.8)
        axis.set(title="N = {:,}".format(n), xlabel="relative force error", xlim=(1e-6, 1e-1), ylim=(1e-3, 1.1))
    axes[0][0].set_ylabel("fraction of particles above")
    axes[0][-1].legend(fontsize=7)
    return figure


def draw_error_scaling(plt, rows):
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True)
    leaf64 = [row for row in rows if row["settings"]["leaf"] == 64]
    for index, (n, group) in enumerate(by(leaf64, lambda row: row["n"]).items()):
        for name, style in (("median", "-"), ("p99", "--")):
            axes[0].loglog([row["theta"] for row in group], [row["error"][name] for row in group], style,
                           color="C%d" % index, marker=".", label="N = {:,}".format(n) if style == "-" else None)
    axes[0].loglog([0.2, 0.7], [4e-6, 4e-6 * 3.5 ** 4], ":", color="0.5", label="θ⁴")
    axes[0].set(xlabel="θ", ylabel="relative force error", title="median (full), 99th percentile (dashed)")
    axes[0].legend(fontsize=7)
    for axis, leaf in ((axes[1], 64), (axes[2], 8)):
        group = [row for row in rows if row["settings"]["leaf"] == leaf]
        for index, (theta, line) in enumerate(by(group, lambda row: row["theta"]).items()):
            for name, style in (("median", "-"), ("p99", "--")):
                axis.loglog([row["n"] for row in line], [row["error"][name] for row in line], style,
                            color="C%d" % index, marker=".", label="θ = %g" % theta if style == "-" else None)
        axis.set(xlabel="N", title="N_leaf = %d" % leaf)
    axes[2].legend(fontsize=7)
    return figure


def draw_belt_distance(plt, rows):
    figure, axis = plt.subplots(figsize=(4.4, 3.4))
    axis.semilogy([row["theta"] for row in rows], [row["mean_au"] for row in rows], "o-", label="mean")
    axis.semilogy([row["theta"] for row in rows], [row["median_au"] for row in rows], "s--", label="median")
    axis.set(xlabel="θ", ylabel="distance from the direct run [AU]",
             title="{:,} bodies after {:g} days".format(rows[0]["n"], rows[0]["days"]))
    axis.legend()
    return figure


# Seconds of other codes at an error for the same bodies on one core (docs/lab/peers.md).
PEERS = {"exafmm-t, float": [(1e-3, 2.25), (3.5e-4, 2.58)], "falcON, float": [(1e-2, 1.48), (2.3e-3, 7.6)],
         "FMM3D": [(4.6e-3, 5.1), (3.5e-4, 5.9)]}


def draw_accuracy_cost(plt, rows):
    figure, axis = plt.subplots(figsize=(6.6, 4.2))
    for marker, (name, points) in zip("^vD", PEERS.items()):
        axis.loglog(*zip(*points), marker, color="0.35", markersize=6, label=name)
    for (mac, order), group in by(rows, lambda row: (row["mac"], row["order"])).items():
        axis.loglog([row["error"]["p99"] for row in group], [row["time_s"]["total"] for row in group],
                    "o-" if mac == "error" else "s--", color="C%d" % order, markersize=3,
                    label="Graft, criterion %s, order %d" % (mac, order))
    axis.axvline(1e-3, color="0.6", linestyle=":", linewidth=0.8)
    first = rows[0]
    axis.set(xlabel="force error, 99th percentile", ylabel="seconds for all forces",
             title="Plummer sphere of {:,} bodies, {}, one thread".format(first["n"], first["precision"]))
    axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    axis.grid(alpha=0.3, which="both")
    return figure


NAMES = ["error_distribution", "error_scaling", "belt_distance", "accuracy_cost"]


def measure(names, graft, quick):
    for name in names:
        rows = globals()["measure_" + name](graft, quick)
        with open(os.path.join(HERE, "data", name + ".jsonl"), "w") as file:
            file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


def draw(names):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    for name in names:
        path = os.path.join(HERE, "data", name + ".jsonl")
        if not os.path.exists(path):
            print("no data for", name, "(figures.py measure", name + ")", file=sys.stderr)
            continue
        with open(path) as file:
            figure = globals()["draw_" + name](plt, [json.loads(line) for line in file])
        figure.tight_layout()
        figure.savefig(os.path.join(HERE, name + ".png"), dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["measure", "draw"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--graft", default="graft", help="the command to use")
    parser.add_argument("--quick", action="store_true", help="fewer particles and shorter runs")
    arguments = parser.parse_args()
    names = NAMES if arguments.names in ([], ["all"]) else arguments.names
    if unknown := [name for name in names if name not in NAMES]:
        sys.exit("unknown figure %s; known: %s" % (", ".join(unknown), ", ".join(NAMES)))
    if arguments.action == "measure":
        measure(names, arguments.graft, arguments.quick)
    else:
        draw(names)


if __name__ == "__main__":
    main()
