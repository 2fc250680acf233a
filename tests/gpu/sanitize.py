#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""compute-sanitizer over the GPU test programs, inputs small (support/small.hpp), for tests/gpu/run.sh.

usage: sanitize.py BIN OUT SECONDS DEVICES [--match PATTERN] [--tools LIST] [--resume FOLDER] [--places N] [--racing N] [--plan]

Tests go in shards of similar length, longest first, racecheck behind the three quick tools; one thread each and a process a core, of
racecheck three a device, which have the other cores as workers. --resume goes on where the run in FOLDER (its OUT) was cut off:
tests that ended there without a report, in the same build, are not run again. racecheck looks at the kernels that may touch shared
memory (sass.py); that it still reports is shown by a program with planted hazards. Lines for steps.txt go to standard output, one a
tool and program: clean, findings, failed (tests, without findings), lost (the tool failed, twice), cut off, skipped. OUT gets a log a
shard, reports.txt (every report once, with its tests), kernels.json (which kernels touch shared memory) and sanitize.json: what was
left out and why, what is done, the seconds of every test. --plan prints the shards and starts none.
"""
import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import sass

TOOLS = {"racecheck": 1.0, "memcheck": 0.2, "initcheck": 0.2, "synccheck": 0.2} # share of racecheck's time
LEFT_OUT = {
    "*DeathTest.*": "starts another process, which does not come back under a sanitizer",
    "*Speed*": "measures time", "*Times*": "measures time", "*Rates*": "measures time",
    "*.Large*": "needs more than a staging chunk (2.4e6 particles)",
    "Cache.GoesWhenMemoryIsShort": "takes all memory of a device that other processes share",
    "*.MillionPoints": "1e6 points; the same kernels as those of the tests beside it",
}
# Grids as for four multiprocessors: racecheck takes its time by the block, and a block that comes back to the same shared memory
# shows it more.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "GRAFT_TEST_SMALL": "1", "GRAFT_CUDA_MULTIPROCESSORS": "4"}
# initcheck and racecheck lose what threads launch while others allocate: theirs go one at a time (tests/support/turns.hpp).
IN_TURNS = ("initcheck", "racecheck")
CUB = "CUB_" # NVIDIA's own kernels, sorts and scans, are left out
NAMES = 200 # in one option: Linux takes 128 KiB an argument
PLANTED = "planted_hazards" # the program; its kernels, all of which racecheck must report
PLANTED_KERNELS = ("named_memory", "dynamic_memory", "through_a_pointer")
SECONDS = 2.0 # a test under racecheck beside two other processes on an H200, unless it is here
SLOW = {
    "GpuRanks.Splines*": 40, "EngineLocal.Batches*": 40, "EngineLife.MemoryRefused*": 35, "EngineLean.Resumes*": 33,
    "EngineMemory.Less*": 32, "EngineLocal.Super*": 32, "HostileScenes.*": 27, "GpuRanksBox.OnlyWhat*": 27, "OrbTest.Weights*": 25,
    "Evaluate.TooLittle*": 20, "Periodic.Slabs*": 18, "EngineLean.*": 20, "OrbTest.[RN]*": 17, "Messages.*": 16, "Hostile.Many*": 16,
    "DeviceContext.*": 15, "Hostile.Default*": 12,
    "*DeviceTreeSizes.*": 26, "EngineMemory.*": 18, "GpuRanks.*": 14, "EngineLife.*": 9, "EngineLocal.*": 9, "EngineMatches.*": 8,
    "EngineReuse.*": 9, "Periodic.*": 9, "GpuRanksBox.*": 8, "Orb*Test.*": 6, "DeviceLife.*": 5, "Evaluate.*": 4, "Direct.*": 4,
    "DeviceWalkTest.*": 4, "RanksTest.*": 3, "Hostile.*": 5,
}
SHARD_SECONDS, SHARD_LIMIT_S, FINDINGS = 20.0, 250, 86
PLACES = 16 # most processes on a device at a time
RACING = 3  # of these under racecheck, whose launches wait for each other; the other cores are workers for them
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)")
STATE = re.compile(r"^\[ +(RUN|OK|FAILED|SKIPPED) +\] ([^\s,]+)(?:, .*?)? ?(?:\((\d+) ms\))?$")
REPORT = re.compile(r"^=+ ((?:(?:Error|Warning|Info): )?(?:Race reported|Potential \w+ hazard|Uninitialized|Host API memory access error|"
                    r"Invalid|Barrier error|Divergent|Out-of-range|Misaligned|Leaked|Program hit).*)$")
FURTHER = re.compile(r"^=+ {5,}(\S.*)$")
NO_CALLS = "terminated before first instrumented API call" # tests without a GPU alone in a process: no summary
LOST = "Internal Sanitizer Error" # it lost track of a launch, counts that as a finding, and would count what follows from it


def tests_of(program):
    """Names of the tests; those left out with the reason."""
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=False).stdout
    chosen, left_out, suite = [], {}, ""
    for line in listed.splitlines():
        word = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = word
            continue
        name = suite + word
        why = next((why for pattern, why in LEFT_OUT.items() if fnmatch.fnmatchcase(name, pattern)), None)
        if ".DISABLED_" in name:
            continue
        if why:
            left_out[name] = why
        else:
            chosen.append(name)
    return chosen, left_out


def seconds_of(test):
    return next((seconds for pattern, seconds in SLOW.items() if fnmatch.fnmatchcase(test, pattern)), SECONDS)


def shards_of(tests, share):
    """Tests in shards of some SHARD_SECONDS, the long ones alone; (seconds, tests) each."""
    shards, seconds, members = [], 0.0, []
    for test in sorted(tests, key=seconds_of, reverse=True):
        if members and seconds + share * seconds_of(test) > SHARD_SECONDS:
            shards.append((seconds, members))
            seconds, members = 0.0, []
        seconds, members = seconds + share * seconds_of(test), members + [test]
    return shards + ([(seconds, members)] if members else [])


class Devices:
    """Places for processes on devices: the device with most places left comes first in a process's list, all others follow."""
    def __init__(self, places, racing):
        self.left, self.racing, self.changed = list(places), [min(racing, most) for most in places], threading.Condition()
        given = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        self.names = given.split(",") if given else [str(k) for k in range(len(self.left))]

    def free(self, tool):
        """Places left on each device for a process of the tool."""
        return [min(pair) for pair in zip(self.left, self.racing)] if tool == "racecheck" else self.left

    def take(self, tool):
        with self.changed:
            self.changed.wait_for(lambda: max(self.free(tool)) > 0)
            first = self.free(tool).index(max(self.free(tool)))
            self.move(first, tool, -1)
            return first

    def give(self, first, tool):
        with self.changed:
            self.move(first, tool, 1)
            self.changed.notify_all()

    def move(self, first, tool, by):
        self.left[first] += by
        self.racing[first] += by if tool == "racecheck" else 0

    def visible(self, first):
        return ",".join(self.names[first:] + self.names[:first])


