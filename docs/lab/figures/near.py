#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The near field's layouts swept over points, density and executions, and p2p-data-replication's figures. Standard library only.

  near.py measure sweep [--graft PATH] [--machine FILE] [--backend cpu|gpu] [--most-pairs P] [--passes N] [--out FILE]
  near.py measure paper [...]       quadtrees of height 3 + i ..., N = 4^(L-1): figures 4 to 6; --repeats 20 is the paper's
  near.py measure steps [...]       his N from 1e3 to 1e6 (--every 1 for all 118), L raised until no box has more than CT = 15
                                    points: figures 1 to 3; --repeats 20 is the paper's
  near.py measure threads [...]     every layout by 1, 2, 4 ... threads, as many as there are cores (wall time: an idle machine, please)
  near.py draw                      data/near_{sweep,steps,paper,gpu,gpu_steps,gpu_paper}.jsonl -> near_*.svg
  near.py table [--data NAME]       (near_gpu.jsonl: of study_near_sweep) prediction error, regret for E = 1, 10, 1000, the fastest layouts,
                                    our best layout against his; without NAME also the speed-up of several threads, the paper's constants
                                    fitted here, and where its replicated layout ceases to be the faster one
  near.py halves [--samples FILE]   what `study_near_sweep --samples FILE` measured on a GPU: the model fitted to every second structure
                                    and judged on the others, both ways; --rows: fitted to all, as rows of near/choice/near_terms_gpu.cpp

Each line of data is one answer of `graft bench p2p --density ... ` with E = 1: for other E the collection's share is 1/E
and the choice is that of the predictions alone.
"""
import argparse
import concurrent.futures
import json
import lzma
import math
import os
import statistics
import subprocess

from near_data import (DATA, DENSITIES, EXECUTES, HIS, HIS_CONSTANTS, LAYOUTS, by_layout, fits, lines, quantile, speed_ups)
from near_draw import draw

POINTS = (1000, 10000, 100000, 1000000)
PAPER_HEIGHTS, PAPER_GROWTH = (4, 5, 6, 7, 8, 9, 10, 11), (-3, -2, -1, 0, 1, 2, 3)


def bench(options, words):
    command = [options.graft, "bench", "p2p", "--backend", options.backend, "--repeats", str(options.repeats),
               "--memory", options.memory, "--json"]
    if "--threads" not in words:
        command += ["--threads", str(options.threads)]
    if options.machine:
        command += ["--machine", options.machine]
    if options.collect != "device":
        command += ["--collect", options.collect]
    done = subprocess.run(command + words, check=False, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def sweep(options):
    for dimension, neighbours in ((2, 9), (3, 27)):
        for n in POINTS:
            for density in DENSITIES:
                if options.least_pairs < n * density * neighbours <= options.most_pairs and n >= 4 * density:
                    yield ["--n", str(n), "--density", str(density), "--dimension", str(dimension), "--serial", "3"]


def paper(options):
    """N = 4^(L-1) points; CT = 15 keeps L where D = 1, then L grows by i."""
    for height in PAPER_HEIGHTS:
        n = 4 ** (height - 1)
        for growth in PAPER_GROWTH:
            if not options.least_points <= n <= options.most_points:
                continue
            if height + growth >= 1 and \
                    options.least_pairs < 9 * max(n * 4.0 ** -growth, 4.0 ** (height + growth - 1)) <= options.most_pairs:
                yield ["--n", str(n), "--height", str(height + growth), "--dimension", "2", "--serial", "3",
                       "--layout", "indexed,replicated"]


def height_for(n, options, most=15):
    """The least height at which no box has more than CT points (his rule), found as the bench counts them."""
    height = 3
    while 4 ** (height - 1) * most < n:
        height += 1  # fewer boxes than that cannot do
    while True:
        answer = bench(argparse.Namespace(**{**vars(options), "repeats": 1, "backend": "cpu", "collect": "device"}),
                       ["--n", str(n), "--height", str(height), "--dimension", "2", "--layout", "indexed", "--no-trial"])
        if not answer or json.loads(answer)["largest"] <= most:
            return height
        height += 1


def steps(options):
    known = {line["n"]: line["height"] for line in lines("near_steps.jsonl")}  # of the same points
    for n in (list(range(1000, 100001, 1000)) + list(range(150000, 1000001, 50000)))[::options.every]:
        if not options.least_points <= n <= options.most_points:
            continue
        yield ["--n", str(n), "--height", str(known.get(n) or height_for(n, options)), "--dimension", "2", "--serial", "3",
               "--layout", "indexed,replicated"]


def threads(_):
    for dimension in (2, 3):
        for n, density in ((20000, 4), (20000, 64), (200000, 4), (200000, 64)):
            for count in (1 << k for k in range(len(os.sched_getaffinity(0)).bit_length())):
                yield ["--n", str(n), "--density", str(density), "--dimension", str(dimension), "--threads", str(count)]


def middle(answers):
    """One case answered several times: each layout's seconds and the serial loop's are medians over the answers, the choice is the first's."""
    line = answers[0]
    measured = [{one["layout"]: one for one in answer["layouts"]} for answer in answers]
    for one in line["layouts"]:
        if not one.get("refused"):
            own = [layouts[one["layout"]]["time_s"] for layouts in measured if not layouts[one["layout"]].get("refused")]
            one["time_s"] = {phase: statistics.median(times[phase] for times in own) for phase in own[0]}
            one["pairs_per_s"] = line["pairs"] / one["time_s"]["total"]
    if "serial_s" in line:
        line["serial_s"] = statistics.median(answer["serial_s"] for answer in answers)
    totals = {one["layout"]: one["time_s"]["total"] for one in line["layouts"] if not one.get("refused")}
    line["best"] = min(totals, key=totals.get)
    if line["choice"] in totals:
        line["regret"] = (totals[line["choice"]] + line["trial_s"]) / totals[line["best"]] - 1
    line["passes"] = len(answers)
    return line


