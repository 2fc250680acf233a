#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The graft command under mpiexec against the same command alone. usage: command_test.py GRAFT MPIEXEC FAMILY WORK_FOLDER WRONG_LIBRARY

Checked: who speaks, files in the input's order, energies and trajectories as on one rank (one tree for all: to rounding),
restarts, errors of forces, decomposition, and that a rank which fails alone ends the command on all of them."""
import csv
import json
import os
import shutil
import subprocess
import sys


class Test:
    def __init__(self, graft, mpiexec, family, folder, wrong):
        self.graft, self.mpiexec, self.family, self.folder, self.wrong = graft, mpiexec, family, folder, wrong
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)

    def run(self, words, ranks=0, fails=False, **environment):
        command = ([self.mpiexec, "-n", str(ranks)] if ranks else []) + [self.graft, *words.split()]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=100,
                              env={**os.environ, **environment})
        if (done.returncode != 0) != fails:
            raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def words_of_failure(self, sought, words, ranks, **environment):
        """Open MPI 5's launcher now and then loses what a rank wrote just before it left."""
        for _ in range(3):
            said = self.run(words, ranks, fails=True, **environment).stderr
            if sought in said:
                break
        return said

    def json(self, words, ranks=0):
        lines = self.run(words + " --json", ranks).stdout.strip().splitlines()
        expect(len(lines) == 1, f"one line from rank 0, found {len(lines)}: graft {words}")
        return json.loads(lines[0])

    def columns(self, path):
        with open(os.path.join(self.folder, path), encoding="utf-8") as file:
            rows = list(csv.reader(line for line in file if not line.startswith("#")))
        return {name: [float(row[i]) for row in rows[1:]] for i, name in enumerate(rows[0])
                if all(is_number(row[i]) for row in rows[1:])}


def is_number(text):
    try:
        float(text)
        return True
    except ValueError:
        return False


def expect(condition, what):
    if not condition:
        raise SystemExit(f"not so: {what}")


def close(a, b, limit, what):
    expect(len(a) == len(b) > 0, f"{what}: {len(a)} and {len(b)} values")
    scale = max(abs(value) for value in a)
    worst = max(abs(x - y) for x, y in zip(a, b)) / scale
    print(f"{what}: differ by {worst:.1e}")
    expect(worst <= limit, f"{what} differ by {worst}, allowed {limit}")


def test_info(test):
    ranks = test.json("info", 3)["ranks"]
    expect(ranks == {"size": 3, "mpi": {"mpich": "MPICH", "openmpi": "Open MPI"}[test.family]}, f"three ranks: {ranks}")
    expect(test.json("info")["ranks"]["size"] == 1, "one rank alone")
    alone = test.run("info --mpi none --json", 3).stdout.strip().splitlines()
    expect(len(alone) == 3 and all(json.loads(line)["ranks"]["size"] == 1 for line in alone), "--mpi none: three of one")


DECK = """tree: {scope: global}
precision: fp64
mac: {accuracy: 0.0003}
softening: {kind: plummer, length: 0.05}
run: {input: p.csv, output: %s.csv, time_step: 0.01, steps: %d, snapshot_every: 10, energy_every: 5, progress: false%s}
balance: {steps: 7, tolerance: 1}
"""


def write_deck(test, name, steps, more=""):
    with open(os.path.join(test.folder, name + ".yaml"), "w", encoding="utf-8") as file:
        file.write(DECK % (name, steps, more))


def test_run(test):
    test.run("ic plummer --n 1500 --seed 5 -o p.csv", 2) # a command for one: rank 0 does it
    write_deck(test, "one", 20)
    one = test.json("run one.yaml")
    for ranks in (2, 3):
        name = f"ranks{ranks}"
        write_deck(test, name, 20)
        many = test.json(f"run {name}.yaml", ranks)
        expect(many["n"] == 1500 and many["steps_taken"] == 20, "all particles, all steps")
        a, b = test.columns("one_000020.csv"), test.columns(name + "_000020.csv")
        expect(a["id"] == b["id"], "ids in the order of the input")
        for column in ("x", "vy", "mass"):
            close(a[column], b[column], 1e-9, f"{ranks} ranks, {column}")
        a, b = test.columns("one_energy.csv"), test.columns(name + "_energy.csv")
        expect(a["step"] == b["step"], "lines of the energy log")
        for column in ("kinetic", "potential", "total", "lz"):
            close(a[column], b[column], 1e-9, f"{ranks} ranks, {column} energy or momentum")
    return one


