#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a host sees of the built library's file: one exported symbol, and no library it would not want in its process.

usage: library.py LIBRARY (also proves that the check can fail: a second argument, FAKE, is a library that must not pass)
       library.py --cuda LIBGRAFT_CUDA      its one symbol; the driver and the run time of CUDA must not be needed to open it
       library.py --study LIBGRAFT_STUDY    proves that studies would be seen in the others, which hold none
"""
import re
import subprocess
import sys

FORBIDDEN = re.compile(r"mpi|cuda|cudart|nvidia|hdf5|png|boost", re.IGNORECASE)
ALLOWED = re.compile(r"^(libstdc\+\+|libgcc_s|libc|libm|libgomp|libomp|libyaml-cpp|libhwy|ld-linux.*|libpthread|libdl|"
                     r"lib[alut]san|libubsan|libclang_rt.*)\.so")


# What measures and the papers' kernels are in libraries of their own (nm's names; a stripped library has none).
STUDIES = re.compile(r"bench|calibrat|simulat|study|rehmann|liu|gaburov|thuering", re.IGNORECASE)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library):
    """Defined dynamic symbols, without the version's own name (kind A)."""
    rows = [line.split() for line in output("nm", "-D", "--defined-only", library).splitlines()]
    return sorted(row[-1].split("@")[0] for row in rows if row[-2] != "A")


def studies_in(library):
    return sorted({name for name in output("nm", "-C", library).splitlines() if STUDIES.search(name)})


def complaints(library, symbol="graft_get_api", name=r"libgraft\.so\.1"):
    found = []
    if exported(library) != [symbol]:
        found.append(f"exports {exported(library)}; expected {symbol} alone")
    dynamic = output("readelf", "-d", library)
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if FORBIDDEN.search(needed) or not ALLOWED.match(needed):
            found.append(f"needs {needed}; hosts must not get that from us")
    if not re.search(rf"\(SONAME\).*\[{name}\]", dynamic):
        found.append(f"its SONAME is not {name}")
    found += [f"holds a study: {name}" for name in studies_in(library)[:5]]
    if re.search(r"\((RPATH|RUNPATH)\).*\[.*/(build|work|tmp)", dynamic):
        found.append("it carries a search path into a build folder")
    return found


def main(library, fake=None):
    if library == "--study":
        print(f"{fake}: {len(studies_in(fake))} symbols of studies")
        return 0 if studies_in(fake) else 1
    if library == "--cuda":
        library, fake = fake, None
        found = complaints(library, "graft_cuda_get_table", r"libgraft_cuda\.so")
    else:
        found = complaints(library)
    if fake is not None and not complaints(fake):
        found.append(f"the check itself lets {fake} pass")
    for line in found:
        print(f"{library}: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
