/* SPDX-License-Identifier: BSD-3-Clause */
/* Every function of the table against values worked out by hand, on any number of ranks. usage:
 * functions_test SHIM GRAFT_TEST_MPI_CHUNK=1000 in the environment cuts messages into many chunks, as those
 * above 2^30 bytes are. */
#include "support.h"

#include <math.h>

static graft_comm_v1* t;
static int rank, size;

static unsigned char byte_of(int from, int to, int64_t i) {
    return (unsigned char)(7 * from + 31 * to + 3 * i + i / 251);
}

static void test_barrier(void) {
    MPI_Request request;
    int arrived = 0, i;
    /* The last rank tells the others before it enters: nobody may leave earlier. */
    for (i = 0; i < 20; ++i) {
        arrived = rank == size - 1;
        MPI_Ibcast(&arrived, 1, MPI_INT, size - 1, MPI_COMM_WORLD, &request);
        CHECK_OK(t, t->comm_barrier(t->self));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(arrived == 1);
    }
}

static void test_broadcast(int64_t bytes) {
    unsigned char* data = malloc((size_t)bytes + 1);
    int64_t i;
    int root;
    for (root = 0; root < size; ++root) {
        for (i = 0; i <= bytes; ++i)
            data[i] = rank == root || i == bytes ? byte_of(root, 5, i) : 0;
        CHECK_OK(t, t->comm_bcast(t->self, data, bytes, root));
        for (i = 0; i <= bytes && data[i] == byte_of(root, 5, i); ++i)
            ;
        CHECK(i == bytes + 1);
    }
    free(data);
}

/* Integers: exact. value(r, i) = (r + 1) * (i % 1000 + 1), with sign for signed types. */
static void test_allreduce_i64(int64_t count) {
    int64_t *send = malloc(sizeof *send * (size_t)(count + 1)),
            *receive = malloc(sizeof *send * (size_t)(count + 1));
    const int64_t ranks = size, weights = ranks * (ranks + 1) / 2;
    int64_t i, wrong = 0;
    for (i = 0; i < count; ++i)
        send[i] = -(rank + 1) * (i % 1000 + 1) * 1000000007;
    CHECK_OK(t, t->comm_allreduce(t->self, send, receive, count, GRAFT_I64, GRAFT_COMM_SUM));
    for (i = 0; i < count; ++i)
        wrong += receive[i] != -weights * (i % 1000 + 1) * 1000000007;
    CHECK_OK(t, t->comm_allreduce(t->self, send, receive, count, GRAFT_I64, GRAFT_COMM_MIN));
    for (i = 0; i < count; ++i)
        wrong += receive[i] != -ranks * (i % 1000 + 1) * 1000000007;
    CHECK_OK(t, t->comm_allreduce(t->self, send, send, count, GRAFT_I64, GRAFT_COMM_MAX)); /* in place */
    for (i = 0; i < count; ++i)
        wrong += send[i] != -(i % 1000 + 1) * 1000000007;
    CHECK(wrong == 0);
    free(send);
    free(receive);
}

static void test_allreduce_others(void) {
    int32_t small[3], sum[3];
    uint64_t large = UINT64_MAX - (uint64_t)rank, most = 0, least = 0;
    small[0] = rank;
    small[1] = -rank;
    small[2] = 1;
    CHECK_OK(t, t->comm_allreduce(t->self, small, sum, 3, GRAFT_I32, GRAFT_COMM_SUM));
    CHECK(sum[0] == size * (size - 1) / 2 && sum[1] == -sum[0] && sum[2] == size);
    CHECK_OK(t, t->comm_allreduce(t->self, &large, &most, 1, GRAFT_U64, GRAFT_COMM_MAX));
    CHECK_OK(t, t->comm_allreduce(t->self, &large, &least, 1, GRAFT_U64, GRAFT_COMM_MIN));
    CHECK(most == UINT64_MAX && least == UINT64_MAX - (uint64_t)(size - 1)); /* unsigned comparison */
    CHECK(t->comm_allreduce(t->self, small, sum, 1, GRAFT_F32, GRAFT_COMM_SUM) == GRAFT_ERROR_ARGUMENT);
    CHECK(t->comm_allreduce(t->self, small, sum, 1, GRAFT_I32, 0) == GRAFT_ERROR_ARGUMENT);
    CHECK(t->comm_allreduce(t->self, small, sum, 1, GRAFT_I32, GRAFT_COMM_MAX + 1) == GRAFT_ERROR_ARGUMENT);
    CHECK(t->comm_allreduce(t->self, small, sum, -1, GRAFT_I32, GRAFT_COMM_SUM) == GRAFT_ERROR_ARGUMENT);
    CHECK_OK(t, t->comm_allreduce(t->self, NULL, NULL, 0, GRAFT_I32, GRAFT_COMM_SUM));
}

