#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The README's recipe: builds the plugin and the Python module from an installed, moved tree (the fixture of tests/install), installs
them (below a DESTDIR) and runs the module's tests without GRAFT_LIBRARY. Not optimised, to be quick.

usage: recipe_test.py CMAKE PREFIX WORK_FOLDER OPENMM_DIR PYTHON_TEST [-DCMAKE_...]
"""
import os
import shutil
import subprocess
import sys

cmake, prefix, work, openmm, python_test, *definitions = sys.argv[1:]
environment = {key: value for key, value in os.environ.items() if key not in ("GRAFT_LIBRARY", "LD_LIBRARY_PATH")}
build, destination = os.path.join(work, "build"), os.path.join(work, "root")


def run(*command, **more):
    print("+", " ".join(command), flush=True)
    subprocess.run(command, check=True, env={**environment, **more})


shutil.rmtree(work, ignore_errors=True)
run(cmake, "-S", os.path.join(prefix, "share/graft/openmm"), "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
    "-DCMAKE_BUILD_TYPE=None", f"-DOPENMM_DIR={openmm}", f"-DGRAFT_OPENMM_PYTHON={sys.executable}", *definitions)
run(cmake, "--build", build, "--parallel", "2")
run(sys.executable, python_test, os.path.join(build, "python"), build)
run(cmake, "--install", build, DESTDIR=destination)
installed = sorted(name for _, _, names in os.walk(destination) for name in names
                   if name != "libOpenMMGraftCUDA.so")  # where the wheel has its CUDA platform
expected = ["_graft_openmm", "graft_openmm.py", "libOpenMMGraft.so"]
if len(installed) != len(expected) or not all(name.startswith(start) for name, start in zip(installed, expected)):
    sys.exit(f"installed: {installed}; expected {expected}")
