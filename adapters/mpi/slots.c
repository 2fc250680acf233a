/* SPDX-License-Identifier: BSD-3-Clause */
/* The pending requests of a table: request numbers over a growing table of slots. Invariant: a slot in use holds
 * a pending request, or MPI_REQUEST_NULL once it is done. */
#include "internal.h"

#include <stdlib.h>

#define CANCEL_S 0.5 /* how long a failed table waits for receives that MPI is just filling */

int64_t shim_request_number(const shim* s, int32_t index) {
    return ((int64_t)s->slots[index].serial << 32) | (int64_t)(uint32_t)index;
}

/* The slot of a request number, or -1. */
int32_t shim_slot_of(const shim* s, int64_t number) {
    const int64_t index = number & 0xffffffff;
    if (number < 0 || index >= s->slot_count || !s->slots[index].used ||
        shim_request_number(s, (int32_t)index) != number)
        return -1;
    return (int32_t)index;
}

static int grow(shim* s) {
    const int32_t count = s->slot_count > 0 ? 2 * s->slot_count : 64;
    int32_t i;
    slot* slots = realloc(s->slots, (size_t)count * sizeof *slots);
    if (slots == NULL)
        return 0;
    for (i = s->slot_count; i < count; ++i) {
        slots[i].used = 0;
        slots[i].serial = 1;
        slots[i].next = i + 1 < count ? i + 1 : s->free_slot;
    }
    s->free_slot = s->slot_count;
    s->slots = slots;
    s->slot_count = count;
    return 1;
}

int32_t shim_take_slot(shim* s) {
    int32_t index;
    if (s->free_slot < 0 && !grow(s))
        return -1;
    index = s->free_slot;
    s->free_slot = s->slots[index].next;
    s->slots[index].used = 1;
    s->slots[index].next = -1;
    s->slots[index].request = MPI_REQUEST_NULL;
    return index;
}

void shim_return_slot(shim* s, int32_t index) {
    s->slots[index].used = 0;
    s->slots[index].serial = (s->slots[index].serial + 1) & 0x7fffffff;
    s->slots[index].next = s->free_slot;
    s->free_slot = index;
}

/* After this MPI writes to none of the buffers that receives were given (but for what a peer is sending this
 * moment and does not finish in CANCEL_S); sends are left to complete. */
void shim_cancel_all(shim* s) {
    double start;
    int32_t i;
    int done, finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized)
        return;
    for (i = 0; i < s->slot_count; ++i)
        if (s->slots[i].used && s->slots[i].expected >= 0 && s->slots[i].request != MPI_REQUEST_NULL)
            MPI_Cancel(&s->slots[i].request);
    start = MPI_Wtime();
    for (i = 0; i < s->slot_count; ++i) {
        done = !s->slots[i].used || s->slots[i].request == MPI_REQUEST_NULL;
        while (!done && MPI_Test(&s->slots[i].request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done &&
               s->slots[i].expected >= 0 && MPI_Wtime() - start < CANCEL_S)
            ;
    }
}
