#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures and draws what balancing costs on simulated ranks (ranks-notes.md). Standard library only.

  ranks.py measure NAME... [--graft PATH]   writes data/ranks_NAME.jsonl, one answer of `graft simulate` a line
  ranks.py draw [NAME...]                   fits the closed forms, prints tables, writes ranks_NAME*.svg

  crossover   ORB, central and distributed, 32,937 objects, alpha 10, 100, 1000 us, gamma fitted (liu2022, figure 2.3)
  today       the same with measured computation, and with a step of 5 ns to 16,384 ranks: where the curves cross now
  forms       the four strategies with alpha, beta and gamma varied one at a time: equations 2.2, 2.4, 2.5, 2.6
  strategies  init, strategy and total of the four, 46 to 5,888 ranks, 16 objects each (figures 2.4 to 2.6)
  forces      one force evaluation on simulated ranks, both ways of exchange
  million     distributed strategies to as many ranks as fit here, and the model to 2^20
"""
import argparse
import json
import math
import os
import subprocess
import sys

from svg import chart

HERE = os.path.dirname(os.path.abspath(__file__))
BETA = 1e-9
OBJECTS = 32937  # on 2,048 ranks; as many per rank on fewer
# Seconds per elementary step for which central and distributed ORB cost the same between 1,024 and 2,048 ranks at
# alpha = 1000 us: the one fitted number of figure 2.3 (0.82e-7 to 1.24e-7 do, interpolated).
GAMMA = 1e-7
GAMMA_TODAY = 5e-9  # measured: thread time of the central solve over the steps it counts
ALPHAS = [1e-5, 1e-4, 1e-3]
FOUR = ["orb-central", "orb-distributed", "prefix-central", "prefix-distributed"]


def simulate(graft, **settings):
    words = [word for key, value in settings.items() for word in ("--set", "%s=%s" % (key, value))]
    print("graft simulate", *words[1::2], file=sys.stderr)
    done = subprocess.run([graft, "simulate", "--json", *words], check=True, stdout=subprocess.PIPE, text=True)
    kept = ("level", "objects", "node_size", "free_split", "alpha")
    return dict(json.loads(done.stdout), **{key: value for key, value in settings.items() if key in kept})


def doubling(first, last):
    return [first << k for k in range(64) if first << k <= last]


def crossing(graft, gamma, first=32, last=2048):
    return [simulate(graft, strategy=strategy, ranks=ranks, objects=OBJECTS * ranks // 2048, alpha=alpha, beta=BETA,
                     gamma=gamma) for strategy in FOUR[:2] for alpha in ALPHAS for ranks in doubling(first, last)]


def measure_crossover(graft):
    return crossing(graft, GAMMA)


def measure_today(graft):
    return crossing(graft, "measured") + crossing(graft, GAMMA_TODAY, 32, 16384)


def measure_forms(graft):
    machines = [(1e-5, 1e-9, 5e-9), (1e-4, 1e-9, 5e-9), (1e-5, 1e-8, 5e-9), (1e-5, 1e-9, 5e-8)]
    return [simulate(graft, strategy=strategy, ranks=ranks, alpha=alpha, beta=beta, gamma=gamma)
            for strategy in FOUR for alpha, beta, gamma in machines for ranks in doubling(64, 4096)]


def measure_strategies(graft):
    return [simulate(graft, strategy=strategy, ranks=ranks, alpha=1e-5, beta=BETA, gamma="measured")
            for strategy in FOUR for ranks in doubling(46, 5888)]


NODE = {"node_size": 64} # ranks; alpha 1 us and beta 0.1 ns a byte inside, the defaults of the tool


def measure_million(graft):
    """All four on one kind of link, distributed ORB on nodes of 64 ranks, and its upper level alone: one leader a
    node that holds the node's objects."""
    runs = []
    for ranks in doubling(1024, 65536)[::2]:
        machine = {"alpha": 1e-5, "beta": BETA, "gamma": GAMMA_TODAY}
        runs.append(simulate(graft, strategy=FOUR[1], ranks=ranks, **machine))
        runs.append(simulate(graft, strategy=FOUR[1], ranks=ranks, **machine, **NODE))
        runs.append(dict(simulate(graft, strategy=FOUR[1], ranks=ranks // 64, objects_per_rank=1024, **machine),
                         leaders_of=ranks))
        runs += [simulate(graft, strategy=strategy, ranks=ranks, **machine) for strategy in (FOUR[3], FOUR[0], FOUR[2])]
    return runs


def measure_forces(graft):
    """One force evaluation, a thousand particles a rank, essential trees sent (push) or nodes asked for (fetch)."""
    return [simulate(graft, forces=way, ranks=ranks, particles_per_rank=1000, alpha=alpha, beta=BETA, gamma="measured")
            for alpha in (1e-6, 1e-5) for way in ("push", "fetch") for ranks in (8, 64, 256)]


def solve(matrix, right):
    """Gaussian elimination; zero for columns that vanish."""
    n = len(right)
    rows = [list(map(float, matrix[i])) + [float(right[i])] for i in range(n)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        if abs(rows[k][k]) < 1e-300:
            continue
        for i in range(n):
            if i != k:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k])]
    return [rows[i][n] / rows[i][i] if abs(rows[i][i]) > 1e-300 else 0.0 for i in range(n)]


