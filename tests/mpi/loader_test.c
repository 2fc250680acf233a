/* SPDX-License-Identifier: BSD-3-Clause */
/* graft_mpi_comm: the search for the shim, and what goes wrong with it.
 * usage: loader_test OTHER_SHIM OTHER_NAME LIBGRAFT   GRAFT_LIBRARY is set; the own shim is beside libgraft.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* setenv */
#endif
#include "support.h"

#include <graft/functions.h>

static int32_t world = 0;

static void expect(int32_t status, const char* part, const char* shim) {
    graft_comm_v1* t = (graft_comm_v1*)&failures;
    int32_t got;
    setenv("GRAFT_MPI_LIBRARY", shim, 1);
    got = graft_mpi_comm(world, &t);
    if (got != status)
        fprintf(stderr, "status %d instead of %d: %s\n", (int)got, (int)status, graft_last_error());
    CHECK(got == status && t == NULL);
    CHECK_TEXT(graft_last_error(), part);
}

int main(int argc, char** argv) {
    graft_comm_v1* t = NULL;
    int32_t status, one = 1, sum = 0;
    expect(GRAFT_ERROR_CALL_ORDER, "MPI_Init has not been called", "");
    MPI_Init(&argc, &argv);
    world = (int32_t)MPI_Comm_c2f(MPI_COMM_WORLD);
    expect(GRAFT_ERROR_LOAD_NOT_FOUND, "/nowhere/libgraft_mpi.so", "/nowhere/libgraft_mpi.so");
    expect(GRAFT_ERROR_LOAD_NOT_FOUND, "libgraft_no_mpi.so", "libgraft_no_mpi.so");
    expect(GRAFT_ERROR_LOAD_FOREIGN, "not Graft's MPI shim", argv[3]);
    expect(GRAFT_ERROR_LOAD_FOREIGN, "loader_test",
           argv[0]); /* a program, which cannot be opened as a library */
    if (argv[1][0] != '\0')
        expect(GRAFT_ERROR_UNSUPPORTED, argv[2], argv[1]);
    unsetenv("GRAFT_MPI_LIBRARY");
    CHECK(graft_mpi_comm(0, NULL) == GRAFT_ERROR_ARGUMENT);
    status = graft_mpi_comm(world, &t);
    if (status != GRAFT_OK)
        fprintf(stderr, "%s\n", graft_last_error());
    CHECK(status == GRAFT_OK);
    if (t != NULL) {
        CHECK_OK(t, t->comm_allreduce(t->self, &one, &sum, 1, GRAFT_I32, GRAFT_COMM_SUM));
        CHECK(sum == t->size);
        CHECK(graft_mpi_comm_destroy(&t) == GRAFT_OK && t == NULL);
    }
    CHECK(graft_mpi_comm_destroy(&t) == GRAFT_OK);
    argc = result();
    MPI_Finalize();
    return argc;
}
