/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and freeing tables; MPI's start and end for programs without MPI of their own.
 *
 * free is local: it calls MPI_Comm_free for a table that is in good order, without its peers. The standard
 * counts MPI_Comm_free among the collective calls and expects it to be local ("it is anticipated that this
 * operation will normally be implemented to be local", section 6.4.3); in MPICH and Open MPI it is, and
 * tests/mpi holds them to it. The communicators of a failed table are left to MPI_Finalize. */
#include "graft_mpi.h"

#include "internal.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread char error[1024];
static int started_here = 0;
static shim* kept_tables = NULL; /* failed ones, from which messages may still be leaving */

const char* graft_mpi_error(void) {
    return error;
}

static int32_t refuse(int32_t status, const char* pattern, ...) __attribute__((format(printf, 2, 3)));
static int32_t refuse(int32_t status, const char* pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(error, sizeof error, pattern, arguments);
    va_end(arguments);
    return status;
}

static int32_t refuse_mpi(const char* function, int code) {
    char text[MPI_MAX_ERROR_STRING + 1];
    int length = 0;
    memset(text, 0, sizeof text);
    MPI_Error_string(code, text, &length);
    return refuse(GRAFT_ERROR_COMMUNICATION, "%s: %s", function, text);
}

/* ---- the table's remaining entries ---- */

static const char* error_text(void* self) {
    return ((shim*)self)->text;
}

static int32_t set_deadline(void* self, double seconds) {
    ((shim*)self)->deadline_s = seconds > 0 ? seconds : 0;
    return GRAFT_OK;
}

static double time_s(void* self) {
    int finalized = 0;
    (void)self;
    MPI_Finalized(&finalized);
    return finalized ? 0 : MPI_Wtime();
}

static int32_t failed_call(void* self) {
    return ((shim*)self)->failed_call;
}

static void leave_family(shim* s) {
    shim **at = &s->kin->tables, *other;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    for (other = s->kin->tables; other != NULL; other = other->next)
        if (other->parent == s)
            other->parent = s->parent;
}

static void free_table(graft_comm_v1* table) {
    shim* s = (shim*)(void*)table;
    int finalized = 0;
    if (s == NULL)
        return;
    leave_family(s);
    MPI_Finalized(&finalized);
    if (!finalized && !s->failed) {
        shim_cancel_all(s);
        MPI_Comm_free(&s->data);
    }
    if (s->kin->tables == NULL) {
        if (!finalized && !s->kin->broken)
            MPI_Comm_free(&s->kin->watch);
        if (finalized || !s->kin->broken)
            free(s->kin);
    }
    free(s->slots);
    free(s->numbers);
    if (s->failed && !finalized) { /* a message may still be leaving from bounce */
        s->next = kept_tables;
        kept_tables = s;
        return;
    }
    free(s->bounce);
    free(s);
}

static int32_t split_table(void* self, int32_t colour, int32_t key, graft_comm_v1** part);

/* Fills a table over its communicator and enters it into the family. */
static void fill(shim* s, family* kin, MPI_Comm data, shim* parent) {
    graft_comm_v1* table = &s->table;
#ifdef GRAFT_TEST_HOOKS
    const char* chunk = getenv("GRAFT_TEST_MPI_CHUNK"); /* bytes, to cut short messages, too; the same on all ranks */
#else
    const char* chunk = NULL;
#endif
    int rank = 0, size = 1;
    MPI_Comm_set_errhandler(data, MPI_ERRORS_RETURN);
    MPI_Comm_rank(data, &rank);
    MPI_Comm_size(data, &size);
    s->kin = kin;
    s->parent = parent;
    s->next = kin->tables;
    kin->tables = s;
    s->id = kin->last_id;
    s->data = data;
    s->deadline_s = parent != NULL ? parent->deadline_s : 0;
    s->chunk = chunk != NULL && atoll(chunk) > 0 ? atoll(chunk) : 1 << 30;
    s->free_slot = -1;
    table->struct_size = (uint32_t)sizeof *table;
    table->self = s;
    table->rank = rank;
    table->size = size;
    table->comm_barrier = shim_barrier;
    table->comm_bcast = shim_broadcast;
    table->comm_allreduce = shim_allreduce;
    table->comm_allgatherv = shim_allgatherv;
    table->comm_alltoallv = shim_alltoallv;
    table->comm_isend = shim_send;
    table->comm_irecv = shim_receive;
    table->comm_waitall = shim_wait_all;
    table->comm_split = split_table;
    table->comm_free = free_table;
    table->comm_error_text = error_text;
    table->comm_set_deadline = set_deadline;
    table->comm_fail = shim_give_up;
    table->comm_time_s = time_s;
    table->comm_failed_call = failed_call;
}

/* The ranks first agree, in a wait that can fail, that all are here with memory at hand and which id comes
 * next; only then do they call MPI_Comm_split, which cannot be watched. Costs two collectives. */
static int32_t split_table(void* self, int32_t colour, int32_t key, graft_comm_v1** part) {
    shim *s = self, *made;
    MPI_Comm data;
    int64_t agreed[2];
    int code;
    int32_t status = shim_enter(s, GRAFT_COMM_CALL_SPLIT);
    if (status != GRAFT_OK)
        return status;
    made = calloc(1, sizeof *made);
    agreed[0] = made == NULL                 ? GRAFT_ERROR_MEMORY
                : colour < 0 || part == NULL ? GRAFT_ERROR_ARGUMENT
                                             : GRAFT_OK;
    agreed[1] = s->kin->last_id;
    status = shim_allreduce(s, agreed, agreed, 2, GRAFT_I64, GRAFT_COMM_MAX);
    s->call = GRAFT_COMM_CALL_SPLIT;
    if (status == GRAFT_OK && agreed[0] != GRAFT_OK)
        status =
            shim_refuse(s, (int32_t)agreed[0], "split: %s",
                        agreed[0] == GRAFT_ERROR_MEMORY ? "no memory on some rank"
                                                        : "a rank gave a negative colour or a NULL pointer");
    if (status == GRAFT_OK) {
        code = MPI_Comm_split(s->data, colour, key, &data);
        if (code != MPI_SUCCESS)
            status = shim_mpi_failed(s, "MPI_Comm_split", code);
    }
    if (status != GRAFT_OK) {
        free(made);
        return status;
    }
    s->kin->last_id = agreed[1] + 1;
    fill(made, s->kin, data, s);
    *part = &made->table;
    return GRAFT_OK;
}

/* ---- making the first table of a family ---- */

/* An invalid handle must not end the host: MPI reports it to the handler of MPI_COMM_WORLD (of MPI_COMM_SELF
 * since MPI 4), which is set to return for this one question. */
static int32_t check_handle(MPI_Comm comm, int32_t handle) {
    MPI_Comm judges[2];
    MPI_Errhandler before[2];
    int i, inter = 0, size = 0, code;
    judges[0] = MPI_COMM_WORLD;
    judges[1] = MPI_COMM_SELF;
    for (i = 0; i < 2; ++i) {
        MPI_Comm_get_errhandler(judges[i], &before[i]);
        MPI_Comm_set_errhandler(judges[i], MPI_ERRORS_RETURN);
    }
    code = comm == MPI_COMM_NULL ? MPI_ERR_COMM : MPI_Comm_size(comm, &size);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_test_inter(comm, &inter);
    for (i = 0; i < 2; ++i) {
        MPI_Comm_set_errhandler(judges[i], before[i]);
        MPI_Errhandler_free(&before[i]);
    }
    if (comm == MPI_COMM_NULL)
        return refuse(GRAFT_ERROR_ARGUMENT,
                      "the communicator is MPI_COMM_NULL: this rank is not in it; only its ranks "
                      "may ask for a table");
    if (code != MPI_SUCCESS)
        return refuse(GRAFT_ERROR_ARGUMENT,
                      "%d is not the Fortran handle of a communicator of this process; pass "
                      "MPI_Comm_c2f(comm) from C, comm or comm%%MPI_VAL from Fortran",
                      (int)handle);
    if (inter)
        return refuse(GRAFT_ERROR_ARGUMENT, "the communicator is an intercommunicator; merge it "
                                            "(MPI_Intercomm_merge) or pass one of its groups");
    return GRAFT_OK;
}

/* Two duplicates, made without the host's error handler. */
static int32_t duplicate(MPI_Comm comm, MPI_Comm* data, MPI_Comm* watch) {
    MPI_Errhandler before;
    int code;
    MPI_Comm_get_errhandler(comm, &before);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    code = MPI_Comm_dup(comm, data);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_dup(comm, watch);
    MPI_Comm_set_errhandler(comm, before);
    MPI_Errhandler_free(&before);
    return code == MPI_SUCCESS ? GRAFT_OK : refuse_mpi("MPI_Comm_dup", code);
}

static int32_t check_tags(MPI_Comm data) {
    void* attribute = NULL;
    int there = 0;
    MPI_Comm_get_attr(data, MPI_TAG_UB, &attribute, &there);
    if (there && *(int*)attribute < SHIM_MOST_TAG)
        return refuse(GRAFT_ERROR_UNSUPPORTED, "this MPI has tags up to %d only; %d are needed",
                      *(int*)attribute, SHIM_MOST_TAG);
    return GRAFT_OK;
}

static int32_t make(MPI_Comm comm, graft_comm_v1** table) {
    MPI_Comm data, watch;
    family* kin;
    shim* s;
    int mine, all = 0;
    int32_t status = duplicate(comm, &data, &watch);
    if (status != GRAFT_OK)
        return status;
    kin = calloc(1, sizeof *kin);
    s = calloc(1, sizeof *s);
    status = check_tags(data);
    if (kin == NULL || s == NULL)
        status = refuse(GRAFT_ERROR_MEMORY, "no memory for the table");
    mine = status == GRAFT_OK && table == NULL ? GRAFT_ERROR_ARGUMENT : status;
    MPI_Comm_set_errhandler(watch, MPI_ERRORS_RETURN);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, data);
    if (all != GRAFT_OK) {
        MPI_Comm_free(&data);
        MPI_Comm_free(&watch);
        free(kin);
        free(s);
        if (status != all)
            refuse(all, all == GRAFT_ERROR_ARGUMENT
                            ? "comm is NULL on some rank; give the address of a table pointer"
                            : "another rank could not make its table");
        return all;
    }
    kin->watch = watch;
    fill(s, kin, data, NULL);
    *table = &s->table;
    return GRAFT_OK;
}

