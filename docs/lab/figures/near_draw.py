# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the near field, from data/near_*.jsonl: near.py draw."""
import math
import os

from near_data import DENSITIES, EXECUTES, HERE, HIS, LAYOUTS, by_layout, fits, lines, speed_ups
from svg import cell_maps, chart


def figure(path, title, x, y, series):
    series = [one for one in series if len(one[1]) > 0]
    if sum(len(one[1]) for one in series) > 1:
        chart(os.path.join(HERE, path), title, x, y, series)


def draw_sweep(data, prefix="near", machine="one thread", precisions=("fp64", "fp64")):
    for dimension in (2, 3):
        chosen = [line for line in data if line["dimension"] == dimension and line["precision"] == precisions[dimension - 2]]
        if not chosen:
            continue
        counts = [line["n"] for line in chosen]
        n = max(set(counts), key=lambda k: (counts.count(k), k))
        for executes in (1, 1000):
            series = {}
            for line in sorted((one for one in chosen if one["n"] == n), key=lambda one: one["density"]):
                for name, seconds in by_layout(line, executes).items():
                    series.setdefault(name, []).append((line["density"], 1e9 * seconds / line["pairs"]))
            figure("%s_density_%dd_e%d.svg" % (prefix, dimension, executes), "%d-D, N = %d, E = %d: an execution with its "
                   "share of the collection" % (dimension, n, executes), "points a box", "ns a pair, " + machine,
                   [(name, points, "both") for name, points in series.items()])


def draw_crossovers(data, prefix="near", machine="one thread", precisions=("fp64", "fp64")):
    """The fastest layout over N and density: where one takes over from another."""
    for dimension in (2, 3):
        chosen = [line for line in data if line["dimension"] == dimension and line["precision"] == precisions[dimension - 2]]
        panels = []
        for executes in EXECUTES:
            cells = {}
            for line in chosen:
                measured = by_layout(line, executes)
                best = min(measured, key=measured.get)
                his = min((measured[name] for name in HIS if name in measured), default=None)
                density = min(DENSITIES, key=lambda d: abs(math.log(d / line["density"])))
                cells[density, line["n"]] = (best, "%.3g" % (his / measured[best]) if his else "")
            panels.append(("E = %d" % executes, [(*place, *cell) for place, cell in sorted(cells.items())]))
        if chosen:
            cell_maps(os.path.join(HERE, "%s_crossover_%dd.svg" % (prefix, dimension)), "%d-D, %s, %s: the fastest layout, and how many "
                      "times as long the better of the paper's two takes" % (dimension, chosen[0]["precision"], machine),
                      "points a box", "N", panels, LAYOUTS)


def draw_prediction(data, prefix="near"):
    pairs = [(by_layout(line, 1), by_layout(line, 1, "predicted_s")) for line in data]
    names = sorted({name for measured, _ in pairs for name in measured})
    figure(prefix + "_prediction.svg", "Predicted over measured, E = 1, points not used for fitting", "measured, s",
           "predicted / measured", [(name, [(m[name], p[name] / m[name]) for m, p in pairs if name in m], "dots")
                                    for name in names])


def draw_paper(his, data, prefix="near", machine="one thread of a CPU"):
    ups = sorted((u for u in map(speed_ups, his) if u and 0.5 <= u["d"] <= 5), key=lambda u: u["n"])
    if not ups:
        return
    c = fits(his)
    for number, key, factor in ((1, "collect", c["lambda_ram"]), (2, "kernel", c["lambda_gpu"])):
        figure("%s_paper_%d.svg" % (prefix, number), "Figure %d: replicated over indexed, %s" % (number, key), "N", "speed-up",
               [("measured", [(u["n"], u[key]) for u in ups], "dots"),
                ("his model, fitted", [(u["n"], factor * u["model_" + key]) for u in ups], "dots")])
    shares = [(c[share], phase) for share, phase in (("alpha", "collect"), ("beta", "kernel"), ("gamma", "transfer")) if share in c]
    figure("%s_paper_3.svg" % prefix, "Figure 3: replicated over indexed, all", "N", "speed-up",
           [("measured", [(u["n"], u["total"]) for u in ups], "dots"),
            ("equation 11, fitted", [(u["n"], sum(share * u[phase] for share, phase in shares)) for u in ups], "dots")])
    for number, title, ratio in ((4, "indexed against the serial loop", lambda m, s: s / m["indexed"]),
                                 (5, "replicated against the serial loop", lambda m, s: s / m["replicated"]),
                                 (6, "replicated against indexed", lambda m, s: m["indexed"] / m["replicated"])):
        series = {}
        for line in data:
            measured = by_layout(line, 1)
            if line["height"] and "replicated" in measured and "indexed" in measured and "serial_s" in line:
                base = round(1 + (len(bin(line["n"])) - 3) / 2)
                series.setdefault(line["height"] - base, []).append((line["n"], ratio(measured, line["serial_s"])))
        figure("%s_paper_%d.svg" % (prefix, number), "Figure %d: %s, %s" % (number, title, machine), "N = 4^(L-1)",
               "speed-up", [("i = %d" % i, sorted(points), "both") for i, points in sorted(series.items())])


def draw(_):
    draw_sweep(lines("near_sweep.jsonl"))
    draw_crossovers(lines("near_sweep.jsonl"))
    draw_prediction(lines("near_sweep.jsonl"))
    draw_paper(lines("near_steps.jsonl"), lines("near_paper.jsonl"))
    draw_paper(lines("near_gpu_steps.jsonl"), lines("near_gpu_paper.jsonl"), "near_gpu", "one H200, collected by one thread")
    draw_sweep(lines("near_gpu.jsonl"), "near_gpu", "one H200", ("fp64", "fp32"))
    draw_crossovers(lines("near_gpu.jsonl"), "near_gpu", "one H200", ("fp64", "fp32"))
    draw_prediction(lines("near_gpu.jsonl"), "near_gpu")
