#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One set of numbers: C's constants in Fortran, in C++, in decks and in whatever uses them.

usage: numbers_test.py REPOSITORY LIBRARY

zero      0 is success, the default or automatic, or "none": no set of numbers has a real value there
fortran   the generated module has each constant of types.h and comm.h with its value
names     no adapter, example or page names a constant of ours that the headers do not have
cxx       the C++ headers take numbers from the C header: no enumerator of theirs has one of its own
decks     the words of decks and the sets of numbers have the same members, in the same spelling
accuracy  what mac.accuracy means is the same text in the reference of decks, in the C header and in the user's guide
"""
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

FAMILIES = ("ARRAY", "BACKEND", "BALANCER", "BOXES", "COST", "CUDA", "CURVE", "ERROR", "EXPLAIN", "FINDER", "INTERACTION", "KERNEL", "LAYOUT",
            "LOCAL", "LOG", "MAC", "MEMORY", "METHOD", "MODE", "NEAR", "PRECISION", "RESULTS", "SHAPE", "SOFTENING", "STRATEGY", "TREE",
            "WALK")
OURS = re.compile(r"\bGRAFT_(?:[FIU](?:32|64)|(?:%s)_[A-Z0-9_]+)\b" % "|".join(FAMILIES))
OTHERS = re.compile(r"_(?:H|HPP|LIBRARY)$|^GRAFT_CUDA_|\w+_$") # include guards, variables of the environment, beginnings of names
ZERO = re.compile(r"^GRAFT_OK$|_AUTO$|_UNKNOWN$|^GRAFT_(?:ABI|VERSION)_") # what may be 0
EXPLAIN = ("version status_text last_error options_create options_destroy options_set options_get options_set_int64 options_set_double "
           "options_get_int64 options_get_double options_read_file options_read_text options_explain").split().index("options_explain")
WORDS = {"precision": "GRAFT_PRECISION_", "near_field.layout": "GRAFT_NEAR_LAYOUT_", "log.level": "GRAFT_LOG_"}


def read(*path):
    with open(os.path.join(*path), encoding="utf-8", errors="replace") as file:
        return file.read()


def constants(repository):
    text = read(repository, "capi/include/graft/types.h") + read(repository, "capi/include/graft/comm.h")
    return {name: int(value) for name, value in re.findall(r"^#define (GRAFT_\w+) (\d+)u?\b", text, re.MULTILINE)}


def zero(theirs):
    yield from (f"{name} is 0; expected its set to begin at 1, as 0 is the default or automatic"
                for name, value in theirs.items() if value == 0 and not ZERO.search(name))


def fortran(repository, theirs):
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "graft_c.f90")
        subprocess.run([sys.executable, os.path.join(repository, "adapters/fortran/generate_bindings.py"),
                        os.path.join(repository, "capi/include"), output], check=True)
        ours = {name: int(value) for name, value in re.findall(r":: (GRAFT_\w+) = (\d+)_c_int32_t", read(output))}
    yield from (f"Fortran: {name} is {ours.get(name)}; C has {value}" for name, value in theirs.items() if ours.get(name) != value)


def names(repository, theirs):
    for top in ("adapters", "examples", "docs/user", "README.md"):
        path = os.path.join(repository, top)
        for folder, folders, files in os.walk(path) if os.path.isdir(path) else [(repository, [], [top])]:
            folders[:] = [name for name in folders if name != "__pycache__"]
            for file in files:
                used = set(OURS.findall(read(folder, file)))
                yield from (f"{os.path.relpath(os.path.join(folder, file), repository)}: {name} is no constant of the headers"
                            for name in sorted(used) if name not in theirs and not OTHERS.search(name))


def cxx(repository):
    for folder, _, files in os.walk(os.path.join(repository, "adapters/cxx")):
        for file in (file for file in files if file.endswith(".hpp")):
            for body in re.findall(r"\benum\b[^;{]*\{(.*?)\}", read(folder, file), re.DOTALL):
                yield from (f"{file}: enumerator {one.strip()} does not take its number from the C header"
                            for one in body.split(",") if one.strip() and "GRAFT_" not in one)


def explained(theirs, library):
    """Every key of the reference of decks."""
    sink_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_int64)
    table, parts = ctypes.CDLL(library), []
    table.graft_get_api.restype = ctypes.POINTER(ctypes.c_void_p)
    entries = table.graft_get_api(ctypes.c_uint32(1), ctypes.c_uint32(1024))
    explain = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, sink_type, ctypes.c_void_p)(entries[3 + EXPLAIN])
    sink = sink_type(lambda _, text, size: parts.append(ctypes.string_at(text, size)))
    if explain(theirs["GRAFT_EXPLAIN_JSON"], sink, None) != 0:
        raise RuntimeError("options_explain failed")
    return {key["key"]: key for key in json.loads(b"".join(parts))}


def decks(theirs, keys):
    for key, prefix in WORDS.items():
        words = set(re.findall(r"[\w-]+", keys[key]["allowed"].split(":")[-1])) - {"auto", "one", "of"}
        ours = {name.removeprefix(prefix).lower() for name in theirs if name.startswith(prefix)}
        if words != ours:
            yield f"key {key} takes {sorted(words)}; the numbers {prefix}* are {sorted(ours)}"


def accuracy(repository, keys):
    def definition(text):
        found = re.search(r"what each node may.*?of each other", re.sub(r"[\s*>]+", " ", text)) # ">": a quotation
        return found.group() if found else "not there"
    meaning = definition(keys["mac.accuracy"]["meaning"])
    if meaning == "not there":
        yield "the reference of decks does not say what mac.accuracy is in the words that are looked for"
    for place in ("capi/include/graft/api.h", "docs/user/guide/accuracy.md"):
        if (found := definition(read(repository, place))) != meaning:
            yield f"{place}: mac.accuracy: {found}; the reference of decks has: {meaning}"


def main(repository, library):
    theirs = constants(repository)
    keys = explained(theirs, library)
    wrong = [*zero(theirs), *fortran(repository, theirs), *names(repository, theirs), *cxx(repository), *decks(theirs, keys),
             *accuracy(repository, keys)]
    for line in wrong:
        print(line)
    return 1 if wrong or len(theirs) < 60 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