class Racecheck:
    """Its options for each program: so many workers, and no kernels that touch no shared memory, which are read beside what runs."""
    def __init__(self, folder, programs, cores, workers):
        self.kernels, self.libraries, self.workers = sass.Kernels(os.path.join(folder, "kernels.json"), cores), libraries(), workers
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.made = {path: self.pool.submit(self.exclusions, path) for path in programs}

    def exclusions(self, path):
        try:
            return exclusions(self.kernels.without_shared_memory([path, *self.libraries]))
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"sanitize.py: racecheck looks at all kernels of {os.path.basename(path)}: {error}", file=sys.stderr)
            return []

    def options(self, path):
        made = self.made[path].result() if path in self.made else []
        return ["--racecheck-num-workers", str(self.workers), "--kernel-name-exclude", "kns=" + CUB, *made]


def exclusions(names):
    """Options that leave out kernels of these mangled names, but those that are left out as NVIDIA's own."""
    own = [f"kne={name}" for name in names if CUB not in name]
    return [word for k in range(0, len(own), NAMES) for word in ("--kernel-name-exclude", ",".join(own[k:k + NAMES]))]


def libraries():
    return [os.environ[name] for name in ("GRAFT_LIBRARY", "GRAFT_CUDA_LIBRARY") if name in os.environ]


def planted(path, racecheck, log, seconds):
    """The line of the program whose hazards racecheck must report."""
    begin, said = time.monotonic(), ""
    try:
        said = subprocess.run(["compute-sanitizer", "--tool", "racecheck", *racecheck.options(path), path], capture_output=True,
                              text=True, errors="replace", timeout=seconds, check=False).stdout
    except subprocess.TimeoutExpired:
        pass
    with open(log, "w", encoding="utf-8") as file:
        file.write(said)
    missed = [name for name in PLANTED_KERNELS if not any(name in report["text"] for report in judged(said, 0)["reports"])]
    words = "not reported: " + ", ".join(missed) if missed else f"{len(PLANTED_KERNELS)} planted hazards were reported"
    return f"sanitize\tracecheck.{PLANTED}\t{'failed' if missed else 'clean'}\t{round(time.monotonic() - begin)}\t{words}"


