#!/usr/bin/env python3
"""The near field's layouts swept over points, density and executions, and p2p-data-replication's figures. Standard library only.

  near.py measure sweep [--graft PATH] [--machine FILE] [--backend cpu|cuda] [--most-pairs P] [--out FILE]
  near.py measure paper [...]       quadtrees of height 3 + i ..., N = 4^(L-1): figures 4 to 6; --repeats 20 is the paper's
  near.py measure steps [...]       his N from 1e3 to 1e6 (--every 1 for all 118), L raised until no box has more than CT = 15
                                    points: figures 1 to 3; --repeats 20 is the paper's
  near.py measure threads [...]     every layout by one and two threads (wall time: an idle machine, please)
  near.py draw                      data/near_{sweep,steps,paper,gpu}.jsonl -> near_*.svg
  near.py table [--data NAME]       (near_gpu.jsonl: of study_near_sweep) prediction error, regret for E = 1, 10, 1000, crossovers, speed-up of two threads, our best
                                    layout against his, his constants fitted here

Each line of data is one answer of `graft bench p2p --density ... ` with E = 1: for other E the collection's share is 1/E
and the choice is that of the predictions alone.
"""
import argparse
import json
import os
import subprocess

from svg import chart

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
POINTS = (1000, 10000, 100000, 1000000)
DENSITIES = (0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256)
EXECUTES = (1, 10, 1000)
HIS = ("indexed", "replicated")
PAPER_HEIGHTS, PAPER_GROWTH = (4, 5, 6, 7, 8, 9, 10, 11), (-3, -2, -1, 0, 1, 2, 3)


