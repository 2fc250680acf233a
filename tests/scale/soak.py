#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The soak campaign: random cases against libgraft and the graft command, one line of JSON a case.

Case i of a seed is always the same case. Calls of the library run in a child (soak_case), many cases to a child; what a child
dies of or hangs in is the case's verdict. A case that is right only by what the rule lost_in_single allows (docs/lab/soak.md)
says so. Cases of the command run the program itself: kills and restarts, signals, a full
disk, ranks under mpiexec. With --log FILE it goes on where an earlier run of that seed ended. Exit status 1: something was
found.

    soak.py --driver bin/soak_case --library lib/libgraft.so --command bin/graft --seed 7 --seconds 36000 --log soak.jsonl
    soak.py ... --seed 7 --only 1234        # one case again, with its words
"""
import argparse
import collections
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SHAPES = ("uniform plummer shell cusp decades wide_decades line diagonal plane point two_points clumps lattice binaries offset "
          "stray strays ring heap pancake disc").split()
MASSES = "equal random signs decades heavy zeros".split()
CASE_LIMIT_S = 120


def log_uniform(dice, low, high):
    return 10.0 ** dice.uniform(low, high)


def deck_of(dice, length):
    """Keys and values; only combinations that a user may ask for."""
    deck = {"method": dice.choices(["tree", "direct", "reference"], [8, 3, 1])[0],
            "precision": dice.choice(["fp32", "mixed", "mixed", "fp64"]),
            "threads": dice.choice(["1", "2", "3"]), "backend": "cpu",
            "order": str(dice.choice([0, 1, 2, 2, 3, 4])),
            "tree.type": dice.choice(["octree", "octree", "orb"]),
            "mac.type": dice.choice(["edge", "box", "error", "error"]),
            "mac.theta": "%.3f" % dice.uniform(0.2, 0.8)}
    if dice.random() < 0.5:
        deck["mac.accuracy"] = "%.3g" % log_uniform(dice, -7, -2)
    if dice.random() < 0.3:
        deck["tree.leaf"] = str(dice.choice([1, 2, 7, 64]))
        deck["tree.group"] = str(dice.choice([1, 8, 65, 256]))
    if dice.random() < 0.2:
        deck["far_cells"] = dice.choice(["on", "off"])
    if dice.random() < 0.15:
        deck["study.walk"] = "transposed"
    if dice.random() < 0.3:
        deck["interaction"] = "coulomb"
    if dice.random() < 0.3:
        deck["constant"] = "%.6g" % log_uniform(dice, -12, 12)
    if dice.random() < 0.45:
        deck["softening.kind"] = dice.choice(["plummer", "spline"])
        deck["softening.length"] = "%.6g" % (length * log_uniform(dice, -12, 12))
    return deck


def add_box(dice, case, deck, length):
    """Periodic boxes: small n, since their oracle is slow."""
    which = dice.choice(["xyz", "xyz", "xy", "yz", "x", "z"])
    deck.update({"box.periodic": which, "constant": "1"})
    for axis in "xyz":
        deck["box." + axis] = "%.17g" % (length * dice.choice([1, 1, 1.5]))
    case["n"] = dice.choice([1, 2, 17, 60, 120])
    case["shape"] = dice.choice(["uniform", "shell", "lattice", "line", "plane", "heap", "point", "two_points", "disc"])
    case["masses"] = dice.choice(["equal", "random", "signs"])
    if "softening.kind" in deck:  # longer ones take sums that are refused
        deck["softening.length"] = "%.6g" % (length * log_uniform(dice, -12, -0.5))
    plain = which == "xyz" and "softening.kind" not in deck
    case["oracle"] = "lattice" if plain else "none"


def call_case(dice):
    length, mass = log_uniform(dice, -30, 30), log_uniform(dice, -30, 30)
    if dice.random() < 0.3:
        length = mass = 1.0
    single = dice.random() < 0.3
    if single:  # what such numbers can hold
        length, mass = log_uniform(dice, -12, 8), log_uniform(dice, -8, 8)
    case = {"n": dice.choice([0, 1, 2, 3, 30, 300, 300, 1000, 4000]), "shape": dice.choice(SHAPES), "masses": dice.choice(MASSES),
            "length": "%.6g" % length, "mass": "%.6g" % mass, "seed": dice.randrange(1 << 30),
            "type": "f32" if single else "f64", "layout": dice.choice(["soa", "soa", "aos", "xyzh", "struct"]),
            "targets": dice.choice(["all", "all", "mask", "list", "points"]), "ranks": dice.choice([1, 1, 1, 1, 2, 3, 5])}
    deck = deck_of(dice, length)
    if dice.random() < 0.12:
        add_box(dice, case, deck, length)
    if case["n"] == 0 and case["targets"] == "points":
        case["targets"] = "all"
    fault = dice.random()
    case["fault_rank"] = dice.randrange(5)
    if fault < 0.12:
        case["alloc"] = int(log_uniform(dice, 0, 2.3))
    elif fault < 0.20 and case["ranks"] > 1:
        case["fail"] = int(log_uniform(dice, 0, 2))
    elif fault < 0.23 and case["ranks"] > 1:
        case["leave"] = 1
    elif fault < 0.3:
        case["again"] = 1
    return case, deck


class Driver:
    """A child that runs cases until it dies."""

    def __init__(self, program, library):
        self.words, self.child = [program, library], None

    def ask(self, line):
        if self.child is None or self.child.poll() is not None:
            self.child = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                          text=True)
        try:
            self.child.stdin.write(line + "\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            return self.dead()
        ready, _, _ = select.select([self.child.stdout], [], [], CASE_LIMIT_S)
        if not ready:
            self.child.kill()
            self.child.wait()
            return {"verdict": "hangs", "detail": f"no answer in {CASE_LIMIT_S} s"}
        answer = self.child.stdout.readline()
        return json.loads(answer) if answer else self.dead()

    def dead(self):
        _, err = self.child.communicate()
        code = self.child.returncode
        name = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return {"verdict": "crashes", "detail": name + " " + err[-300:].strip()}

    def close(self):
        if self.child is not None and self.child.poll() is None:
            self.child.stdin.close()
            self.child.wait()


class Command:
    """Cases of the graft command, each in a folder of its own."""

    def __init__(self, program, library):
        self.program, self.environment = program, dict(os.environ, GRAFT_LIBRARY=library)
        self.ways = {"kill and restart": self.kill, "signal": self.signal, "full disk": self.full, "ranks": self.ranks}
        shims = os.path.dirname(library)
        self.launchers = [shutil.which("mpiexec." + mpi) for mpi in ("mpich", "openmpi")
                          if shutil.which("mpiexec." + mpi) and os.path.exists(f"{shims}/libgraft_mpi_{mpi}.so")]

    def case(self, dice):
        ways = sorted(self.ways) if self.launchers else sorted(set(self.ways) - {"ranks"})
        return {"way": dice.choice(ways), "seed": dice.randrange(1 << 30)}

    def run(self, case):
        dice = random.Random(case["seed"])
        with tempfile.TemporaryDirectory() as folder:
            try:
                return self.ways[case["way"]](dice, folder) or {"verdict": "ok"}
            except subprocess.TimeoutExpired:
                return {"verdict": "hangs", "detail": case["way"]}

    def graft(self, folder, *words, limit="", launcher=()):
        line = f"{limit} exec \"$@\""
        return subprocess.run(["bash", "-c", line, "bash", *launcher, self.program, *words], cwd=folder, env=self.environment,
                              capture_output=True, text=True, timeout=CASE_LIMIT_S, check=False)

    def deck(self, dice, folder, steps):
        self.graft(folder, "ic", "plummer", "--n", str(dice.choice([50, 300, 1000])), "--seed", str(dice.randrange(1000)), "-o", "p.hdf5")
        with open(os.path.join(folder, "d.yaml"), "w", encoding="utf-8") as deck:
            deck.write(f"method: {dice.choice(['tree', 'direct'])}\nprecision: {dice.choice(['mixed', 'fp64'])}\n"
                       f"softening: {{kind: plummer, length: 0.05}}\nthreads: {dice.choice([1, 2])}\n"
                       f"run: {{input: p.hdf5, output: a, time_step: 0.01, steps: {steps}, snapshot_every: 1}}\n")

    def stopped(self, dice, folder, number):
        """A run of 40 steps, ended by a signal somewhere, and what it left."""
        self.deck(dice, folder, 40)
        child = subprocess.Popen([self.program, "run", "d.yaml", "--quiet"], cwd=folder, env=self.environment,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(dice.uniform(0.02, 0.6))
        child.send_signal(number)
        _, err = child.communicate(timeout=CASE_LIMIT_S)
        return child.returncode, err

    def continued(self, folder):
        """The run goes on from its restart file, and ends as one that never stopped: bit by bit."""
        if not os.path.exists(os.path.join(folder, "a.restart")):
            return None
        on = self.graft(folder, "run", "d.yaml", "--quiet", "--restart")
        if on.returncode != 0 and "nothing left to do" not in on.stderr:
            return {"verdict": "no restart", "detail": on.stderr[-300:]}
        whole = self.graft(folder, "run", "d.yaml", "--quiet", "--set", "run.output=b")
        if whole.returncode != 0:
            return {"verdict": "no run", "detail": whole.stderr[-300:]}
        if self.bytes(folder, "a.restart") != self.bytes(folder, "b.restart"):
            return {"verdict": "other bits", "detail": "after a restart"}
        debris = [name for name in os.listdir(folder) if ".tmp-" in name or name.endswith(".lock")]
        return {"verdict": "debris", "detail": " ".join(debris)} if debris else None

    @staticmethod
    def bytes(folder, name):
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()

    def kill(self, dice, folder):
        self.stopped(dice, folder, signal.SIGKILL)
        return self.continued(folder)

    def signal(self, dice, folder):
        number = dice.choice([signal.SIGTERM, signal.SIGINT])
        code, err = self.stopped(dice, folder, number)
        if code not in (0, 128 + number, -number):
            return {"verdict": "exit status", "detail": f"{code}: {err[-200:]}"}
        return self.continued(folder)

    def full(self, dice, folder):
        self.deck(dice, folder, 3)
        before = self.bytes(folder, "p.hdf5")
        result = self.graft(folder, "run", "d.yaml", "--quiet", limit=f"ulimit -f {dice.randrange(0, 60)};")
        if result.returncode not in (0, 1) or (result.returncode == 1 and "no space" not in result.stderr):
            return {"verdict": "full disk", "detail": f"{result.returncode}: {result.stderr[-200:]}"}
        if self.bytes(folder, "p.hdf5") != before:
            return {"verdict": "input changed"}
        debris = [name for name in os.listdir(folder) if ".tmp-" in name or name.endswith(".lock")]
        return {"verdict": "debris", "detail": " ".join(debris)} if debris else None

    def ranks(self, dice, folder):
        """As on one rank, to rounding: the energy at the end."""
        self.deck(dice, folder, 3)
        launcher = [dice.choice(self.launchers), "-n", str(dice.choice([2, 3]))]
        if "openmpi" in launcher[0]:
            launcher += ["--allow-run-as-root", "--oversubscribe"]
        alone, many = (self.graft(folder, "run", "d.yaml", "--json", "--set", f"run.output={name}", launcher=words)
                       for name, words in (("b", ()), ("c", launcher)))
        if alone.returncode != 0 or many.returncode != 0:
            return {"verdict": "ranks fail", "detail": (alone.stderr + many.stderr)[-300:]}
        first, second = (json.loads(r.stdout[r.stdout.index("{"):]) for r in (alone, many))
        if abs(first["virial_ratio"] - second["virial_ratio"]) > 1e-3 * first["virial_ratio"]:
            return {"verdict": "ranks differ", "detail": f"{first['virial_ratio']} {second['virial_ratio']}"}
        return None


def case_of(seed, number, command):
    dice = random.Random(f"{seed}:{number}")
    if command is not None and dice.random() < 0.01:
        return command.case(dice), None
    return call_case(dice)


def line_of(number, case, deck):
    return " ".join([f"id={number}"] + [f"{k}={v}" for k, v in case.items()] + [f"deck:{k}={v}" for k, v in deck.items()])


def done_before(path, seed):
    if not path or not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as log:
        return sum(1 for line in log if line.startswith(f'{{"seed": {seed},'))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--command")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=int, default=1 << 60)
    parser.add_argument("--only", type=int)
    parser.add_argument("--log")
    return parser.parse_args()


def main():
    words = arguments()
    driver = Driver(words.driver, words.library)
    command = Command(os.path.abspath(words.command), os.path.abspath(words.library)) if words.command else None
    number = words.only if words.only is not None else done_before(words.log, words.seed)
    first, last = number, number + (1 if words.only is not None else words.cases)
    log = open(words.log, "a", encoding="utf-8") if words.log else sys.stdout
    counts, found, end = collections.Counter(), 0, time.monotonic() + words.seconds
    while number < last and time.monotonic() < end:
        case, deck = case_of(words.seed, number, command)
        line = json.dumps(case) if deck is None else line_of(number, case, deck)
        verdict = command.run(case) if deck is None else driver.ask(line)
        verdict.pop("id", None)
        bad = verdict["verdict"] != "ok"
        result = {"seed": words.seed, "case": number, **verdict, **({"words": line} if bad or words.only is not None else {})}
        print(json.dumps(result), file=log, flush=True)
        if bad:
            found += 1
            print(json.dumps(result), file=sys.stderr)
        counts[verdict["verdict"]] += 1
        counts["of these lost_in_single"] += bool(verdict.get("lost_in_single"))
        number += 1
    driver.close()
    print(f"seed {words.seed}: {number - first} cases: {dict(counts)}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
