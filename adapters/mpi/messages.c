/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between two ranks, long ones in chunks that both sides cut alike (MPI keeps their order). */
#include "internal.h"

/* Starts the parts of one message; a receive where `from_us` is NULL. */
static int32_t start(shim* s, const void* from_us, void* to_us, int64_t bytes, int32_t peer, int32_t tag,
                     int64_t* request) {
    int64_t at = 0;
    int32_t first = -1, last = -1;
    do {
        const int64_t part = bytes - at < s->chunk ? bytes - at : s->chunk;
        const int32_t index = shim_take_slot(s);
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
    *request = shim_request_number(s, first);
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
        return shim_refuse(s, GRAFT_ERROR_ARGUMENT, "%s: rank %d does not exist; ranks are 0 to %d",
                           shim_doing(s), (int)peer, (int)s->table.size - 1);
    if (tag < 0 || tag >= SHIM_OWN_TAGS)
        return shim_refuse(s, GRAFT_ERROR_ARGUMENT, "%s: tag %d; expected 0 to %d", shim_doing(s), (int)tag,
                           SHIM_OWN_TAGS - 1);
    if (bytes < 0 || (data == NULL && bytes > 0) || request == NULL)
        return shim_refuse(s, GRAFT_ERROR_ARGUMENT, "%s: bytes negative, or a NULL pointer", shim_doing(s));
    return GRAFT_OK;
}

int32_t shim_send(void* self, const void* data, int64_t bytes, int32_t to, int32_t tag, int64_t* request) {
    shim* s = self;
    int32_t status = shim_enter(s, GRAFT_COMM_CALL_ISEND);
    if (status == GRAFT_OK)
        status = check(s, data, bytes, to, tag, request);
    return status == GRAFT_OK ? shim_start_send(s, data, bytes, to, tag, request) : status;
}

int32_t shim_receive(void* self, void* data, int64_t bytes, int32_t from, int32_t tag, int64_t* request) {
    shim* s = self;
    int32_t status = shim_enter(s, GRAFT_COMM_CALL_IRECV);
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
        int32_t index = shim_slot_of(s, requests[i]);
        if (index < 0)
            return shim_fail(s, GRAFT_ERROR_ARGUMENT,
                             "request %lld of %lld is unknown, or was waited for before", (long long)i,
                             (long long)count);
        while (index >= 0 && status == GRAFT_OK) {
            const int32_t next = s->slots[index].next;
            status = wait_for_part(s, index);
            if (status == GRAFT_OK)
                shim_return_slot(s, index);
            index = next;
        }
    }
    return status;
}

int32_t shim_wait_all(void* self, int64_t count, int64_t* requests) {
    shim* s = self;
    const int32_t status = shim_enter(s, GRAFT_COMM_CALL_WAITALL);
    return status == GRAFT_OK ? shim_wait_for(s, count, requests) : status;
}
