/* SPDX-License-Identifier: BSD-3-Clause */
/* Which pairs are bonded, and what remains of their interaction: from LAMMPS's compute property/local and
 * special_bonds (internal.h). lammps_gather_bonds is not used: in 29Sep2021 it crashes on a rank without
 * atoms. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STYLE_LOCAL 2 /* library.h: LMP_STYLE_LOCAL, LMP_TYPE_ARRAY, LMP_SIZE_ROWS */
#define TYPE_ARRAY 2
#define SIZE_ROWS 4
#define BOND_BYTES ((int64_t)(2 * sizeof(double)))

/* The factors of pairs one, two and three bonds apart; the same on all ranks. */
static int32_t find_factors(graft_lammps* at, double factor[3]) {
    const double* told = at->host->extract_global(at->lammps, "special_coul"); /* [1..3] */
    if (told == NULL && !at->special_known)
        return lammps_fail(GRAFT_ERROR_UNSUPPORTED,
                           "there are bonds, and this LAMMPS tells the factors of its special_bonds "
                           "neither as special_coul nor by `info system`");
    memcpy(factor, told != NULL ? told + 1 : at->special, 3 * sizeof *factor);
    at->excluding = factor[0] != 1 || factor[1] != 1 || factor[2] != 1;
    if (at->excluding && at->softened)
        return lammps_fail(GRAFT_ERROR_UNSUPPORTED,
                           "bonded pairs are taken off with the law 1/r, and the deck softens "
                           "it; use `softening: {kind: none}` or special_bonds coul 1 1 1");
    return GRAFT_OK;
}

/* This rank's bonds, from the compute: *count rows of two ids. */
static int32_t own_bonds(graft_lammps* at, double** pairs, int64_t* count) {
    char name[FIX_CAPACITY + 16];
    const int* rows;
    double** table;
    snprintf(name, sizeof name, BONDS_COMPUTE, at->fix);
    *pairs = NULL;
    *count = 0;
    if (!at->has_bonds || !at->host->has_id(at->lammps, "compute", name))
        return lammps_fail(
            GRAFT_ERROR_CALL_ORDER,
            "LAMMPS has bonds, but no compute %s that tells them; attach Graft after the bond types are "
            "known, and keep the compute",
            name);
    rows = at->host->extract_compute(at->lammps, name, STYLE_LOCAL, SIZE_ROWS);
    table = at->host->extract_compute(at->lammps, name, STYLE_LOCAL,
                                      TYPE_ARRAY); /* may do the work: rows after it */
    if (rows == NULL || (*rows > 0 && table == NULL))
        return lammps_fail(GRAFT_ERROR_CALL_ORDER, "LAMMPS's compute %s tells no bonds", name);
    *count = *rows;
    *pairs = *rows > 0 ? table[0] : NULL;
    return GRAFT_OK;
}

/* bytes[r] of every rank r, offsets[r] where they go, and all in all. */
static int32_t layout(graft_lammps* at, int64_t* bytes, int64_t* offsets, int64_t own, int64_t* all) {
    const int32_t ranks = at->comm->size;
    int32_t r;
    memset(bytes, 0, (size_t)ranks * sizeof *bytes);
    bytes[at->comm->rank] = own;
    if (at->comm->comm_allreduce(at->comm->self, bytes, bytes, ranks, GRAFT_I64, GRAFT_COMM_SUM) != GRAFT_OK)
        return lammps_fail(GRAFT_ERROR_COMMUNICATION,
                           "the ranks could not tell each other how many bonds they have");
    *all = 0;
    for (r = 0; r < ranks; ++r) {
        offsets[r] = *all;
        *all += bytes[r];
    }
    return GRAFT_OK;
}

static int32_t gather(graft_lammps* at, const double* own, int64_t count, double** pairs,
                      int64_t* all_count) {
    int64_t* bytes = malloc(2 * (size_t)at->comm->size * sizeof *bytes);
    int64_t* offsets = bytes != NULL ? bytes + at->comm->size : NULL;
    int64_t all = 0;
    int32_t status =
        bytes != NULL ? GRAFT_OK
                      : lammps_fail(GRAFT_ERROR_MEMORY, "no memory for counts of %d ranks", at->comm->size);
    status = lammps_agree(at, status);
    if (status == GRAFT_OK)
        status = layout(at, bytes, offsets, count * BOND_BYTES, &all);
    if (status == GRAFT_OK) {
        *pairs = malloc((size_t)all + 1);
        if (*pairs == NULL)
            status = lammps_fail(GRAFT_ERROR_MEMORY, "no memory for %lld bytes of bonds", (long long)all);
        status = lammps_agree(at, status);
    }
    if (status == GRAFT_OK &&
        at->comm->comm_allgatherv(at->comm->self, own, count * BOND_BYTES, *pairs, bytes, offsets) != 0)
        status = lammps_fail(GRAFT_ERROR_COMMUNICATION, "the ranks could not tell each other their bonds");
    *all_count = all / BOND_BYTES;
    free(bytes);
    return status;
}

static int32_t read_bonds(graft_lammps* at) {
    double *own = NULL, *every = NULL;
    int64_t own_count = 0, count = 0;
    int32_t status = lammps_agree(at, own_bonds(at, &own, &own_count));
    if (status == GRAFT_OK && at->comm == NULL)
        return exclusions_set_bonds(&at->excluded, own, own_count);
    if (status == GRAFT_OK)
        status = gather(at, own, own_count, &every, &count);
    if (status == GRAFT_OK)
        status = lammps_agree(at, exclusions_set_bonds(&at->excluded, every, count));
    free(every);
    return status;
}

int32_t lammps_find_bonds(graft_lammps* at, int64_t step, double factor[3]) {
    const int64_t* told = at->host->extract_global(at->lammps, "nbonds"); /* bigint, of all ranks */
    const int64_t count = told != NULL ? *told : 0;
    const int follows = at->spent.calls > 0 && step == at->last_step + 1;
    int32_t status;
    at->excluding = 0;
    factor[0] = factor[1] = factor[2] = 1;
    at->last_step = step;
    if (count == 0)
        return GRAFT_OK;
    status = find_factors(at, factor);
    if (status != GRAFT_OK || !at->excluding || (follows && count == at->bond_count))
        return status;
    at->bond_count = -1; /* until all has gone well */
    status = read_bonds(at);
    if (status == GRAFT_OK)
        at->bond_count = count;
    return status;
}
