#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rehmann2022's figures 22, 24, 26, 27 and 28 on this machine, as CSV on standard output, one section a figure.

usage: rehmann2022.py GRAFT [--n N] [--cpu-n N] [--threads T] [--figures 22,24,26,27,28,count] [--json FILE]
GRAFT is the graft command. Every GPU run is verified in itself; one that is not ends the script with status 1.
Figures 27 and 28 compare the CPU (threads T, double precision, sampled cuts) with the GPU (single) up to --cpu-n.
"""
import argparse
import functools
import json
import subprocess
import sys

wrong = []
table = {"figure": "", "names": (), "file": None} # of the rows that follow


@functools.cache
def run(*arguments):
    """The answer of a bench; figures that show the same run share it."""
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: {done.stderr.strip()}")
    answer = json.loads(done.stdout)
    if not answer.get("verified", True):
        wrong.append(" ".join(arguments))
    return answer


class Bench:
    def __init__(self, graft, threads):
        self.graft, self.threads = graft, threads

    def gpu(self, n, leaves, variant="rounds", **settings):
        words = [self.graft, "bench", "orb", "--backend", "gpu", "--dist", "uniform", "--n", str(n),
                 "--leaves", str(leaves), "--variant", variant, "--repeat", "1" if n > 1 << 28 else "3"]
        for key, value in settings.items():
            words += ["--set", f"{key}={value}"]
        return run(*words)

    def cpu(self, n, leaves, finder="sampled"):
        return run(self.graft, "bench", "orb", "--n", str(n), "--leaves", str(leaves), "--dist", "uniform", "--repeat", "1",
                   "--finder", finder, "--threads", str(self.threads))["time_s"]["decompose"]


def heading(figure, *names):
    print(",".join(names), flush=True)
    table["figure"], table["names"] = figure, names


def row(*values):
    """A line of CSV; and, with --json, an object {"figure", column: value}; what is no number (NaN) is null there."""
    print(",".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in values), flush=True)
    if table["file"]:
        values = [None if v != v else v for v in values]
        json.dump({"figure": table["figure"], **dict(zip(table["names"], values))}, table["file"])
        table["file"].write("\n")


def launches(bench, n):
    """Figure 22: count kernels a level, one iteration of the bisection; and seconds of the level's cuts."""
    print("# figure 22: kernel calls of count-left, a kernel a cell against one for the level; n =", n)
    heading("22", "level", "cells", "calls_cell", "calls_level", "count_s_cell", "count_s_level", "count_s_warp")
    variants = [bench.gpu(n, 4096, v, **s)["levels"] for v, s in (("cell", {"partition": "cell"}), ("level", {}), ("warp", {}))]
    for level, (a, b, c) in enumerate(zip(*variants)):
        row(level, a["cells"], a["count_launches"] / a["iterations"], b["count_launches"] / b["iterations"],
            a["count_s"], b["count_s"], c["count_s"])
    for name, levels in zip(("cell", "level", "warp"), variants):
        print(f"# last level / first level, {name}: {levels[-1]['count_s'] / levels[0]['count_s']:.3g}; an iteration:",
              f"{levels[-1]['count_s'] / levels[-1]['iterations'] / (levels[0]['count_s'] / levels[0]['iterations']):.3g}")


def copies(bench, n):
    """Figure 24: bytes to the device; and seconds at the measured rate."""
    print("# figure 24: bytes to the device with and without partition there; n =", n)
    heading("24", "leaves", "bytes_without", "bytes_with", "s_without", "s_with")
    rate = bench.gpu(n, 4096, "warp")["copy"]["bytes_per_s"]
    for depth in range(1, 13):
        row(2**depth, 4 * n * depth, 12 * n, 4 * n * depth / rate, 12 * n / rate)