def test_restart(test):
    write_deck(test, "cut", 10)
    test.json("run cut.yaml", 3)
    write_deck(test, "cut", 20, ", restart: true")
    test.json("run cut.yaml", 2) # goes on with another number of ranks
    close(test.columns("one_000020.csv")["x"], test.columns("cut_000020.csv")["x"], 1e-9, "restarted run")


def test_check(test):
    # Where the root's cells lie moves the percentiles of 3,000 particles by 15 %, of 30,000 by 5 %.
    one, many = (test.json("check --n 30000 --targets 1500 --repeat 0 --seed 3", ranks) for ranks in (0, 3))
    expect(many["n"] == 30000 and many["settings"]["targets"] == 1500 and many["ranks"]["size"] == 3, "all of them checked")
    for q in ("median", "p90", "p99"):
        expect(many["error"][q] <= 1.1 * one["error"][q], f"{q}: {many['error'][q]} against {one['error'][q]}")
    expect(many["ranks"]["bytes_sent"] > 0, "ranks that talk")


def test_bench(test):
    for weights in ("unit", "lognormal"):
        answer = test.json(f"bench orb --n 30000 --weights {weights} --repeat 1", 3)
        kind = "imbalance_count" if weights == "unit" else "imbalance_weight"
        expect(answer["ranks"] == 3 and answer["leaves"] == 3 and 1 <= answer[kind] <= 1.001, f"balanced: {answer}")
        expect(set(answer["time_s"]) == {"cuts", "partition", "decompose", "migrate", "total"}, "times")
        expect(0 < answer["bytes_moved"] < 30000 * 32, "records that moved")
    answer = test.json("bench orb --n 30000 --leaves 50 --order --repeat 1")
    expect(answer["leaves"] == 50 and answer["imbalance_count"] <= 1.001 and answer["nth_element_s"] > 0, f"{answer}")


def test_selftest(test):
    """Alone it starts two ranks of this MPI; among ranks it looks at what they compute."""
    path = {"PATH": os.path.dirname(test.mpiexec) + os.pathsep + os.environ["PATH"]}
    words = f"selftest --require {test.family} --json"
    expect(json.loads(test.run(words, **path).stdout)["ok"], "two ranks pass")
    said = json.loads(test.run(f"{words} --library {test.wrong}", fails=True, GRAFT_SPOILED="ranks", **path).stdout)
    own = {check["name"]: check for check in said["checks"]}[test.family]
    expect(own["result"] == "failed" and "at most 5e-04" in own["text"], f"two ranks fail, and say how: {own}")
    many = test.json("selftest --require mpi", 3)
    expect(many["ok"] and "3 ranks of" in many["checks"][1]["text"], f"three ranks pass: {many}")
    test.run(f"selftest --library {test.wrong}", 3, fails=True, GRAFT_SPOILED="owners")
    test.run("selftest --require gpu", 2, fails=True)


def test_failures(test):
    """Rank 0 alone meets these; the others wait for it."""
    write_deck(test, "bad", 20)
    said = test.words_of_failure("/nowhere", "run bad.yaml --set run.output=/nowhere/out", 3)
    lines = [line for line in said.splitlines() if line.startswith("graft")]
    expect(len(lines) == 1 and "/nowhere" in lines[0], f"one message: {lines}")
    for sought, words, environment in (("none.csv", "run bad.yaml --set run.input=none.csv", {}), ("no command", "nonsense", {}),
                                       ("/nowhere/shim.so", "info", {"GRAFT_MPI_LIBRARY": "/nowhere/shim.so"})):
        said = test.words_of_failure(sought, words, 2, **environment)
        expect(sought in said, f"{sought} is named: {said}")


def main(graft, mpiexec, family, folder, wrong):
    test = Test(graft, mpiexec, family, folder, wrong)
    for each in (test_info, test_run, test_restart, test_check, test_bench, test_selftest, test_failures):
        each(test)
        print(f"{each.__name__}: passed", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
