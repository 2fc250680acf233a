/* The one entry of libgraft and the table it returns. This file is the table that the by-name functions
 * (graft_api.c, graft/functions.h) and the Fortran bindings are generated from: one member a line group,
 * `type (*name)(parameters);`. Append only; an entry is never moved, changed or removed within a major.
 *
 * All entries may be called from any thread; one context or options object by one thread at a time (a second thread
 * gets GRAFT_ERROR_BUSY). Entries return a status unless said otherwise; none of them exits, prints, or throws. */
#ifndef GRAFT_API_H
#define GRAFT_API_H

#include <graft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct graft_api_v1 {
    uint32_t struct_size; /* of the library's table: entries beyond it do not exist in this library */
    uint32_t abi_major;
    uint32_t abi_minor;
    uint32_t pad;
    uint64_t capabilities; /* GRAFT_CAPABILITY_* */

    /* "0.1.0"; static. */
    const char *(*version)(void);
    /* The name of a status, "unknown status" for a number we do not use; static. */
    const char *(*status_text)(int32_t status);
    /* What the last failing call on this thread had to say; "" before any failure. Valid until the next failing call
     * on this thread. */
    const char *(*last_error)(void);

    /* New options with every value at its default. Free with options_destroy. MEMORY. */
    int32_t (*options_create)(graft_options **options);
    /* Frees and sets *options to NULL; NULL is fine. */
    int32_t (*options_destroy)(graft_options **options);
    /* One deck key ("mac.theta", "0.5") in deck spelling. DECK_KEY, DECK_TYPE, DECK_RANGE. */
    int32_t (*options_set)(graft_options *options, const char *key, const char *value);
    /* The value of a key as text into buffer (always terminated when capacity > 0); *needed, if not NULL, gets the
     * length with terminator. ARGUMENT when the buffer is too small, ABSENT for a key without a value. */
    int32_t (*options_get)(const graft_options *options, const char *key, char *buffer, int64_t capacity,
                           int64_t *needed);
    /* Fills the caller's struct (struct_size set) with the present values. ABI. */
    int32_t (*options_read_struct)(const graft_options *options, graft_options_values *values);
    /* Takes all values of the struct; all or none. ABI, DECK_RANGE. */
    int32_t (*options_write_struct)(graft_options *options, const graft_options_values *values);
    /* A YAML deck from a file; all keys or none. DECK_*: the message has file:line:column, key, allowed, nearest key. */
    int32_t (*options_read_file)(graft_options *options, const char *path);
    /* A YAML deck from memory; `name` stands for the file in messages. DECK_*. */
    int32_t (*options_read_text)(graft_options *options, const char *text, int64_t bytes, const char *name);
    /* Every deck key with type, default, unit and meaning, as text for a person or as JSON (json != 0). */
    int32_t (*options_explain)(int32_t json, graft_sink sink, void *user);

    /* A context that computes with these options (copied). allocator NULL: operator new. MEMORY, UNSUPPORTED. */
    int32_t (*context_create)(const graft_options *options, const graft_allocator *allocator, graft_context **context);
    /* Frees everything and sets *context to NULL; NULL is fine. BUSY while another thread is in a call on it. */
    int32_t (*context_destroy)(graft_context **context);
    /* Messages up to `level` go to `function` (NULL: nowhere, the default). */
    int32_t (*context_set_log)(graft_context *context, graft_log_function function, void *user, int32_t level);
    /* NULL returns to "no box". UNSUPPORTED: periodic. ARGUMENT: empty or not finite. */
    int32_t (*context_set_box)(graft_context *context, const graft_box *box);
    int32_t (*context_set_units)(graft_context *context, const graft_units *units);
    /* Field and potential of all particles at the active ones. Cost O(n log n) (tree) or O(n^2) (direct).
     * ARGUMENT, ARRAY, VALUE (first bad index named), MEMORY, UNSUPPORTED, BUSY; nothing is written on failure. */
    int32_t (*compute)(graft_context *context, const graft_particles *particles, const graft_results *results);
    /* The same field at any points (position layout as particles->position; points.n items); active, target,
     * virial and energy do not apply. A source at distance zero contributes no force and, unsoftened, no potential. */
    int32_t (*field_at)(graft_context *context, const graft_particles *sources, const graft_particles *points,
                        const graft_results *results);
    /* One number of the last computation: "time_s.total", "interactions.p2p", "bytes.total"...; query_text with key ""
     * lists all as JSON. ABSENT: no computation yet, or no such figure (a model's prediction without a model). */
    int32_t (*query)(graft_context *context, const char *key, double *value);
    int32_t (*query_text)(graft_context *context, const char *key, graft_sink sink, void *user);
    /* Tools of the library by name ("bench", "info"), arguments as YAML text, answer as JSON. ARGUMENT for an unknown
     * name (known ones are listed in the message). */
    int32_t (*run_tool)(const char *name, const char *yaml, graft_sink sink, void *user);
} graft_api_v1;

#define GRAFT_CAPABILITY_OPENMP (1ull << 0)

/* The only symbol libgraft exports. NULL for a major it does not speak, or a caller_table_size of 0. The table is
 * static and valid until the process ends. */
#if defined(GRAFT_BUILDING_LIBRARY)
__attribute__((visibility("default")))
#endif
const graft_api_v1 *graft_get_api(uint32_t abi_major, uint32_t caller_table_size);

typedef const graft_api_v1 *(*graft_get_api_function)(uint32_t abi_major, uint32_t caller_table_size);

#ifdef __cplusplus
}
#endif
#endif
