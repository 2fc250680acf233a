#!/usr/bin/env python3
"""compute-sanitizer over the GPU test programs, inputs small (support/small.hpp), for tests/gpu/run.sh.

usage: sanitize.py BIN OUT SECONDS DEVICES [PATTERN]

Tests go in shards of similar length, longest first, racecheck behind the three quick tools, half as many processes at a
time as there are cores; one thread each, since processes share cores and devices. Lines for steps.txt go to standard output, one a tool and
program: clean, findings, failed (tests, without findings), cut off, skipped. OUT gets a log a shard and sanitize.json: what
was left out and why, the seconds of every test. --plan prints the shards and starts none.
"""
import concurrent.futures
import fnmatch
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

TOOLS = {"racecheck": 1.0, "memcheck": 0.2, "initcheck": 0.2, "synccheck": 0.2} # share of racecheck's time
LEFT_OUT = {
    "*DeathTest.*": "starts another process, which does not come back under a sanitizer",
    "*Speed*": "measures time", "*Times*": "measures time", "*Rates*": "measures time",
    "*.Large*": "needs more than a staging chunk (2.4e6 particles)",
    "*.MillionPoints": "1e6 points; the same kernels as those of the tests beside it",
}
OPTIONS = {"racecheck": ["--kernel-regex-exclude", "kns=CUB_"]} # NVIDIA's own kernels: sorts and scans, a third of the time
SECONDS = 4.0 # a test under racecheck beside seven other processes on an H200, unless it is here
SLOW = {
    "EngineReuse.*": 40, "EngineMemory.*": 40, "GpuRanks.*": 40, "EngineLife.*": 30, "EngineLocal.*": 30, "EngineLean.*": 30,
    "EngineMatches.*": 25, "Periodic.*": 15, "DeviceLife.*": 12, "DeviceContext.*": 12, "DeviceArrays.*": 8,
    "DeviceTargetsTest.*": 10, "DeviceWalkTest.*": 10, "*TreeKinds.*": 8, "TreeBuild.*": 6, "RanksTest.*": 6, "Orb*Test.*": 6,
    "NearLayouts.*": 6, "GpuRanksBox.*": 40,
}
SHARD_SECONDS, SHARD_LIMIT_S, FINDINGS = 40.0, 200, 86
PLACES = 8 # processes on a device at a time
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)")
DONE = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+) \((\d+) ms\)", re.M)


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
    def __init__(self, places):
        self.left, self.lock = list(places), threading.Lock()

    def take(self):
        with self.lock:
            first = self.left.index(max(self.left))
            self.left[first] -= 1
            return first

    def give(self, first):
        with self.lock:
            self.left[first] += 1

    def visible(self, first):
        count = len(self.left)
        return ",".join(str((first + k) % count) for k in range(count))


def run(job, devices, deadline):
    """One shard: how it ended, and what its log says."""
    left = min(SHARD_LIMIT_S, deadline - time.monotonic())
    if left < 5:
        return job | judged("", 0) | {"ended": "skipped", "seconds": 0.0, "device": None}
    first = devices.take()
    given = {"OMP_NUM_THREADS": "1", "GRAFT_TEST_SMALL": "1"}
    if "CUDA_VISIBLE_DEVICES" not in os.environ:
        given["CUDA_VISIBLE_DEVICES"] = devices.visible(first)
    command = ["compute-sanitizer", "--tool", job["tool"], "--report-api-errors", "no", "--error-exitcode", str(FINDINGS),
               "--print-limit", "5", *OPTIONS.get(job["tool"], []), job["path"], "--gtest_color=no", "--gtest_filter=" + ":".join(job["tests"])]
    begin, status = time.monotonic(), 124
    with open(job["log"], "wb") as log:
        with subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | given,
                              start_new_session=True) as process:
            try:
                status = process.wait(timeout=left)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
    devices.give(first)
    with open(job["log"], encoding="utf-8", errors="replace") as file:
        return job | judged(file.read(), status) | {"seconds": time.monotonic() - begin, "device": first}


