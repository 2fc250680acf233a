#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Proves that the ABI gate can tell: an appended entry passes, every kind of break fails.

usage: gate_test.py C_COMPILER INCLUDE_FOLDER WORK_FOLDER     (exit status 77: abidiff is not installed)

Small libraries are compiled from changed copies of the public headers and compared with one from the unchanged ones.
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ABI = os.path.join(HERE, "..", "..", "capi", "abi")
sys.path.insert(0, ABI)
import gate  # noqa: E402

SOURCE = """#include <graft/api.h>
#include <stddef.h>
const graft_api_v1 *graft_get_api(uint32_t a, uint32_t b) { (void)a; (void)b; return NULL; }
"""
CREATE = "    int32_t (*options_create)(graft_options **options);\n"
DESTROY = "    int32_t (*options_destroy)(graft_options **options);\n"
END = "} graft_api_v1;"
# name: (compatible, file, [(text, replacement)...])
VARIANTS = {
    "unchanged": (True, "api.h", []),
    "appended": (True, "api.h", [(END, "    int32_t (*one_more)(graft_context *context);\n" + END)]),
    "two_appended": (True, "api.h", [(END, "    int32_t (*a)(int64_t n);\n    int32_t (*b)(graft_sink s);\n" + END)]),
    "reordered": (False, "api.h", [(CREATE, "@"), (DESTROY, CREATE), ("@", DESTROY)]),
    "removed": (False, "api.h", [(CREATE, "")]),
    "inserted": (False, "api.h", [(CREATE, "    int32_t (*inserted)(int32_t a);\n" + CREATE)]),
    "reordered_and_appended": (False, "api.h", [(CREATE, "@"), (DESTROY, CREATE), ("@", DESTROY),
                                                (END, "    int32_t (*one_more)(int32_t a);\n" + END)]),
    "parameter_changed": (False, "api.h", [("(graft_context *context, const char *key, double *value)",
                                            "(graft_context *context, const char *key, float *value)")]),
    "struct_field_widened": (False, "types.h", [("    int32_t components;       /* per", "    int64_t components;       /* per")]),
    "struct_fields_exchanged": (False, "types.h", [("    double lower[3];\n    double upper[3];",
                                                    "    double upper[3];\n    double lower[3];")]),
}


def build(compiler, include, folder, name, file=None, changes=()):
    copy = os.path.join(folder, name)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(include, copy)
    if file is not None and changes:
        path = os.path.join(copy, "graft", file)
        with open(path, encoding="utf-8") as opened:
            text = opened.read()
        for old, new in changes:
            assert old in text, f"{name}: '{old}' is no longer in {file}; adapt this test"
            text = text.replace(old, new)
        with open(path, "w", encoding="utf-8") as opened:
            opened.write(text)
    library = os.path.join(copy, "lib.so")
    subprocess.run([compiler, "-g", "-shared", "-fPIC", "-fvisibility=hidden", "-DGRAFT_BUILDING_LIBRARY", f"-I{copy}",
                    "-x", "c", "-", "-Wl,--version-script=" + os.path.join(ABI, "graft.map"), "-o", library],
                   input=SOURCE, text=True, check=True)
    return library


def main(compiler, include, folder):
    if shutil.which("abidiff") is None:
        return 77
    baseline = os.path.join(folder, "baseline.abixml")
    gate.record(baseline, build(compiler, include, folder, "first"))
    wrong = 0
    for name, (expected, file, changes) in VARIANTS.items():
        compatible, report = gate.compare(baseline, build(compiler, include, folder, name, file, changes))
        print(f"{name}: {'compatible' if compatible else 'a break'}")
        if compatible != expected:
            wrong += 1
            print(f"  expected the opposite; abidiff said:\n{report}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
