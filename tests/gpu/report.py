#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table and results.json of tests/gpu/run.sh.

usage: report.py add FOLDER NAME COMMAND     a measurement's FOLDER/NAME.jsonl to FOLDER/bench.jsonl
       report.py percentiles FILES           answers of `graft check`, the first of one rank: lines for ranks.jsonl
       report.py show FOLDER DEVICE CUDA     steps.txt, bench.jsonl, ranks.jsonl -> the table, FOLDER/results.json
"""
import json
import os
import sys

import rows


def read_lines(path):
    if not os.path.exists(path):
        return []
    found = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                found.append(json.loads(line))
            except ValueError: # a program that was cut off
                pass
    return found


def add(folder, name, command):
    answers = read_lines(os.path.join(folder, name + ".jsonl"))
    if answers:
        with open(os.path.join(folder, "bench.jsonl"), "a", encoding="utf-8") as file:
            file.write(json.dumps({"name": name, "command": command, "answers": answers}) + "\n")


def percentiles(*files):
    """Errors over ranks in those of one rank, mean over the spheres: each has its own cuts and trees, which change a p99 by a tenth."""
    answers = [read_lines(path) for path in files]
    if not all(answers) or len({len(found) for found in answers}) != 1:
        sys.exit("percentiles: answers are missing in " + ", ".join(files))
    for over in answers[1:]:
        size, backend = over[0]["ranks"]["size"], over[0]["backend"]
        for name in ("median", "p99"):
            ratios = [one["error"][name] / alone["error"][name] for one, alone in zip(over, answers[0])]
            print(json.dumps({"what": f"{size} ranks of MPI: {name} over one's", "n": over[0]["n"], "ours": sum(ratios) / len(ratios),
                              "unit": "x", "first": 1.1, "of": ratios, "backend": backend,
                              "command": f"mpiexec -n {size} graft check --backend {backend}"}))


def read_steps(folder):
    with open(os.path.join(folder, "steps.txt"), encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if line.strip()]
    return [dict(zip(("stage", "name", "status", "seconds", "remark"), line)) | {"seconds": int(line[3])} for line in lines]


def show_steps(steps):
    width = max([len(step["name"]) for step in steps] + [4])
    print(f"\n{'stage':9} {'step':{width}}  status     s")
    for step in steps:
        print(f"{step['stage']:9} {step['name']:{width}}  {step['status']:8} {step['seconds']:4}  {step['remark']}".rstrip())


def number(value):
    if value is None:
        return "-"
    return f"{value:.3g}" if abs(value) >= 1e5 or abs(value) < 1e-3 else f"{value:.4g}"


def show_rows(table, assumed):
    if not table:
        return
    width = max(len(one["what"]) for one in table)
    print(f"\n{'what':{width}} {'n':>9} {'ours':>9} {'unit':11} {'first':>8} {'goal':>8} {'floor':>9} {'share':>6}  ok    remark | command")
    for one in table:
        share = f"{100 * one['share']:.0f} %" if one.get("share") else "-"
        print(f"{one['what']:{width}} {number(one['n']):>9} {number(one['ours']):>9} {one['unit']:11} {number(one['first']):>8} "
              f"{number(one['goal']):>8} {number(one['floor']):>9} {share:>6}  {one['ok'] or '-':5} {one['remark']} | {one['command']}")
    if assumed:
        print("floors by an H200's rates: the row pairs was not measured in this run")


def show(folder, device, cuda):
    steps, benchmarks = read_steps(folder), read_lines(os.path.join(folder, "bench.jsonl"))
    table, assumed = rows.all_rows(benchmarks, read_lines(os.path.join(folder, "ranks.jsonl")))
    show_rows(table, assumed)
    show_steps(steps)
    kinds = {"ok": ("ok", "clean"), "failed": ("failed", "findings", "lost", "cut off"), "skipped": ("skipped",)}
    count = {kind: sum(step["status"] in words for step in steps) for kind, words in kinds.items()}
    met = {ok: sum(one["ok"] == ok for one in table) for ok in ("goal", "yes", "no")}
    print(f"\nsteps: {count['ok']} ok, {count['failed']} failed, {count['skipped']} skipped; targets: {met['goal']} at the goal, "
          f"{met['yes']} at the first step, {met['no']} not reached")
    path = os.path.join(folder, "results.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"device": device, "cuda": cuda, "steps": steps, "rows": table, "benchmarks": benchmarks}, file, indent=1)
        file.write("\n")
    print(path)


if __name__ == "__main__":
    {"add": add, "percentiles": percentiles, "show": show}[sys.argv[1]](*sys.argv[2:])
