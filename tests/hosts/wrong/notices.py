# SPDX-License-Identifier: BSD-3-Clause
"""Runs a host's test with a libgraft whose forces are wrong (graft_wrong.c): the test must fail, and must have got as far as forces.
usage: notices.py LIBRARY COMMAND..."""
import os
import subprocess
import sys
import tempfile


def main():
    library, command = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        seen = os.path.join(folder, "seen")
        environment = dict(os.environ, GRAFT_LIBRARY=library, GRAFT_WRONG_SEEN=seen)
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if not os.path.exists(seen):
            raise SystemExit(f"the host has not asked Graft for forces:\n{done.stdout}")
    if done.returncode == 0:
        raise SystemExit(f"the test passes with forces that are wrong by two thousandths:\n{done.stdout}")
    print("the test fails with wrong forces, as it must; its last lines:", *done.stdout.splitlines()[-5:], sep="\n  ")


if __name__ == "__main__":
    main()