def run(job, devices, racecheck, deadline, again=True):
    """One shard: how it ended, and what its log says; once again if the tool lost track of a launch."""
    options = racecheck.options(job["path"]) if job["tool"] == "racecheck" else []
    first = devices.take(job["tool"])
    left = min(SHARD_LIMIT_S, deadline - time.monotonic())
    if left < 5:
        devices.give(first, job["tool"])
        return job | judged("", 0) | {"ended": "skipped", "seconds": 0.0, "device": None}
    given = ENVIRONMENT | {"CUDA_VISIBLE_DEVICES": devices.visible(first)} | ({"GRAFT_TEST_TURNS": "1"} if job["tool"] in IN_TURNS else {})
    command = ["compute-sanitizer", "--tool", job["tool"], "--report-api-errors", "no", "--error-exitcode", str(FINDINGS),
               "--print-limit", "20", *options, job["path"], "--gtest_color=no",
               "--gtest_filter=" + ":".join(job["tests"])]
    begin, status = time.monotonic(), 124
    with open(job["log"], "wb") as log:
        with subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | given,
                              start_new_session=True) as process:
            try:
                status = process.wait(timeout=left)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
    devices.give(first, job["tool"])
    with open(job["log"], encoding="utf-8", errors="replace") as file:
        result = job | judged(file.read(), status) | {"seconds": time.monotonic() - begin, "device": first}
    if again and result["ended"] == "lost" and deadline - time.monotonic() > result["seconds"]:
        left = [test for test in job["tests"] if test not in done(result)]
        second = run(job | {"tests": left, "log": job["log"].replace(".log", ".again.log")}, devices, racecheck, deadline,
                     again=False)
        return second | {"tests": job["tests"], "times": result["times"] | second["times"],
                         "seconds": result["seconds"] + second["seconds"], "reports": result["reports"] + second["reports"]}
    return result


def judged(log, status):
    """How a shard ended, from its log and exit status; milliseconds of its tests; reports, and the test that ran when each came; the
    test it was cut off in."""
    running, ran, bad, lost, reports, open_report = "", {}, set(), set(), [], False
    for line in log.splitlines():
        state, report, further = STATE.match(line), REPORT.match(line), FURTHER.match(line)
        if state is not None and (state[1] == "RUN" or state[2] == running):
            running = state[2] if state[1] == "RUN" else ""
            if state[1] in ("OK", "FAILED"):
                ran[state[2]] = int(state[3])
            if state[1] == "FAILED":
                bad.add(state[2])
        elif LOST in line:
            lost.add(running)
        elif report is not None:
            reports.append({"test": running, "text": report[1]})
        elif further is not None and open_report and reports[-1]["text"].count("; ") < 2:
            reports[-1]["text"] += "; " + further[1]
        open_report = report is not None or (further is not None and open_report)
    summary = SUMMARY.search(log)
    found = max(int(summary[1]) - len(lost) if summary else 0, len(reports))
    if found > 0 or (status == FINDINGS and not lost):
        ended = "findings"
    elif status == 124:
        ended = "cut off"
    elif lost:
        ended = "lost"
    else:
        ended = "clean" if (status == 0 and summary) or (NO_CALLS in log and ran and not bad) else "failed"
    if ended == "clean" and not ran:
        ended = "skipped"
    return {"ended": ended, "found": found, "at": running, "times": ran, "bad": sorted(bad), "lost": sorted(lost), "reports": reports}


def done(result):
    """Tests of a shard that need not run again, with their milliseconds."""
    again = {*result["bad"], *result["lost"], *(report["test"] for report in result["reports"])}
    if result["ended"] == "findings" and not result["reports"]:
        return {}
    return {name: ms for name, ms in result["times"].items() if name not in again}


def step(tool, program, results, left_out, before=()):
    """The line of a tool and a program: the worst that happened to a shard; `before`: tests that an earlier run has done."""
    worst = next((one for one in ("findings", "failed", "lost", "cut off", "clean", "skipped")
                  if any(result["ended"] == one for result in results)), "clean")
    if worst == "clean" and any(result["ended"] == "skipped" and result["seconds"] == 0 for result in results):
        worst = "skipped" # for lack of time
    ran = sum(len(result["times"]) for result in results)
    all_tests = len(before) + sum(len(result["tests"]) for result in results)
    words, bad = [f"{len(before) + ran} of {all_tests} tests in {len(results)} processes"], []
    for result in results:
        name = os.path.basename(result["log"])
        if result["ended"] == "findings":
            bad.append(f"{result['found']} in {name}")
        elif result["ended"] == "failed":
            bad.append(f"{', '.join(result['bad']) or result['at'] or 'no summary'} in {name}")
        elif result["ended"] == "cut off":
            bad.append(f"cut off in {result['at'] or name}")
        elif result["ended"] == "lost":
            bad.append(f"{LOST} in {name}")
    words += bad[:4] + ([f"{len(bad) - 4} more"] if len(bad) > 4 else [])
    if before:
        words.append(f"{len(before)} in an earlier run")
    if left_out:
        words.append(f"{len(left_out)} left out")
    seconds = round(sum(result["seconds"] for result in results))
    return f"sanitize\t{tool}.{program}\t{worst}\t{seconds}\t{'; '.join(words)}"


