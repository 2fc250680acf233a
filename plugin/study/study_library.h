/* SPDX-License-Identifier: BSD-3-Clause */
/* The one function of libgraft_study.so: what measures, by name. It is the graft command's companion of the same build, no part
 * of the ABI that hosts rely on. */
#ifndef GRAFT_STUDY_LIBRARY_H
#define GRAFT_STUDY_LIBRARY_H

#include <graft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Studies: bench, force, model, simulate; arguments as YAML text. Gives sink the answer (JSON), or on failure the message, and
 * returns the status. One at a time. */
typedef int32_t (*graft_study_run_function)(const char* name, const char* yaml, graft_sink sink, void* user);
#if defined(GRAFT_BUILDING_STUDY)
__attribute__((visibility("default")))
#endif
int32_t graft_study_run(const char* name, const char* yaml, graft_sink sink, void* user);

#ifdef __cplusplus
}
#endif
#endif
