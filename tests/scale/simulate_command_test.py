#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`graft simulate` as a person calls it. usage: simulate_command_test.py GRAFT"""
import json
import subprocess
import sys

GRAFT = sys.argv[1]


def graft(*words):
    return subprocess.run([GRAFT, "simulate", *words], text=True, capture_output=True)


def answer(*words):
    done = graft(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


hashes = {}
for strategy in ("orb-central", "orb-distributed", "prefix-central", "prefix-distributed"):
    words = ("--strategy", strategy, "--ranks", "46", "--objects-per-rank", "16", "--alpha", "1e-5", "--beta", "1e-9")
    for gamma in ("measured", "5e-9"):
        a = answer(*words, "--gamma", gamma)
        assert set(a["time_s"]) == {"init", "strategy", "total"}, a
        assert 0 < a["time_s"]["init"] < a["time_s"]["total"] and 0 < a["time_s"]["strategy"] < a["time_s"]["total"], a
        assert a["messages"] > 0 and a["bytes"] > 0 and a["wall_s"] >= 0, a
        assert a["imbalance"]["after"] < a["imbalance"]["before"], a
        hashes.setdefault(strategy.split("-")[0], set()).add(a["owners_hash"])
    assert answer(*words, "--gamma", "5e-9")["time_s"] == a["time_s"], "two runs with a given gamma differ"
    slow = answer("--strategy", strategy, "--ranks", "46", "--alpha", "1e-3", "--gamma", "5e-9")
    assert slow["time_s"]["total"] > 20 * a["time_s"]["total"], (slow, a)
# Central and distributed, measured or not, give every object the same owner.
assert all(len(found) == 1 for found in hashes.values()) and hashes["orb"] != hashes["prefix"], hashes

assert "time_s: strategy: " in graft("--ranks", "8").stdout
for words, text in ((["--strategy", "orb"], "orb-central"), (["--ranks", "0"], "ranks"), (["--gamma", "fast"], "gamma"),
                    (["--set", "alfa=1"], "alfa"), (["--alpha", "-1"], "alpha")):
    done = graft(*words)
    assert done.returncode in (1, 2) and text in done.stderr, (words, done.stderr)
print("graft simulate: all well")
