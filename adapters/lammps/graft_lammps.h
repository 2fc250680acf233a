/* SPDX-License-Identifier: BSD-3-Clause */
/* LAMMPS with Graft's forces: gravity, or the whole Coulomb interaction, through `fix external pf/callback`.
 *
 *     graft_lammps* gravity = NULL;
 *     if (graft_lammps_attach(lammps, "gravity", "gravity.yaml", &gravity) != GRAFT_OK)
 *         fprintf(stderr, "%s\n", graft_lammps_error());
 *
 * `lammps` is what lammps_open gives (in Python `lammps(...).lmp`, in a deck's python block SELF). LAMMPS is
 * neither linked nor included: its functions are found in the process, so that one libgraft_lammps.so serves
 * any LAMMPS since 28Jul2021 with 64-bit steps (SMALLBIG, BIGBIG) and any MPI that Graft has a shim for.
 * A LAMMPS with the package PLUGIN opens it itself: `plugin load libgraft_lammps.so`, then `graft attach FIX DECK` in its deck.
 * Nothing here prints or exits; LAMMPS does, by its own rules, when a force evaluation within a run fails. */
#ifndef GRAFT_LAMMPS_H
#define GRAFT_LAMMPS_H

#include <graft/types.h>

#define GRAFT_LAMMPS_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct graft_lammps graft_lammps; /* opaque */

/* Makes Graft compute forces, energy and virial of all atoms from the next run on. Collective over LAMMPS's
 * ranks; between runs; after the box exists.
 *
 * fix: the fix to work through, an `external pf/callback 1 1` on group all of that name, created where it is
 * missing; `fix_modify energy yes virial yes` is applied to it. One letter or more, at most 63.
 *
 * deck: a YAML deck's path, or a deck itself as "{interaction: coulomb, method: tree}"; NULL or "": the
 * defaults (gravity). Coulomb takes LAMMPS's q, gravity its masses. Periodic directions and box, triclinic
 * and changing ones included, are LAMMPS's. The constant is LAMMPS's own Coulomb constant (with its
 * `dielectric`) or G in its units (lj: 1), unless the deck makes another than 1. Bonded pairs get the share
 * of their interaction that special_bonds gives them; LAMMPS before 2022 tells its factors when Graft is
 * attached, and not later.
 *
 * attached: receives the handle; NULL on failure.
 *
 * ARGUMENT (NULL, a name too long or of another fix, LAMMPS or another attachment computing the same forces), DECK_* (the
 * deck), UNSUPPORTED (LAMMPS too old, two dimensions, a box that Graft has no sum for), CALL_ORDER (no box
 * yet; a fix that must come after Graft's), LOAD_* (no Graft, or several ranks without a fitting MPI shim),
 * and what LAMMPS itself says against the fix (ARGUMENT). A LAMMPS without exceptions ends the process there,
 * as it does for a wrong deck. */
GRAFT_LAMMPS_EXPORT int32_t graft_lammps_attach(void* lammps, const char* fix, const char* deck,
                                                graft_lammps** attached);

/* Removes what attach added and sets *attached to NULL; NULL is fine. Before lammps_close or `clear`, between
 * runs, on all ranks. A process that ends with its LAMMPS need not call it. */
GRAFT_LAMMPS_EXPORT int32_t graft_lammps_detach(graft_lammps** attached);

/* A number of the last evaluation, "time_s.total" and all others of Graft's `query`; and of all evaluations
 * so far: "adapter.calls", "adapter.time_s.call" (in the callback), "adapter.time_s.graft" (of it, within
 * Graft), "adapter.exclusions" (pairs of this rank's atoms of the last one). ABSENT: none yet, or no such
 * figure. */
GRAFT_LAMMPS_EXPORT int32_t graft_lammps_query(graft_lammps* attached, const char* key, double* value);

/* What the last failing call of this thread had to say; "" before any failure. */
GRAFT_LAMMPS_EXPORT const char* graft_lammps_error(void);

#ifdef __cplusplus
}
#endif
#endif
