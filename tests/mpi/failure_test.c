/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that gives up where the others cannot see it: each rank in turn, before each function of the table
 * in turn. The others' call fails with a text that names the rank, at once and not at a deadline; every later
 * call of every rank fails, too; MPI itself, the host's other traffic and MPI_Finalize go on. usage:
 * failure_test SHIM */
#include "support.h"

static int rank, size;

enum {
    a_barrier,
    a_bcast,
    an_allreduce,
    a_double,
    an_allgatherv,
    a_large_allgatherv,
    an_alltoallv,
    a_waitall,
    a_split,
    calls
};
#define LARGE (1 << 21)

typedef struct scene {
    graft_comm_v1* t;
    int64_t *bytes, *offset;
    char *send, *receive;
} scene;

static void make(scene* s, graft_comm_v1* t) {
    int64_t r;
    s->t = t;
    s->bytes = malloc((size_t)size * sizeof *s->bytes);
    s->offset = malloc((size_t)size * sizeof *s->offset);
    s->send = calloc((size_t)size, LARGE);
    s->receive = calloc((size_t)size, LARGE);
    for (r = 0; r < size; ++r)
        s->offset[r] = r * LARGE;
}

static void drop(scene* s) {
    free(s->bytes);
    free(s->offset);
    free(s->send);
    free(s->receive);
}

/* One call that cannot complete without `missing`. */
static int32_t call(scene* s, int which, int missing) {
    graft_comm_v1 *t = s->t, *part = NULL;
    int64_t requests[2], number = 1, r;
    double value = 1;
    int32_t status;
    for (r = 0; r < size; ++r)
        s->bytes[r] = which == a_large_allgatherv ? LARGE : which == an_alltoallv ? 300000 : 8;
    switch (which) {
    case a_barrier:
        return t->comm_barrier(t->self);
    case a_bcast:
        return t->comm_bcast(t->self, s->receive, 8, missing);
    case an_allreduce:
        return t->comm_allreduce(t->self, &number, &number, 1, GRAFT_I64, GRAFT_COMM_SUM);
    case a_double:
        return t->comm_allreduce(t->self, &value, &value, 1, GRAFT_F64, GRAFT_COMM_SUM);
    case an_allgatherv:
    case a_large_allgatherv:
        return t->comm_allgatherv(t->self, s->send, s->bytes[0], s->receive, s->bytes, s->offset);
    case an_alltoallv:
        return t->comm_alltoallv(t->self, s->send, s->bytes, s->offset, s->receive, s->bytes, s->offset);
    case a_waitall:
        status = t->comm_irecv(t->self, s->receive, LARGE, missing, 5, &requests[0]);
        return status != 0 ? status : t->comm_waitall(t->self, 1, requests);
    default:
        return t->comm_split(t->self, 0, 0, &part);
    }
}

/* Whatever MPI may still deliver must not go into buffers that the host has released by now. */
static void check_untouched(scene* s) {
    const size_t all = (size_t)size * LARGE;
    double end = MPI_Wtime() + 0.02;
    size_t i;
    int flag;
    memset(s->receive, 0x5A, all);
    while (MPI_Wtime() < end)
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    for (i = 0; i < all && s->receive[i] == 0x5A; ++i)
        ;
    CHECK(i == all);
}

