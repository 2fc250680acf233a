#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the binary that was compiled on the day of the first release (frozen/client.x86_64) with this library.

usage: frozen_binary.py CLIENT LIBRARY     exit status 77: this machine does not run it (the reason is printed)
"""
import os
import platform
import stat
import subprocess
import sys

MOST_BYTES = 50_000


def main(client, library):
    size, mode = os.path.getsize(client), os.stat(client).st_mode
    if size > MOST_BYTES or not mode & stat.S_IXUSR:
        print(f"{client}: {size} bytes, mode {mode:o}; expected a program of at most {MOST_BYTES} (frozen/record.sh)")
        return 1
    if platform.machine() != "x86_64":
        print(f"the client was compiled for x86_64; this is {platform.machine()}")
        return 77
    with open(client, "rb") as file, open(library, "rb") as other:
        if file.read(20)[18:20] != other.read(20)[18:20]:
            print("the library is for another machine than the client")
            return 77
    try:
        ran = subprocess.run([client, library], capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        print("the client's dynamic linker is not here: it needs glibc")
        return 77
    print(ran.stdout + ran.stderr)
    if ran.returncode == 1 and "version `GLIBC" in ran.stderr:
        return 77
    if ran.returncode != 0:
        print(f"a host compiled on the day of the first release no longer runs: exit status {ran.returncode}")
    return 0 if ran.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
