/* SPDX-License-Identifier: BSD-3-Clause */
/* For the MPI tests: the shim by its path, checks that say where they failed, and an end that all ranks agree
 * on. */
#ifndef GRAFT_TESTS_MPI_SUPPORT_H
#define GRAFT_TESTS_MPI_SUPPORT_H

#include <graft/comm.h>
#include <graft/types.h>

#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                        \
            ++failures;                                                                                      \
        }                                                                                                    \
    } while (0)

#define CHECK_OK(table, call)                                                                                \
    do {                                                                                                     \
        const int32_t status_ = (call);                                                                      \
        if (status_ != 0) {                                                                                  \
            fprintf(stderr, "%s:%d: rank %d: status %d of %s: %s\n", __FILE__, __LINE__, (int)(table)->rank, \
                    (int)status_, #call, (table)->comm_error_text((table)->self));                           \
            ++failures;                                                                                      \
        }                                                                                                    \
    } while (0)

#define CHECK_TEXT(text, part)                                                                               \
    do {                                                                                                     \
        if (strstr((text), (part)) == NULL) {                                                                \
            fprintf(stderr, "%s:%d: '%s' is not in: %s\n", __FILE__, __LINE__, (part), (text));              \
            ++failures;                                                                                      \
        }                                                                                                    \
    } while (0)

typedef struct shim_library {
    int32_t (*from_fortran)(int32_t, graft_comm_v1**);
    int32_t (*start)(void);
    int32_t (*world)(graft_comm_v1**);
    int32_t (*finish)(void);
    const char* (*error)(void);
} shim_library;

static inline void* symbol_of(void* library, const char* name) {
    void* symbol = dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "no symbol %s\n", name);
        exit(1);
    }
    return symbol;
}

static inline shim_library open_shim(const char* path) {
    shim_library shim;
    void *symbol, *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    symbol = symbol_of(library, "graft_mpi_comm_from_fortran");
    memcpy(&shim.from_fortran, &symbol, sizeof symbol);
    symbol = symbol_of(library, "graft_mpi_start");
    memcpy(&shim.start, &symbol, sizeof symbol);
    symbol = symbol_of(library, "graft_mpi_world");
    memcpy(&shim.world, &symbol, sizeof symbol);
    symbol = symbol_of(library, "graft_mpi_finish");
    memcpy(&shim.finish, &symbol, sizeof symbol);
    symbol = symbol_of(library, "graft_mpi_error");
    memcpy(&shim.error, &symbol, sizeof symbol);
    return shim;
}

/* A table over this communicator; ends the test where that fails. */
static inline graft_comm_v1* table_over(const shim_library* shim, MPI_Comm comm) {
    graft_comm_v1* table = NULL;
    const int32_t status = shim->from_fortran((int32_t)MPI_Comm_c2f(comm), &table);
    if (status != 0) {
        fprintf(stderr, "no table: status %d: %s\n", (int)status, shim->error());
        exit(1);
    }
    return table;
}

/* 0 when no rank had a failure. */
static inline int result(void) {
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all == 0 ? 0 : 1;
}

#endif