def measure(options):
    cases = list({"sweep": sweep, "paper": paper, "steps": steps, "threads": threads}[options.what](options))
    answers = [[] for _ in cases]
    out = options.out or os.path.join(DATA, "near_%s.jsonl" % options.what)
    for _ in range(options.passes):
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as several:
            for own, answer in zip(answers, several.map(lambda words: bench(options, words), cases)):
                own += [answer] if answer else []
                lines_so_far = (found[0] if len(found) == 1 else json.dumps(middle(list(map(json.loads, found))), separators=(",", ":"))
                                for found in answers if found)
                with open(out + ".new", "w", encoding="utf-8") as file:
                    file.writelines(line + "\n" for line in lines_so_far)
                os.replace(out + ".new", out)  # whoever stops it keeps what there is


def regrets(data, executes):
    found = []
    for line in data:
        measured, predicted = by_layout(line, executes), by_layout(line, executes, "predicted_s")
        choice = line["choice"] if executes == line["executes"] else min(predicted, key=predicted.get)
        found.append((measured[choice] / min(measured.values()) - 1, line, choice, min(measured, key=measured.get)))
    return found


def up_to(ups, key):
    """The numbers of points between which replicated ceases to be the faster one (of ups by N), or that it is or is not everywhere."""
    wins = [u["n"] for u in ups if u[key] > 1]
    loses = [u["n"] for u in ups if u[key] <= 1 and (not wins or u["n"] > wins[-1])]
    return "nowhere" if not wins else "%d ... %d" % (wins[-1], loses[0]) if loses else "to %d" % wins[-1]


def his_crossovers(data):
    """Per density: the N up to which replicated is faster than indexed, by his equations 31 and 29 (his constants), and measured."""
    c = HIS_CONSTANTS
    ups = sorted((u for u in map(speed_ups, data) if u), key=lambda u: u["n"])
    for u in ups:
        u["model_total"] = (c["alpha"] * c["lambda_ram"] * u["model_collect"] + c["gamma"] * u["model_transfer"]
                            + c["beta"] * c["lambda_gpu"] * u["model_kernel"])
        u["model_kernel"] *= c["lambda_gpu"]
    for density in sorted({u["d"] for u in ups}):
        own = [u for u in ups if u["d"] == density]
        print("points a box %9.6f, N with replicated faster: kernel %s (his 31: %s), in all %s (his 29: %s)" % (
            density, up_to(own, "kernel"), up_to(own, "model_kernel"), up_to(own, "total"), up_to(own, "model_total")))


def autos(data, executes):
    """What layout: auto takes where so many executions are expected, its trial's time shared among them."""
    found = []
    for line in data:
        one = next((one for one in line.get("auto", ()) if one["executes"] == executes), None)
        measured = by_layout(line, executes)
        if one and one["choice"] in measured:
            best = min(measured, key=measured.get)
            found.append(((measured[one["choice"]] + one["trial_s"] / executes) / measured[best] - 1, line, one, best))
    if not found:
        return
    worst = max(found, key=lambda each: each[0])
    print("        layout: auto: regret mean %.3f worst %.3f (n %d D %.2f %d-D: %s for %s), tried %d of %d" % (
        sum(each[0] for each in found) / len(found), worst[0], worst[1]["n"], worst[1]["density"], worst[1]["dimension"],
        worst[2]["choice"], worst[3], sum(each[2]["tried"] for each in found), len(found)))


