#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Subjects of commits: at most LONGEST characters. usage: subjects.py MESSAGE_FILE, as git's hook commit-msg has it.

As a rule of lint.py: of the commits after SINCE; older ones stay as they are. Where the history does not reach that far (a
shallow clone, as CI has it): of the last commit. Without git, or outside of a clone: none.
"""
import os
import subprocess
import sys

LONGEST = 72
SINCE = "f094e66dabe07b7d9402f51cb5759ffb91f16dc8" # the last one before this rule


def git(repository, *arguments):
    """What git says of this folder, whatever a hook that calls has set; None where it fails or is not there."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        made = subprocess.run(["git", "-c", "core.hooksPath=/dev/null", "-C", repository, *arguments], capture_output=True, text=True,
                              check=False, env=environment)
    except OSError:
        return None
    return made.stdout if made.returncode == 0 else None


def wrong(subject):
    return "" if len(subject) <= LONGEST else f"subject of {len(subject)} characters; expected at most {LONGEST}: {subject}"


def check(repository, since=SINCE):
    top = git(repository, "rev-parse", "--show-prefix")
    if top is None or top.strip(): # no clone, or a folder in somebody else's
        return
    known = git(repository, "merge-base", "--is-ancestor", since, "HEAD") is not None
    for line in (git(repository, "log", "--no-merges", "--format=%h %s", *([f"{since}..HEAD"] if known else ["-1"])) or "").splitlines():
        commit, _, subject = line.partition(" ")
        if complaint := wrong(subject):
            yield f"commit {commit}: {complaint}"


def main(message):
    with open(message, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if not line.startswith("#")]
    complaint = wrong(next((line for line in lines if line.strip()), ""))
    if complaint:
        print(complaint)
    return 1 if complaint else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1]))
