#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""clang-tidy (.clang-tidy) over C++ sources. usage: tidy.py REPOSITORY BUILD CLANG_TIDY [--jobs N] [PATH...]
                                                     tidy.py REPOSITORY BUILD CLANG_TIDY --self-test

PATH: sources, or folders with sources, of the configured BUILD; without any, all of adapters, capi, impl and plugin.
A source that was clean is looked at again when it, a header of the repository that it reaches, its command,
.clang-tidy or clang-tidy's version has changed: BUILD/tidy holds a hash for each.
"""
import argparse
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from includes import Includes

# clang-tidy from PyPI has no omp.h, and GCC's is not for clang: the distribution's, behind clang's own headers.
OMP = [f"--extra-arg=-idirafter{os.path.dirname(path)}" for path in sorted(glob.glob("/usr/lib/llvm-*/lib/clang/*/include/omp.h"))[-1:]]
GCH = "--extra-arg=-Wno-ignored-gch" # GCC's precompiled headers are not for clang, which reads the headers
EVERYTHING = ("adapters", "capi", "impl", "plugin")
CONFIGURATION = ".clang-tidy"
OLDEST = 21 # others do not know .clang-tidy's option of misc-include-cleaner
PLANTED = { # one violation for each family of checks
    "bugprone-branch-clone": "int f(bool b) { if (b) return 1; else return 1; }\n",
    "performance-unnecessary-value-param": "#include <string>\nint f(std::string s) { return static_cast<int>(s.size()); }\n",
    "misc-include-cleaner": "#include <vector>\nint f() { return 1; }\n",
    "clang-diagnostic-comma": "void f(int& a, int& b) { a = 1, b = 2; }\n",
    "clang-diagnostic-shadow": "int f(int a) { if (a) { int a = 2; return a; } return a; }\n",
}


def version_of(program):
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout if shutil.which(program) else ""
    found = re.search(r"version ([.\d]+)", said)
    return found.group(1) if found else ""


class Tidy:
    """Complaints about headers are those below the given paths only: a room can be clean before what it includes."""

    def __init__(self, repository, build, program, paths=EVERYTHING):
        self.repository, self.build, self.program = os.path.realpath(repository), os.path.realpath(build), program
        self.includes = Includes(repository, build)
        self.commands = {}
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            for entry in json.load(file):
                path = os.path.relpath(os.path.realpath(os.path.join(entry["directory"], entry["file"])), self.repository)
                if path.endswith(".cpp"):
                    self.commands.setdefault(path, entry["command"])
        self.sources = sorted(path for path in self.commands if (path + "/").startswith(tuple(above.rstrip("/") + "/" for above in paths)))
        self.headers = "^({})(/|$)".format("|".join(os.path.join(self.repository, path.rstrip("/")) for path in paths))
        self.common = version_of(program) + self.headers + self.read(CONFIGURATION)
        self.stamps = os.path.join(self.build, "tidy", hashlib.sha256(self.headers.encode()).hexdigest()[:8])

    def read(self, path):
        with open(os.path.join(self.repository, path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def reached(self, source):
        known, left = {source}, [source]
        while left:
            found = {path for _, path in self.includes.of(left.pop()) if path} - known
            known |= found
            left += found
        return sorted(known)

    def hash(self, source):
        text = [self.common, self.commands[source], *(self.read(path) for path in self.reached(source))]
        return hashlib.sha256("\0".join(text).encode()).hexdigest()

    def complaint(self, source):
        """What clang-tidy says, or None: it was or is clean."""
        stamp, now = os.path.join(self.stamps, source), self.hash(source)
        if os.path.exists(stamp):
            with open(stamp, encoding="utf-8") as file:
                if file.read() == now:
                    return None
        done = subprocess.run([self.program, "-p", self.build, "--quiet", f"--header-filter={self.headers}",
                               *OMP, GCH, os.path.join(self.repository, source)], cwd=self.repository, capture_output=True, text=True)
        if done.returncode != 0:
            return done.stdout + done.stderr
        os.makedirs(os.path.dirname(stamp), exist_ok=True)
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(now)
        return None


def write(folder, files):
    for path, text in files.items():
        os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(text)


def complaints(folder, program, steps):
    """What is said of impl/a.cpp after each of these changes of files."""
    write(folder, {"build/compile_commands.json": json.dumps(
        [{"directory": folder, "file": f"{folder}/impl/a.cpp", "command": f"c++ -std=c++20 -Wall -Wextra -c {folder}/impl/a.cpp"}])})
    for files in steps:
        write(folder, files)
        yield Tidy(folder, os.path.join(folder, "build"), program).complaint("impl/a.cpp") or ""


def self_test(repository, program):
    with open(os.path.join(repository, CONFIGURATION), encoding="utf-8") as file:
        configuration = {CONFIGURATION: file.read()}
    cases = [([{"impl/a.cpp": text, **configuration}, {}], [word, word]) for word, text in PLANTED.items()]
    header = {"impl/a.hpp": "inline int f() { return 1; }\n", "impl/a.cpp": '#include "a.hpp"\nint g() { return f(); }\n', **configuration}
    worse = {"impl/a.hpp": "inline int f() { int a = 0, b = 0; a = 1, b = 2; return a + b; }\n"}
    cases.append(([header, {}, worse], ["", "", "clang-diagnostic-comma"]))
    wrong = 0
    for steps, words in cases:
        with tempfile.TemporaryDirectory() as folder:
            said = list(complaints(folder, program, steps))
        if not all(word in text and bool(word) == bool(text) for word, text in zip(words, said)):
            print(f"expected {words}, it says: {said}")
            wrong += 1
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("repository", "build", "clang_tidy"):
        parser.add_argument(name)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("paths", nargs="*")
    given = parser.parse_intermixed_args()
    version = version_of(given.clang_tidy)
    if int(version.split(".")[0] or 0) < OLDEST:
        print(f"skipped: clang-tidy '{version}'; expected {OLDEST} or later (./bootstrap deps, then configure again)")
        return 0
    if given.self_test:
        return self_test(given.repository, given.clang_tidy)
    tidy = Tidy(given.repository, given.build, given.clang_tidy, given.paths or EVERYTHING)
    if not tidy.sources:
        raise SystemExit(f"{' '.join(given.paths)}: no sources of {given.build}; expected paths below the repository, as impl/core")
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for said in pool.map(tidy.complaint, tidy.sources):
            if said is not None:
                print(said, flush=True)
                wrong += 1
    print(f"{len(tidy.sources)} sources, {wrong} with complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
