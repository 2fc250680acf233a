/* SPDX-License-Identifier: GPL-3.0-or-later */
/* REBOUND's gravity from Graft. A REBOUND program attaches a simulation once; from then on REBOUND asks Graft
 * for all accelerations (r->gravity = REB_GRAVITY_CUSTOM). Particles stay where they are: Graft reads and
 * writes the structs of r->particles.
 *
 *     struct graft_rebound* gravity = NULL;
 *     char why[1024];
 *     if (graft_rebound_attach(&gravity, r, GRAFT_REBOUND_HOST, "deck.yaml", NULL, 0, why, sizeof why)) {
 *         puts(why);
 *         ...
 *     }
 *     reb_simulation_integrate(r, 100);
 *     graft_rebound_detach(&gravity);
 *
 * Statuses are Graft's (graft/types.h). Link libgraft_rebound.so; it opens libgraft.so.1 as graft_load
 * (graft_loader.h) says. */
#ifndef GRAFT_REBOUND_H
#define GRAFT_REBOUND_H

#include <rebound.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is read from the host's own REBOUND, so that another version than the adapter was built for is refused
 * before any of its memory is touched. In C, GRAFT_REBOUND_HOST fills it in; elsewhere (ctypes) the caller
 * does. */
typedef struct graft_rebound_host {
    int64_t simulation_bytes;                                     /* reb_simulation_struct_size() */
    int64_t particle_bytes;                                       /* sizeof(struct reb_particle) */
    const char* version;                                          /* reb_version_str */
    void (*error)(struct reb_simulation* r, const char* message); /* reb_simulation_error */
} graft_rebound_host;

size_t reb_simulation_struct_size(void); /* REBOUND exports these two, but not in rebound.h */
extern const char* reb_version_str;
#define GRAFT_REBOUND_HOST                                                                                   \
    ((graft_rebound_host){(int64_t)reb_simulation_struct_size(), (int64_t)sizeof(struct reb_particle),       \
                          reb_version_str, reb_simulation_error})

#define GRAFT_REBOUND_API __attribute__((visibility("default")))

struct graft_rebound;

/* Figures since attach. */
typedef struct graft_rebound_figures {
    int64_t evaluations;
    double time_s;       /* in the adapter, Graft included; additional_forces not */
    double graft_time_s; /* of it in Graft's compute and field_at */
} graft_rebound_figures;

/* Makes Graft the simulation's gravity. To change the deck, detach and attach again.
 *   deck      file with Graft's options, or NULL
 *   text      the same as YAML text, read after the file, or NULL. Without both: all pairs in double
 *             precision, which agrees with REB_GRAVITY_BASIC to rounding. The gravitational constant and the
 *             softening are r->G and r->softening (Plummer), read at every evaluation; a deck that sets them
 *             is refused.
 *   central   not 0: particle 0's pull, and the pull on it, are summed one by one in double precision, and
 *             only the others go through Graft. For one dominant mass (a star with a disc): the tree's error
 *             is then relative to the disc's own field.
 *   why       receives the reason of a failure (terminated when capacity > 0)
 * Refused (UNSUPPORTED): another REBOUND (ABI); the integrators MERCURIUS, TRACE, EOS, WHFast512, WHFast with
 * the kernels modifiedkick and lazy, SABA with a corrector (they bring gravity of their own and would never
 * call Graft), variational particles (nothing here makes their accelerations), ghost boxes. Changes after
 * attach are found out at the next step: REBOUND then stops with REB_STATUS_GENERIC_ERROR and the reason as
 * its error message; that step's accelerations were those of the one before. Test particles (N_active,
 * testparticle_type), gravity_ignore_terms and additional_forces are honoured. Statuses: ARGUMENT, ABI,
 * UNSUPPORTED, CALL_ORDER (attached already), MEMORY, DECK_*, LOAD_*. Not for two threads at a time on one
 * simulation. */
GRAFT_REBOUND_API int32_t graft_rebound_attach(struct graft_rebound** gravity, struct reb_simulation* r,
                                               graft_rebound_host host, const char* deck, const char* text,
                                               int central, char* why, int64_t capacity);

/* Gives the simulation back the gravity it had, and frees *gravity (set to NULL; NULL is fine). */
GRAFT_REBOUND_API void graft_rebound_detach(struct graft_rebound** gravity);

/* Frees *gravity without touching the simulation, for one that is freed already. */
GRAFT_REBOUND_API void graft_rebound_forget(struct graft_rebound** gravity);

/* The text of the last failure in full (REBOUND keeps 255 characters of it); "" before any. */
GRAFT_REBOUND_API const char* graft_rebound_error(const struct graft_rebound* gravity);

GRAFT_REBOUND_API graft_rebound_figures graft_rebound_get_figures(const struct graft_rebound* gravity);

#ifdef __cplusplus
}
#endif
#endif
