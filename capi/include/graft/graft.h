/* SPDX-License-Identifier: BSD-3-Clause */
/* Graft: gravity and Coulomb forces for simulation codes. Include this one.
 * A host that loads the library itself uses the table (graft/api.h, plugin/loader); a host that links libgraft_api.a
 * calls the same entries by name (graft/functions.h). */
#ifndef GRAFT_GRAFT_H
#define GRAFT_GRAFT_H

#include <graft/api.h>
#include <graft/comm.h>
#include <graft/types.h>
#include <graft/views.h>

#ifdef __cplusplus
#define GRAFT_INIT(struct_name) {(uint32_t)sizeof(struct_name)}
#else
#define GRAFT_INIT(struct_name) {.struct_size = (uint32_t)sizeof(struct_name)}
#endif

#endif
