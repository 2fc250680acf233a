/* SPDX-License-Identifier: BSD-3-Clause */
/* Executions of a near field's plan allocate nothing, new charges or new coordinates: counted is each call of
 * the C library's allocator in this process, of any thread, from the second execution on, for all layouts and
 * precisions, whole and in chunks, on one thread and on two. Exit status 0: as expected; 77: not with this C
 * library, nor with LLVM's OpenMP, which allocates in each dynamic loop. GRAFT_REAL is defined by CMake. */
#include <graft/graft.h>
#include <graft_loader.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __GLIBC__ && !defined __clang__

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* old, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);

#define EXPORTED __attribute__((visibility("default"))) /* for the libraries that are opened */

static atomic_long calls;

EXPORTED void* malloc(size_t bytes) {
    ++calls;
    return __libc_malloc(bytes);
}
EXPORTED void* calloc(size_t count, size_t bytes) {
    ++calls;
    return __libc_calloc(count, bytes);
}
EXPORTED void* realloc(void* old, size_t bytes) {
    ++calls;
    return __libc_realloc(old, bytes);
}
EXPORTED void* memalign(size_t alignment, size_t bytes) {
    ++calls;
    return __libc_memalign(alignment, bytes);
}
EXPORTED void* aligned_alloc(size_t alignment, size_t bytes) {
    ++calls;
    return __libc_memalign(alignment, bytes);
}
EXPORTED int posix_memalign(void** memory, size_t alignment, size_t bytes) {
    ++calls;
    *memory = __libc_memalign(alignment, bytes);
    return *memory == NULL ? 12 : 0;
}

enum { points = 4000, rounds = 3 };

static double place[points][3], charge[points], potential[points], gradient[points][3];
static const graft_api_v1* api;
static int failures = 0;

static graft_array view(double* data, int32_t components) {
    const int64_t bytes = (int64_t)points * components * (int64_t)sizeof(double);
    return (graft_array){.struct_size = sizeof(graft_array),
                         .data = data,
                         .dtype = GRAFT_F64,
                         .memory = GRAFT_MEMORY_HOST,
                         .components = components,
                         .n = points,
                         .bytes = bytes};
}

static int failed(int32_t status, const char* what) {
    if (status != GRAFT_OK) {
        printf("violated: %s: %s\n", what, api->last_error());
        ++failures;
    }
    return status != GRAFT_OK;
}

/* Calls of the allocator by `rounds` executions with new charges and, if `field` is given, new coordinates;
 * -1 where one failed. */
static long executions(graft_context* context, graft_near_plan* plan, const graft_near_field* field,
                       const graft_near_sums* sums) {
    const long before = calls;
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < points; ++i)
            charge[i] += 0.25, place[i][0] *= 0.999;
        if (field != NULL && failed(api->near_field_update(context, plan, field), "update"))
            return -1;
        if (failed(api->near_field_execute(context, plan, sums), "execute"))
            return -1;
    }
    return calls - before;
}

static void plan_of(graft_context* context, const char* layout, int32_t precision, double bytes) {
    const graft_array at = view(place[0], 3), q = view(charge, 1), phi = view(potential, 1),
                      grad = view(gradient[0], 3);
    graft_near_field field = {0};
    field.struct_size = sizeof field;
    field.dimension = 3;
    field.outputs = GRAFT_NEAR_POTENTIAL | GRAFT_NEAR_GRADIENT;
    field.precision = precision;
    field.boxes = GRAFT_NEAR_BOXES_LEVEL;
    field.most = 30;
    field.target_count = points;
    field.target_position[0] = &at;
    field.memory_bytes = bytes;
    graft_near_sums sums = {0};
    sums.struct_size = sizeof sums;
    sums.charge[0] = &q;
    sums.potential[0] = &phi;
    sums.gradient[0] = &grad;

    graft_near_plan* plan = NULL;
    const long before = calls;
    if (failed(api->near_field_create(context, &field, &plan), "create"))
        return;
    if (calls == before) {
        printf("violated: creating a plan allocates, but nothing was counted\n");
        ++failures;
    }
    double chunks = 0;
    if (!failed(api->near_field_execute(context, plan, &sums), "first execution") &&
        !failed(api->query(context, "near.chunks", &chunks), "query")) {
        const long charges = executions(context, plan, NULL, &sums);
        /* new coordinates may let auto take another layout */
        const long places = strcmp(layout, "auto") == 0 ? 0 : executions(context, plan, &field, &sums);
        if (charges != 0 || places != 0 ||
            (bytes > 0 && strcmp(layout, "replicated") == 0 && chunks < 2)) {
            printf("violated: layout %s, precision %d, %g chunks: %ld allocations in %d executions with new "
                   "charges, %ld with new "
                   "coordinates\n",
                   layout, (int)precision, chunks, charges, rounds, places);
            ++failures;
        }
    }
    failed(api->near_field_destroy(context, &plan), "destroy");
}

/* The layouts that have won somewhere, and those of a study. */
static const char* const layouts[][2] = {{"near_field.layout", "auto"},
                                         {"near_field.layout", "ranges"},
                                         {"near_field.layout", "replicated_group"},
                                         {"near_field.layout", "replicated_group_padded"},
                                         {"near_field.layout", "tiled"},
                                         {"near_field.layout", "tiled_split"},
                                         {"study.near_layout", "indexed"},
                                         {"study.near_layout", "replicated"},
                                         {"study.near_layout", "replicated_interleaved"},
                                         {"study.near_layout", "replicated_packed"}};

static void plans_of(int threads, const char* key, const char* layout) {
    graft_options* options = NULL;
    graft_context* context = NULL;
    if (failed(api->options_create(&options), "options") ||
        failed(api->options_set(options, "backend", "cpu"), "backend") ||
        failed(api->options_set_int64(options, "threads", threads), "threads") ||
        failed(api->options_set(options, key, layout), key) ||
        failed(api->context_create(options, NULL, &context), "context"))
        return;
    for (int32_t precision = GRAFT_PRECISION_FP32; precision <= GRAFT_PRECISION_FP64; ++precision) {
        plan_of(context, layout, precision, 0);
        plan_of(context, layout, precision, 1e6);
    }
    api->context_destroy(&context);
    api->options_destroy(&options);
}

int main(void) {
    char why[1024];
    if (graft_load(GRAFT_REAL, &api, why, sizeof why) != GRAFT_OK) {
        printf("%s\n", why);
        return 1;
    }
    for (int i = 0; i < points; ++i) {
        for (int axis = 0; axis < 3; ++axis)
            place[i][axis] = rand() / (double)RAND_MAX;
        charge[i] = rand() / (double)RAND_MAX - 0.5;
    }
    for (int threads = 1; threads <= 2; ++threads)
        for (size_t at = 0; at < sizeof layouts / sizeof *layouts; ++at)
            plans_of(threads, layouts[at][0], layouts[at][1]);
    return failures > 0;
}

#else

int main(void) {
    return 77;
}

#endif