def against_his(data, executes):
    """Our best layout against the better of his two; slower beyond two standard errors of the difference where they are recorded."""
    ratios, beyond, chosen = [], [], []
    for line in data:
        measured = by_layout(line, executes)
        his = min((name for name in HIS if name in measured), key=measured.get, default=None)
        if his is None:
            continue
        best = min((name for name in measured if name not in HIS), key=measured.get)
        ratios.append(measured[his] / measured[best])
        if "noise" in line:
            noise = [math.hypot(line["noise"][name][0] / executes, line["noise"][name][1]) for name in (his, best)]
            beyond.append(measured[best] - measured[his] > 2 * math.hypot(*noise))
        one = next((one for one in line.get("auto", ()) if one["executes"] == executes), None)
        if one and one["choice"] in measured:
            chosen.append((measured[one["choice"]] + one["trial_s"] / executes) / measured[his])
    print("E %5d: better of his two / our best: %.2f to %.2f, median %.2f; ours slower in %d of %d" % (
        executes, min(ratios), max(ratios), statistics.median(ratios), sum(ratio < 1 for ratio in ratios), len(ratios))
          + (", beyond two standard errors in %d" % sum(beyond) if beyond else ""))
    if chosen:
        print("        layout: auto, which may choose his, too, against the better of his: slower in %d of %d, worst %.3f, median %.3f" % (
            sum(ratio > 1 for ratio in chosen), len(chosen), max(chosen), statistics.median(chosen)))


def table(options):
    data = lines(options.data)
    print("points %d, layouts measured %d" % (len(data), sum(len(by_layout(line, 1)) for line in data)))
    for executes in EXECUTES:
        errors, best_errors, own_errors = [], [], []
        for line in data:
            measured, predicted = by_layout(line, executes), by_layout(line, executes, "predicted_s")
            ratios = [predicted[k] / measured[k] for k in measured]
            errors += [abs(ratio - 1) for ratio in ratios]
            own_errors += [abs(ratio / statistics.median(ratios) - 1) for ratio in ratios]
            best = sorted(measured, key=measured.get)[:3]
            best_errors += [abs(predicted[k] / measured[k] - 1) for k in best]
        found = regrets(data, executes)
        values = [one[0] for one in found]
        worst = max(found, key=lambda one: one[0])
        print("E %5d: |predicted/measured - 1| median %.3f p90 %.3f (three fastest: %.3f %.3f; without what a structure's layouts "
              "have in common: %.3f %.3f); regret mean %.3f worst %.3f (n %d D %.2f %d-D: %s for %s)" % (
                  executes, quantile(errors, 0.5), quantile(errors, 0.9), quantile(best_errors, 0.5), quantile(best_errors, 0.9),
                  quantile(own_errors, 0.5), quantile(own_errors, 0.9), sum(values) / len(values), worst[0],
                  worst[1]["n"], worst[1]["density"], worst[1]["dimension"], worst[2], worst[3]))
        autos(data, executes)
    for line in data:
        print(line["dimension"], "%8d D %7.2f" % (line["n"], line["density"]), line["precision"],
              " ".join("E%d:%s" % (e, min(by_layout(line, e), key=by_layout(line, e).get)) for e in EXECUTES),
              "choice", line["choice"], "regret %.3f" % line.get("regret", float("nan")),
              "serial/best %.1f" % (line.get("serial_s", 0) / min(by_layout(line, 1).values())))
    for executes in EXECUTES if data else ():
        against_his(data, executes)
    if options.data != "near_sweep.jsonl":
        return
    alone = {}
    for line in lines("near_threads.jsonl"):
        key = (line["n"], line["dimension"], round(line["density"]))
        if line["threads"] == 1:
            alone[key] = line
        elif key in alone:
            one, many = by_layout(alone[key], 1000), by_layout(line, 1000)
            print("%d threads n %d %d-D D %d:" % (line["threads"], *key),
                  " ".join("%s %.2f" % (k, one[k] / many[k]) for k in many if k in one))
    for where, prefix in (("a CPU", "near"), ("a GPU", "near_gpu")):
        steps_of = [line for line in lines(prefix + "_steps.jsonl") if speed_ups(line)]
        if steps_of:
            print("his constants on %s:" % where, {k: round(v, 4) for k, v in fits(steps_of).items()}, "his own:", HIS_CONSTANTS)
        his_crossovers(lines(prefix + "_paper.jsonl"))