int32_t graft_mpi_comm_from_fortran(int32_t handle, graft_comm_v1** comm) {
    MPI_Comm from;
    int32_t status = shim_check_running(error, sizeof error);
    if (comm != NULL)
        *comm = NULL;
    if (status != GRAFT_OK)
        return status;
    from = MPI_Comm_f2c((MPI_Fint)handle);
    status = check_handle(from, handle);
    return status == GRAFT_OK ? make(from, comm) : status;
}

/* ---- programs without MPI of their own ---- */

int32_t graft_mpi_start(void) {
    int initialized = 0, level, code;
    int32_t status = shim_check_library(error, sizeof error);
    if (status != GRAFT_OK)
        return status;
    MPI_Initialized(&initialized);
    if (initialized)
        return shim_check_running(error, sizeof error);
    code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    if (code != MPI_SUCCESS)
        return refuse_mpi("MPI_Init_thread", code);
    started_here = 1;
    return GRAFT_OK;
}

int32_t graft_mpi_world(graft_comm_v1** comm) {
    const int32_t status = shim_check_running(error, sizeof error);
    if (comm != NULL)
        *comm = NULL;
    return status == GRAFT_OK ? make(MPI_COMM_WORLD, comm) : status;
}

/* Takes what arrived for a table that had failed, so that MPI finds nothing left over. */
static void drain(MPI_Comm comm) {
    char scratch[4096];
    MPI_Status status;
    int there = 0, bytes = 0;
    while (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &there, &status) == MPI_SUCCESS && there) {
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        if (bytes > (int)sizeof scratch)
            return;
        MPI_Recv(scratch, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, MPI_STATUS_IGNORE);
    }
}

int32_t graft_mpi_finish(void) {
    int finalized = 0, code;
    shim* s;
    if (!started_here)
        return GRAFT_OK;
    started_here = 0;
    MPI_Finalized(&finalized);
    if (!finalized && kept_tables != NULL)
        MPI_Barrier(MPI_COMM_WORLD); /* what peers sent when they gave up is here now */
    for (s = kept_tables; s != NULL && !finalized; s = s->next) {
        drain(s->kin->watch);
        drain(s->data);
    }
    code = finalized ? MPI_SUCCESS : MPI_Finalize();
    return code == MPI_SUCCESS ? GRAFT_OK : refuse_mpi("MPI_Finalize", code);
}
