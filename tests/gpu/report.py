#!/usr/bin/env python3
"""The table and results.json of tests/gpu/run.sh, from its steps.txt and bench.jsonl.

usage: report.py FOLDER DEVICE CUDA_RELEASE
"""
import json
import os
import sys

STAGES = ("import", "sort", "tree", "moments", "lists", "p2p", "m2p", "output")


def read_steps(folder):
    with open(os.path.join(folder, "steps.txt"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.strip()]
    return [{"name": name, "status": status, "seconds": int(seconds), "remark": remark}
            for name, status, seconds, remark in rows]


def read_benchmarks(folder):
    path = os.path.join(folder, "bench.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def show_steps(steps):
    width = max([len(step["name"]) for step in steps] + [4])
    print(f"\n{'step':{width}}  status     s")
    for step in steps:
        print(f"{step['name']:{width}}  {step['status']:8} {step['seconds']:4}  {step['remark']}".rstrip())


def show_forces(benchmarks):
    """Whole evaluations, times in milliseconds."""
    forces = [one for one in benchmarks if "particles_per_s" in one["answer"]]
    if not forces:
        return
    print(f"\n{'force evaluation':16} {'total ms':>9} " + " ".join(f"{stage:>8}" for stage in STAGES) +
          f" {'p99':>9} {'pairs/s':>9} {'cells/s':>9}")
    for one in forces:
        answer, times = one["answer"], one["answer"]["time_s"]
        cells = " ".join(f"{times[stage] * 1e3:8.3f}" if stage in times else f"{'-':>8}" for stage in STAGES)
        p99 = answer.get("error", {}).get("p99")
        rates = [answer.get(key) for key in ("p2p_per_s", "m2p_per_s")]
        print(f"{one['name']:16} {times['total'] * 1e3:9.3f} {cells} {p99 if p99 is not None else '-':>9} " +
              " ".join(f"{rate:9.3g}" if rate else f"{'-':>9}" for rate in rates))


def show_others(benchmarks):
    for one in benchmarks:
        if "particles_per_s" not in one["answer"]:
            print(f"\n{one['name']}: {json.dumps(one['answer'])}")


def main(folder, device, cuda):
    steps, benchmarks = read_steps(folder), read_benchmarks(folder)
    show_steps(steps)
    show_forces(benchmarks)
    show_others(benchmarks)
    path = os.path.join(folder, "results.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"device": device, "cuda": cuda, "steps": steps, "benchmarks": benchmarks}, file, indent=1)
        file.write("\n")
    print(f"\n{path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
