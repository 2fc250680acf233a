# SPDX-License-Identifier: BSD-3-Clause
"""The real Phantom with Graft: a copy of its source is patched and built as adapters/phantom/README.md says.

usage: phantom_test.py PHANTOM ADAPTER FORTRAN_MODULES LIBRARIES
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main():
    phantom, adapter, modules, libraries = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "phantom"
        shutil.copytree(phantom, copy, ignore=shutil.ignore_patterns(".git", "*.o", "*.mod"))
        with open(adapter / "phantom.patch") as patch:
            subprocess.run(["patch", "-p1"], cwd=copy, stdin=patch, check=True)
        for source in (modules / "graft_c.f90", modules / "graft.f90", adapter / "graft_phantom.F90"):
            shutil.copy(source, copy / "src/main")
        (copy / "bin").mkdir(exist_ok=True)
        subprocess.run(["make", "-j2", "SYSTEM=gfortran", "SETUP=star", "GRAVITY=no", "IND_TIMESTEPS=no",
                        "SRCKROME=graft_c.f90 graft.f90 graft_phantom.F90",
                        f"LDFLAGS=-L{libraries} -lgraft_api -ldl -lpthread", "phantom"], cwd=copy / "build", check=True)
        symbols = subprocess.run(["nm", copy / "bin/phantom"], capture_output=True, text=True, check=True).stdout
        if "graft_add_selfgravity" not in symbols:
            raise SystemExit("phantom was built, but graft_add_selfgravity is not in it")


if __name__ == "__main__":
    main()
