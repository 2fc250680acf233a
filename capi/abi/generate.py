#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the functions by name (graft/functions.h and graft_api.c) from the table in graft/api.h.

usage: generate.py path/to/graft/api.h OUTPUT_FOLDER   (writes OUTPUT_FOLDER/graft/functions.h, OUTPUT_FOLDER/graft_api.c)

The table is the only source: an entry appended there is a function here. Also imported by tests and by the checks of
other languages' bindings: read_entries() is the parsed table.
"""
import os
import re
import sys
import textwrap
from typing import List, NamedTuple, Tuple


class Entry(NamedTuple):
    name: str
    result: str  # "int32_t" or "const char *"
    parameters: List[Tuple[str, str]]  # (type, name)
    comment: str  # as in the header, without its indent

    def declaration(self) -> str:
        """As C: `int32_t graft_options_set(graft_options *options, const char *key, const char *value)`."""
        listed = ", ".join(f"{kind}{name}" if kind.endswith("*") else f"{kind} {name}"
                           for kind, name in self.parameters)
        space = "" if self.result.endswith("*") else " "
        line = f"{self.result}{space}graft_{self.name}({listed or 'void'})"
        return "\n    ".join(textwrap.wrap(line, 110))


ENTRY = re.compile(r"((?:/\*(?:[^*]|\*(?!/))*\*/\s*)?)((?:const\s+)?\w+\s*\*?)\s*\(\*(\w+)\)\(([^)]*)\)\s*;")


def read_parameter(text: str) -> Tuple[str, str]:
    found = re.fullmatch(r"(.*?)\s*(\w+)", " ".join(text.split()))
    return found.group(1), found.group(2)


def read_entries(header: str) -> List[Entry]:
    """All entries of `struct graft_api_v1`, in order."""
    with open(header, encoding="utf-8") as file:
        text = file.read()
    begin = text.index("typedef struct graft_api_v1 {")
    body = text[text.index("{", begin) + 1:text.index("} graft_api_v1;")]
    entries = []
    for comment, result, name, parameters in ENTRY.findall(body):
        listed = [] if parameters.strip() == "void" else [read_parameter(one) for one in parameters.split(",")]
        comment = "\n".join(line.strip() if line.strip().startswith("/*") else " " + line.strip()
                            for line in comment.strip().splitlines())
        entries.append(Entry(name, " ".join(result.split()), listed, comment))
    expected = body.count("(*")
    if len(entries) != expected:
        raise SystemExit(f"{header}: {expected} function pointers in graft_api_v1, but {len(entries)} understood; "
                         "write entries as `type (*name)(parameters);`")
    return entries


HEADER = """\
/* The entries of Graft as functions by name, for hosts that link libgraft_api.a. Generated from graft/api.h; do not
 * edit. Each function loads libgraft on its first use (graft_open says where from; otherwise GRAFT_LIBRARY, the place of
 * installation, or the dynamic linker's search). When that fails the functions return a GRAFT_ERROR_LOAD_* status and
 * graft_last_error() says why; an entry that the loaded library is too old to have returns GRAFT_ERROR_ABSENT. */
#ifndef GRAFT_FUNCTIONS_H
#define GRAFT_FUNCTIONS_H

#include <graft/graft.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Loads libgraft from this path; NULL or "": the usual search. Needs no counterpart. Loading the same library again is
 * fine. Every status of graft_load (graft_loader.h); GRAFT_ERROR_CALL_ORDER when another library is loaded already. */
int32_t graft_open(const char *path);
/* The loaded library's table, loading it first when necessary; NULL when that fails. */
const graft_api_v1 *graft_table(void);
/* A communicator table over the MPI communicator with this Fortran handle (MPI_Comm_c2f(comm)), by the shim that fits
 * the MPI of this process: see graft_load_mpi_comm (graft_mpi_loader.h) for the search, and for the statuses beside those
 * of loading libgraft. Collective over the communicator. Free it with (*comm)->comm_free(*comm) after the contexts that use
 * it; that is not collective, and safe after MPI_Finalize. */
int32_t graft_mpi_comm(int32_t fortran_handle, graft_comm_v1 **comm);
/* (*comm)->comm_free(*comm), then *comm = NULL; NULL is fine. For languages that cannot call through the table. */
int32_t graft_mpi_comm_destroy(graft_comm_v1 **comm);

"""

SOURCE = """\
/* The functions of graft/functions.h. Generated from graft/api.h; do not edit.
 * Invariant: loaded_table is set once, and never changes or vanishes afterwards (the library is never unloaded). */
#include <graft/functions.h>

#include "graft_loader.h"
#include "graft_mpi_loader.h"

#include <pthread.h>
#include <stdio.h>

static const graft_api_v1 *loaded_table = NULL;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static __thread char own_error[2048]; /* of a failure here; "" when the last failure was the library's */

