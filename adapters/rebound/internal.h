/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the adapter share: attach.c (life, registry) calls evaluate.c (one evaluation), both call
 * refuse.c and failure.c. */
#ifndef GRAFT_REBOUND_INTERNAL_H
#define GRAFT_REBOUND_INTERNAL_H

#include "graft_rebound.h"

#include <graft/graft.h>

struct graft_rebound {
    struct graft_rebound* next; /* REBOUND hands its callbacks the simulation and nothing else: see find() */
    struct reb_simulation* simulation;
    graft_rebound_host host;
    const graft_api_v1* api;
    graft_options* options;
    graft_context* context; /* made for the G and the softening below; NULL before the first evaluation */
    double constant, softening;
    int central;
    int failed;
    int gravity_before; /* what detach restores */
    void (*custom_before)(struct reb_simulation* r);
    void (*heartbeat_before)(struct reb_simulation* r);
    uint64_t steps_seen;
    int64_t evaluations_seen;
    graft_rebound_figures figures;
    char message[1024];
};

/* Why this simulation cannot be right with Graft's gravity, into why; 0 if it can. */
int32_t graft_rebound_refuses(const struct reb_simulation* r, char* why, size_t capacity);

/* Stops the integration with the text. */
void graft_rebound_fail(struct graft_rebound* gravity, const char* pattern, ...)
    __attribute__((format(printf, 2, 3)));

/* All accelerations of the simulation, additional_forces included. */
void graft_rebound_evaluate(struct graft_rebound* gravity);

#endif
