#!/usr/bin/env python3
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
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "soak"))
import cases  # noqa: E402
from command import Command  # noqa: E402
from library import Processes, Threads  # noqa: E402

GOOD = ("ok", "left out")
KINDS = ("threads", "mpi", "command")


class Campaign:
    """What runs a case, by its kind."""

    def __init__(self, words):
        library = os.path.abspath(words.library)
        self.seed, self.threads = words.seed, Threads(words.driver, library)
        self.processes = {family: Processes(words.driver, library, family) for family in cases.FAMILIES}
        self.command = Command(os.path.abspath(words.command), library, words.client) if words.command else None

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
            return self.command.run(case), json.dumps(case)
        case, deck = cases.mpi_case(dice) if kind == "mpi" else cases.call_case(dice)
        line = cases.line_of(number, case, deck)
        return (self.processes[case["mpi"]] if kind == "mpi" else self.threads).ask(case, line), line

    def close(self):
        for runner in (self.threads, *self.processes.values()):
            runner.close()


def done_before(path, seed):
    if not path or not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as log:
        done = [json.loads(line)["case"] for line in log if line.startswith(f'{{"seed": {seed},')]
    return max(done, default=-1) + 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--command")
    parser.add_argument("--client", help="a program of an earlier release: CLIENT LIBRARY ends with 0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=int, default=1 << 60)
    parser.add_argument("--only", type=int)
    parser.add_argument("--kind", choices=KINDS, help="cases of this kind only")
    parser.add_argument("--log")
    return parser.parse_args()


def main():
    words = arguments()
    campaign = Campaign(words)
    first = words.only if words.only is not None else done_before(words.log, words.seed)
    last = first + (1 if words.only is not None else words.cases)
    log = open(words.log, "a", encoding="utf-8") if words.log else sys.stdout
    counts, found, end = collections.Counter(), 0, time.monotonic() + words.seconds
    for number in range(first, last):
        if time.monotonic() > end:
            break
        kind, dice = campaign.case(number)
        if words.kind not in (None, kind):
            continue
        verdict, line = campaign.run(number, kind, dice)
        bad = verdict["verdict"] not in GOOD
        result = {"seed": words.seed, "case": number, **verdict, **({"words": line} if bad or words.only is not None else {})}
        print(json.dumps(result), file=log, flush=True)
        if bad:
            found += 1
            print(json.dumps(result), file=sys.stderr)
        counts.update([kind, verdict["verdict"]] + (["lost_in_single"] if verdict.get("lost_in_single") else []))
    campaign.close()
    print(f"seed {words.seed}: {sum(counts[kind] for kind in KINDS)} cases: {dict(counts)}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