def all_reports(results):
    """Every report once, without addresses and numbers of threads, with the tests that ran when it came."""
    seen = {}
    for result in results:
        for report in result["reports"]:
            text = re.sub(r"0x[0-9a-f]{6,}|\(\d+,\d+,\d+\)", "...", report["text"])
            seen.setdefault((result["tool"], text), set()).add(f"{result['program']}:{report['test']}")
    return "".join(f"{tool}: {text}\n    {' '.join(sorted(tests))}\n" for (tool, text), tests in sorted(seen.items()))


def build_of(paths):
    """What tells one build of a program and the libraries it opens from another."""
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def plan(args):
    """Shards; what is left out, the build and what an earlier run of it has done, of each program."""
    earlier = {}
    if args.resume:
        with open(os.path.join(args.resume, "sanitize.json"), encoding="utf-8") as file:
            earlier = json.load(file)["programs"]
    jobs, programs = [], {}
    for name in sorted(os.listdir(args.bin)):
        path = os.path.join(args.bin, name)
        if not name.startswith("gpu_") or name.endswith("_times") or not re.search(args.match, name) or not os.access(path, os.X_OK):
            continue
        tests, left_out = tests_of(path)
        build = build_of([path, *libraries()])
        before = earlier[name]["done"] if earlier.get(name, {}).get("build") == build else {}
        programs[name] = {"build": build, "left_out": left_out, "done": {tool: dict(before.get(tool, {})) for tool in TOOLS}}
        for tool in args.tools:
            left = [test for test in tests if test not in programs[name]["done"][tool]]
            for k, (seconds, members) in enumerate(shards_of(left, TOOLS[tool])):
                jobs.append({"tool": tool, "program": name, "path": path, "tests": members, "expected": seconds,
                             "log": os.path.join(args.out, f"{tool}.{name}.{k + 1}.log")})
    return sorted(jobs, key=lambda job: (job["tool"] == "racecheck", -job["expected"])), programs


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("bin")
    parser.add_argument("out", nargs="?", default="")
    parser.add_argument("seconds", nargs="?", type=int, default=0)
    parser.add_argument("devices", nargs="?", type=int, default=1)
    parser.add_argument("--match", default="")
    parser.add_argument("--tools", type=lambda words: words.split(","), default=list(TOOLS))
    parser.add_argument("--resume", default="")
    parser.add_argument("--places", type=int, default=PLACES)
    parser.add_argument("--racing", type=int, default=RACING)
    parser.add_argument("--plan", action="store_true")
    return parser.parse_args()


def main(args):
    deadline = time.monotonic() + args.seconds
    jobs, programs = plan(args)
    if args.plan:
        for one in jobs:
            print(f"{one['expected']:6.1f} s  {one['tool']:9} {one['program']:14} {' '.join(one['tests'])}")
        return
    cores = len(os.sched_getaffinity(0))
    places = [max(1, min(args.places, cores // args.devices))] * args.devices
    devices, hazards = Devices(places, args.racing), os.path.join(args.bin, PLANTED)
    raced = sorted({job["path"] for job in jobs if job["tool"] == "racecheck"} | {hazards} if "racecheck" in args.tools else ())
    if args.resume and os.path.exists(os.path.join(args.resume, "kernels.json")):
        shutil.copy(os.path.join(args.resume, "kernels.json"), args.out)
    racecheck = Racecheck(args.out, raced, cores, max(1, cores // (args.devices * args.racing) - 1))
    with concurrent.futures.ThreadPoolExecutor(sum(places) + len(raced[:1])) as pool:
        proof = [pool.submit(planted, hazards, racecheck, os.path.join(args.out, PLANTED + ".log"), 60) for _ in raced[:1]]
        results = list(pool.map(lambda job: run(job, devices, racecheck, deadline), jobs))
        for line in proof:
            print(line.result())
    for tool in args.tools:
        for name, program in programs.items():
            mine = [result for result in results if (result["tool"], result["program"]) == (tool, name)]
            print(step(tool, name, mine, program["left_out"], program["done"][tool]))
    for result in results:
        programs[result["program"]]["done"][result["tool"]].update(done(result))
    with open(os.path.join(args.out, "reports.txt"), "w", encoding="utf-8") as file:
        file.write(all_reports(results))
    with open(os.path.join(args.out, "sanitize.json"), "w", encoding="utf-8") as file:
        json.dump({"programs": programs, "shards": results}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(arguments())
