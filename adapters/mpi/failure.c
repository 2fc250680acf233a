/* SPDX-License-Identifier: BSD-3-Clause */
/* How a table fails, and how a wait notices. A failing rank sends {table, call, text} to every peer on the family's
 * watch communicator; a wait polls for such messages, for its deadline, and gives the processor away when it
 * takes long. A give-up message is small and has no answer, so nobody waits for a rank that is gone. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* sched_yield */
#endif
#include "internal.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUICK_POLLS 64   /* of a wait before it looks around; then it looks after each as many */
#define FLUSH_POLLS 1000 /* that a failing rank spends on getting its messages out */

typedef struct note {
    int64_t table;
    int32_t call; /* where the failure began */
    char text[SHIM_TEXT];
} note;

/* Messages that were sent and that MPI may still read: kept until the process ends. */
typedef struct kept {
    struct kept* next;
    note message;
} kept;
static kept* kept_notes = NULL;

int32_t shim_refuse(shim* s, int32_t status, const char* pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(s->text, sizeof s->text, pattern, arguments);
    va_end(arguments);
    return status;
}

const char* shim_doing(const shim* s) {
    static const char* const names[] = {"",          "barrier", "bcast", "allreduce", "allgatherv",
                                        "alltoallv", "isend",   "irecv", "waitall",   "split"};
    return names[s->call];
}

static void mark(shim* s, int32_t call, const char* text) {
    if (s->failed)
        return;
    s->failed = 1;
    s->failed_call = call;
    s->kin->broken = 1;
    snprintf(s->why, sizeof s->why, "%s", text);
    shim_cancel_all(s); /* the host may release its buffers now */
}

/* A table's failure is that of the tables split from it: its peers may wait in those. */
static void mark_with_descendants(family* kin, int64_t id, int32_t call, const char* text) {
    shim *s, *above;
    for (s = kin->tables; s != NULL; s = s->next)
        for (above = s; above != NULL; above = above->parent)
            if (above->id == id)
                mark(s, call, text);
}

