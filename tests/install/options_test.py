#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Configures the repository without command, hosts, studies, tests and CUDA, and looks whether what is left can be built.

usage: options_test.py CMAKE NINJA REPOSITORY WORK_FOLDER [-DNAME=VALUE...]

A whole build takes ten minutes on two cores, so little is compiled: the loaders, the functions by name, and a file of plugin and one of
capi, which see the public headers and those between rooms. Of all else the commands are read: none may name what was left out, or link
a target that is not there, which CMake takes for a library's name.
"""
import os
import re
import shutil
import subprocess
import sys

LEFT_OUT = ("CLI", "HOSTS", "STUDY", "TESTS", "CUDA")
COMPILED = ("graft_loader", "graft_api", "plugin/CMakeFiles/graft.dir/table.cpp.o", "capi/CMakeFiles/graft_capi.dir/src/guard.cpp.o")
NOT_BUILT = re.compile(r"[ =/](impl/study|plugin/study|adapters/cli|adapters/(?!mpi/|c/|cxx/|fortran/|python/)|tests|examples)/\S*")


def complaints(commands, repository, build):
    for command in commands:
        shown = command.replace(build, "").replace(repository, "")
        for found in re.findall(r"\s-l(graft\w*)", shown):
            yield f"links {found}, which is no target: {shown[-200:]}"
        found = NOT_BUILT.search(re.sub(r"cd \S+ && .*cmake\S* -P \S+", "", shown))
        if found:
            yield f"names {found.group(0).strip()}: {shown[:200]}"


def main(cmake, ninja, repository, work, *definitions):
    build = os.path.join(work, "options_off")
    shutil.rmtree(build, ignore_errors=True)
    subprocess.run([cmake, "-S", repository, "-B", build, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", "-DCMAKE_BUILD_TYPE=Release",
                    *(f"-DGRAFT_WITH_{option}=OFF" for option in LEFT_OUT), *definitions], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([ninja, "-C", build, *COMPILED], check=True)
    commands = subprocess.run([ninja, "-C", build, "-t", "commands", "all"], check=True, text=True, capture_output=True).stdout.splitlines()
    wrong = list(complaints(commands, repository, build))
    if not any("libgraft.so.1" in command for command in commands):
        wrong.append(f"none of {len(commands)} commands makes libgraft.so.1")
    print(f"{len(commands)} commands", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) < 5:
        raise SystemExit(__doc__)
    sys.exit(main(*sys.argv[1:]))
