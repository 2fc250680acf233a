#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One version everywhere: the header's macros, CMake's, version(), the file's name and soname, CHANGELOG, CITATION, Python.

usage: version_test.py REPOSITORY CMAKE_VERSION LIBRARY
"""
import ctypes
import os
import re
import subprocess
import sys


def found(repository, path, pattern):
    with open(os.path.join(repository, path), encoding="utf-8") as file:
        match = re.search(pattern, file.read(), re.MULTILINE)
    return match.group(1) if match else None


def main(repository, version, library):
    header = "capi/include/graft/types.h"
    numbers = [found(repository, header, rf"^#define GRAFT_VERSION_{part} (\d+)$") for part in ("MAJOR", "MINOR", "PATCH")]
    table = ctypes.CDLL(library)
    table.graft_get_api.restype = ctypes.c_void_p
    address = table.graft_get_api(ctypes.c_uint32(1), ctypes.c_uint32(24 + 8))
    version_of = ctypes.CFUNCTYPE(ctypes.c_char_p)(ctypes.c_void_p.from_address(address + 24).value)
    said = {"CMake": version, "numbers of types.h": ".".join(map(str, numbers)),
            "GRAFT_VERSION_STRING": found(repository, header, r'^#define GRAFT_VERSION_STRING "(.*)"$'),
            "version()": version_of().decode(), "name of the file": os.path.realpath(library).split(".so.")[-1],
            "first heading of CHANGELOG.md": found(repository, "CHANGELOG.md", r"^## (\d\S*)"),
            "Python": found(repository, "adapters/python/graft/__init__.py", r'^__version__ = "(.*)"$')}
    major = found(repository, header, r"^#define GRAFT_ABI_MAJOR (\d+)u")
    soname = re.search(r"\(SONAME\).*\[libgraft\.so\.(\d+)\]", subprocess.run(["readelf", "-d", library], check=True, capture_output=True,
                                                                             text=True).stdout)
    wrong = [f"{name} says {one}; expected {version}" for name, one in said.items() if one != version]
    if soname is None or not soname.group(1) == major == version.split(".")[0]:
        wrong.append(f"soname {soname and soname.group(0)}, GRAFT_ABI_MAJOR {major}, version {version}; expected one major")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