FORMS = (*LAYOUTS, "tiled, pairs of boxes once")  # as samples are told apart
TERMS, NUMBERS = 8, 13
FAR, BYTES = 5, (4, 6, 7)  # of the terms of collection


def read_samples(path):
    """{structure: {layout: {"chunked", "terms": [phase][term], "s": [phase], "total_s", "transfer_s"}}}, of near_sweep.cpp's write_samples."""
    structures = {}
    with (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="utf-8") as file:
        for words in map(str.split, file):
            dimension, points, density, precision, layout, chunks, phase = words[:7]
            numbers = [float(word) for word in words[7:]]
            one = structures.setdefault((int(dimension), int(points), float(density), int(precision)), {})
            one = one.setdefault(int(layout), {"chunked": int(chunks) > 1, "terms": [0] * 4, "s": [0] * 4})
            one["s"][int(phase)], one["terms"][int(phase)] = numbers[0], numbers[1:1 + TERMS]
            one["total_s"], one["transfer_s"] = numbers[1 + TERMS + NUMBERS], numbers[-1]
    for layouts in structures.values():
        for one in layouts.values():  # beside the kernels and the transfers: calls, waits, the host's copies
            one["s"][3] = max(1e-6, one["total_s"] - one["s"][1] - one["s"][2] - one["transfer_s"])
    return structures


def not_negative(rows, right, rounds=3000):
    """Least squares by coordinates, each at least 0."""
    n = len(rows[0])
    gram = [[sum(r[i] * r[j] for r in rows) for j in range(n)] for i in range(n)]
    target = [sum(r[i] * b for r, b in zip(rows, right)) for i in range(n)]
    x = [0.0] * n
    for _ in range(rounds):
        for i in range(n):
            if gram[i][i] > 0:
                x[i] = max(0.0, x[i] + (target[i] - sum(gram[i][j] * x[j] for j in range(n))) / gram[i][i])
    return x


def fit_phase(samples, phase, known=None):
    """Seconds of each term, by least squares of relative errors (as study/calibrate/near_fit.cpp); `known`: of a part of each sample."""
    rows, right = [], []
    for k, one in enumerate(samples):
        weight = 1 / max(one["s"][phase], 0.05 * sum(one["s"][1 if phase else 0:]), 1e-12)
        rows.append([term * weight for term in one["terms"][phase]])
        right.append((one["s"][phase] - (known[k] if known else 0)) * weight)
    scale = [max(abs(row[k]) for row in rows) or 1 for k in range(TERMS)]
    x = not_negative([[value / by for value, by in zip(row, scale)] for row in rows], right)
    return [value / by for value, by in zip(x, scale)]


def whole(structures, size, layouts):
    """(key, sample) of these layouts where they are not in chunks."""
    return [(key, one) for key, found in structures.items() if (4 if key[3] == 0 else 8) == size
            for layout, one in found.items() if layout in layouts and not one["chunked"]]


def without(samples, phase, left_out):
    """The samples without some terms of a phase."""
    bare = [[0 if k in left_out else term for k, term in enumerate(one["terms"][phase])] for one in samples]
    return [{**one, "terms": one["terms"][:phase] + [terms] + one["terms"][phase + 1:]} for one, terms in zip(samples, bare)]


def fit_layout(structures, size, layout, common):
    """All phases of a layout. Making a plan is ranges' time and what this layout takes longer for the same structure, points' way
    into the boxes' order excepted: what drifts from minute to minute is common to all layouts of a structure, as is what an
    execution takes beside its kernels."""
    own = whole(structures, size, (layout,))
    paired = [(one, structures[key][1]["s"][0]) for key, one in own if 1 in structures[key]]
    extra = fit_phase(without([one for one, _ in paired], 0, (FAR,)), 0, [s for _, s in paired])
    samples = [one for _, one in own]
    return [[x + y for x, y in zip(common[0], extra)], fit_phase(samples, 1), fit_phase(samples, 2), common[1]]


