#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The run-time model of ORB on a GPU against the GPU: calibrates, then measures what it predicts. A table, model / measured.

usage: orb_model.py GRAFT [--machine FILE] [--out FILE] [--json FILE] [--within SHARE]
GRAFT is the graft command. Without --machine this machine is calibrated (kept in --out). Calibration runs on up to 2^28 points
and 4,096 leaves; the cases are 2^30 points (where they fit), 1e8, and 2^28 with 64 leaves. Ends with status 1 when a total is
further off than SHARE (0.1), with 77 where no case can be run.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

# variant of the bench, settings, variant of the model
VARIANTS = (("rounds", {}, "gpu-rounds"), ("warp", {"partition": "level"}, "gpu-resident"),
            ("level", {"partition": "level"}, "gpu-resident-level"), ("cell", {"partition": "cell"}, "gpu-resident-kernel-per-cell"))
CASES = ((1 << 30, 4096), (100000000, 4096), (1 << 28, 64))
STEPS = (("axis", "make_axis"), ("count", "count"), ("partition", "partition"), ("move", "move"), ("box", "bounds"))


def answer(words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout) if done.stdout.startswith("{") else done.stdout


def measured(graft, variant, settings, n, leaves):
    """Enough repetitions that a host's mood does not decide: the median of 3, of 5 where that is cheap."""
    words = [graft, "bench", "orb", "--backend", "gpu", "--dist", "uniform", "--n", str(n), "--leaves", str(leaves), "--variant",
             variant, "--repeat", "5" if variant == "rounds" else "3", "--set", "verify=false"]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    return answer(words)


def compare(graft, machine, n, leaves):
    predicted = answer([graft, "model", "orb", "--machine", machine, "--n", str(n), "--leaves", str(leaves)])["corrected"]
    for variant, settings, name in VARIANTS:
        run, model = measured(graft, variant, settings, n, leaves), predicted[name]
        time_s = run["time_s"]
        steps = {a: (model[a]["s"], time_s[b]) for a, b in STEPS if a in model and b in time_s}
        yield {"n": n, "leaves": leaves, "variant": variant, "model_s": model["total_s"], "measured_s": time_s["total"],
               "steps": steps, "levels": run.get("levels", run.get("level_s"))}


def show(one):
    share = one["model_s"] / one["measured_s"]
    steps = "  ".join(f"{name} {a:.4f}/{b:.4f}" for name, (a, b) in one["steps"].items())
    print(f"{one['n']:>10} {one['leaves']:>5}  {one['variant']:6} {one['model_s']:8.4f} {one['measured_s']:8.4f} {share:6.2f}  {steps}", flush=True)
    return share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graft")
    parser.add_argument("--machine", default="")
    parser.add_argument("--out", default="")
    parser.add_argument("--json", default="")
    parser.add_argument("--within", type=float, default=0.1)
    given = parser.parse_args()
    if not answer([given.graft, "info", "--json"])["machine"]["gpu"]["usable"]:
        print("no GPU that Graft can use: nothing to compare with", file=sys.stderr)
        return 77
    machine = given.machine or given.out or os.path.join(tempfile.mkdtemp(), "machine.yaml")
    if not given.machine:
        start = time.time()
        answer([given.graft, "model", "calibrate", "--backend", "gpu", "--out", machine])
        print(f"# calibrated in {time.time() - start:.1f} s: {machine}")
    with open(machine, encoding="utf-8") as file:
        gpu = re.search(r"^gpu:.*?^  memory_bytes: (\S+)", file.read(), re.S | re.M)
    print("#        n leaves variant   model  measured  ratio  steps: model/measured, seconds")
    worst, rows = 0.0, []
    for n, leaves in CASES:
        if gpu and 64 * n < float(gpu.group(1)): # ours: 47 B a point
            for one in compare(given.graft, machine, n, leaves):
                worst = max(worst, abs(show(one) - 1))
                rows.append(one)
    if not rows:
        print(f"no case was run: {machine} has {'a GPU of too little memory' if gpu else 'no GPU'}", file=sys.stderr)
        return 77
    print(f"# worst total: {100 * worst:.0f} % off")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(one) + "\n" for one in rows)
    return 1 if worst > given.within else 0


if __name__ == "__main__":
    sys.exit(main())
