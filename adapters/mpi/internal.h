/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the MPI shim: one table, the family of tables that split made of one another, and what its files
 * share.
 *
 * Invariants: every table has a communicator of its own (data), so tags and collectives of two tables never
 * meet. A family shares one more (watch) that carries only give-up messages {table, call, text}; every wait
 * looks there. A table has the same id on all its ranks, and ids differ within a family. A table that has failed
 * never calls MPI on its data communicator again, except to cancel receives; what MPI may still write into
 * (bounce) is then kept for ever. */
#ifndef GRAFT_MPI_INTERNAL_H
#define GRAFT_MPI_INTERNAL_H

#include <graft/comm.h>
#include <graft/types.h>

#include <mpi.h>
#include <stddef.h>

#define SHIM_TEXT 512
#define SHIM_OWN_TAGS 32768 /* of the messages that collectives are made of; the host's tags are below */
#define SHIM_SEQUENCES 4096 /* collectives of one kind before a tag comes again */
#define SHIM_MOST_TAG (SHIM_OWN_TAGS + 5 * SHIM_SEQUENCES - 1)
#define SHIM_PIECE (1 << 18) /* bytes of a broadcast at a time */

typedef struct shim shim;

typedef struct family {
    MPI_Comm watch;
    shim* tables; /* those alive on this rank */
    int64_t last_id;
    int broken; /* a give-up message may be on its way: watch is never freed */
} family;

/* One part of a message (long ones are sent in chunks). */
typedef struct slot {
    MPI_Request request;
    int64_t expected; /* bytes to receive; -1: a send */
    int32_t next;     /* the next part, or the next free slot; -1: none */
    uint32_t serial;  /* tells a request number from an older one of the same slot */
    int used;
} slot;

struct shim {
    graft_comm_v1 table; /* first: a pointer to it is a pointer to the shim */
    family* kin;
    shim* next;   /* in kin->tables */
    shim* parent; /* NULL once it is freed */
    int64_t id;
    MPI_Comm data;
    double deadline_s; /* 0: none */
    int64_t chunk;     /* most bytes of one MPI message */
    int32_t call;      /* GRAFT_COMM_CALL_* of the entry that runs or ran last */
    int failed;
    int32_t failed_call;  /* where the failure began, on whichever rank */
    char why[SHIM_TEXT];  /* once failed */
    char text[SHIM_TEXT]; /* of the last failing call */
    char* bounce;
    int64_t bounce_bytes;
    int32_t sequence; /* of the last collective */
    slot* slots;
    int32_t slot_count, free_slot;
    int64_t* numbers; /* an exchange's requests */
    int64_t numbers_capacity;
};

/* Whether this process's MPI is ours and running (process.c): GRAFT_OK, CALL_ORDER or UNSUPPORTED with the
 * text. */
int32_t shim_check_library(char* why, size_t capacity);
int32_t shim_check_running(char* why, size_t capacity);

/* Failures (failure.c). shim_enter: GRAFT_OK when the table may be used. shim_fail: this rank's call fails
 * and so does the table on every rank. shim_refuse: only this call fails, as it would on every rank. */
int32_t shim_enter(shim* s, int32_t call);
/* What messages call the entry that runs. */
const char* shim_doing(const shim* s);
int32_t shim_fail(shim* s, int32_t status, const char* pattern, ...) __attribute__((format(printf, 3, 4)));
int32_t shim_refuse(shim* s, int32_t status, const char* pattern, ...) __attribute__((format(printf, 3, 4)));
int32_t shim_mpi_failed(shim* s, const char* function, int code);
void shim_give_up(void* self, const char* text);
/* Waits for one request while watching for give-up messages and the deadline. */
int32_t shim_wait(shim* s, MPI_Request* request, MPI_Status* status);

/* Messages (messages.c). */
int32_t shim_send(void* self, const void* data, int64_t bytes, int32_t to, int32_t tag, int64_t* request);
int32_t shim_receive(void* self, void* data, int64_t bytes, int32_t from, int32_t tag, int64_t* request);
int32_t shim_start_send(shim* s, const void* data, int64_t bytes, int32_t to, int32_t tag, int64_t* request);
int32_t shim_start_receive(shim* s, void* data, int64_t bytes, int32_t from, int32_t tag, int64_t* request);
int32_t shim_wait_for(shim* s, int64_t count, const int64_t* requests);
int32_t shim_wait_all(void* self, int64_t count, int64_t* requests);

/* Their requests (slots.c). A slot or its index is -1 where there is none: no memory, an unknown number. */
int64_t shim_request_number(const shim* s, int32_t index);
int32_t shim_slot_of(const shim* s, int64_t number);
int32_t shim_take_slot(shim* s);
void shim_return_slot(shim* s, int32_t index);
void shim_cancel_all(shim* s);

/* What collectives are made of (collectives.c). shim_reserve: bounce with this many bytes, or NULL and the
 * table has failed. */
enum { kind_barrier, kind_broadcast, kind_allreduce, kind_allgatherv, kind_alltoallv };
int32_t shim_next_tag(shim* s, int32_t kind);
char* shim_reserve(shim* s, int64_t bytes);
int32_t shim_send_receive(shim* s, const void* out, int64_t out_bytes, int32_t to, void* in, int64_t in_bytes,
                          int32_t from, int32_t tag);
int32_t shim_send_one(shim* s, const void* data, int64_t bytes, int32_t to, int32_t tag);
int32_t shim_receive_one(shim* s, void* data, int64_t bytes, int32_t from, int32_t tag);

/* Collectives (collectives.c, allreduce.c). */
int32_t shim_barrier(void* self);
int32_t shim_broadcast(void* self, void* data, int64_t bytes, int32_t root);
int32_t shim_allreduce(void* self, const void* send, void* receive, int64_t count, int32_t dtype,
                       int32_t operation);
int32_t shim_allgatherv(void* self, const void* send, int64_t send_bytes, void* receive,
                        const int64_t* receive_bytes, const int64_t* receive_offset);
int32_t shim_alltoallv(void* self, const void* send, const int64_t* send_bytes, const int64_t* send_offset,
                       void* receive, const int64_t* receive_bytes, const int64_t* receive_offset);

#endif
