/* The collectives. Small data goes through memory of our own (bounce), a piece at a time: a nonblocking
 * collective cannot be cancelled, and a failed one must not write into buffers that the host has released.
 * Large exchanges are messages straight from and to the host's buffers, which can be cancelled.
 *
 * The same bits on every rank: MPI only advises that, and orders operands by rank in some algorithms; sums,
 * and minima of +0 and -0, of doubles then differ. So doubles are combined on every rank from all ranks'
 * values in rank order where these are few, else by MPI_Ireduce and MPI_Ibcast. Integers have no order:
 * MPI_Iallreduce. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define GATHER_BYTES 4096 /* of all ranks together: below it doubles are combined by every rank */

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* bounce with room for this many bytes, or NULL (and the table has failed). */
static char* reserve(shim* s, int64_t bytes) {
    char* larger;
    if (bytes <= s->bounce_bytes)
        return s->bounce;
    larger = realloc(s->bounce, (size_t)bytes);
    if (larger == NULL) {
        shim_fail(s, GRAFT_ERROR_MEMORY, "no memory for %lld bytes", (long long)bytes);
        return NULL;
    }
    s->bounce = larger;
    s->bounce_bytes = bytes;
    return larger;
}

static int32_t finish(shim* s, const char* function, int code) {
    return code == MPI_SUCCESS ? shim_wait(s, &s->collective, MPI_STATUS_IGNORE)
                               : shim_mpi_failed(s, function, code);
}

int32_t shim_barrier(void* self) {
    shim* s = self;
    const int32_t status = shim_enter(s, "barrier");
    return status == GRAFT_OK ? finish(s, "MPI_Ibarrier", MPI_Ibarrier(s->data, &s->collective)) : status;
}

int32_t shim_broadcast(void* self, void* data, int64_t bytes, int32_t root) {
    shim* s = self;
    int64_t at;
    int32_t status = shim_enter(s, "bcast");
    if (status == GRAFT_OK && (root < 0 || root >= s->table.size || bytes < 0))
        return shim_refuse(s, GRAFT_ERROR_ARGUMENT, "bcast: root %d of %d ranks, %lld bytes", (int)root,
                           (int)s->table.size, (long long)bytes);
    for (at = 0; at < bytes && status == GRAFT_OK && s->table.size > 1; at += SHIM_PIECE) {
        const int64_t piece = smaller(bytes - at, SHIM_PIECE);
        char* bounce = reserve(s, piece);
        if (bounce == NULL)
            return GRAFT_ERROR_MEMORY;
        if (s->table.rank == root)
            memcpy(bounce, (char*)data + at, (size_t)piece);
        status =
            finish(s, "MPI_Ibcast", MPI_Ibcast(bounce, (int)piece, MPI_BYTE, root, s->data, &s->collective));
        if (status == GRAFT_OK && s->table.rank != root)
            memcpy((char*)data + at, bounce, (size_t)piece);
    }
    return status;
}

static double combined(double a, double b, int32_t operation) {
    if (operation == GRAFT_COMM_SUM)
        return a + b;
    return operation == GRAFT_COMM_MIN ? (b < a ? b : a) : (b > a ? b : a);
}

/* `in` has count doubles and stands before room for count * ranks more; the result goes to `in`. */
static int32_t combine_in_rank_order(shim* s, double* in, int count, int32_t operation) {
    double* all = in + count;
    int i, r;
    int32_t status =
        finish(s, "MPI_Iallgather",
               MPI_Iallgather(in, count, MPI_DOUBLE, all, count, MPI_DOUBLE, s->data, &s->collective));
    for (i = 0; i < count && status == GRAFT_OK; ++i) {
        in[i] = all[i];
        for (r = 1; r < s->table.size; ++r)
            in[i] = combined(in[i], all[(int64_t)r * count + i], operation);
    }
    return status;
}

/* n values of piece `in`, room for as many at `out`; *result is where they are afterwards. */
static int32_t reduce_piece(shim* s, char* in, char* out, int n, MPI_Datatype type, int32_t operation,
                            char** result) {
    const MPI_Op op = operation == GRAFT_COMM_SUM ? MPI_SUM : operation == GRAFT_COMM_MIN ? MPI_MIN : MPI_MAX;
    int32_t status;
    *result = out;
    if (type != MPI_DOUBLE)
        return finish(s, "MPI_Iallreduce", MPI_Iallreduce(in, out, n, type, op, s->data, &s->collective));
    if ((int64_t)n * 8 * s->table.size <= GATHER_BYTES) {
        *result = in;
        return combine_in_rank_order(s, (double*)(void*)in, n, operation);
    }
    status = finish(s, "MPI_Ireduce", MPI_Ireduce(in, out, n, type, op, 0, s->data, &s->collective));
    if (status == GRAFT_OK)
        status = finish(s, "MPI_Ibcast", MPI_Ibcast(out, n, type, 0, s->data, &s->collective));
    return status;
}