def seconds_of(one, executes, fitted=None):
    """Of an execution with its share of what comes once; predicted where a fit is given."""
    s = one["s"] if fitted is None else [sum(t * x for t, x in zip(terms, xs)) for terms, xs in zip(one["terms"], fitted)]
    return s[1] + s[2] + s[3] + one["transfer_s"] + (0 if one["chunked"] else s[0] / executes)


def fits_of(structures):
    """Without the bytes of ranges in what is common, as study/calibrate/near_fit.cpp."""
    found = {}
    for size in {4 if key[3] == 0 else 8 for key in structures}:
        plain = without([one for _, one in whole(structures, size, (1,))], 0, BYTES)
        common = (fit_phase(plain, 0), fit_phase([one for _, one in whole(structures, size, range(len(FORMS)))], 3))
        for layout in range(len(FORMS)):
            if whole(structures, size, (layout,)):  # a recording may be older than a layout, or have none of a form
                found[layout, size] = fit_layout(structures, size, layout, common)
    return found


def halves(options):
    structures = read_samples(options.samples)
    if options.rows:
        for (layout, size), fitted in sorted(fits_of(structures).items(), key=lambda item: (-item[0][1], item[0][0])):
            print("    {1, %d, %d, 0.25, %s, {}}," % (layout, size, ", ".join(
                "{%s}" % ", ".join("%.3g" % (x if x > 1e-20 else 0) for x in xs) for xs in fitted)))
        return
    keys = sorted(structures)
    for executes in EXECUTES:
        errors, regret = [], []
        for half in (0, 1):
            fitted = fits_of({key: structures[key] for key in keys[half::2]})
            for key in keys[1 - half::2]:
                size = 4 if key[3] == 0 else 8
                known = {layout: one for layout, one in structures[key].items() if not one["chunked"] and (layout, size) in fitted}
                measured = {layout: seconds_of(one, executes) for layout, one in known.items()}
                predicted = {layout: seconds_of(one, executes, fitted[layout, size]) for layout, one in known.items()}
                errors += [(abs(predicted[k] / measured[k] - 1), FORMS[k], key) for k in measured]
                choice, best = min(predicted, key=predicted.get), min(measured, key=measured.get)
                regret.append((measured[choice] / measured[best] - 1, key, FORMS[choice], FORMS[best]))
        values = [one[0] for one in errors]
        print("E %5d: |predicted/measured - 1| median %.3f p90 %.3f; regret mean %.3f median %.3f worst" % (
            executes, quantile(values, 0.5), quantile(values, 0.9), sum(r[0] for r in regret) / len(regret),
            quantile([r[0] for r in regret], 0.5)), sorted(regret, reverse=True)[:3])
        print("   ", " ".join("%s %.2f/%.2f" % (name, quantile(own, 0.5), quantile(own, 0.9)) for name in FORMS
                              for own in [[e[0] for e in errors if e[1] == name]] if own))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["measure", "draw", "table", "halves"])
    parser.add_argument("what", nargs="?", choices=["sweep", "paper", "steps", "threads"], default="sweep")
    parser.add_argument("--graft", default="graft", help="the command to use")
    parser.add_argument("--machine", default="", help="machine file of graft model calibrate")
    parser.add_argument("--backend", default="cpu", choices=["cpu", "gpu"])
    parser.add_argument("--collect", default="device", choices=["device", "host"], help="cuda: who collects; the paper's way is host")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--passes", type=int, default=1, help="over all cases, whose times are medians over the passes: a slow "
                        "minute of the machine then meets one of several")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time, each a process of its own")
    parser.add_argument("--memory", default="6e8", help="cap of a layout's arrays, bytes")
    parser.add_argument("--every", type=int, default=1, help="steps: take every so many of his N")
    parser.add_argument("--least-points", type=float, default=0, help="paper, steps: of his N those from here")
    parser.add_argument("--most-points", type=float, default=1e9, help="to here")
    parser.add_argument("--most-pairs", type=float, default=1e8, help="larger cases are left out")
    parser.add_argument("--least-pairs", type=float, default=0, help="paper, sweep: cases of at most so many are left out")
    parser.add_argument("--out", default="", help="file for the answers")
    parser.add_argument("--data", default="near_sweep.jsonl", help="of data/, for table")
    parser.add_argument("--samples", default=os.path.join(DATA, "near_gpu_samples.txt.xz"), help="of study_near_sweep, for halves")
    parser.add_argument("--rows", action="store_true", help="halves: rows of a table instead")
    options = parser.parse_args()
    {"measure": measure, "draw": draw, "table": table, "halves": halves}[options.action](options)


if __name__ == "__main__":
    main()
