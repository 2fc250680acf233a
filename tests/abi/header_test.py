#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the public headers promise to whoever includes them, tried with the compilers at hand.

usage: header_test.py C_COMPILER CXX_COMPILER INCLUDE_FOLDER WORK_FOLDER

pedantic    C99, C11, C++11 and C++17 without a warning, with -pedantic -Wall -Wextra and more
macros      a host's macros of common names (free, barrier, split, error ...) leave headers and calls alone
views       the views of views.h say what their text says, in C99 and C++11
zeros       structs that are all zeros but for their size begin with it, and 0 is no value of any set of numbers
"""
import os
import re
import subprocess
import sys

GENERATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "capi", "abi", "generate.py")
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion", "-Wcast-qual", "-Wundef"]
COMMON = ("free", "barrier", "split", "bcast", "allreduce", "isend", "irecv", "waitall", "error", "warning", "log", "debug", "info", "min",
          "max", "abs", "index", "major", "minor", "select", "round", "near", "far", "box", "check", "assert", "open", "close")
OBJECTS = ("I", "near", "far", "free", "barrier", "error", "warning", "split", "linux", "unix", "complex", "small", "interface")
# Values of one set: distinct, and 0 only where its name says "default" or "automatic".
SETS = {"dtype": ("types.h", r"GRAFT_[FIU]\d\d"), "memory": ("types.h", r"GRAFT_MEMORY_\w+"),
        "kernel": ("types.h", r"GRAFT_NEAR_(?:LAPLACE|LOGARITHM|YUKAWA|HELMHOLTZ|TABLE)"), "boxes": ("types.h", r"GRAFT_NEAR_BOXES_\w+"),
        "layout": ("types.h", r"GRAFT_NEAR_LAYOUT_\w+"), "precision": ("types.h", r"GRAFT_PRECISION_\w+"),
        "explain": ("types.h", r"GRAFT_EXPLAIN_\w+"), "log": ("types.h", r"GRAFT_LOG_\w+"),
        "status": ("types.h", r"GRAFT_(?:OK|ERROR_\w+)"), "array flags": ("types.h", r"GRAFT_ARRAY_\w+"),
        "results flags": ("types.h", r"GRAFT_RESULTS_\w+")}
ZERO = ("GRAFT_MEMORY_AUTO", "GRAFT_OK")

VIEWS = r"""
#include <graft/graft.h>
#include <stdio.h>
static int wrong = 0;
static void is(const char *what, graft_array view, const void *data, int32_t dtype, int32_t components, int64_t n, int64_t item,
               int64_t component, int64_t bytes, uint32_t flags) {
    if (view.struct_size != sizeof view || view.data != data || view.dtype != dtype || view.components != components || view.n != n ||
        view.item_stride != item || view.component_stride != component || view.bytes != bytes || view.flags != flags ||
        view.memory != GRAFT_MEMORY_AUTO || view.device != 0 || view.reserved[0] != 0 || view.reserved[3] != 0) {
        printf("%s\n", what);
        ++wrong;
    }
}
int main(void) {
    static float f[40];
    static double d[40];
    static int32_t i[40];
    static int64_t l[40];
    static uint64_t u[40];
    const double *fixed = d;
    is("view", graft_view_f64(d, 10), d, GRAFT_F64, 1, 10, 8, 8, 80, 0);
    is("view of one", graft_view_f64(d, 1), d, GRAFT_F64, 1, 1, 8, 8, 8, 0);
    is("view of none", graft_view_f64(d, 0), d, GRAFT_F64, 1, 0, 8, 8, 0, 0);
    is("const", graft_view_const_f64(fixed, 10), d, GRAFT_F64, 1, 10, 8, 8, 80, GRAFT_ARRAY_READ_ONLY);
    is("float", graft_view_f32(f, 10), f, GRAFT_F32, 1, 10, 4, 4, 40, 0);
    is("int", graft_view_i32(i, 10), i, GRAFT_I32, 1, 10, 4, 4, 40, 0);
    is("long", graft_view_i64(l, 10), l, GRAFT_I64, 1, 10, 8, 8, 80, 0);
    is("ids", graft_view_const_u64(u, 10), u, GRAFT_U64, 1, 10, 8, 8, 80, GRAFT_ARRAY_READ_ONLY);
    is("packed rows", graft_rows_f64(d, 10, 3, 0), d, GRAFT_F64, 3, 10, 24, 8, 240, 0);
    is("xyzh", graft_rows_const_f64(fixed, 10, 3, 4), d, GRAFT_F64, 3, 10, 32, 8, 9 * 32 + 24, GRAFT_ARRAY_READ_ONLY);
    is("columns", graft_columns_f32(f, 10, 3, 13), f, GRAFT_F32, 3, 10, 4, 52, 9 * 4 + 2 * 52 + 4, 0);
    is("fixed columns", graft_columns_const_f64(fixed, 10, 3, 13), d, GRAFT_F64, 3, 10, 8, 104, 9 * 8 + 2 * 104 + 8,
       GRAFT_ARRAY_READ_ONLY);
    is("any", graft_view(d, GRAFT_F64, 2, 3, 112, 0), d, GRAFT_F64, 3, 2, 112, 8, 112 + 24, 0);
    return wrong;
}
"""
CALLS = r"""
int use(const graft_api_v1 *api, graft_comm_v1 *comm, graft_context *context, const graft_particles *p, const graft_results *r);
int use(const graft_api_v1 *api, graft_comm_v1 *comm, graft_context *context, const graft_particles *p, const graft_results *r) {
    graft_box b = GRAFT_INIT_OF_HOST;
    graft_view_f64((double *)0, 0);
    if (comm->comm_barrier(comm->self) != 0 || comm->comm_split(comm->self, 0, 0, &comm) != 0)
        return 1;
    comm->comm_free(comm);
    return api->compute(context, p, r) != GRAFT_OK || api->context_set_box(context, &b) != GRAFT_OK;
}
int main(void) { return 0; }
"""


def compiled(compiler, standard, source, includes, output, flags=STRICT):
    language = "c++" if "++" in standard else "c"
    command = [compiler, "-x", language, f"-std={standard}", *flags, *(f"-I{folder}" for folder in includes), "-", "-o", output]
    return subprocess.run(command, input=source, text=True, capture_output=True)


def complaints_of_compilers(c, cxx, includes, output):
    head = "#include <graft/graft.h>\n#include <graft/functions.h>\n"
    calls = CALLS.replace("GRAFT_INIT_OF_HOST", "GRAFT_INIT(graft_box)")
    for compiler, standard in ((c, "c99"), (c, "c11"), (cxx, "c++11"), (cxx, "c++17")):
        flags = STRICT + (["-Wno-missing-field-initializers"] if "++" in standard else []) # of the host's own GRAFT_INIT
        yield f"pedantic {standard}", compiled(compiler, standard, head + "int main(void) { return 0; }\n", includes, output)
        functions = "".join(f"#define {name}(...) this_is_the_host({name})\n" for name in COMMON)
        yield f"macros like functions, {standard}", compiled(compiler, standard, functions + head + calls, includes, output, flags)
        objects = "".join(f"#undef {name}\n#define {name} this is the host\n" for name in OBJECTS)
        # members named split and box may be renamed by a macro that is one word; free and barrier must not be members at all
        objects = objects.replace("#define split this is the host", "#define split its_split")
        yield f"macros like objects, {standard}", compiled(compiler, standard, objects + head + calls, includes, output, flags)
    for compiler, standard in ((c, "c99"), (cxx, "c++11")):
        made = compiled(compiler, standard, VIEWS, includes, output)
        yield f"views {standard}", made
        if made.returncode == 0:
            yield f"views {standard}, run", subprocess.run([output], capture_output=True, text=True)


def complaints_of_numbers(include):
    for what, (file, pattern) in SETS.items():
        with open(os.path.join(include, "graft", file), encoding="utf-8") as opened:
            found = re.findall(rf"^#define ({pattern}) \(?(-?\d+)u?\)?\b", opened.read(), re.MULTILINE)
        values = [int(value) for _, value in found]
        if len(found) < 2 or len(set(values)) != len(values):
            yield f"numbers of {what}: {found}; expected two or more, all different"
        yield from (f"{name} is {value}; 0 is for the default, and nothing is negative"
                    for name, value in found if int(value) < 1 and name not in ZERO)
        if "flags" in what and any(value & (value - 1) for value in values):
            yield f"{what}: {found}; expected a bit each"


def main(c, cxx, include, folder):
    output, generated = os.path.join(folder, "header_test.out"), os.path.join(folder, "header_test")
    subprocess.run([sys.executable, GENERATE, os.path.join(include, "graft", "api.h"), generated], check=True)
    wrong = [f"{what}:\n{done.stdout}{done.stderr}" for what, done in complaints_of_compilers(c, cxx, (include, generated), output)
             if done.returncode != 0]
    wrong += complaints_of_numbers(include)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
