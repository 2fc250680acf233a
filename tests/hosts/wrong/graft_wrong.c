/* SPDX-License-Identifier: BSD-3-Clause */
/* A libgraft whose forces are wrong: the real one's table, with every acceleration and force that compute,
 * compute_begin and field_at have written too large by two thousandths (twice as large in a GPU's memory). A
 * host test that passes with it (GRAFT_LIBRARY names it) does not look at the forces. Potentials and energies
 * stay right. GRAFT_WRONG_REAL: the real one, if not where it was built. */
#include <graft/graft.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const double too_much = 2e-3;
static const graft_api_v1* real;
static graft_api_v1 table;

static double* wide(const graft_array* a, int64_t i, int32_t c) {
    return (double*)(void*)((char*)a->data + i * a->item_stride + c * a->component_stride);
}

static double get(const graft_array* a, int64_t i, int32_t c) {
    return a->dtype == GRAFT_F32 ? (double)*(float*)(void*)wide(a, i, c) : *wide(a, i, c);
}

static void put(const graft_array* a, int64_t i, int32_t c, double value) {
    if (a->dtype == GRAFT_F32)
        *(float*)(void*)wide(a, i, c) = (float)value;
    else
        *wide(a, i, c) = value;
}

/* With the strides that a zero stands for. */
static graft_array plain(const graft_array* a) {
    graft_array b = *a;
    const int64_t element = b.dtype == GRAFT_F32 ? 4 : 8;
    if (b.component_stride == 0)
        b.component_stride = element;
    if (b.item_stride == 0)
        b.item_stride = b.components * element;
    return b;
}

/* What stands in an array, to tell what is added to it. */
static double* copy_of(const graft_array* a) {
    double* values = malloc((size_t)(a->n * a->components + 1) * sizeof *values);
    for (int64_t i = 0; values != NULL && i < a->n; ++i)
        for (int32_t c = 0; c < a->components; ++c)
            values[i * a->components + c] = get(a, i, c);
    return values;
}

/* In a file, since hosts hide what their workers print. */
static void leave_word(void) {
    const char* path = getenv("GRAFT_WRONG_SEEN");
    FILE* file = path != NULL ? fopen(path, "w") : NULL;
    if (file != NULL)
        fclose(file);
}

/* An item that is as it was has not been computed, or adds nothing. */
static void spoil(const graft_array* a, const double* before) {
    for (int64_t i = 0; i < a->n; ++i)
        for (int32_t c = 0; c < a->components; ++c) {
            const double old = before[i * a->components + c], now = get(a, i, c);
            if (now != old)
                put(a, i, c, now + too_much * ((a->flags & GRAFT_ARRAY_ADD) != 0 ? now - old : now));
        }
    leave_word();
}

static int32_t spoiled(int32_t (*call)(graft_context*, const graft_particles*, const graft_particles*,
                                       const graft_results*),
                       graft_context* context, const graft_particles* particles,
                       const graft_particles* points, const graft_results* results) {
    graft_array arrays[3], added[3];
    double* before[3] = {NULL, NULL, NULL};
    for (int axis = 0; results != NULL && axis < 3; ++axis)
        if (results->acceleration[axis] != NULL &&
            results->acceleration[axis]->memory != GRAFT_MEMORY_DEVICE) {
            arrays[axis] = plain(results->acceleration[axis]);
            before[axis] = copy_of(&arrays[axis]);
        }
    int32_t status = call(context, particles, points, results);
    if (status == GRAFT_OK && results->acceleration[0] != NULL && before[0] == NULL) {
        graft_results again = *results;
        again.potential = again.virial = again.energy = NULL;
        for (int axis = 0; axis < 3 && results->acceleration[axis] != NULL; ++axis) {
            added[axis] = *results->acceleration[axis];
            added[axis].flags |= GRAFT_ARRAY_ADD;
            again.acceleration[axis] = &added[axis];
        }
        status = call(context, particles, points, &again);
        leave_word();
    }
    for (int axis = 0; axis < 3; ++axis) {
        if (before[axis] != NULL && status == GRAFT_OK)
            spoil(&arrays[axis], before[axis]);
        free(before[axis]);
    }
    return status;
}

static int32_t right_compute(graft_context* context, const graft_particles* particles,
                             const graft_particles* points, const graft_results* results) {
    (void)points;
    return real->compute(context, particles, results);
}

static int32_t compute(graft_context* context, const graft_particles* particles,
                       const graft_results* results) {
    return spoiled(right_compute, context, particles, NULL, results);
}

static int32_t field_at(graft_context* context, const graft_particles* particles,
                        const graft_particles* points, const graft_results* results) {
    return spoiled(real->field_at, context, particles, points, results);
}

/* Does it all, so that there is nothing left to end. */
static int32_t compute_begin(graft_context* context, const graft_particles* particles,
                             const graft_results* results) {
    return compute(context, particles, results);
}

static int32_t compute_end(graft_context* context) {
    (void)context;
    return GRAFT_OK;
}

__attribute__((visibility("default"))) const graft_api_v1* graft_get_api(uint32_t abi_major,
                                                                         uint32_t struct_size) {
    typedef const graft_api_v1* (*function)(uint32_t, uint32_t);
    const char* path = getenv("GRAFT_WRONG_REAL");
    void* library = dlopen(path != NULL ? path : GRAFT_REAL, RTLD_NOW | RTLD_LOCAL);
    union {
        void* symbol;
        function get;
    } found = {library != NULL ? dlsym(library, "graft_get_api") : NULL};
    if (found.symbol == NULL || (real = found.get(abi_major, struct_size)) == NULL)
        return NULL;
    table = *real;
    table.compute = compute;
    table.field_at = field_at;
    table.compute_begin = compute_begin;
    table.compute_end = compute_end;
    return &table;
}