int32_t shim_allreduce(void* self, const void* send, void* receive, int64_t count, int32_t dtype,
                       int32_t operation) {
    shim* s = self;
    const int64_t size = dtype == GRAFT_I32 ? 4 : 8, bytes = count * size;
    const MPI_Datatype type = dtype == GRAFT_F64   ? MPI_DOUBLE
                              : dtype == GRAFT_I32 ? MPI_INT32_T
                              : dtype == GRAFT_I64 ? MPI_INT64_T
                                                   : MPI_UINT64_T;
    int64_t at;
    int32_t status = shim_enter(s, "allreduce");
    if (status == GRAFT_OK && (count < 0 || dtype < GRAFT_F64 || dtype > GRAFT_U64 ||
                               operation < GRAFT_COMM_SUM || operation > GRAFT_COMM_MAX))
        return shim_refuse(s, GRAFT_ERROR_ARGUMENT, "allreduce: count %lld, dtype %d, operation %d",
                           (long long)count, (int)dtype, (int)operation);
    if (status == GRAFT_OK && s->table.size == 1 && bytes > 0)
        memmove(receive, send, (size_t)bytes);
    for (at = 0; at < bytes && status == GRAFT_OK && s->table.size > 1; at += SHIM_PIECE) {
        const int64_t piece = smaller(bytes - at, SHIM_PIECE);
        char *in = reserve(s, 2 * piece + GATHER_BYTES), *result = NULL;
        if (in == NULL)
            return GRAFT_ERROR_MEMORY;
        memcpy(in, (const char*)send + at, (size_t)piece);
        status = reduce_piece(s, in, in + piece, (int)(piece / size), type, operation, &result);
        if (status == GRAFT_OK)
            memcpy((char*)receive + at, result, (size_t)piece);
    }
    return status;
}

/* Messages to and from every rank that has any; each side skips what is empty. send_offset NULL: the same
 * bytes to all. */
static int32_t exchange(shim* s, const char* send, const int64_t* send_bytes, int64_t send_bytes_all,
                        const int64_t* send_offset, char* receive, const int64_t* receive_bytes,
                        const int64_t* receive_offset) {
    const int32_t size = s->table.size, rank = s->table.rank;
    int64_t count = 0;
    int32_t i, status = GRAFT_OK;
    if (s->numbers_capacity < 2 * (int64_t)size) {
        free(s->numbers);
        s->numbers = malloc(2 * (size_t)size * sizeof *s->numbers);
        s->numbers_capacity = s->numbers != NULL ? 2 * (int64_t)size : 0;
        if (s->numbers == NULL)
            return shim_fail(s, GRAFT_ERROR_MEMORY, "no memory for %d requests", 2 * (int)size);
    }
    for (i = 1; i < size && status == GRAFT_OK; ++i) {
        const int32_t from = (rank - i + size) % size;
        if (receive_bytes[from] > 0)
            status = shim_start_receive(s, receive + receive_offset[from], receive_bytes[from], from,
                                        SHIM_EXCHANGE_TAG, &s->numbers[count++]);
    }
    for (i = 1; i < size && status == GRAFT_OK; ++i) {
        const int32_t to = (rank + i) % size;
        const int64_t bytes = send_offset != NULL ? send_bytes[to] : send_bytes_all;
        if (bytes > 0)
            status = shim_start_send(s, send + (send_offset != NULL ? send_offset[to] : 0), bytes, to,
                                     SHIM_EXCHANGE_TAG, &s->numbers[count++]);
    }
    if (status == GRAFT_OK && receive_bytes[rank] > 0)
        memmove(receive + receive_offset[rank], send + (send_offset != NULL ? send_offset[rank] : 0),
                (size_t)receive_bytes[rank]);
    if (status != GRAFT_OK)
        return status;
    return shim_wait_for(s, count, s->numbers);
}

/* All of it through bounce: the gathered bytes, then counts and offsets of each rank. */
static int32_t gather_small(shim* s, const void* send, int64_t send_bytes, char* receive,
                            const int64_t* receive_bytes, const int64_t* receive_offset, int64_t total) {
    const int32_t size = s->table.size;
    const int64_t aligned = (total + send_bytes + 7) / 8 * 8;
    char* all = reserve(s, aligned + 2 * (int64_t)size * (int64_t)sizeof(int));
    int *counts, *offsets, r, at = 0;
    int32_t status;
    if (all == NULL)
        return GRAFT_ERROR_MEMORY;
    counts = (int*)(void*)(all + aligned);
    offsets = counts + size;
    for (r = 0; r < size; at += counts[r++]) {
        counts[r] = (int)receive_bytes[r];
        offsets[r] = at;
    }
    if (send_bytes > 0)
        memcpy(all + total, send, (size_t)send_bytes);
    status = finish(s, "MPI_Iallgatherv",
                    MPI_Iallgatherv(all + total, (int)send_bytes, MPI_BYTE, all, counts, offsets, MPI_BYTE,
                                    s->data, &s->collective));
    for (r = 0; r < size && status == GRAFT_OK; ++r)
        if (counts[r] > 0)
            memcpy(receive + receive_offset[r], all + offsets[r], (size_t)counts[r]);
    return status;
}

int32_t shim_allgatherv(void* self, const void* send, int64_t send_bytes, void* receive,
                        const int64_t* receive_bytes, const int64_t* receive_offset) {
    shim* s = self;
    int64_t total = 0;
    int32_t r, status = shim_enter(s, "allgatherv");
    if (status != GRAFT_OK)
        return status;
    for (r = 0; r < s->table.size; ++r)
        total += receive_bytes[r];
    if (receive_bytes[s->table.rank] != send_bytes)
        return shim_fail(s, GRAFT_ERROR_ARGUMENT, "sends %lld bytes but expects %lld of itself",
                         (long long)send_bytes, (long long)receive_bytes[s->table.rank]);
    if (total <= SHIM_PIECE)
        return gather_small(s, send, send_bytes, receive, receive_bytes, receive_offset, total);
    return exchange(s, send, NULL, send_bytes, NULL, receive, receive_bytes, receive_offset);
}

int32_t shim_alltoallv(void* self, const void* send, const int64_t* send_bytes, const int64_t* send_offset,
                       void* receive, const int64_t* receive_bytes, const int64_t* receive_offset) {
    shim* s = self;
    const int32_t status = shim_enter(s, "alltoallv");
    if (status != GRAFT_OK)
        return status;
    return exchange(s, send, send_bytes, 0, send_offset, receive, receive_bytes, receive_offset);
}