static void test_give_up(const shim_library* shim, int which, int bad) {
    scene s;
    char named[32];
    int later;
    const double start = MPI_Wtime();
    make(&s, table_over(shim, MPI_COMM_WORLD));
    snprintf(named, sizeof named, "rank %d", bad);
    MPI_Barrier(
        MPI_COMM_WORLD); /* a barrier of the table would let the first fail before the last has left */
    if (rank == bad) {
        s.t->comm_fail(s.t->self, "the disk is full");
        s.t->comm_fail(s.t->self, "said twice");
    } else {
        CHECK(call(&s, which, bad) == GRAFT_ERROR_COMMUNICATION);
        CHECK_TEXT(s.t->comm_error_text(s.t->self), named);
        CHECK_TEXT(s.t->comm_error_text(s.t->self), "the disk is full");
    }
    check_untouched(&s);
    for (later = 0; later < calls; ++later) {
        CHECK(call(&s, later, (rank + 1) % size) == GRAFT_ERROR_COMMUNICATION);
        CHECK_TEXT(s.t->comm_error_text(s.t->self), "the disk is full");
    }
    CHECK(MPI_Wtime() - start < 20);
    s.t->comm_free(s.t);
    drop(&s);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Peers wait in a part of the table, or a part of a part, that the giving-up rank has not entered. */
static void test_give_up_above(const shim_library* shim, int bad) {
    graft_comm_v1 *t = table_over(shim, MPI_COMM_WORLD), *part = NULL, *inner = NULL;
    CHECK_OK(t, t->comm_split(t->self, 0, rank, &part));
    CHECK_OK(part, part->comm_split(part->self, 0, rank, &inner));
    if (rank == bad)
        t->comm_fail(t->self, "above");
    CHECK((rank % 2 == 0 ? part : inner)->comm_barrier((rank % 2 == 0 ? part : inner)->self) ==
          GRAFT_ERROR_COMMUNICATION);
    CHECK_TEXT(inner->comm_error_text(inner->self)[0] != '\0' ? inner->comm_error_text(inner->self)
                                                              : part->comm_error_text(part->self),
               "above");
    CHECK(t->comm_failed_call(t->self) == GRAFT_COMM_CALL_SPLIT); /* the last one of the rank that gave up */
    CHECK(inner->comm_failed_call(inner->self) == GRAFT_COMM_CALL_SPLIT);
    t->comm_free(t);
    part->comm_free(part);
    inner->comm_free(inner);
}

/* A part that fails leaves the whole as it was. */
static void test_give_up_below(const shim_library* shim) {
    graft_comm_v1 *t = table_over(shim, MPI_COMM_WORLD), *part = NULL;
    CHECK_OK(t, t->comm_split(t->self, 0, -rank, &part));
    if (rank == size - 1)
        part->comm_fail(part->self, "below");
    else
        CHECK(part->comm_barrier(part->self) == GRAFT_ERROR_COMMUNICATION);
    CHECK_TEXT(part->comm_barrier(part->self) != 0 ? part->comm_error_text(part->self) : "",
               "rank 0 gave up: below");
    CHECK_OK(t, t->comm_barrier(t->self));
    CHECK(t->comm_failed_call(t->self) == GRAFT_COMM_CALL_UNKNOWN);
    part->comm_free(part);
    CHECK_OK(t, t->comm_barrier(t->self));
    t->comm_free(t);
}

/* The first to wait too long fails, and tells the others why. */
static void test_deadline(const shim_library* shim, int which) {
    scene s;
    double start;
    make(&s, table_over(shim, MPI_COMM_WORLD));
    CHECK_OK(s.t, s.t->comm_set_deadline(s.t->self, 0.2));
    start = MPI_Wtime();
    if (rank != 0) { /* rank 0 computes, and notices nothing */
        CHECK(call(&s, which, 0) == GRAFT_ERROR_COMMUNICATION);
        CHECK(MPI_Wtime() - start > 0.15 && MPI_Wtime() - start < 10);
        CHECK_TEXT(s.t->comm_error_text(s.t->self), "deadline of 0.2 s");
        check_untouched(&s);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(s.t->comm_barrier(s.t->self) == GRAFT_ERROR_COMMUNICATION);
    CHECK_TEXT(s.t->comm_error_text(s.t->self), "deadline");
    s.t->comm_free(s.t);
    drop(&s);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A message shorter than expected. (A longer one is an error of MPI's, which MPICH reports to the handler of
 * MPI_COMM_WORLD, whatever that of the communicator.) */
static void test_wrong_messages(const shim_library* shim) {
    graft_comm_v1* t = table_over(shim, MPI_COMM_WORLD);
    int64_t requests[2];
    char data[64] = {0};
    CHECK_OK(t, t->comm_isend(t->self, data, 8, (rank + 1) % size, 1, &requests[0]));
    CHECK_OK(t, t->comm_irecv(t->self, data + 32, 16, (rank + size - 1) % size, 1, &requests[1]));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(t->comm_waitall(t->self, 2, requests) == GRAFT_ERROR_COMMUNICATION);
    CHECK_TEXT(t->comm_error_text(t->self), "8 bytes came");
    t->comm_free(t);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void test_wait_twice(const shim_library* shim) {
    graft_comm_v1* t = table_over(shim, MPI_COMM_WORLD);
    int64_t requests[2], one = 1, other = 0;
    CHECK_OK(t, t->comm_isend(t->self, &one, 8, (rank + 1) % size, 1, &requests[0]));
    CHECK_OK(t, t->comm_irecv(t->self, &other, 8, (rank + size - 1) % size, 1, &requests[1]));
    CHECK_OK(t, t->comm_waitall(t->self, 2, requests));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(t->comm_waitall(t->self, 1, requests) != 0);
    CHECK_TEXT(t->comm_error_text(t->self), "waited for before"); /* this rank's own, or a peer's */
    t->comm_free(t);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Receives that nobody waits for are taken back by free. */
static void test_free_pending(const shim_library* shim) {
    graft_comm_v1* t = table_over(shim, MPI_COMM_WORLD);
    int64_t request;
    char* data = malloc(1000);
    CHECK_OK(t, t->comm_irecv(t->self, data, 1000, (rank + 1) % size, 1, &request));
    t->comm_free(t);
    free(data);
}

int main(int argc, char** argv) {
    shim_library shim;
    int which, bad;
    MPI_Init(&argc, &argv);
    shim = open_shim(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (which = 0; which < calls; ++which)
        for (bad = 0; bad < size; ++bad)
            test_give_up(&shim, which, bad);
    for (bad = 0; bad < size; ++bad)
        test_give_up_above(&shim, bad);
    test_give_up_below(&shim);
    for (which = 0; which < calls && size > 1; ++which)
        test_deadline(&shim, which);
    test_wrong_messages(&shim);
    test_wait_twice(&shim);
    test_free_pending(&shim);
    which = result();
    MPI_Finalize();
    return which;
}
