#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares a built library (with debug information of the table) with the recorded ABI, through abidiff.

usage: gate.py BASELINE.abixml LIBRARY     exit status 0: compatible, 1: not, 77: abidiff is not installed
       gate.py --record BASELINE.abixml LIBRARY     records a new baseline (a decision: say why in the commit)

abidiff's "incompatible" bit (8) alone is not enough: for a change behind a pointer, such as two entries of our table
exchanged, libabigail 2.2 sets only "changed" (4). So a changed report must consist of nothing but entries appended to
graft_api_v1 (and its growth); every other line is a break.
"""
import re
import shutil
import subprocess
import sys

ERROR, USAGE, CHANGE, INCOMPATIBLE = 1, 2, 4, 8
APPENDING = [re.compile(pattern) for pattern in (
    r"Functions changes summary: 0 Removed, \d+ Changed.*, 0 Added functions?.*",
    r"Variables changes summary: 0 Removed, 0 Changed, 0 Added variables?.*",
    r"\d+ functions? with some indirect sub-type changes?:",
    r"\[C\] 'function const graft_api_v1\* graft_get_api\(uint32_t, uint32_t\)'.* has some indirect sub-type changes:",
    r"return type changed:",
    r"in pointed to type 'const graft_api_v1'.*:",
    r"in unqualified underlying type 'typedef graft_api_v1'.*:",
    r"underlying type 'struct graft_api_v1'.* changed:",
    r"type size changed from \d+ to \d+ \(in bits\)",
    r"\d+ data member insertions?:",
    r"'.*', at offset \d+ \(in bits\).*",
)]


def only_appended(report):
    """True when the report speaks of nothing but members added behind the old end of graft_api_v1."""
    lines = [line.strip() for line in report.splitlines() if line.strip()]
    unknown = [line for line in lines if not any(pattern.fullmatch(line) for pattern in APPENDING)]
    sizes = re.findall(r"type size changed from (\d+) to (\d+)", report)
    offsets = [int(offset) for offset in re.findall(r"', at offset (\d+)", report)]
    return (not unknown and len(sizes) == 1 and int(sizes[0][1]) > int(sizes[0][0]) and
            all(offset >= int(sizes[0][0]) for offset in offsets))


def compare(baseline, library):
    """(compatible, report)."""
    done = subprocess.run(["abidiff", baseline, library], capture_output=True, text=True)
    report = done.stdout + done.stderr
    if done.returncode == 0:
        return True, ""
    if done.returncode & (ERROR | USAGE | INCOMPATIBLE):
        return False, f"abidiff: exit status {done.returncode}\n{report}"
    return only_appended(report), report


def record(baseline, library):
    subprocess.run(["abidw", "--no-show-locs", "--no-comp-dir-path", "--no-corpus-path", "--no-elf-needed",
                    "--out-file", baseline, library],
                   check=True)
    with open(baseline, encoding="utf-8") as file:
        text = file.read()
    with open(baseline, "w", encoding="utf-8") as file:
        file.write(re.sub(r" path='[^']*'", "", text))  # of this machine


def main(arguments):
    if shutil.which("abidiff") is None:
        print("abidiff is not installed (Debian: abigail-tools)")
        return 77
    if arguments[:1] == ["--record"] and len(arguments) == 3:
        record(*arguments[1:])
        return 0
    if len(arguments) != 2:
        raise SystemExit(__doc__)
    compatible, report = compare(*arguments)
    print(report)
    print("compatible with the recorded ABI" if compatible else
          "the ABI is broken: existing hosts would read the wrong bytes. Append instead, or (before a release only, with "
          "the reason in the commit) record a new baseline with gate.py --record")
    return 0 if compatible else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
