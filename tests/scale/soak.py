#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The soak campaign: random cases against libgraft and the graft command, one line of JSON a case.

Case i of a seed is always the same case. Calls of the library run in children (soak_case), many cases to a child; what a child
dies of or hangs in is the case's verdict. Ranks are threads of a child or, with each MPI that is here, processes; where one is
not here its cases are left out, and counted. A case that is right only by what the rule lost_in_single allows
(docs/lab/soak.md) says so. Cases of the command run the program itself: kills and restarts, signals, a full disk, ranks under
mpiexec; among them the client of the first release, which takes no input. With --log FILE it goes on where an earlier run of
that seed ended. Exit status 1: something was found.

    soak.py --driver bin/soak_case --library lib/libgraft.so --command bin/graft --seed 7 --seconds 36000 --log soak.jsonl
    soak.py ... --seed 7 --only 1234        # one case again, with its words
"""
import argparse
import collections
import json
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "soak"))
import cases  # noqa: E402
from command import Command  # noqa: E402
from library import Processes, Threads  # noqa: E402

GOOD = ("ok", "left out")
LEFT_OUT = {"verdict": "left out"}
KINDS = ("threads", "mpi", "command")


class Campaign:
    """What runs a case, by its kind."""

    def __init__(self, words):
        library = os.path.abspath(words.library)
        self.seed, self.without, self.backend = words.seed, words.without, words.backend
        self.threads = Threads(words.driver, library)
        self.processes = {family: Processes(words.driver, library, family) for family in cases.FAMILIES}
        self.command = Command(os.path.abspath(words.command), library) if words.command else None

    def case(self, number):
        """Its kind, and the dice for the rest."""
        dice, over_mpi = random.Random(f"{self.seed}:{number}"), random.Random(f"{self.seed}:{number}:mpi")
        if self.command is not None and dice.random() < 0.01:
            return "command", dice
        return ("mpi", over_mpi) if over_mpi.random() < 0.06 else ("threads", dice)

    def run(self, number, kind, dice):
        """The verdict, and the words that repeat the case."""
        if kind == "command":
            case = self.command.case(dice)
            return self.command.run(case) if self.has(kind, case["way"]) else LEFT_OUT, json.dumps(case)
        case, deck = cases.mpi_case(dice) if kind == "mpi" else cases.call_case(dice)
        cases.move_to(self.backend, deck)
        line = cases.line_of(number, case, deck)
        runner = self.processes[case["mpi"]] if kind == "mpi" else self.threads
        return runner.ask(case, line) if self.has(kind) else LEFT_OUT, line

    def has(self, *names):
        return not set(names) & set(self.without)

    def close(self):
        for runner in (self.threads, *self.processes.values()):
            runner.close()


def done_before(path, seed):
    """The first case that the log does not have. A last line that is not whole, as a kill leaves it, is taken off."""
    if not path or not os.path.exists(path):
        return 0
    with open(path, "r+b") as log:
        text = log.read()
        text = text[:text.rfind(b"\n") + 1]
        log.truncate(len(text))
    done = [json.loads(line)["case"] for line in text.decode().splitlines() if line.startswith(f'{{"seed": {seed},')]
    return max(done, default=-1) + 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--command")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=int, default=1 << 60)
    parser.add_argument("--only", type=int)
    parser.add_argument("--kind", choices=KINDS, help="cases of this kind only")
    parser.add_argument("--without", nargs="+", default=[], help="kinds of cases, or ways of the command's, that are left out")
    parser.add_argument("--backend", choices=("cpu", "gpu"), default="cpu", help="of the calls of the library")
    parser.add_argument("--log")
    return parser.parse_args()


def outcomes(campaign, words):
    """(kind, line of the log) of each case, until time is up."""
    first = words.only if words.only is not None else done_before(words.log, words.seed)
    last, end = first + (1 if words.only is not None else words.cases), time.monotonic() + words.seconds
    for number in range(first, last):
        if time.monotonic() > end:
            return
        kind, dice = campaign.case(number)
        if words.kind not in (None, kind):
            continue
        verdict, line = campaign.run(number, kind, dice)
        shown = {"words": line} if verdict["verdict"] not in GOOD or words.only is not None else {}
        yield kind, {"seed": words.seed, "case": number, **verdict, **shown}


def main():
    words = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    campaign, counts, found = Campaign(words), collections.Counter(), 0
    log = open(words.log, "a", encoding="utf-8") if words.log else sys.stdout
    try:
        for kind, result in outcomes(campaign, words):
            print(json.dumps(result), file=log, flush=True)
            counts.update([kind, result["verdict"]] + ["lost_in_single"] * bool(result.get("lost_in_single")))
            if result["verdict"] not in GOOD:
                found += 1
                print(json.dumps(result), file=sys.stderr)
    finally:  # also when it is interrupted: no child is left behind
        campaign.close()
    print(f"seed {words.seed}: {sum(counts[kind] for kind in KINDS)} cases: {dict(counts)}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