def split(bench, n):
    """Figure 26: where the time goes."""
    print("# figure 26: seconds at n =", n, "and 4096 leaves")
    heading("26", "variant", "axis", "temporaries", "tolerance", "make_axis", "count", "partition", "copy_if_on_host", "copy_once", "total", "GB")
    cases = [("cell", {"partition": "cell"}), ("level", {}), ("warp", {}), ("warp", {"tolerance": 0.001}),
             ("warp", {"axis": "direct"}), ("warp", {"axis": "strided"}), ("warp", {"temporaries": 1})]
    for variant, settings in cases:
        a = bench.gpu(n, 4096, variant, **settings)
        t, c = a["time_s"], a["copy"]
        row(variant, a["axis"], a["temporaries"], a["tolerance"], t["make_axis"], t["count"], t["partition"],
            c["time_s_partition_on_host"], c["time_s_partition_on_device"], t["total"], a["device_bytes"] / 1e9)
    ours = bench.gpu(n, 4096)
    t = ours["time_s"]
    heading("26 ours", "total", "bounds", "sample", "bracket", "count", "select", "move", "GB", "verified")
    row(t["total"], t["bounds"], t["sample"], t["bracket"], t["count"], t["select"], t["move"], ours["device_bytes"] / 1e9,
        ours["verified"])
    print("# ours, seconds a level (cuts):", ",".join(str(s) for s in ours["level_s"]))


def scaling(bench, n, cpu_n):
    """Figure 27: the CPU's seconds over the GPU's, up to cpu_n points on the CPU."""
    names = ("cpu_bisection_s", "cpu_sampled_s", "gpu_warp_s", "gpu_rounds_s", "bisection_over_warp", "sampled_over_rounds")
    print("# figure 27: over n, 4096 leaves; CPU on", bench.threads, "threads (0: all)")
    heading("27", "n", *names)
    for size in sorted({1 << k for k in range(17, 31, 3)} | {cpu_n, n}):
        if size <= n:
            row(size, *times(bench, size, 4096, cpu_n))


def over_leaves(bench, n):
    names = ("cpu_bisection_s", "cpu_sampled_s", "gpu_warp_s", "gpu_rounds_s", "bisection_over_warp", "sampled_over_rounds")
    print("# figure 28: over leaves, n =", n)
    heading("28", "leaves", *names)
    for depth in range(1, 13):
        row(2**depth, *times(bench, n, 2**depth, n))


def times(bench, size, leaves, cpu_n):
    gpu = [bench.gpu(size, leaves, variant)["time_s"]["total"] for variant in ("warp", "rounds")]
    cpu = [bench.cpu(size, leaves, finder) if size <= cpu_n else float("nan") for finder in ("bisection", "sampled")]
    return (*cpu, *gpu, cpu[0] / gpu[0], cpu[1] / gpu[1])


def count_left(bench, n):
    print("# count-left of one column: bytes a second, threads and elements a thread; n =", n)
    for axis in ("column", "strided"):
        a = bench.gpu(n, 2, "sweep", axis=axis)
        print("# axis", axis, "plain reading", a["read_bytes_per_s"])
        heading("count-left " + axis, "threads", "items", "cell", "level", "warp", "warp_share_of_reading")
        for c in a["count_left"]:
            row(c["threads"], c["items"], c["cell_bytes_per_s"], c["level_bytes_per_s"], c["warp_bytes_per_s"], c["warp_share"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graft")
    parser.add_argument("--n", type=lambda s: int(float(s)), default=1 << 30)
    parser.add_argument("--cpu-n", type=lambda s: int(float(s)), default=1 << 23)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--figures", default="count,22,24,26,27,28")
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    if given.json:
        table["file"] = open(given.json, "w", encoding="utf-8")
    bench, figures = Bench(given.graft, given.threads), given.figures.split(",")
    if "count" in figures:
        count_left(bench, given.n)
    if "22" in figures:
        launches(bench, given.n)
    if "24" in figures:
        copies(bench, given.n)
    if "26" in figures:
        split(bench, given.n)
    if "28" in figures:
        over_leaves(bench, min(given.cpu_n, 1 << 23))
    if "27" in figures:
        scaling(bench, given.n, given.cpu_n)
    for line in wrong:
        print("# NOT VERIFIED:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
