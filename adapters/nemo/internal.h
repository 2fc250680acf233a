/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of graft_acc.so share: graft_acc.c (NEMO's face), field.c (one field, one call), messages.c
 * (failures). */
#ifndef GRAFT_NEMO_INTERNAL_H
#define GRAFT_NEMO_INTERNAL_H

#include <graft/graft.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct field {
    const graft_api_v1* api;
    graft_options* options;
    graft_context* context; /* for `dimensions`; made at the first call */
    int dimensions;
    bool half_potential; /* the deck's host.half_potential */
    bool warned;
    int calls;
    double last_time;
    const void* last_position;
    int last_n;
    int32_t* active; /* flags without the host's other bits */
    void* scratch;   /* potentials before they are halved */
    size_t active_bytes, scratch_bytes;
} field;

/* One call of NEMO's. */
typedef struct call {
    double time;
    int dimensions, n, indicator;
    const void *mass, *position;
    const int* flags;
    void *potential, *acceleration;
    bool single;
} call;

/* Options from the deck (NULL or "": the defaults). False: told to NEMO, and every call will poison its
 * results. */
bool graft_nemo_open(field* f, const char* file);

/* Serves one call of NEMO's for this field; type is its last argument. */
void graft_nemo_evaluate(field* f, const call* c, char type);

/* Ends the program by NEMO's error(); outside of NEMO keeps the text for graft_acc_error and returns. */
void graft_nemo_fail(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

typedef void (*graft_nemo_message)(const char* pattern, ...);

/* NEMO's error() or warning(), or NULL outside of NEMO. */
graft_nemo_message graft_nemo_function(const char* name);

const char* graft_nemo_last_error(void);

#endif
