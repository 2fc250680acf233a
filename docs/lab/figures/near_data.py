# SPDX-License-Identifier: BSD-3-Clause
"""What near.py measures, read back: seconds by layout, and the paper's phases, laws and constants. Standard library only."""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
DENSITIES = (0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256)
EXECUTES = (1, 10, 1000)
HIS = ("indexed", "replicated")
HIS_CONSTANTS = {"lambda_ram": 108, "lambda_gpu": 640, "alpha": 0.82, "beta": 0.09, "gamma": 0.18}
LAYOUTS = ("indexed", "ranges", "replicated", "replicated_interleaved", "replicated_group", "tiled", "tiled_split",
           "replicated_packed", "replicated_group_padded")


def lines(name):
    path = os.path.join(DATA, name)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def total(times, executes, chunked):
    """Seconds of one of `executes` executions; chunked ones collect every time."""
    rest = times["charges"] + times["transfer"] + times["kernel"] + times["scatter"]
    return rest + (times["collection"] if chunked else times["collection"] / executes)


def by_layout(line, executes, which="time_s"):
    if line["backend"] != "cpu":  # phases of a GPU overlap: from call to return
        return {one["layout"]: one[which]["total"] - (1 - (1 if one["chunks"] > 1 else 1 / executes)) * one[which]["collection"]
                for one in line["layouts"] if not one.get("refused")}
    return {one["layout"]: total(one[which], executes, one["chunks"] > 1) for one in line["layouts"] if not one.get("refused")}


def least_squares(rows, right):
    """Normal equations by Gauss; few unknowns."""
    n = len(rows[0])
    a = [[sum(r[i] * r[j] for r in rows) for j in range(n)] + [sum(r[i] * b for r, b in zip(rows, right))] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(a[k][i]))
        a[i], a[pivot] = a[pivot], a[i]
        for k in range(n):
            if k != i and a[i][i] != 0:
                factor = a[k][i] / a[i][i]
                a[k] = [x - factor * y for x, y in zip(a[k], a[i])]
    return [a[i][n] / a[i][i] if a[i][i] else 0 for i in range(n)]


def his_phases(line, times):
    """Seconds of collection, transfer and kernel, whose sum is the time of one execution from nothing. On a GPU what is neither of
    the last two is the host's: collection, charges, making the plan."""
    if line["backend"] != "cpu":
        return {"collect": times["total"] - times["transfer"] - times["kernel"], "transfer": times["transfer"], "kernel": times["kernel"]}
    return {"collect": times["collection"] + times["charges"], "kernel": times["kernel"]}


def speed_ups(line):
    """Measured speed-ups of replicated over indexed in each phase and in all, with what his equations 16, 15 and 28 say at lambda = 1."""
    parts = {one["layout"]: one for one in line["layouts"] if not one.get("refused")}
    if "indexed" not in parts or "replicated" not in parts or line["dimension"] != 2 or line["pairs"] == 0:
        return None
    if line["backend"] != "cpu" and parts["replicated"]["chunks"] > 1:
        return None  # phases overlap
    i, r = (his_phases(line, parts[name]["time_s"]) for name in HIS)
    t, d, n = line["largest"], line["density"], line["n"]
    ups = {phase: i[phase] / r[phase] for phase in i}
    return {"n": n, "d": d, **ups, "total": sum(i.values()) / sum(r.values()), "model_collect": 1 / (21.6 * t * d),
            "model_transfer": 1 / (21.6 * d), "model_kernel": 55.31 * t / (n * d)}


def fits(data):
    """His lambdas by least squares, and as he takes them (mean of measured over model), and the shares of equation 11."""
    ups = [u for u in map(speed_ups, data) if u]

    def square(k):
        return sum(u[k] * u["model_" + k] for u in ups) / sum(u["model_" + k] ** 2 for u in ups)

    def mean(k):
        return sum(u[k] / u["model_" + k] for u in ups) / len(ups)

    phases = [phase for phase in ("collect", "kernel", "transfer") if phase in ups[0]]
    shares = least_squares([[u[phase] for phase in phases] for u in ups], [u["total"] for u in ups])
    return {"lambda_ram": square("collect"), "lambda_ram_mean": mean("collect"), "lambda_gpu": square("kernel"),
            "lambda_gpu_mean": mean("kernel"), **dict(zip(("alpha", "beta", "gamma"), shares)), "points": len(ups)}
