/* Messages between two ranks: request numbers over a growing table of slots, long messages in chunks that
 * both sides cut alike (MPI keeps their order). Invariant: a slot in use holds a pending request, or
 * MPI_REQUEST_NULL once it is done. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define CANCEL_S 0.5 /* how long a failed table waits for receives that MPI is just filling */

static int64_t number_of(const shim* s, int32_t index) {
    return ((int64_t)s->slots[index].serial << 32) | (int64_t)(uint32_t)index;
}

/* The slot of a request number, or -1. */
static int32_t index_of(const shim* s, int64_t number) {
    const int64_t index = number & 0xffffffff;
    if (number < 0 || index >= s->slot_count || !s->slots[index].used ||
        number_of(s, (int32_t)index) != number)
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

static int32_t take_slot(shim* s) {
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

static void return_slot(shim* s, int32_t index) {
    s->slots[index].used = 0;
    s->slots[index].serial = (s->slots[index].serial + 1) & 0x7fffffff;
    s->slots[index].next = s->free_slot;
    s->free_slot = index;
}

/* Starts the parts of one message; a receive where `from_us` is NULL. */
static int32_t start(shim* s, const void* from_us, void* to_us, int64_t bytes, int32_t peer, int32_t tag,
                     int64_t* request) {
    int64_t at = 0;
    int32_t first = -1, last = -1;
    do {
        const int64_t part = bytes - at < s->chunk ? bytes - at : s->chunk;
        const int32_t index = take_slot(s);
        int code;
        if (index < 0)
            return shim_fail(s, GRAFT_ERROR_MEMORY, "no memory for the request");
        if (from_us != NULL)
            code = MPI_Isend((const char*)from_us + at, (int)part, MPI_BYTE, peer, tag, s->data,
                             &s->slots[index].request);
        else
            code = MPI_Irecv((char*)to_us + at, (int)part, MPI_BYTE, peer, tag, s->data,
                             &s->slots[index].request);
        if (code != MPI_SUCCESS)
            return shim_mpi_failed(s, from_us != NULL ? "MPI_Isend" : "MPI_Irecv", code);
        s->slots[index].expected = from_us != NULL ? -1 : part;
        if (last >= 0)
            s->slots[last].next = index;
        else
            first = index;
        last = index;
        at += part;
    } while (at < bytes);
    *request = number_of(s, first);
    return GRAFT_OK;
}

static char nothing[1]; /* where a message without bytes stands */

int32_t shim_start_send(shim* s, const void* data, int64_t bytes, int32_t to, int32_t tag, int64_t* request) {
    return start(s, data != NULL ? data : nothing, NULL, bytes, to, tag, request);
}

int32_t shim_start_receive(shim* s, void* data, int64_t bytes, int32_t from, int32_t tag, int64_t* request) {
    return start(s, NULL, data != NULL ? data : nothing, bytes, from, tag, request);
}

static int32_t check(shim* s, const void* data, int64_t bytes, int32_t peer, int32_t tag,
                     const int64_t* request) {
    if (peer < 0 || peer >= s->table.size)
        return shim_refuse(s, GRAFT_ERROR_ARGUMENT, "%s: rank %d does not exist; ranks are 0 to %d", s->doing,
                           (int)peer, (int)s->table.size - 1);
    if (tag < 0 || tag >= SHIM_OWN_TAGS)
        return shim_refuse(s, GRAFT_ERROR_ARGUMENT, "%s: tag %d; expected 0 to %d", s->doing, (int)tag,
                           SHIM_OWN_TAGS - 1);
    if (bytes < 0 || (data == NULL && bytes > 0) || request == NULL)
        return shim_refuse(s, GRAFT_ERROR_ARGUMENT, "%s: bytes negative, or a NULL pointer", s->doing);
    return GRAFT_OK;
}

int32_t shim_send(void* self, const void* data, int64_t bytes, int32_t to, int32_t tag, int64_t* request) {
    shim* s = self;
    int32_t status = shim_enter(s, "isend");
    if (status == GRAFT_OK)
        status = check(s, data, bytes, to, tag, request);
    return status == GRAFT_OK ? shim_start_send(s, data, bytes, to, tag, request) : status;
}

int32_t shim_receive(void* self, void* data, int64_t bytes, int32_t from, int32_t tag, int64_t* request) {
    shim* s = self;
    int32_t status = shim_enter(s, "irecv");
    if (status == GRAFT_OK)
        status = check(s, data, bytes, from, tag, request);
    return status == GRAFT_OK ? shim_start_receive(s, data, bytes, from, tag, request) : status;
}

static int32_t wait_for_part(shim* s, int32_t index) {
    MPI_Status state;
    const int64_t expected = s->slots[index].expected;
    int bytes = 0;
    int32_t status = shim_wait(s, &s->slots[index].request, &state);
    if (status != GRAFT_OK || expected < 0)
        return status;
    MPI_Get_count(&state, MPI_BYTE, &bytes);
    if (bytes != expected)
        return shim_fail(s, GRAFT_ERROR_COMMUNICATION,
                         "%d bytes came from rank %d with tag %d where %lld were expected", bytes,
                         state.MPI_SOURCE, state.MPI_TAG, (long long)expected);
    return GRAFT_OK;
}

int32_t shim_wait_for(shim* s, int64_t count, const int64_t* requests) {
    int64_t i;
    int32_t status = GRAFT_OK;
    for (i = 0; i < count && status == GRAFT_OK; ++i) {
        int32_t index = index_of(s, requests[i]);
        if (index < 0)
            return shim_fail(s, GRAFT_ERROR_ARGUMENT,
                             "request %lld of %lld is unknown, or was waited for before", (long long)i,
                             (long long)count);
        while (index >= 0 && status == GRAFT_OK) {
            const int32_t next = s->slots[index].next;
            status = wait_for_part(s, index);
            if (status == GRAFT_OK)
                return_slot(s, index);
            index = next;
        }
    }
    return status;
}

int32_t shim_wait_all(void* self, int64_t count, int64_t* requests) {
    shim* s = self;
    const int32_t status = shim_enter(s, "waitall");
    return status == GRAFT_OK ? shim_wait_for(s, count, requests) : status;
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
