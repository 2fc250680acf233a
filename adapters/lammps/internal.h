/* SPDX-License-Identifier: BSD-3-Clause */
/* What one attachment holds. One thread; LAMMPS calls back from the thread that runs it. */
#ifndef GRAFT_LAMMPS_INTERNAL_H
#define GRAFT_LAMMPS_INTERNAL_H

#include "exclusions.h"
#include "functions.h"
#include "graft_lammps.h"

#include <graft/graft.h>

#define FIX_CAPACITY 64

/* LAMMPS's box as told to Graft last. */
typedef struct lammps_told_box {
    graft_box box;
    int32_t known;
    double tilt[3]; /* xy xz yz */
} lammps_told_box;

/* Arrays of ours. */
typedef struct lammps_per_atom {
    int64_t capacity; /* atoms that they have room for */
    double* charge;   /* masses per atom, where LAMMPS has them per type */
    double* energy;   /* Graft's potential, then the energy for LAMMPS */
} lammps_per_atom;

/* Calls of LAMMPS, and the time in them; graft_s: in Graft. */
typedef struct lammps_spent {
    int64_t calls;
    double call_s;
    double graft_s;
} lammps_spent;

struct graft_lammps {
    graft_lammps* next; /* of those that are attached */
    const graft_api_v1* graft;
    const lammps_functions* host;
    void* lammps;
    char fix[FIX_CAPACITY];
    graft_context* context;
    graft_comm_v1* comm;   /* NULL: one rank */
    int32_t coulomb;       /* the deck's interaction; else gravity */
    int32_t id_bytes;      /* of LAMMPS's tagint */
    int32_t softened;      /* the deck's law is not 1/r */
    int32_t long_range;    /* the deck's ewald.part: LAMMPS sums the pairs, and Graft is in the place of its kspace style */
    double constant;       /* in front of charge charge / r: LAMMPS's energy units */
    int32_t fix_is_ours;   /* created by attach */
    int32_t kspace_is_ours; /* LAMMPS's kspace style stands still for this attachment, or one before it through this fix */
    int32_t has_bonds;     /* the compute that tells the bonds exists */
    int32_t special_known; /* when attaching: the Coulomb factors of special_bonds */
    double special[3];
    lammps_told_box told_box;
    exclusions excluded;
    int32_t excluding;  /* some factor is not 1, and there are bonds */
    int64_t bond_count; /* of all ranks, when the bonds were gathered */
    int64_t last_step;
    lammps_per_atom per_atom;
    lammps_spent spent;
};

/* The list of what is attached. On: its fix calls `at` from now on, and one before it through the same fix leaves it what is
 * to be removed from LAMMPS. Off again, and whether it was on. Whether the forces of `at` come through this other fix. */
void lammps_put_on(graft_lammps* at);
int lammps_take_off(const graft_lammps* at);
int lammps_counts_twice(const graft_lammps* at, const char* fix);

/* attach.c hands this to LAMMPS. */
void lammps_on_forces(void* attached, int64_t step, int count, void* id, double** x, double** f);

/* Options from a deck (graft_lammps_attach) and what else it tells: interaction, constant, factors. */
int32_t lammps_read_deck(graft_lammps* at, const char* deck, graft_options* options);

/* Gives LAMMPS's box to Graft where it is periodic and has changed. An open one says nothing that Graft could
 * use: it shrinks and grows with the atoms. */
int32_t lammps_tell_box(graft_lammps* at);

/* Sets `special`. CALL_ORDER where a fix that must come after Graft's is there already; ARGUMENT where one
 * has its name and is of another kind, or where LAMMPS or another attachment computes the same forces. Collective. */
int32_t lammps_look_around(graft_lammps* at);

/* Whether the fix is there, and an external one; whether LAMMPS has a kspace style. Collective. */
int32_t lammps_find_fix(graft_lammps* at, int* is_there, int* has_kspace);

/* ewald.part long_range: the alpha that suits LAMMPS's pairs, from one computation of the atoms as they are; it stays.
 * Collective. */
int32_t lammps_choose_alpha(graft_lammps* at, double* alpha);

/* OK on all ranks, or a failure on all. Collective. */
int32_t lammps_agree(graft_lammps* at, int32_t status);

/* Sets `excluding` and LAMMPS's Coulomb factors of special_bonds; gathers the bonds of all ranks where they
 * may have changed: at the start of a run, and when their number differs. Collective; same status on all
 * ranks. */
int32_t lammps_find_bonds(graft_lammps* at, int64_t step, double factor[3]);

/* The compute that lists an attachment's bonds. */
#define BONDS_COMPUTE "graft_bonds_%s"

#endif