def bench(options, words):
    command = [options.graft, "bench", "p2p", "--backend", options.backend, "--repeats", str(options.repeats),
               "--threads", str(options.threads), "--memory", options.memory]
    if options.machine:
        command += ["--machine", options.machine]
    done = subprocess.run(command + words, check=False, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def sweep(options):
    for dimension, neighbours in ((2, 9), (3, 27)):
        for n in POINTS:
            for density in DENSITIES:
                if n * density * neighbours <= options.most_pairs and n >= 4 * density:
                    yield ["--n", str(n), "--density", str(density), "--dimension", str(dimension), "--serial", "3"]


def paper(options):
    """N = 4^(L-1) points; CT = 15 keeps L where D = 1, then L grows by i."""
    for height in PAPER_HEIGHTS:
        n = 4 ** (height - 1)
        for growth in PAPER_GROWTH:
            if height + growth >= 1 and 9 * n * 4.0 ** -growth <= options.most_pairs:
                yield ["--n", str(n), "--height", str(height + growth), "--dimension", "2", "--serial", "3",
                       "--layout", "indexed,replicated"]


def height_for(n, options, most=15):
    """The least height at which no box has more than CT points (his rule), found as the bench counts them."""
    height = 3
    while 4 ** (height - 1) * most < n:
        height += 1  # fewer boxes than that cannot do
    while True:
        answer = bench(argparse.Namespace(**{**vars(options), "repeats": 1}),
                       ["--n", str(n), "--height", str(height), "--dimension", "2", "--layout", "indexed", "--no-trial"])
        if not answer or json.loads(answer)["largest"] <= most:
            return height
        height += 1


def steps(options):
    for n in (list(range(1000, 100001, 1000)) + list(range(150000, 1000001, 50000)))[::options.every]:
        yield ["--n", str(n), "--height", str(height_for(n, options)), "--dimension", "2", "--serial", "3",
               "--layout", "indexed,replicated"]


def threads(_):
    for dimension in (2, 3):
        for n, density in ((20000, 4), (20000, 64), (200000, 4), (200000, 64)):
            for count in (1, 2):
                yield ["--n", str(n), "--density", str(density), "--dimension", str(dimension), "--threads", str(count)]


def measure(options):
    cases = {"sweep": sweep, "paper": paper, "steps": steps, "threads": threads}[options.what](options)
    with open(options.out or os.path.join(DATA, "near_%s.jsonl" % options.what), "w", encoding="utf-8") as file:
        for words in cases:
            answer = bench(options, words)
            if answer:
                file.write(answer + "\n")
                file.flush()


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
    if line["backend"] == "cuda":  # phases of a GPU overlap: from call to return
        return {one["layout"]: one[which]["total"] - (1 - (1 if one["chunks"] > 1 else 1 / executes)) * one[which]["collection"]
                for one in line["layouts"] if not one.get("refused")}
    return {one["layout"]: total(one[which], executes, one["chunks"] > 1) for one in line["layouts"] if not one.get("refused")}


def regrets(data, executes):
    found = []
    for line in data:
        measured, predicted = by_layout(line, executes), by_layout(line, executes, "predicted_s")
        choice = line["choice"] if executes == line["executes"] else min(predicted, key=predicted.get)
        found.append((measured[choice] / min(measured.values()) - 1, line, choice, min(measured, key=measured.get)))
    return found


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


def speed_ups(line):
    """Measured collection, kernel and total speed-ups of replicated over indexed, with what his equations 16 and 28 say at lambda = 1."""
    parts = {one["layout"]: one["time_s"] for one in line["layouts"] if not one.get("refused")}
    if "indexed" not in parts or "replicated" not in parts or line["dimension"] != 2 or line["pairs"] == 0:
        return None
    i, r = parts["indexed"], parts["replicated"]
    t, d, n = line["largest"], line["density"], line["n"]
    collect = (i["collection"] + i["charges"]) / (r["collection"] + r["charges"])
    kernel = i["kernel"] / r["kernel"]
    whole = (i["collection"] + i["charges"] + i["kernel"]) / (r["collection"] + r["charges"] + r["kernel"])
    return {"n": n, "d": d, "collect": collect, "kernel": kernel, "total": whole,
            "model_collect": 1 / (21.6 * t * d), "model_kernel": 55.31 * t / (n * d)}


def fits(data):
    ups = [u for u in map(speed_ups, data) if u]
    square = lambda k: (sum(u[k] * u["model_" + k] for u in ups) / sum(u["model_" + k] ** 2 for u in ups))
    mean = lambda k: sum(u[k] / u["model_" + k] for u in ups) / len(ups)
    shares = least_squares([[u["collect"], u["kernel"]] for u in ups], [u["total"] for u in ups])
    return {"lambda_ram": square("collect"), "lambda_ram_mean": mean("collect"), "lambda_gpu": square("kernel"),
            "lambda_gpu_mean": mean("kernel"), "alpha": shares[0], "beta": shares[1], "points": len(ups)}


def table(options):
    data = lines(options.data)
    print("points %d, layouts measured %d" % (len(data), sum(len(by_layout(line, 1)) for line in data)))
    for executes in EXECUTES:
        errors, best_errors = [], []
        for line in data:
            measured, predicted = by_layout(line, executes), by_layout(line, executes, "predicted_s")
            errors += [abs(predicted[k] / measured[k] - 1) for k in measured]
            best = sorted(measured, key=measured.get)[:3]
            best_errors += [abs(predicted[k] / measured[k] - 1) for k in best]
        found = regrets(data, executes)
        values = [one[0] for one in found]
        worst = max(found, key=lambda one: one[0])
        print("E %5d: |predicted/measured - 1| median %.3f p90 %.3f (three fastest: %.3f %.3f); regret mean %.3f worst %.3f "
              "(n %d D %.2f %d-D: %s for %s)" % (executes, quantile(errors, 0.5), quantile(errors, 0.9),
                                               quantile(best_errors, 0.5), quantile(best_errors, 0.9),
                                               sum(values) / len(values), worst[0], worst[1]["n"], worst[1]["density"],
                                               worst[1]["dimension"], worst[2], worst[3]))
    for line in data:
        print(line["dimension"], "%8d D %7.2f" % (line["n"], line["density"]), line["precision"],
              " ".join("E%d:%s" % (e, min(by_layout(line, e), key=by_layout(line, e).get)) for e in EXECUTES),
              "choice", line["choice"], "regret %.3f" % line.get("regret", float("nan")),
              "serial/best %.1f" % (line.get("serial_s", 0) / min(by_layout(line, 1).values())))
    if options.data != "near_sweep.jsonl":
        return
    ours = [min(s for k, s in by_layout(line, 1).items() if k not in HIS) for line in data]
    his = [min(s for k, s in by_layout(line, 1).items() if k in HIS) for line in data]
    if data:
        print("better of his two / our best: %.2f to %.2f" % (min(h / o for h, o in zip(his, ours)),
                                                             max(h / o for h, o in zip(his, ours))))
    alone = {}
    for line in lines("near_threads.jsonl"):
        key = (line["n"], line["dimension"], round(line["density"]))
        if line["threads"] == 1:
            alone[key] = line
        elif key in alone:
            one, two = by_layout(alone[key], 1000), by_layout(line, 1000)
            print("two threads n %d %d-D D %d:" % key, " ".join("%s %.2f" % (k, one[k] / two[k]) for k in two if k in one))
    everything = data + lines("near_steps.jsonl") + lines("near_paper.jsonl")
    if any(map(speed_ups, everything)):
        print("his constants here:", {k: round(v, 4) for k, v in fits(everything).items()})


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
    pairs = [(by_layout(line, 1), by_layout(line, 1, "predicted_s")) for line in data]
    names = sorted({name for measured, _ in pairs for name in measured})
    figure(prefix + "_prediction.svg", "Predicted over measured, E = 1, points not used for fitting", "measured, s",
           "predicted / measured", [(name, [(m[name], p[name] / m[name]) for m, p in pairs if name in m], "dots")
                                    for name in names])


def draw_paper(data):
    his = lines("near_steps.jsonl") or data
    ups = sorted((u for u in map(speed_ups, his) if u and 0.5 <= u["d"] <= 5), key=lambda u: u["n"])
    if not ups:
        return
    c = fits(his)
    for number, key, factor in ((1, "collect", c["lambda_ram"]), (2, "kernel", c["lambda_gpu"])):
        figure("near_paper_%d.svg" % number, "Figure %d: replicated over indexed, %s" % (number, key), "N", "speed-up",
               [("measured", [(u["n"], u[key]) for u in ups], "dots"),
                ("his model, fitted", [(u["n"], factor * u["model_" + key]) for u in ups], "dots")])
    figure("near_paper_3.svg", "Figure 3: replicated over indexed, all", "N", "speed-up",
           [("measured", [(u["n"], u["total"]) for u in ups], "dots"),
            ("equation 11, fitted", [(u["n"], c["alpha"] * u["collect"] + c["beta"] * u["kernel"]) for u in ups], "dots")])
    for number, title, ratio in ((4, "indexed against the serial loop", lambda m, s: s / m["indexed"]),
                                 (5, "replicated against the serial loop", lambda m, s: s / m["replicated"]),
                                 (6, "replicated against indexed", lambda m, s: m["indexed"] / m["replicated"])):
        series = {}
        for line in data:
            measured = by_layout(line, 1)
            if line["height"] and "replicated" in measured and "serial_s" in line:
                base = round(1 + (len(bin(line["n"])) - 3) / 2)
                series.setdefault(line["height"] - base, []).append((line["n"], ratio(measured, line["serial_s"])))
        figure("near_paper_%d.svg" % number, "Figure %d: %s, one thread of a CPU" % (number, title), "N = 4^(L-1)",
               "speed-up", [("i = %d" % i, sorted(points), "both") for i, points in sorted(series.items())])


def draw(_):
    draw_sweep(lines("near_sweep.jsonl"))
    draw_paper(lines("near_paper.jsonl"))
    draw_sweep(lines("near_gpu.jsonl"), "near_gpu", "one H200", ("fp64", "fp32"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["measure", "draw", "table"])
    parser.add_argument("what", nargs="?", choices=["sweep", "paper", "steps", "threads"], default="sweep")
    parser.add_argument("--graft", default="graft", help="the command to use")
    parser.add_argument("--machine", default="", help="machine file of graft model calibrate")
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", default="6e8", help="cap of a layout's arrays, bytes")
    parser.add_argument("--every", type=int, default=1, help="steps: take every so many of his N")
    parser.add_argument("--most-pairs", type=float, default=1e8, help="larger cases are left out")
    parser.add_argument("--out", default="", help="file for the answers")
    parser.add_argument("--data", default="near_sweep.jsonl", help="of data/, for table")
    options = parser.parse_args()
    {"measure": measure, "draw": draw, "table": table}[options.action](options)


if __name__ == "__main__":
    main()