def fit(points, terms):
    """Least squares of relative errors, coefficients >= 0: terms that would be negative are dropped.
    points: [(arguments, value)]; terms: functions of the arguments. Answers coefficients and the largest
    relative error."""
    active = list(range(len(terms)))
    while True:
        rows = [[terms[t](a) / value for t in active] for a, value in points]
        scale = [max(abs(row[j]) for row in rows) or 1.0 for j in range(len(active))]
        rows = [[v / s for v, s in zip(row, scale)] for row in rows]
        normal = [[sum(r[i] * r[j] for r in rows) for j in range(len(active))] for i in range(len(active))]
        found = [c / s for c, s in zip(solve(normal, [sum(r[i] for r in rows) for i in range(len(active))]), scale)]
        if all(c >= 0 for c in found):
            break
        active.remove(active[found.index(min(found))])
    coefficients = [0.0] * len(terms)
    for t, c in zip(active, found):
        coefficients[t] = c
    worst = max(abs(sum(c * f(a) for c, f in zip(coefficients, terms)) / value - 1) for a, value in points)
    return coefficients, worst


def log2(x):
    return math.log2(max(x, 2))


# Arguments: (P, V, alpha, beta, gamma). liu2022, equations 2.2, 2.4, 2.5, 2.6.
FORMS = {
    "orb-central": ("2.2: a log P alpha + b V log P beta + c V log V log P gamma",
                    [lambda a: log2(a[0]) * a[2], lambda a: a[1] * log2(a[0]) * a[3],
                     lambda a: a[1] * log2(a[1]) * log2(a[0]) * a[4]]),
    "orb-distributed": ("2.4: log P (log P (a alpha + b beta) + c gamma)",
                        [lambda a: log2(a[0]) ** 2 * a[2], lambda a: log2(a[0]) ** 2 * a[3],
                         lambda a: log2(a[0]) * a[4]]),
    "prefix-central": ("2.5: a log P alpha + b V log P beta + c V log V gamma",
                       [lambda a: log2(a[0]) * a[2], lambda a: a[1] * log2(a[0]) * a[3],
                        lambda a: a[1] * log2(a[1]) * a[4]]),
    "prefix-distributed": ("2.6: a log P alpha + b P beta + c gamma",
                           [lambda a: log2(a[0]) * a[2], lambda a: a[0] * a[3], lambda a: a[4]]),
}


def arguments_of(run):
    objects = run.get("objects") or 16 * run["ranks"]
    gamma = run["gamma_s"] if run["gamma_s"] != "measured" else 1e-9
    return run["ranks"], objects, run["alpha_s"], run["beta_s_per_byte"], gamma


