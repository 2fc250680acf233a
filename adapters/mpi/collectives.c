/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives, made of messages. MPI's own nonblocking ones would do for work that succeeds; but they
 * cannot be cancelled, so a failed one writes into buffers that the host has released, and ranks that fail at
 * different calls send each other's collectives messages of the wrong length, which both MPIs answer by
 * ending the process. Here every message carries the kind and number of its collective in its tag, and every
 * receive can be taken back.
 *
 * P ranks, n bytes; time in messages one after another: barrier log P (dissemination); bcast log P (binomial
 * tree); allgatherv log P (Bruck 1997), P for large n; alltoallv: those pairs that have data. allreduce.c has
 * the rest. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define BRUCK_BYTES 65536 /* largest allgatherv (of all ranks together) by Bruck's algorithm */

/* The next collective's tag: kinds and numbers differ between collectives that may meet after a failure. */
int32_t shim_next_tag(shim* s, int32_t kind) {
    s->sequence = (s->sequence + 1) % SHIM_SEQUENCES;
    return SHIM_OWN_TAGS + kind * SHIM_SEQUENCES + s->sequence;
}

/* bounce with room for this many bytes, or NULL (and the table has failed). */
char* shim_reserve(shim* s, int64_t bytes) {
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

int32_t shim_send_receive(shim* s, const void* out, int64_t out_bytes, int32_t to, void* in, int64_t in_bytes,
                          int32_t from, int32_t tag) {
    int64_t requests[2];
    int32_t status = shim_start_receive(s, in, in_bytes, from, tag, &requests[0]);
    if (status == GRAFT_OK)
        status = shim_start_send(s, out, out_bytes, to, tag, &requests[1]);
    return status == GRAFT_OK ? shim_wait_for(s, 2, requests) : status;
}

int32_t shim_send_one(shim* s, const void* data, int64_t bytes, int32_t to, int32_t tag) {
    int64_t request;
    const int32_t status = shim_start_send(s, data, bytes, to, tag, &request);
    return status == GRAFT_OK ? shim_wait_for(s, 1, &request) : status;
}

int32_t shim_receive_one(shim* s, void* data, int64_t bytes, int32_t from, int32_t tag) {
    int64_t request;
    const int32_t status = shim_start_receive(s, data, bytes, from, tag, &request);
    return status == GRAFT_OK ? shim_wait_for(s, 1, &request) : status;
}

int32_t shim_barrier(void* self) {
    shim* s = self;
    const int32_t size = s->table.size, rank = s->table.rank, tag = shim_next_tag(s, kind_barrier);
    int32_t step, status = shim_enter(s, GRAFT_COMM_CALL_BARRIER);
    for (step = 1; step < size && status == GRAFT_OK; step *= 2)
        status =
            shim_send_receive(s, NULL, 0, (rank + step) % size, NULL, 0, (rank + size - step) % size, tag);
    return status;
}

/* One piece down the binomial tree over places (0: the root, then by rank). */
static int32_t broadcast_piece(shim* s, char* data, int64_t bytes, int32_t root, int32_t tag) {
    const int32_t size = s->table.size, place = (s->table.rank - root + size) % size;
    int64_t requests[32];
    int32_t step = 1, sent = 0, status = GRAFT_OK;
    while (step < size && (place & step) == 0)
        step *= 2;
    if (place != 0)
        status = shim_receive_one(s, data, bytes, (place - step + root) % size, tag);
    for (step /= 2; step > 0 && status == GRAFT_OK; step /= 2)
        if (place + step < size)
            status = shim_start_send(s, data, bytes, (place + step + root) % size, tag, &requests[sent++]);
    return status == GRAFT_OK ? shim_wait_for(s, sent, requests) : status;
}

int32_t shim_broadcast(void* self, void* data, int64_t bytes, int32_t root) {
    shim* s = self;
    const int32_t tag = shim_next_tag(s, kind_broadcast);
    int64_t at;
    int32_t status = shim_enter(s, GRAFT_COMM_CALL_BCAST);
    if (status == GRAFT_OK && (root < 0 || root >= s->table.size || bytes < 0))
        return shim_refuse(s, GRAFT_ERROR_ARGUMENT, "bcast: root %d of %d ranks, %lld bytes", (int)root,
                           (int)s->table.size, (long long)bytes);
    for (at = 0; at < bytes && status == GRAFT_OK && s->table.size > 1; at += SHIM_PIECE)
        status = broadcast_piece(s, (char*)data + at, bytes - at < SHIM_PIECE ? bytes - at : SHIM_PIECE, root,
                                 tag);
    return status;
}

/* Messages to and from every rank that has any; each side skips what is empty. send_offset NULL: the same
 * bytes to all. */
static int32_t exchange(shim* s, const char* send, const int64_t* send_bytes, int64_t send_bytes_all,
                        const int64_t* send_offset, char* receive, const int64_t* receive_bytes,
                        const int64_t* receive_offset, int32_t tag) {
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
            status = shim_start_receive(s, receive + receive_offset[from], receive_bytes[from], from, tag,
                                        &s->numbers[count++]);
    }
    for (i = 1; i < size && status == GRAFT_OK; ++i) {
        const int32_t to = (rank + i) % size;
        const int64_t bytes = send_offset != NULL ? send_bytes[to] : send_bytes_all;
        if (bytes > 0)
            status = shim_start_send(s, send + (send_offset != NULL ? send_offset[to] : 0), bytes, to, tag,
                                     &s->numbers[count++]);
    }
    if (status == GRAFT_OK && receive_bytes[rank] > 0)
        memmove(receive + receive_offset[rank], send + (send_offset != NULL ? send_offset[rank] : 0),
                (size_t)receive_bytes[rank]);
    if (status != GRAFT_OK)
        return status;
    return shim_wait_for(s, count, s->numbers);
}

