#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The wheel of pyproject.toml, with what `cmake --install` gives of this build in the place of a second build: installed into a new
environment, where Python, the graft command and a host in C use it. What makes it fit other machines (./bootstrap wheel) is
tried by fresh.sh.

usage: wheel_test.py CMAKE BUILD_FOLDER SOURCE_FOLDER WORK_FOLDER C_COMPILER PYTHON

PYTHON has NumPy. Skipped (77) where it has not, or build/wheel_tools is not there: ./bootstrap deps makes both.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

STUB = """cmake_minimum_required(VERSION 3.22)
project(installed LANGUAGES NONE)
foreach(component {components})
    install(CODE "execute_process(
        COMMAND {cmake} --install {build} --prefix ${{CMAKE_INSTALL_PREFIX}} --component ${{component}}
        COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)" COMPONENT ${{component}})
endforeach()
"""
PROGRAM = """
import numpy, graft
x = numpy.array([[0, 0, 0], [2.0, 0, 0]])
with graft.Context(dict(constant=1)) as gravity:
    assert abs(gravity.compute(x, 1.0).acceleration[0, 0] - 0.25) < 1e-12
print(graft.__path__[0])
"""


def run(*command, **options):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("GRAFT_", "PYTHON")) and name != "LD_LIBRARY_PATH"}
    print("+", *command, flush=True)
    return subprocess.run([str(word) for word in command], check=True, text=True, env=kept | options.pop("more", {}), **options)


def project(cmake, build, source, folder):
    """What the wheel is made from, with a CMake project that installs `build`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", "THIRD-PARTY.md"):
        shutil.copy(source / name, folder)
    shutil.copytree(source / "adapters/python/graft", folder / "adapters/python/graft", ignore=shutil.ignore_patterns("__pycache__"))
    components = tomllib.loads((source / "pyproject.toml").read_text())["tool"]["scikit-build"]["install"]["components"]
    (folder / "stub").mkdir()
    (folder / "stub/CMakeLists.txt").write_text(STUB.format(components=" ".join(components), cmake=cmake, build=build))


def main(cmake, build, source, work, compiler, python):
    source, work = pathlib.Path(source), pathlib.Path(work) / "wheel"
    tools = source / "build/wheel_tools/bin/python"
    if not tools.exists():
        print(f"skipped: there is no {tools}; ./bootstrap deps makes it")
        return 77
    numpy = subprocess.run([python, "-c", "import numpy; print(numpy.__path__[0])"], stdout=subprocess.PIPE, text=True) \
        if os.path.exists(python) else None
    if numpy is None or numpy.returncode:
        print(f"skipped: {python} has no NumPy; ./bootstrap deps makes it")
        return 77
    project(cmake, build, source, work / "source")
    run(tools, "-m", "build", "--no-isolation", "--wheel", "--outdir", work, "-C", "cmake.source-dir=stub",
        work / "source", stdout=subprocess.DEVNULL, more={"PATH": f"{tools.parent}:{os.environ['PATH']}"})
    wheel, = work.glob("libgraft-*.whl")
    shutil.rmtree(work / "environment", ignore_errors=True)
    run(python, "-m", "venv", work / "environment")
    scripts = work / "environment/bin"
    run(scripts / "python", "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel)
    its_numpy = {"PYTHONPATH": str(pathlib.Path(numpy.stdout.strip()).parent)}
    run(scripts / "graft", "selftest", "--require", "cpu", more=its_numpy)
    run(scripts / "python", "-m", "graft", "--version", more=its_numpy)
    package = run(scripts / "python", "-c", PROGRAM, stdout=subprocess.PIPE, more=its_numpy).stdout.strip()
    flags = run("pkg-config", "--cflags", "--libs", "graft", stdout=subprocess.PIPE,
                more={"PKG_CONFIG_PATH": f"{package}/lib/pkgconfig"}).stdout.split()
    run(compiler, source / "examples/01_minimal.c", *flags, "-lm", "-o", work / "minimal")
    run(work / "minimal", source / "examples/decks/minimal.yaml")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