def fit_form(runs, strategy, which="total"):
    points = [(arguments_of(r), r["time_s"][which]) for r in runs if r["strategy"] == strategy]
    text, terms = FORMS[strategy]
    coefficients, worst = fit(points, terms)
    print("%-19s %s\n%19s a = %.4g, b = %.4g, c = %.4g; largest relative deviation %.0f %%"
          % (strategy, text, "", *coefficients, 100 * worst))
    return lambda a: sum(c * f(a) for c, f in zip(coefficients, terms))


def read(name):
    with open(os.path.join(HERE, "data", "ranks_%s.jsonl" % name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def curve(runs, strategy, which, alpha=None):
    return sorted((r["ranks"], r["time_s"][which]) for r in runs
                  if r["strategy"] == strategy and (alpha is None or r["alpha_s"] == alpha))


def crossing_of(central, distributed):
    """Where the distributed curve falls below the central one for good."""
    cross = None
    for (p, c), (_, d) in zip(central, distributed):
        if d >= c:
            cross = None
        elif cross is None:
            cross = p
    return cross


def crossing_chart(name, title, runs):
    series = []
    for alpha in ALPHAS:
        central, distributed = (curve(runs, s, "total", alpha) for s in FOUR[:2])
        print("alpha %4g us: " % (alpha * 1e6) + "  ".join("P %d: %.3g / %.3g ms" % (p, 1e3 * c, 1e3 * d)
              for (p, c), (_, d) in zip(central, distributed)))
        print("               distributed wins from P = %s" % crossing_of(central, distributed))
        series.append(("central, %g us" % (alpha * 1e6), central, "dashed"))
        series.append(("distributed, %g us" % (alpha * 1e6), distributed, "both"))
    chart(os.path.join(HERE, "ranks_%s.svg" % name), title, "ranks", "seconds (simulated)", series)


def draw_crossover():
    crossing_chart("crossover", "ORB, 16 objects a rank, step %g ns (liu2022, figure 2.3)" % (GAMMA * 1e9), read("crossover"))


def draw_today():
    runs = read("today")
    crossing_chart("today", "ORB, 16 objects a rank, computation measured", [r for r in runs if r["gamma_s"] == "measured"])
    crossing_chart("today_step", "ORB, 16 objects a rank, step %g ns" % (GAMMA_TODAY * 1e9),
                   [r for r in runs if r["gamma_s"] != "measured"])


def draw_strategies():
    runs = read("strategies")
    for which in ("init", "strategy", "total"):
        print("%s, ms" % which)
        for strategy in FOUR:
            print("  %-19s" % strategy + "".join("%10.3f" % (1e3 * t) for _, t in curve(runs, strategy, which)))
        chart(os.path.join(HERE, "ranks_strategies_%s.svg" % which), "%s time, 16 objects a rank, alpha 10 us" % which,
              "ranks", "seconds (simulated)", [(s, curve(runs, s, which), "both") for s in FOUR])


def draw_forms():
    runs = read("forms")
    for strategy in FOUR:
        form = fit_form(runs, strategy)
        machines = sorted({arguments_of(r)[2:] for r in runs})
        series = []
        for machine in machines:
            points = sorted((r["ranks"], r["time_s"]["total"]) for r in runs
                            if r["strategy"] == strategy and arguments_of(r)[2:] == machine)
            name = "%g us, %g ns/B, %g ns" % tuple(x * s for x, s in zip(machine, (1e6, 1e9, 1e9)))
            series.append((name, points, "points"))
            series.append(("  fit", [(p, form((p, 16 * p) + machine)) for p, _ in points], "line"))
        chart(os.path.join(HERE, "ranks_forms_%s.svg" % strategy), "%s: alpha, beta, gamma; equation %s"
              % (strategy, FORMS[strategy][0].split(":")[0]), "ranks", "seconds (simulated)", series)


def tree_model(points):
    """T = (a log2(P)^2 + b log2(P)) alpha through points (P, alpha, T)."""
    coefficients, worst = fit([((p, alpha), t) for p, alpha, t in points],
                              [lambda x: log2(x[0]) ** 2 * x[1], lambda x: log2(x[0]) * x[1]])
    return coefficients, worst


def draw_million():
    runs = read("million")
    flat = [r for r in runs if "node_size" not in r and "leaders_of" not in r]
    groups = [(s, [r for r in flat if r["strategy"] == s]) for s in FOUR]
    groups.append(("orb-distributed, nodes of 64", [r for r in runs if "node_size" in r]))
    groups.append(("  leaders of nodes only", [dict(r, ranks=r["leaders_of"]) for r in runs if "leaders_of" in r]))
    series = []
    million = 1 << 20
    for name, group in groups:
        group.sort(key=lambda r: r["ranks"])
        print(name)
        for r in group:
            print("  %7d ranks: init %8.3f  strategy %9.3f  total %9.3f ms; wall %6.1f s, %.3g messages, %.3g bytes, most on a rank "
                  "%d bytes" % (r["ranks"], *(1e3 * r["time_s"][w] for w in ("init", "strategy", "total")), r["wall_s"],
                                r["messages"], r["bytes"], r["rank_bytes_peak"]))
        series.append((name, [(r["ranks"], r["time_s"]["strategy"]) for r in group], "both"))
        if "central" in name or "leaders" in name:
            continue
        (a, b), worst = tree_model([(r["ranks"], r["alpha_s"], r["time_s"]["strategy"]) for r in group])
        print("  strategy = (%.3g log2(P)^2 + %.3g log2(P)) alpha, within %.0f %%; at 2^20 ranks %.3g ms"
              % (a, b, 100 * worst, 1e3 * (400 * a + 20 * b) * 1e-5))
    for name, strategy in (("orb-central", FOUR[0]), ("prefix-central", FOUR[2])):
        form = fit_form(flat, strategy)
        print("  %s at 2^20 ranks: %.3g s" % (name, form((million, 16 * million, 1e-5, BETA, GAMMA_TODAY))))
    # What splitting by an allgather of 8 bytes a rank would add to halving: ring from 512 KiB on, else doubling.
    for ranks in (1 << 12, 1 << 16, million):
        total = 0.0
        for k in range(int(log2(ranks)) - 8):
            p = ranks >> k
            total += (p - 1) * (1e-5 + 8 * BETA) if 8 * p >= 524288 else log2(p) * 1e-5 + 8 * p * BETA
        print("MPI_Comm_split at every halving of %d ranks: %.4g ms" % (ranks, 1e3 * total))
    chart(os.path.join(HERE, "ranks_million.svg"), "strategy time, 16 objects a rank, alpha 10 us, step 5 ns", "ranks",
          "seconds (simulated)", series)


def draw_forces():
    print("alpha us, way, ranks: total, wait mean ms; bytes sent mean, max KB; messages mean, max; rounds")
    for r in read("forces"):
        print("  %5g %-5s %5d: %8.2f %8.2f   %8.1f %8.1f   %6.0f %6d   %d" % (
            1e6 * r["alpha"], r["forces"], r["ranks"], 1e3 * r["time_s"]["total"], 1e3 * r["time_s"]["wait_mean"],
            r["bytes_sent"]["mean"] / 1e3, r["bytes_sent"]["max"] / 1e3, r["messages"]["mean"], r["messages"]["max"],
            r["rounds"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["measure", "draw"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--graft", default="graft")
    arguments = parser.parse_args()
    prefix = arguments.task + "_"
    known = [name[len(prefix):] for name in globals() if name.startswith(prefix)]
    for name in arguments.names or known:
        if name not in known:
            parser.error("no figure '%s'; expected one of %s" % (name, ", ".join(known)))
        if arguments.task == "draw":
            globals()[prefix + name]()
            continue
        runs = globals()[prefix + name](arguments.graft)
        with open(os.path.join(HERE, "data", "ranks_%s.jsonl" % name), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(run) + "\n" for run in runs)


if __name__ == "__main__":
    main()
