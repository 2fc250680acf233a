/* SPDX-License-Identifier: BSD-3-Clause */
/* The loader of libgraft: two C99 files without any dependency but libdl, made to be copied into a host's
 * source tree.
 *
 *     const graft_api_v1 *api = NULL;
 *     char why[1024];
 *     if (graft_load(NULL, &api, why, sizeof why) != GRAFT_OK) {
 *         fprintf(stderr, "%s\n", why);
 *         ... go on without ...
 *     }
 *
 * Needs graft/api.h and graft/types.h on the include path. Define GRAFT_DEFAULT_LIBRARY (a string) when
 * compiling graft_loader.c to name the place of an installed library. */
#ifndef GRAFT_LOADER_H
#define GRAFT_LOADER_H

#include <graft/api.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Loads libgraft and hands out its table.
 *
 * Order of the search: `path` (when not NULL or empty; then nothing else is tried), the environment variable
 * GRAFT_LIBRARY (when set and not empty; then nothing else is tried), GRAFT_DEFAULT_LIBRARY, "libgraft.so.1"
 * by the dynamic linker's rules. The last two fall through only where the file does not exist: a library that
 * is there but cannot be used is an error, never silently passed over. The library stays in the process until
 * it ends (RTLD_NODELETE): threads of its own may outlive any unload.
 *
 * api       receives the static table; NULL on failure.
 * message   receives the paths tried and what the dynamic linker said of each (always terminated when
 *           capacity > 0); "" on success. May be NULL with capacity 0.
 * Returns GRAFT_OK; GRAFT_ERROR_ARGUMENT (api is NULL); GRAFT_ERROR_LOAD_NOT_FOUND (no file at any place);
 * GRAFT_ERROR_LOAD_FOREIGN (a file, but no library, a damaged one, or one that is not Graft);
 * GRAFT_ERROR_LOAD_VERSION (Graft with another ABI major). Never exits. Any thread; repeated calls are cheap.
 * Prints only when the environment has GRAFT_LOAD_DEBUG=1: the search, to stderr. */
int32_t graft_load(const char* path, const graft_api_v1** api, char* message, int64_t capacity);

/* True when the loaded library's table has this entry: an older library has a shorter table. Ask before
 * calling any entry that was appended after the first release: `if (GRAFT_HAS(api, run_tool))
 * api->run_tool(...)`. */
#define GRAFT_HAS(api, member)                                                                               \
    ((api)->struct_size >= offsetof(graft_api_v1, member) + sizeof((api)->member) && (api)->member != NULL)

/* 0 when the loaded table has everything that this header knows; GRAFT_ERROR_ABSENT and a message that names
 * both versions when the library is older than the host (GRAFT_HAS then tells entry by entry). */
int32_t graft_table_complete(const graft_api_v1* api, char* message, int64_t capacity);

#ifdef __cplusplus
}
#endif
#endif
