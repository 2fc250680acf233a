/* SPDX-License-Identifier: BSD-3-Clause */
/* allreduce: the same bits on every rank, because values are combined along one tree with the lower ranks' on
 * the left (MPI promises no such thing: sums, and minima of +0 and -0, of doubles may differ between ranks).
 *
 * Up to DOUBLING_BYTES recursive doubling: log P messages of n bytes. Above: recursive halving, then doubling
 * (Rabenseifner 2004): 2 log P messages, 2 n bytes in all. Ranks beyond a power of two are spoken for by a
 * neighbour. */
#include "internal.h"

#include <string.h>

#define DOUBLING_BYTES 8192

/* A function that combines n values of a type; `to` may be either operand. */
#define COMBINE(name, type)                                                                                  \
    static void name(void* to, const void* left, const void* right, int64_t n, int32_t operation) {          \
        const type *a = left, *b = right;                                                                    \
        type* c = to;                                                                                        \
        int64_t i;                                                                                           \
        if (operation == GRAFT_COMM_SUM)                                                                     \
            for (i = 0; i < n; ++i)                                                                          \
                c[i] = a[i] + b[i];                                                                          \
        else if (operation == GRAFT_COMM_MIN)                                                                \
            for (i = 0; i < n; ++i)                                                                          \
                c[i] = b[i] < a[i] ? b[i] : a[i];                                                            \
        else                                                                                                 \
            for (i = 0; i < n; ++i)                                                                          \
                c[i] = b[i] > a[i] ? b[i] : a[i];                                                            \
    }
COMBINE(combine_f64, double)
COMBINE(combine_i32, int32_t)
COMBINE(combine_u32, uint32_t)
COMBINE(combine_i64, int64_t)
COMBINE(combine_u64, uint64_t)

typedef struct reduction {
    shim* s;
    int32_t dtype, operation, tag;
    int64_t size;   /* bytes of a value */
    char* values;   /* what is combined so far; the answer in the end */
    char* peers;    /* room for as much */
    int32_t places; /* the largest power of two not above the ranks */
    int32_t extra;  /* ranks beyond it */
    int32_t place;  /* of this rank; -1: a neighbour speaks for it */
} reduction;

static void combine(const reduction* r, void* to, const void* left, const void* right, int64_t n) {
    const int sum = r->operation == GRAFT_COMM_SUM; /* signed sums wrap as unsigned ones do */
    if (r->dtype == GRAFT_F64)
        combine_f64(to, left, right, n, r->operation);
    else if (r->dtype == GRAFT_I32)
        (sum ? combine_u32 : combine_i32)(to, left, right, n, r->operation);
    else
        (sum || r->dtype == GRAFT_U64 ? combine_u64 : combine_i64)(to, left, right, n, r->operation);
}

/* The rank at a place: the first 2 extra ranks form pairs, whose odd member speaks for both. */
static int32_t rank_at(const reduction* r, int32_t place) {
    return place < r->extra ? 2 * place + 1 : place + r->extra;
}

/* n values of ours from `mine` and of the peer's into ours at `mine`, lower place on the left. */
static void combine_with(const reduction* r, char* mine, int32_t peer, int64_t n) {
    if (peer < r->place)
        combine(r, mine, r->peers, mine, n);
    else
        combine(r, mine, mine, r->peers, n);
}

static int32_t double_up(reduction* r, int64_t n) {
    int32_t mask, status = GRAFT_OK;
    for (mask = 1; mask < r->places && status == GRAFT_OK; mask *= 2) {
        const int32_t peer = r->place ^ mask, other = rank_at(r, peer);
        status = shim_send_receive(r->s, r->values, n * r->size, other, r->peers, n * r->size, other, r->tag);
        if (status == GRAFT_OK)
            combine_with(r, r->values, peer, n);
    }
    return status;
}

