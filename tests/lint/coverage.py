#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Line coverage of each room by the tests labelled unit and abi. usage: coverage.py [--jobs N] [--report BUILD]

Configures and builds the preset `coverage` (g++, Debug, gcov), runs the tests, and fails where a room has less than its floor.
--report: only what the counts in BUILD say, as after tests that were chosen by hand; rooms without objects there are left out.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import subprocess
import sys

from lint import room_of_file
from rooms import ROOMS

REPOSITORY = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
# Percent of lines, a little below what was measured without MPI, HDF5 and GPUs; other rooms are reported only.
FLOORS = {"backend": 84, "balance": 95, "comm": 95, "core": 90, "decompose": 93, "engine": 70, "essential": 92, "forces": 96,
          "geometry": 98, "lists": 97, "model": 92, "moments": 97, "near": 95, "particles": 94, "periodic": 95, "reference": 97,
          "settings": 97, "tree": 96}
MEASURED = ("impl/", "capi/", "plugin/")


def run(*command, **options):
    subprocess.run(command, cwd=REPOSITORY, check=True, **options)


def build_and_test(build, jobs):
    run("cmake", "--preset", "coverage", "-DGRAFT_WITH_FORTRAN=OFF", "-DGRAFT_WITH_HOSTS=OFF")
    run("cmake", "--build", build, "--parallel", str(jobs))
    for counts in glob.glob(os.path.join(build, "**", "*.gcda"), recursive=True): # of an earlier run
        os.remove(counts)
    run("ctest", "--test-dir", build, "-L", "unit|abi", "-j", str(jobs), "--output-on-failure",
        env={**os.environ, "OMP_WAIT_POLICY": "passive"})


def lines_of(notes):
    """(file, line, was it run) of an object; one that no test has run has notes, but no counts."""
    said = subprocess.run(["gcov", "--json-format", "--stdout", notes], capture_output=True, text=True, check=True).stdout
    lines = []
    for document in (json.loads(text) for text in said.splitlines() if text.startswith("{")):
        for file in document["files"]:
            path = os.path.realpath(os.path.join(document["current_working_directory"], file["file"]))
            name = os.path.relpath(path, REPOSITORY)
            if name.startswith(MEASURED):
                lines += [(name, line["line_number"], line["count"] > 0) for line in file["lines"]]
    return lines


def coverage(build, jobs):
    """{room: [lines run, lines]}"""
    seen = {}
    notes = sorted(glob.glob(os.path.join(build, "**", "*.gcno"), recursive=True))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for lines in pool.map(lines_of, notes):
            for name, number, was_run in lines:
                seen[name, number] = seen.get((name, number), False) or was_run
    rooms = {}
    for (name, _), was_run in seen.items():
        share = rooms.setdefault(room_of_file(name, ROOMS) or os.path.dirname(name), [0, 0])
        share[0] += was_run
        share[1] += 1
    return rooms


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--report", metavar="BUILD")
    given = parser.parse_args()
    build = os.path.realpath(given.report or os.path.join(REPOSITORY, "build", "coverage"))
    if not given.report:
        build_and_test(build, given.jobs)
    rooms = coverage(build, given.jobs)
    if not rooms:
        raise SystemExit(f"{build}: no counts of g++ --coverage; expected a build of the preset coverage whose tests were run")
    below = 0
    for room, (was_run, lines) in sorted(rooms.items()):
        percent, floor = 100 * was_run / lines, FLOORS.get(room)
        bad = floor is not None and percent < floor
        below += bad
        print(f"{room:16} {percent:5.1f} % of {lines:6} lines, {'no floor' if floor is None else f'floor {floor} %'}{', BELOW' if bad else ''}")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