/* Takes the give-up messages that have arrived. */
static void look_around(family* kin) {
    note message;
    MPI_Status status;
    int there = 0;
    while (MPI_Iprobe(MPI_ANY_SOURCE, 0, kin->watch, &there, &status) == MPI_SUCCESS && there) {
        if (MPI_Recv(&message, (int)sizeof message, MPI_BYTE, status.MPI_SOURCE, 0, kin->watch,
                     MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return;
        message.text[sizeof message.text - 1] = '\0';
        mark_with_descendants(kin, message.table, message.call, message.text);
    }
}

int32_t shim_enter(shim* s, int32_t call) {
    int finalized = 0;
    s->call = call;
    MPI_Finalized(&finalized);
    if (!finalized && !s->failed && s->table.size > 1)
        look_around(s->kin);
    if (s->failed)
        return shim_refuse(s, GRAFT_ERROR_COMMUNICATION, "%s", s->why);
    if (finalized)
        return shim_refuse(s, GRAFT_ERROR_COMMUNICATION, "%s: MPI_Finalize has been called", shim_doing(s));
    return GRAFT_OK;
}

/* The ranks of the table as ranks of the watch communicator; NULL without memory. */
static int* watch_ranks(const shim* s) {
    MPI_Group data, watch;
    const int size = s->table.size;
    int r, *own = malloc(2 * (size_t)size * sizeof *own);
    if (own == NULL)
        return NULL;
    for (r = 0; r < size; ++r)
        own[size + r] = r;
    MPI_Comm_group(s->data, &data);
    MPI_Comm_group(s->kin->watch, &watch);
    MPI_Group_translate_ranks(data, size, own + size, watch, own);
    MPI_Group_free(&data);
    MPI_Group_free(&watch);
    return own;
}

/* Gives a message time to leave, then leaves it to itself. */
static void flush(MPI_Request* request, int* polls) {
    int done = *request == MPI_REQUEST_NULL;
    while (!done && MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done && --*polls > 0)
        sched_yield();
    if (!done)
        MPI_Request_free(request);
}

static void tell_peers(shim* s, const char* text) {
    MPI_Request* requests = malloc((size_t)s->table.size * sizeof *requests);
    kept* sent = malloc(sizeof *sent);
    int* ranks = watch_ranks(s);
    int r, polls = FLUSH_POLLS;
    if (requests != NULL && sent != NULL && ranks != NULL) {
        memset(sent, 0, sizeof *sent);
        sent->message.table = s->id;
        sent->message.call = s->call;
        snprintf(sent->message.text, sizeof sent->message.text, "%s", text);
        for (r = 0; r < s->table.size; ++r) {
            requests[r] = MPI_REQUEST_NULL;
            if (r != s->table.rank)
                MPI_Isend(&sent->message, (int)sizeof(note), MPI_BYTE, ranks[r], 0, s->kin->watch,
                          &requests[r]);
        }
        for (r = 0; r < s->table.size; ++r)
            flush(&requests[r], &polls);
        sent->next = kept_notes;
        kept_notes = sent;
        sent = NULL;
    }
    free(ranks);
    free(sent);
    free(requests);
}

/* Marks this table and tells its other ranks, once. `text` names this rank. */
static void fail_everywhere(shim* s, const char* text) {
    int finalized = 0;
    if (s->failed)
        return;
    MPI_Finalized(&finalized);
    if (!finalized)
        tell_peers(s, text);
    mark_with_descendants(s->kin, s->id, s->call, text);
}

void shim_give_up(void* self, const char* text) {
    shim* s = self;
    char why[SHIM_TEXT];
    snprintf(why, sizeof why, "rank %d gave up: %.400s", (int)s->table.rank,
             text != NULL ? text : "no reason given");
    fail_everywhere(s, why);
}

int32_t shim_fail(shim* s, int32_t status, const char* pattern, ...) {
    char what[SHIM_TEXT - 64], why[SHIM_TEXT];
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(what, sizeof what, pattern, arguments);
    va_end(arguments);
    snprintf(why, sizeof why, "rank %d: %s: %s", (int)s->table.rank, shim_doing(s), what);
    fail_everywhere(s, why);
    snprintf(s->text, sizeof s->text, "%s", why);
    return status;
}

int32_t shim_mpi_failed(shim* s, const char* function, int code) {
    char text[MPI_MAX_ERROR_STRING + 1];
    int length = 0;
    size_t i;
    memset(text, 0, sizeof text);
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "MPI error %d", code);
    for (i = 0; text[i] != '\0'; ++i)
        if (text[i] == '\n')
            text[i] = ' ';
    return shim_fail(s, GRAFT_ERROR_COMMUNICATION, "%s: %s", function, text);
}

int32_t shim_wait(shim* s, MPI_Request* request, MPI_Status* status) {
    double start = -1;
    int64_t polls;
    int code, done = 0;
    for (polls = 1;; ++polls) {
        code = MPI_Test(request, &done, status);
        if (code != MPI_SUCCESS)
            return shim_mpi_failed(s, "MPI_Test", code);
        if (done)
            return GRAFT_OK;
        if (polls < QUICK_POLLS)
            continue;
        sched_yield();
        if (polls % QUICK_POLLS != 0)
            continue;
        look_around(s->kin);
        if (s->failed)
            return shim_refuse(s, GRAFT_ERROR_COMMUNICATION, "%s", s->why);
        if (s->deadline_s > 0 && start < 0)
            start = MPI_Wtime();
        else if (s->deadline_s > 0 && MPI_Wtime() - start > s->deadline_s)
            return shim_fail(s, GRAFT_ERROR_COMMUNICATION, "waited longer than the deadline of %g s",
                             s->deadline_s);
    }
}