/* Half of the range goes to the peer and half is kept, until each place has its own share; then back. */
static int32_t halve_and_double(reduction* r, int64_t n) {
    int64_t from[32], to[32];
    int32_t mask, level = 0, status = GRAFT_OK;
    from[0] = 0;
    to[0] = n;
    for (mask = r->places / 2; mask > 0 && status == GRAFT_OK; mask /= 2, ++level) {
        const int64_t a = from[level], c = to[level], b = a + (c - a) / 2;
        const int32_t peer = r->place ^ mask, other = rank_at(r, peer), upper = (r->place & mask) != 0;
        const int64_t keep = upper ? b : a, kept = upper ? c - b : b - a, give = upper ? a : b;
        status = shim_send_receive(r->s, r->values + give * r->size, (c - a - kept) * r->size, other,
                                   r->peers, kept * r->size, other, r->tag);
        if (status == GRAFT_OK)
            combine_with(r, r->values + keep * r->size, peer, kept);
        from[level + 1] = keep;
        to[level + 1] = keep + kept;
    }
    for (mask = 1; mask < r->places && status == GRAFT_OK; mask *= 2, --level) {
        const int32_t other = rank_at(r, r->place ^ mask);
        const int64_t mine = from[level], end = to[level], a = from[level - 1], c = to[level - 1];
        const int64_t theirs = mine == a ? end : a, their_end = mine == a ? c : mine;
        status =
            shim_send_receive(r->s, r->values + mine * r->size, (end - mine) * r->size, other,
                              r->values + theirs * r->size, (their_end - theirs) * r->size, other, r->tag);
    }
    return status;
}

static int32_t reduce(reduction* r, int64_t n) {
    const int32_t rank = r->s->table.rank;
    const int64_t bytes = n * r->size;
    int32_t status = GRAFT_OK;
    if (r->place < 0) {
        status = shim_send_one(r->s, r->values, bytes, rank + 1, r->tag);
        return status == GRAFT_OK ? shim_receive_one(r->s, r->values, bytes, rank + 1, r->tag) : status;
    }
    if (r->place < r->extra) {
        status = shim_receive_one(r->s, r->peers, bytes, rank - 1, r->tag);
        if (status == GRAFT_OK)
            combine(r, r->values, r->peers, r->values, n);
    }
    if (status == GRAFT_OK)
        status = bytes <= DOUBLING_BYTES ? double_up(r, n) : halve_and_double(r, n);
    if (status == GRAFT_OK && r->place < r->extra)
        status = shim_send_one(r->s, r->values, bytes, rank - 1, r->tag);
    return status;
}

int32_t shim_allreduce(void* self, const void* send, void* receive, int64_t count, int32_t dtype,
                       int32_t operation) {
    shim* s = self;
    const int32_t rank = s->table.rank;
    reduction r = {
        s, dtype, operation, shim_next_tag(s, kind_allreduce), dtype == GRAFT_I32 ? 4 : 8, receive, NULL,
        1, 0,     0};
    int32_t status = shim_enter(s, GRAFT_COMM_CALL_ALLREDUCE);
    if (status != GRAFT_OK)
        return status;
    if (count < 0 || dtype < GRAFT_F64 || dtype > GRAFT_U64 || operation < GRAFT_COMM_SUM ||
        operation > GRAFT_COMM_MAX)
        return shim_refuse(s, GRAFT_ERROR_ARGUMENT, "allreduce: count %lld, dtype %d, operation %d",
                           (long long)count, (int)dtype, (int)operation);
    if (count > 0 && send != receive)
        memmove(receive, send, (size_t)(count * r.size));
    if (count == 0 || s->table.size == 1)
        return GRAFT_OK;
    while (2 * r.places <= s->table.size)
        r.places *= 2;
    r.extra = s->table.size - r.places;
    r.place = rank >= 2 * r.extra ? rank - r.extra : rank % 2 == 1 ? rank / 2 : -1;
    r.peers = shim_reserve(s, count * r.size);
    return r.peers != NULL ? reduce(&r, count) : GRAFT_ERROR_MEMORY;
}