static int32_t load(const char *path, const graft_api_v1 **table) {
    const graft_api_v1 *found = NULL;
    int32_t status = GRAFT_OK;
    *table = __atomic_load_n(&loaded_table, __ATOMIC_ACQUIRE);
    if (*table != NULL && (path == NULL || path[0] == '\\0'))
        return GRAFT_OK;
    pthread_mutex_lock(&loading);
    *table = loaded_table;
    if (*table == NULL || (path != NULL && path[0] != '\\0'))
        status = graft_load(path, &found, own_error, (int64_t)sizeof own_error);
    if (status == GRAFT_OK && *table == NULL) {
        *table = found;
        __atomic_store_n(&loaded_table, found, __ATOMIC_RELEASE);
    } else if (status == GRAFT_OK && found != NULL && found != *table) {
        snprintf(own_error, sizeof own_error, "graft_open: another Graft library is in use already; call graft_open "
                 "before any other function, and with one path only");
        status = GRAFT_ERROR_CALL_ORDER;
    }
    pthread_mutex_unlock(&loading);
    return status;
}

static int32_t absent(const char *entry, const graft_api_v1 *table) {
    snprintf(own_error, sizeof own_error, "graft_%s: the loaded library (ABI %u.%u, table of %u bytes) is older than "
             "this host and does not have it; install a newer Graft", entry, (unsigned)table->abi_major,
             (unsigned)table->abi_minor, (unsigned)table->struct_size);
    return GRAFT_ERROR_ABSENT;
}

/* The library has its own message for its failures. */
static int32_t passed(int32_t status) {
    if (status != GRAFT_OK)
        own_error[0] = '\\0';
    return status;
}

static const char *own_status_text(int32_t status) {
    switch (status) {
    case GRAFT_OK:
        return "ok";
    case GRAFT_ERROR_ABSENT:
        return "no such value";
    case GRAFT_ERROR_LOAD_NOT_FOUND:
        return "library not found";
    case GRAFT_ERROR_LOAD_FOREIGN:
        return "library is not Graft";
    case GRAFT_ERROR_LOAD_VERSION:
        return "library of another ABI major";
    default:
        return "unknown status (no library loaded)";
    }
}

int32_t graft_open(const char *path) {
    const graft_api_v1 *table;
    return load(path, &table);
}

const graft_api_v1 *graft_table(void) {
    const graft_api_v1 *table;
    return load(NULL, &table) == GRAFT_OK ? table : NULL;
}

int32_t graft_mpi_comm(int32_t fortran_handle, graft_comm_v1 **comm) {
    const graft_api_v1 *table;
    int32_t status = load(NULL, &table);
    if (status == GRAFT_OK)
        return graft_load_mpi_comm(fortran_handle, comm, own_error, (int64_t)sizeof own_error);
    if (comm != NULL)
        *comm = NULL;
    return status;
}

int32_t graft_mpi_comm_destroy(graft_comm_v1 **comm) {
    if (comm != NULL && *comm != NULL)
        (*comm)->comm_free(*comm);
    if (comm != NULL)
        *comm = NULL;
    return GRAFT_OK;
}
"""

TEXT_BODIES = {
    "version": "    const graft_api_v1 *table = graft_table();\n"
               '    return table != NULL ? table->version() : "";\n',
    "status_text": "    const graft_api_v1 *table = __atomic_load_n(&loaded_table, __ATOMIC_ACQUIRE);\n"
                   "    return table != NULL ? table->status_text(status) : own_status_text(status);\n",
    "last_error": "    const graft_api_v1 *table = __atomic_load_n(&loaded_table, __ATOMIC_ACQUIRE);\n"
                  "    return own_error[0] != '\\0' || table == NULL ? own_error : table->last_error();\n",
}


def body(entry: Entry) -> str:
    if entry.result != "int32_t":
        if entry.name not in TEXT_BODIES:
            raise SystemExit(f"graft_{entry.name}: returns {entry.result}; only int32_t can say that loading failed")
        return TEXT_BODIES[entry.name]
    arguments = ", ".join(name for _, name in entry.parameters)
    return (f"    const graft_api_v1 *table;\n"
            f"    int32_t status = load(NULL, &table);\n"
            f"    if (status != GRAFT_OK)\n"
            f"        return status;\n"
            f"    if (!GRAFT_HAS(table, {entry.name}))\n"
            f"        return absent(\"{entry.name}\", table);\n"
            f"    return passed(table->{entry.name}({arguments}));\n")


def write_file(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main(header: str, folder: str) -> None:
    entries = read_entries(header)
    declared = "\n".join(f"{entry.comment}\n{entry.declaration()};" if entry.comment else f"{entry.declaration()};"
                         for entry in entries)
    write_file(os.path.join(folder, "graft", "functions.h"),
                     HEADER + declared + "\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n")
    defined = "".join(f"\n{entry.declaration()} {{\n{body(entry)}}}\n" for entry in entries)
    write_file(os.path.join(folder, "graft_api.c"), SOURCE + defined)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
