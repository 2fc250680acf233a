/* SPDX-License-Identifier: BSD-3-Clause */
/* Bonded pairs whose Coulomb interaction LAMMPS scales down (special_bonds). Graft computes all pairs; what
 * is too much is taken off here: (factor - 1) times each pair's plain interaction with its nearest image.
 *
 * The pairs are those at most three bonds apart, by the shortest way, as LAMMPS counts them (its options
 * `angle yes` and `dihedral yes` are not known here). Every rank keeps all bonds, 32 bytes each, and visits
 * the pairs of its own atoms from each end, so that nothing but seven sums travels. */
#ifndef GRAFT_LAMMPS_EXCLUSIONS_H
#define GRAFT_LAMMPS_EXCLUSIONS_H

#include <graft/types.h>

#include <stdint.h>

typedef struct bond_end {
    int64_t from;
    int64_t to;
} bond_end;

typedef struct excluded_pair {
    int32_t atom;    /* this rank's */
    int32_t partner; /* this rank's or a ghost */
    double factor;   /* what remains of the interaction, minus 1 */
} excluded_pair;

typedef struct exclusions {
    bond_end* ends; /* each bond from both ends, sorted */
    int64_t end_count;
    excluded_pair* pairs;
    int64_t pair_count, pair_capacity;
    int64_t* seen; /* ids of local atoms and ghosts that the pairs were made for */
    int64_t seen_count, seen_capacity, seen_local;
    double factor[3]; /* and the factors */
    int32_t stale;    /* bonds have changed */
} exclusions;

/* Atoms of this rank as LAMMPS holds them: local ones, then ghosts. */
typedef struct exclusion_atoms {
    const void* id;
    int32_t id_bytes; /* 4 or 8 */
    int32_t local;
    int32_t all;
    double** x;
    const double* charge;
    double lower_to_upper[3];
    double tilt[3]; /* xy xz yz */
    int periodic[3];
    double constant;
} exclusion_atoms;

/* Takes count bonds, pairs of ids in doubles as LAMMPS's computes give them. MEMORY. */
int32_t exclusions_set_bonds(exclusions* at, const double* pairs, int64_t count);

/* Makes the pairs anew where ids, bonds or factors have changed. MEMORY; VALUE: a partner that this rank does
 * not see. */
int32_t exclusions_find_pairs(exclusions* at, const exclusion_atoms* atoms, const double factor[3]);

/* Adds to f[i][3], to energy[i] per atom, to the total and to virial[6] (xx yy zz xy xz yz) of this rank. */
void exclusions_apply(const exclusions* at, const exclusion_atoms* atoms, double** f, double* energy,
                      double* total, double virial[6]);

void exclusions_free(exclusions* at);

#endif
