/* SPDX-License-Identifier: BSD-3-Clause */
/* A libgraft that computes wrong in one place: the real one's table, with what GRAFT_SPOILED names spoiled. `graft selftest` must
 * see each. Forces: one number of the last body in the call, by GRAFT_SPOILED_BY: 1e-3 (the default), nan ... */
#include <graft/graft.h>

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const graft_api_v1* real;
static graft_api_v1 table;
static _Thread_local int among_ranks; /* this thread's last context with a communicator */

static int asked(const char* what) {
    const char* spoiled = getenv("GRAFT_SPOILED");
    return spoiled != NULL && strcmp(spoiled, what) == 0;
}

static int has(graft_context* context, const char* key, const char* value) {
    char found[64] = "";
    return real->context_get(context, key, found, sizeof found, NULL) == GRAFT_OK && strcmp(found, value) == 0;
}

static void spoil(const graft_array* array) {
    const char* by = getenv("GRAFT_SPOILED_BY");
    double* value = array != NULL ? (double*)array->data + array->n - 1 : NULL;
    if (value != NULL && by != NULL && strcmp(by, "nan") == 0)
        *value = NAN;
    else if (value != NULL)
        *value += (by != NULL ? atof(by) : 1e-3) * (1 + fabs(*value));
}

static int32_t compute(graft_context* context, const graft_particles* particles, const graft_results* results) {
    const int32_t status = real->compute(context, particles, results);
    const int direct = has(context, "method", "direct"), periodic = has(context, "box.periodic", "xyz"),
              gpu = has(context, "backend", "gpu"), open_tree = !direct && !periodic && !gpu;
    if (status != GRAFT_OK)
        return status;
    if ((asked("direct") && direct && !gpu) || (asked("tree") && open_tree && !among_ranks && particles->n > 3) ||
        (asked("periodic") && periodic) || (asked("gpu") && gpu) || (asked("few") && particles->n == 3) ||
        (asked("ranks") && open_tree && among_ranks))
        spoil(results->acceleration[0]);
    if (asked("potential"))
        spoil(results->potential);
    return status;
}

static int32_t context_set_communicator(graft_context* context, const graft_comm_v1* ranks) {
    among_ranks = ranks != NULL;
    return real->context_set_communicator(context, ranks);
}

static int32_t decompose(graft_context* context, const graft_particles* particles, const graft_decomposition* answer) {
    const int32_t status = real->decompose(context, particles, answer);
    int32_t* owner = status == GRAFT_OK && answer->owner != NULL ? (int32_t*)answer->owner->data : NULL;
    for (int32_t part = 0; owner != NULL && asked("owners") && part < 2; ++part) { /* one of each is nobody's: still balanced */
        int64_t i = 0;
        while (owner[i] != part)
            ++i;
        owner[i] = 99;
    }
    if (owner != NULL && asked("balance"))
        for (int i = 0; i < 10; ++i)
            owner[i] = 0;
    return status;
}

__attribute__((visibility("default"))) const graft_api_v1* graft_get_api(uint32_t abi_major, uint32_t struct_size) {
    typedef const graft_api_v1* (*function)(uint32_t, uint32_t);
    void* library = dlopen(GRAFT_REAL, RTLD_NOW | RTLD_LOCAL);
    union {
        void* symbol;
        function get;
    } found = {library != NULL ? dlsym(library, "graft_get_api") : NULL};
    if (found.symbol == NULL || (real = found.get(abi_major, struct_size)) == NULL)
        return NULL;
    table = *real;
    table.compute = compute;
    table.context_set_communicator = context_set_communicator;
    table.decompose = decompose;
    return &table;
}
