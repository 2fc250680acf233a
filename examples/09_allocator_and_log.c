/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's own memory and the host's own log: every byte that Graft holds comes from here and goes back
 * here. */
#include <graft/graft.h>
#include <graft/graft_loader.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int64_t held_bytes, most_bytes, limit_bytes, calls;
} pool; /* one thread here; a host with threads needs a lock, since both functions are called from any thread
         */

static void* allocate(void* user, int64_t bytes, int64_t alignment) {
    pool* p = user;
    if (p->held_bytes + bytes > p->limit_bytes)
        return NULL; /* refused: the call fails with GRAFT_ERROR_MEMORY, nothing else happens */
    const size_t a = alignment < (int64_t)sizeof(void*) ? sizeof(void*) : (size_t)alignment;
    void* memory = aligned_alloc(a, ((size_t)bytes + a - 1) / a * a);
    if (memory) {
        p->held_bytes += bytes;
        p->most_bytes = p->held_bytes > p->most_bytes ? p->held_bytes : p->most_bytes;
        ++p->calls;
    }
    return memory;
}

static void release(void* user, void* memory, int64_t bytes) {
    ((pool*)user)->held_bytes -= bytes;
    free(memory);
}

static void write_log(void* user, int32_t level, const char* message) {
    fprintf(stdout, "[host log, level %d] %s\n", (int)level, message);
    ++*(int*)user;
}

enum { n = 20000 };
static float xyz[n][3], a[n][3];

int main(void) {
    const graft_api_v1* api = NULL;
    char why[1024];
    int lines = 0;
    pool memory = {0, 0, 1 << 30, 0};
    if (graft_load(NULL, &api, why, sizeof why) != GRAFT_OK)
        return fprintf(stderr, "%s\n", why), 1;
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < 3; ++c)
            xyz[i][c] = (float)((i * 7919L + c * 104729L) % 10007) / 10007.0f;
    graft_allocator allocator = {0};
    allocator.struct_size = sizeof allocator;
    allocator.user = &memory;
    allocator.allocate = allocate;
    allocator.release = release;
    graft_options* options = NULL;
    graft_context* context = NULL;
    if (api->options_create(&options) || api->options_set_int64(options, "threads", 1) ||
        api->context_create(options, &allocator, &context) ||
        api->context_set_log(context, write_log, &lines, GRAFT_LOG_DEBUG))
        return fprintf(stderr, "graft: %s\n", api->last_error()), 1;
    const graft_array position = graft_rows_const_f32(xyz[0], n, 3, 3);
    const graft_array acceleration = graft_rows_f32(a[0], n, 3, 3);
    graft_particles particles = {0};
    particles.struct_size = sizeof particles;
    particles.n = n;
    particles.position[0] = &position;
    particles.charge_all = 1.0 / n;
    graft_results results = {0};
    results.struct_size = sizeof results;
    results.acceleration[0] = &acceleration;

    memory.limit_bytes = 1000; /* too little: a clear refusal, and the host lives on */
    const int32_t refused = api->compute(context, &particles, &results);
    printf("with 1000 bytes: status %d, %s\n", (int)refused, api->last_error());
    memory.limit_bytes = 1 << 30;
    if (api->compute(context, &particles, &results))
        return fprintf(stderr, "graft: %s\n", api->last_error()), 1;
    const int64_t calls = memory.calls;
    if (api->compute(context, &particles, &results))
        return fprintf(stderr, "graft: %s\n", api->last_error()), 1;
    const int64_t more = memory.calls - calls;
    printf("%" PRId64 " allocations, %" PRId64 " more in the second step, at most %" PRId64 " bytes\n", calls,
           more, memory.most_bytes);
    api->context_destroy(&context);
    api->options_destroy(&options);
    printf("held after the end: %" PRId64 " bytes\n", memory.held_bytes);
    return refused != GRAFT_ERROR_MEMORY || more != 0 || memory.held_bytes != 0 || calls == 0;
}
