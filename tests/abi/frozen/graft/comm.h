/* How the ranks of a host talk: a table of functions that the host, the MPI shim or the library itself fills. C99.
 *
 * The library knows ranks only through this table; it links no MPI. Every function returns a status (0 = success);
 * a failing one may be explained by error_text. Counts and offsets are in bytes unless an element type is given.
 * barrier ... alltoallv, split are collective: every rank of the table calls them in the same order. One table is
 * used by one thread at a time.
 * struct_size: the table's size; one of the first version's size or larger is accepted, and later members that a table
 * lacks are NULL. Members' names begin with comm_, so that a host's macros (free, barrier, split) leave them alone. */
#ifndef GRAFT_COMM_H
#define GRAFT_COMM_H

#include <stdint.h>

#define GRAFT_COMM_SUM 1
#define GRAFT_COMM_MIN 2
#define GRAFT_COMM_MAX 3

/* The calls that a failure may begin in. */
#define GRAFT_COMM_CALL_UNKNOWN 0
#define GRAFT_COMM_CALL_BARRIER 1
#define GRAFT_COMM_CALL_BCAST 2
#define GRAFT_COMM_CALL_ALLREDUCE 3
#define GRAFT_COMM_CALL_ALLGATHERV 4
#define GRAFT_COMM_CALL_ALLTOALLV 5
#define GRAFT_COMM_CALL_ISEND 6
#define GRAFT_COMM_CALL_IRECV 7
#define GRAFT_COMM_CALL_WAITALL 8
#define GRAFT_COMM_CALL_SPLIT 9

#define GRAFT_COMM_DEVICE_AWARE 1u /* buffers may be device pointers */

typedef struct graft_comm_v1 {
    uint32_t struct_size;
    uint32_t flags; /* GRAFT_COMM_* */
    void *self;     /* first argument of every function */
    int32_t rank;   /* 0 ... size - 1 */
    int32_t size;

    int32_t (*comm_barrier)(void *self);
    /* data of rank root to all. */
    int32_t (*comm_bcast)(void *self, void *data, int64_t bytes, int32_t root);
    /* receive[i] = send[i] of all ranks combined; the same bits on every rank. dtype GRAFT_F64, GRAFT_I32, GRAFT_I64 or
     * GRAFT_U64; operation GRAFT_COMM_SUM, MIN or MAX; send may equal receive. */
    int32_t (*comm_allreduce)(void *self, const void *send, void *receive, int64_t count, int32_t dtype, int32_t operation);
    /* Rank r's send_bytes bytes to receive + receive_offset[r] on every rank; receive_bytes[r] equals its send_bytes. */
    int32_t (*comm_allgatherv)(void *self, const void *send, int64_t send_bytes, void *receive, const int64_t *receive_bytes,
                          const int64_t *receive_offset);
    /* send_bytes[r] bytes at send + send_offset[r] to rank r; receive_bytes[r] is what r sends to us. */
    int32_t (*comm_alltoallv)(void *self, const void *send, const int64_t *send_bytes, const int64_t *send_offset,
                         void *receive, const int64_t *receive_bytes, const int64_t *receive_offset);
    /* Starts a message; data stays untouched until waitall has returned. 0 <= tag < 32768. Messages from one rank to
     * another with one tag arrive in order. *request is a number that waitall takes. */
    int32_t (*comm_isend)(void *self, const void *data, int64_t bytes, int32_t to, int32_t tag, int64_t *request);
    /* The message must have exactly `bytes` bytes. */
    int32_t (*comm_irecv)(void *self, void *data, int64_t bytes, int32_t from, int32_t tag, int64_t *request);
    int32_t (*comm_waitall)(void *self, int64_t count, int64_t *requests);
    /* Ranks of equal colour (>= 0) get a table of their own, ordered by key, then rank; free it with its comm_free. */
    int32_t (*comm_split)(void *self, int32_t colour, int32_t key, struct graft_comm_v1 **part);
    /* Frees the table itself, too. Not collective. Safe after MPI_Finalize. */
    void (*comm_free)(struct graft_comm_v1 *comm);

    /* May be NULL. What the last failing call on this rank had to say; valid until the next call. */
    const char *(*comm_error_text)(void *self);
    /* May be NULL. From now on a call that waits longer than this many seconds fails; 0 = waits for ever. */
    int32_t (*comm_set_deadline)(void *self, double seconds);
    /* May be NULL. This rank gives up where its peers cannot see it: their calls that wait now, and every later call
     * of any rank on this table, fail at once with error_text naming this rank and `text`. Not collective. */
    void (*comm_fail)(void *self, const char *text);
    /* May be NULL: wall clock. Seconds on this rank's own clock; a simulated rank has a clock of its own. */
    double (*comm_time_s)(void *self);
    /* May be NULL: nobody knows. Once the table has failed, by a call of its own or by `fail`: GRAFT_COMM_CALL_* of the
     * call that the rank where the failure began was in, or made last before `fail`. */
    int32_t (*comm_failed_call)(void *self);
    uint64_t reserved[4];
} graft_comm_v1;

#endif