def judged(log, status):
    """How a shard ended, from its log and exit status; milliseconds of its tests; the test it was cut off in."""
    done = DONE.findall(log)
    found = sum(int(count) for count in SUMMARY.findall(log)[:1])
    running = re.findall(r"^\[ RUN +\] (\S+)", log, re.M)
    if found > 0 or status == FINDINGS:
        ended = "findings"
    elif status == 124:
        ended = "cut off"
    else:
        ended = "clean" if status == 0 and SUMMARY.search(log) else "failed"
    ran = {name: int(ms) for state, name, ms in done if state != "SKIPPED"}
    if ended == "clean" and not ran:
        ended = "skipped"
    at = running[-1] if running and len(running) > len(done) else ""
    return {"ended": ended, "found": found, "at": at, "times": ran,
            "bad": sorted({name for state, name, _ in done if state == "FAILED"})}


def step(tool, program, results, left_out):
    """The line of a tool and a program: the worst that happened to a shard."""
    worst = next(one for one in ("findings", "failed", "cut off", "clean", "skipped")
                 if any(result["ended"] == one for result in results))
    if worst == "clean" and any(result["ended"] == "skipped" and result["seconds"] == 0 for result in results):
        worst = "skipped" # for lack of time
    ran = sum(len(result["times"]) for result in results)
    words, bad = [f"{ran} of {sum(len(result['tests']) for result in results)} tests in {len(results)} processes"], []
    for result in results:
        name = os.path.basename(result["log"])
        if result["ended"] == "findings":
            bad.append(f"{result['found']} in {name}")
        elif result["ended"] == "failed":
            bad.append(f"{', '.join(result['bad']) or result['at'] or 'no summary'} in {name}")
        elif result["ended"] == "cut off":
            bad.append(f"cut off in {result['at'] or name}")
    words += bad[:4] + ([f"{len(bad) - 4} more"] if len(bad) > 4 else [])
    if left_out:
        words.append(f"{len(left_out)} left out")
    seconds = round(sum(result["seconds"] for result in results))
    return f"sanitize\t{tool}.{program}\t{worst}\t{seconds}\t{'; '.join(words)}"


def plan(folder, out, pattern):
    jobs, left_out = [], {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if not name.startswith("gpu_") or name.endswith("_times") or not re.search(pattern, name) or not os.access(path, os.X_OK):
            continue
        tests, left_out[name] = tests_of(path)
        for tool, share in TOOLS.items():
            for k, (seconds, members) in enumerate(shards_of(tests, share)):
                jobs.append({"tool": tool, "program": name, "path": path, "tests": members, "expected": seconds,
                             "log": os.path.join(out, f"{tool}.{name}.{k + 1}.log")})
    return sorted(jobs, key=lambda job: (job["tool"] == "racecheck", -job["expected"])), left_out


def main(folder, out, limit_s, device_count, pattern=""):
    deadline = time.monotonic() + int(limit_s)
    jobs, left_out = plan(folder, out, pattern)
    places = [max(1, min(PLACES, len(os.sched_getaffinity(0)) // 2 // int(device_count)))] * int(device_count)
    devices = Devices(places)
    with concurrent.futures.ThreadPoolExecutor(sum(places)) as pool:
        results = list(pool.map(lambda job: run(job, devices, deadline), jobs))
    for tool in TOOLS:
        for program, names in left_out.items():
            mine = [result for result in results if (result["tool"], result["program"]) == (tool, program)]
            if mine:
                print(step(tool, program, mine, names))
    with open(os.path.join(out, "sanitize.json"), "w", encoding="utf-8") as file:
        json.dump({"left_out": left_out, "shards": results}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    if sys.argv[1] == "--plan":
        for one in plan(sys.argv[2], "", "")[0]:
            print(f"{one['expected']:6.1f} s  {one['tool']:9} {one['program']:14} {' '.join(one['tests'])}")
    else:
        main(*sys.argv[1:])
