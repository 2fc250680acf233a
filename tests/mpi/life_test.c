/* SPDX-License-Identifier: BSD-3-Clause */
/* The shim before MPI_Init and after MPI_Finalize, handles that are none, and frees that nobody else joins.
 * usage: life_test SHIM */
#include "support.h"

static void test_before(const shim_library* shim) {
    graft_comm_v1* t = (graft_comm_v1*)&failures;
    CHECK(shim->from_fortran(0, &t) == GRAFT_ERROR_CALL_ORDER);
    CHECK(t == NULL);
    CHECK_TEXT(shim->error(), "MPI_Init has not been called");
    CHECK(shim->world(&t) == GRAFT_ERROR_CALL_ORDER);
    CHECK(shim->finish() == GRAFT_OK); /* nothing was started here */
}

static void test_handles(const shim_library* shim, int rank) {
    const int32_t bad[] = {-1, 123456789, -123456789, 0x7fffffff};
    graft_comm_v1* t = NULL;
    MPI_Comm half, inter;
    MPI_Errhandler handler;
    unsigned i;
    int size;
    for (i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        CHECK(shim->from_fortran(bad[i], &t) == GRAFT_ERROR_ARGUMENT);
        CHECK(t == NULL);
    }
    CHECK_TEXT(shim->error(), "Fortran handle");
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, 0, &half);
    if (rank == 0) {
        t = table_over(shim, half);
        CHECK(t->size == 1);
        CHECK_OK(t, t->comm_barrier(t->self));
        MPI_Comm_free(&half); /* ours is a duplicate */
        CHECK_OK(t, t->comm_barrier(t->self));
        t->comm_free(t);
    } else {
        CHECK(shim->from_fortran((int32_t)MPI_Comm_c2f(half), &t) == GRAFT_ERROR_ARGUMENT);
        CHECK_TEXT(shim->error(), "MPI_COMM_NULL");
    }
    CHECK(shim->from_fortran((int32_t)MPI_Comm_c2f(MPI_COMM_WORLD), NULL) == GRAFT_ERROR_ARGUMENT);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 7, &inter);
        CHECK(shim->from_fortran((int32_t)MPI_Comm_c2f(inter), &t) == GRAFT_ERROR_ARGUMENT);
        CHECK_TEXT(shim->error(), "intercommunicator");
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    CHECK(handler == MPI_ERRORS_ARE_FATAL); /* as it was */
}

/* Rank 0 frees while the others go on to use the host's communicator and other tables: nobody waits for the
 * rest. */
static void test_lonely_free(const shim_library* shim, int rank) {
    graft_comm_v1 *a = table_over(shim, MPI_COMM_WORLD), *b = table_over(shim, MPI_COMM_WORLD), *part = NULL;
    CHECK_OK(a, a->comm_split(a->self, 0, 0, &part));
    if (rank == 0) {
        a->comm_free(a);
        part->comm_free(part);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(b, b->comm_barrier(b->self));
    if (rank != 0) {
        part->comm_free(part);
        a->comm_free(a);
    }
    CHECK_OK(b, b->comm_barrier(b->self));
    b->comm_free(b);
}

static void test_after(const shim_library* shim, graft_comm_v1* t, graft_comm_v1* part) {
    int64_t request, one = 1;
    graft_comm_v1* other = NULL;
    CHECK(t->comm_barrier(t->self) == GRAFT_ERROR_COMMUNICATION);
    CHECK_TEXT(t->comm_error_text(t->self), "MPI_Finalize");
    CHECK(t->comm_bcast(t->self, &one, 8, 0) == GRAFT_ERROR_COMMUNICATION);
    CHECK(t->comm_allreduce(t->self, &one, &one, 1, GRAFT_I64, 0) == GRAFT_ERROR_COMMUNICATION);
    CHECK(t->comm_isend(t->self, &one, 8, 0, 0, &request) == GRAFT_ERROR_COMMUNICATION);
    CHECK(t->comm_irecv(t->self, &one, 8, 0, 0, &request) == GRAFT_ERROR_COMMUNICATION);
    CHECK(t->comm_waitall(t->self, 0, NULL) == GRAFT_ERROR_COMMUNICATION);
    CHECK(t->comm_split(t->self, 0, 0, &other) == GRAFT_ERROR_COMMUNICATION);
    CHECK(t->comm_time_s(t->self) == 0);
    t->comm_fail(t->self, "late");
    CHECK(part->comm_barrier(part->self) == GRAFT_ERROR_COMMUNICATION);
    t->comm_free(t);
    part->comm_free(part);
    CHECK(shim->from_fortran(0, &t) == GRAFT_ERROR_CALL_ORDER);
    CHECK_TEXT(shim->error(), "MPI_Finalize");
    CHECK(shim->start() == GRAFT_ERROR_CALL_ORDER);
}

int main(int argc, char** argv) {
    const shim_library shim = open_shim(argv[1]);
    graft_comm_v1 *t, *part = NULL;
    int rank, others;
    test_before(&shim);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    test_handles(&shim, rank);
    test_lonely_free(&shim, rank);
    CHECK(shim.start() == GRAFT_OK); /* the host has started MPI: nothing to do, and nothing to finish */
    CHECK(shim.finish() == GRAFT_OK);
    t = table_over(&shim, MPI_COMM_WORLD);
    CHECK_OK(t, t->comm_split(t->self, 0, 0, &part));
    others = result();
    MPI_Finalize();
    failures = 0;
    test_after(&shim, t, part);
    return others || failures != 0;
}