/* Doubles: right to rounding, and the same bits on every rank whatever the order of summation. */
static void test_allreduce_f64(int64_t count) {
    double *send = malloc(sizeof *send * (size_t)count), *receive = malloc(sizeof *send * (size_t)count);
    double* first = malloc(sizeof *send * (size_t)count);
    int64_t i, wrong = 0;
    int operation, r;
    for (operation = GRAFT_COMM_SUM; operation <= GRAFT_COMM_MAX; ++operation) {
        for (i = 0; i < count; ++i)
            send[i] =
                i % 3 == 0 ? (rank % 2 == 0 ? 0.0 : -0.0) : pow(10.0, (double)((i + 5 * rank) % 33) - 16) / 3;
        CHECK_OK(t, t->comm_allreduce(t->self, send, receive, count, GRAFT_F64, operation));
        for (i = 0; i < count; ++i) {
            double expected = 0, magnitude = 0;
            for (r = 0; r < size; ++r) {
                const double value = i % 3 == 0 ? 0 : pow(10.0, (double)((i + 5 * r) % 33) - 16) / 3;
                magnitude += value;
                expected = r == 0                        ? value
                           : operation == GRAFT_COMM_SUM ? expected + value
                           : operation == GRAFT_COMM_MIN ? fmin(expected, value)
                                                         : fmax(expected, value);
            }
            wrong += !(fabs(receive[i] - expected) <= 1e-15 * magnitude);
        }
        memcpy(first, receive, sizeof *first * (size_t)count);
        MPI_Bcast(first, (int)count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        CHECK(memcmp(first, receive, sizeof *first * (size_t)count) == 0);
    }
    CHECK(wrong == 0);
    free(send);
    free(receive);
    free(first);
}

/* Rank r sends per * (r % 3) bytes; blocks stand in reverse order with gaps that must stay as they were. */
static void test_allgatherv(int64_t per) {
    int64_t *bytes = malloc(sizeof *bytes * (size_t)size), *offset = malloc(sizeof *bytes * (size_t)size),
            at = 0, i;
    unsigned char *send = malloc((size_t)(2 * per) + 1), *receive;
    int64_t wrong = 0;
    int r;
    for (r = size - 1; r >= 0; --r) {
        bytes[r] = per * (r % 3);
        offset[r] = at + 3;
        at += bytes[r] + 3;
    }
    receive = malloc((size_t)at + 3);
    memset(receive, 0xAB, (size_t)at + 3);
    for (i = 0; i < bytes[rank]; ++i)
        send[i] = byte_of(rank, 0, i);
    CHECK_OK(t, t->comm_allgatherv(t->self, send, bytes[rank], receive, bytes, offset));
    for (r = 0; r < size; ++r) {
        for (i = 0; i < bytes[r]; ++i)
            wrong += receive[offset[r] + i] != byte_of(r, 0, i);
        for (i = 1; i <= 3; ++i)
            wrong += receive[offset[r] - i] != 0xAB;
    }
    CHECK(wrong == 0);
    free(bytes);
    free(offset);
    free(send);
    free(receive);
}

static int64_t pair_bytes(int from, int to, int64_t per) {
    return (from + 2 * to) % 4 == 1 ? 0 : per * (1 + (from + to) % 2);
}

static void test_alltoallv(int64_t per) {
    int64_t *plan = malloc(4 * sizeof *plan * (size_t)size), *out = plan, *out_at = plan + size;
    int64_t *in = plan + 2 * size, *in_at = plan + 3 * size, out_all = 0, in_all = 0, i, wrong = 0;
    unsigned char *send, *receive;
    int r;
    for (r = 0; r < size; ++r) {
        out[r] = pair_bytes(rank, r, per);
        out_at[r] = out_all;
        out_all += out[r];
        in[r] = pair_bytes(r, rank, per);
        in_at[r] = in_all;
        in_all += in[r] + 1;
    }
    send = malloc((size_t)out_all + 1);
    receive = malloc((size_t)in_all + 1);
    memset(receive, 0xAB, (size_t)in_all + 1);
    for (r = 0; r < size; ++r)
        for (i = 0; i < out[r]; ++i)
            send[out_at[r] + i] = byte_of(rank, r, i);
    CHECK_OK(t, t->comm_alltoallv(t->self, send, out, out_at, receive, in, in_at));
    for (r = 0; r < size; ++r) {
        for (i = 0; i < in[r]; ++i)
            wrong += receive[in_at[r] + i] != byte_of(r, rank, i);
        wrong += receive[in_at[r] + in[r]] != 0xAB;
    }
    CHECK(wrong == 0);
    free(plan);
    free(send);
    free(receive);
}

/* Many messages at once, tags taken in another order than sent, equal tags in order, to oneself too. */
static void test_messages(int64_t bytes) {
    enum { each = 3 };
    const int64_t count = (int64_t)size * each;
    unsigned char *out = malloc((size_t)(count * bytes) + 1), *in = malloc((size_t)(count * bytes) + 1);
    int64_t *requests = malloc(2 * sizeof *requests * (size_t)count), k = 0, i, wrong = 0;
    int r, m;
    for (r = 0; r < size; ++r)
        for (m = each - 1; m >= 0; --m)
            CHECK_OK(t, t->comm_irecv(t->self, in + (r * each + m) * bytes, bytes, r,
                                      m == 2 ? 32767 : 4 * (m == 0), &requests[k++]));
    for (r = 0; r < size; ++r)
        for (m = 0; m < each; ++m) {
            for (i = 0; i < bytes; ++i)
                out[(r * each + m) * bytes + i] = byte_of(rank + 10 * m, r, i);
            CHECK_OK(t, t->comm_isend(t->self, out + (r * each + m) * bytes, bytes, r,
                                      m == 2 ? 32767 : 4 * (m == 0), &requests[k++]));
        }
    CHECK_OK(t,
             t->comm_waitall(t->self, k / 2,
                             requests + k / 2)); /* sends first: those to oneself need the receives posted */
    CHECK_OK(t, t->comm_waitall(t->self, k / 2, requests));
    for (r = 0; r < size; ++r)
        for (m = 0; m < each; ++m)
            for (i = 0; i < bytes; ++i)
                wrong += in[(r * each + m) * bytes + i] != byte_of(r + 10 * m, rank, i);
    CHECK(wrong == 0);
    free(out);
    free(in);
    free(requests);
}

/* A hundred messages of one tag arrive in the order they were sent. */
static void test_order(void) {
    int64_t requests[200];
    int32_t out[100], in[100], i;
    for (i = 0; i < 100; ++i) {
        out[i] = 1000 * rank + i;
        CHECK_OK(t, t->comm_isend(t->self, &out[i], 4, (rank + 1) % size, 9, &requests[i]));
    }
    for (i = 0; i < 100; ++i)
        CHECK_OK(t, t->comm_irecv(t->self, &in[i], 4, (rank + size - 1) % size, 9, &requests[100 + i]));
    CHECK_OK(t, t->comm_waitall(t->self, 200, requests));
    for (i = 0; i < 100; ++i)
        CHECK(in[i] == 1000 * ((rank + size - 1) % size) + i);
}

static void test_bad_messages(void) {
    int64_t request;
    char byte = 0;
    CHECK(t->comm_isend(t->self, &byte, 1, size, 0, &request) == GRAFT_ERROR_ARGUMENT);
    CHECK_TEXT(t->comm_error_text(t->self), "does not exist");
    CHECK(t->comm_irecv(t->self, &byte, 1, -1, 0, &request) == GRAFT_ERROR_ARGUMENT);
    CHECK(t->comm_isend(t->self, &byte, 1, 0, 32768, &request) == GRAFT_ERROR_ARGUMENT);
    CHECK(t->comm_isend(t->self, &byte, -1, 0, 0, &request) == GRAFT_ERROR_ARGUMENT);
    CHECK(t->comm_bcast(t->self, &byte, 1, size) == GRAFT_ERROR_ARGUMENT);
    CHECK_OK(t, t->comm_waitall(t->self, 0, NULL));
}

/* Thousands of requests grow the table of slots; waited for in another order. */
static void test_many_requests(void) {
    enum { many = 3000 };
    int64_t* requests = malloc(2 * many * sizeof *requests);
    int32_t* values = malloc(2 * many * sizeof *values);
    int i;
    for (i = 0; i < many; ++i) {
        values[i] = rank * many + i;
        CHECK_OK(t, t->comm_irecv(t->self, &values[many + i], 4, (rank + 1) % size, i, &requests[many + i]));
        CHECK_OK(t, t->comm_isend(t->self, &values[i], 4, (rank + size - 1) % size, i, &requests[i]));
    }
    for (i = many - 1; i >= 0; --i)
        CHECK_OK(t, t->comm_waitall(t->self, 1, &requests[many + i]));
    CHECK_OK(t, t->comm_waitall(t->self, many, requests));
    for (i = 0; i < many; ++i)
        CHECK(values[many + i] == (rank + 1) % size * many + i);
    free(requests);
    free(values);
}

/* Odd and even ranks in reverse order; then halves of halves, used while the parents live and after one was
 * freed. */
static void test_split(void) {
    graft_comm_v1 *part = NULL, *pair = NULL;
    int32_t mine = rank, sum = -1, expected = 0, r;
    CHECK_OK(t, t->comm_split(t->self, rank % 2, -rank, &part));
    CHECK(part->size == (size + (rank % 2 == 0)) / 2);
    CHECK(part->rank == part->size - 1 - rank / 2);
    for (r = rank % 2; r < size; r += 2)
        expected += r;
    CHECK_OK(part, part->comm_allreduce(part->self, &mine, &sum, 1, GRAFT_I32, GRAFT_COMM_SUM));
    CHECK(sum == expected);
    CHECK_OK(part, part->comm_split(part->self, part->rank / 2, 0, &pair));
    part->comm_free(part);
    mine = 1;
    CHECK_OK(pair, pair->comm_allreduce(pair->self, &mine, &sum, 1, GRAFT_I32, GRAFT_COMM_SUM));
    CHECK(sum == pair->size && pair->size <= 2);
    CHECK_OK(t, t->comm_allreduce(t->self, &mine, &sum, 1, GRAFT_I32, GRAFT_COMM_SUM));
    CHECK(sum == size);
    pair->comm_free(pair);
    CHECK(t->comm_split(t->self, rank == size - 1 ? -1 : 0, 0, &part) == GRAFT_ERROR_ARGUMENT);
    CHECK_TEXT(t->comm_error_text(t->self), "colour");
    CHECK_OK(t, t->comm_barrier(t->self));
}

/* Far more tables than an MPI has communicators (MPICH: 2048): free gives them back. Few where ranks
 * outnumber cores: MPICH's own MPI_Comm_split spins there and takes 10 ms. */
static void test_many_tables(const shim_library* shim) {
    const int many = size <= 2 ? 2500 : 10;
    int i;
    for (i = 0; i < many; ++i) {
        graft_comm_v1* part = NULL;
        CHECK_OK(t, t->comm_split(t->self, rank % 2, 0, &part));
        if (part != NULL)
            part->comm_free(part);
    }
    for (i = 0; i < many / 2; ++i) {
        graft_comm_v1* other = table_over(shim, MPI_COMM_WORLD);
        other->comm_free(other);
    }
}

/* Our traffic and the host's on the same communicator and tag do not meet. */
static void test_apart_from_host(void) {
    int64_t requests[2];
    MPI_Request host;
    int ours = 1, theirs = 2, got = 0, got_theirs = 0;
    MPI_Irecv(&got_theirs, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &host);
    CHECK_OK(t, t->comm_irecv(t->self, &got, 4, (rank + 1) % size, 3, &requests[0]));
    CHECK_OK(t, t->comm_isend(t->self, &ours, 4, (rank + size - 1) % size, 3, &requests[1]));
    CHECK_OK(t, t->comm_waitall(t->self, 2, requests));
    MPI_Send(&theirs, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD);
    MPI_Wait(&host, MPI_STATUS_IGNORE);
    CHECK(got == 1 && got_theirs == 2);
}

int main(int argc, char** argv) {
    const int64_t sizes[] = {0, 1, 999, 1000, 1001, 70000, 1500000};
    shim_library shim;
    unsigned i;
    MPI_Init(&argc, &argv);
    shim = open_shim(argv[1]);
    t = table_over(&shim, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(t->rank == rank && t->size == size && t->struct_size == sizeof *t);
    CHECK(t->comm_time_s(t->self) >= 0);
    test_barrier();
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        test_broadcast(sizes[i]);
        test_allgatherv(sizes[i]);
        test_alltoallv(sizes[i]);
        test_messages(sizes[i]);
    }
    test_allreduce_i64(1);
    test_allreduce_i64(300000);
    test_allreduce_others();
    test_allreduce_f64(1);
    test_allreduce_f64(33);
    test_allreduce_f64(200000);
    test_order();
    test_bad_messages();
    test_many_requests();
    test_split();
    test_many_tables(&shim);
    test_apart_from_host();
    t->comm_free(t);
    i = (unsigned)result();
    MPI_Finalize();
    return (int)i;
}