/* Bruck: after step k this rank has the blocks of ranks rank ... rank + 2 k - 1 one after another in bounce.
 */
static int32_t gather_small(shim* s, const void* send, char* receive, const int64_t* receive_bytes,
                            const int64_t* receive_offset, int64_t total, int32_t tag) {
    const int32_t size = s->table.size, rank = s->table.rank;
    char* all = shim_reserve(s, total + 1);
    int64_t have = receive_bytes[rank], at = 0;
    int32_t k, r, status = all != NULL ? GRAFT_OK : GRAFT_ERROR_MEMORY;
    if (status == GRAFT_OK && have > 0)
        memcpy(all, send, (size_t)have);
    for (k = 1; k < size && status == GRAFT_OK; k *= 2) {
        const int32_t blocks = k < size - k ? k : size - k;
        int64_t out = 0, in = 0;
        for (r = 0; r < blocks; ++r) {
            out += receive_bytes[(rank + r) % size];
            in += receive_bytes[(rank + k + r) % size];
        }
        status =
            shim_send_receive(s, all, out, (rank + size - k) % size, all + have, in, (rank + k) % size, tag);
        have += in;
    }
    for (r = 0; r < size && status == GRAFT_OK; ++r) {
        const int32_t from = (rank + r) % size;
        if (receive_bytes[from] > 0)
            memmove(receive + receive_offset[from], all + at, (size_t)receive_bytes[from]);
        at += receive_bytes[from];
    }
    return status;
}

int32_t shim_allgatherv(void* self, const void* send, int64_t send_bytes, void* receive,
                        const int64_t* receive_bytes, const int64_t* receive_offset) {
    shim* s = self;
    const int32_t tag = shim_next_tag(s, kind_allgatherv);
    int64_t total = 0;
    int32_t r, status = shim_enter(s, GRAFT_COMM_CALL_ALLGATHERV);
    if (status != GRAFT_OK)
        return status;
    for (r = 0; r < s->table.size; ++r)
        total += receive_bytes[r];
    if (receive_bytes[s->table.rank] != send_bytes)
        return shim_fail(s, GRAFT_ERROR_ARGUMENT, "sends %lld bytes but expects %lld of itself",
                         (long long)send_bytes, (long long)receive_bytes[s->table.rank]);
    if (total <= BRUCK_BYTES)
        return gather_small(s, send, receive, receive_bytes, receive_offset, total, tag);
    return exchange(s, send, NULL, send_bytes, NULL, receive, receive_bytes, receive_offset, tag);
}

int32_t shim_alltoallv(void* self, const void* send, const int64_t* send_bytes, const int64_t* send_offset,
                       void* receive, const int64_t* receive_bytes, const int64_t* receive_offset) {
    shim* s = self;
    const int32_t tag = shim_next_tag(s, kind_alltoallv), status = shim_enter(s, GRAFT_COMM_CALL_ALLTOALLV);
    if (status != GRAFT_OK)
        return status;
    return exchange(s, send, send_bytes, 0, send_offset, receive, receive_bytes, receive_offset, tag);
}
