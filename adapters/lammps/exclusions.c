/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs at most three bonds apart, and what is taken off for them (exclusions.h). */
#include "exclusions.h"

#include "functions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_CAPACITY                                                                                        \
    4096 /* atoms at most three bonds from one: metals' and polymers' networks stay far below */

static int compare_ends(const void* left, const void* right) {
    const bond_end *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

int32_t exclusions_set_bonds(exclusions* at, const double* pairs, int64_t count) {
    bond_end* ends = malloc((size_t)(2 * count + 1) * sizeof *ends);
    int64_t i;
    if (ends == NULL)
        return lammps_fail(GRAFT_ERROR_MEMORY, "no memory for %lld bonds", (long long)count);
    for (i = 0; i < count; ++i) {
        const int64_t a = (int64_t)pairs[2 * i], b = (int64_t)pairs[2 * i + 1];
        ends[2 * i].from = ends[2 * i + 1].to = a;
        ends[2 * i].to = ends[2 * i + 1].from = b;
    }
    qsort(ends, (size_t)(2 * count), sizeof *ends, compare_ends);
    free(at->ends);
    at->ends = ends;
    at->end_count = 2 * count;
    at->stale = 1;
    return GRAFT_OK;
}

static int64_t id_of(const exclusion_atoms* atoms, int64_t i) {
    return atoms->id_bytes == 8 ? ((const int64_t*)atoms->id)[i] : ((const int32_t*)atoms->id)[i];
}

/* ---- where an id is: open addressing; of several copies the first, which is the local one if there is one
 * ---- */

typedef struct id_map {
    int32_t* slot; /* index + 1; 0 = free */
    uint64_t mask;
} id_map;

static uint64_t slot_of(int64_t id, uint64_t mask) {
    return ((uint64_t)id * 0x9E3779B97F4A7C15ull >> 17) & mask; /* Fibonacci hashing */
}

static int make_map(id_map* map, const exclusion_atoms* atoms) {
    int32_t i;
    map->mask = 15;
    while (map->mask < 2 * (uint64_t)atoms->all)
        map->mask = 2 * map->mask + 1;
    map->slot = calloc(map->mask + 1, sizeof *map->slot);
    for (i = 0; map->slot != NULL && i < atoms->all; ++i) {
        const int64_t id = id_of(atoms, i);
        uint64_t at = slot_of(id, map->mask);
        while (map->slot[at] != 0 && id_of(atoms, map->slot[at] - 1) != id)
            at = (at + 1) & map->mask;
        if (map->slot[at] == 0)
            map->slot[at] = i + 1;
    }
    return map->slot != NULL;
}

static int32_t find(const id_map* map, const exclusion_atoms* atoms, int64_t id) {
    uint64_t at = slot_of(id, map->mask);
    while (map->slot[at] != 0 && id_of(atoms, map->slot[at] - 1) != id)
        at = (at + 1) & map->mask;
    return map->slot[at] - 1;
}

/* ---- pairs ---- */

static const bond_end* first_end(const exclusions* at, int64_t from) {
    int64_t low = 0, high = at->end_count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (at->ends[middle].from < from)
            low = middle + 1;
        else
            high = middle;
    }
    return at->ends + low;
}

/* near[0] is the atom; appends the neighbours of near[begin ... end) that are not there yet. -1: too many. */
static int64_t widen(const exclusions* at, int64_t* near, int64_t begin, int64_t end) {
    const bond_end* last = at->ends + at->end_count;
    int64_t count = end, i, k;
    for (i = begin; i < end; ++i) {
        const bond_end* bond = first_end(at, near[i]);
        for (; bond < last && bond->from == near[i]; ++bond) {
            for (k = 0; k < count && near[k] != bond->to; ++k)
                ;
            if (k == count && count == NEAR_CAPACITY)
                return -1;
            if (k == count)
                near[count++] = bond->to;
        }
    }
    return count;
}

static int32_t add_pair(exclusions* at, int32_t atom, int32_t partner, double factor) {
    if (at->pair_count == at->pair_capacity) {
        const int64_t capacity = at->pair_capacity > 0 ? 2 * at->pair_capacity : 1024;
        excluded_pair* pairs = realloc(at->pairs, (size_t)capacity * sizeof *pairs);
        if (pairs == NULL)
            return lammps_fail(GRAFT_ERROR_MEMORY, "no memory for %lld excluded pairs", (long long)capacity);
        at->pairs = pairs;
        at->pair_capacity = capacity;
    }
    at->pairs[at->pair_count].atom = atom;
    at->pairs[at->pair_count].partner = partner;
    at->pairs[at->pair_count++].factor = factor - 1;
    return GRAFT_OK;
}

static int32_t pairs_of(exclusions* at, const exclusion_atoms* atoms, const id_map* map, int32_t atom) {
    int64_t near[NEAR_CAPACITY], begin = 0, end = 1;
    int apart;
    near[0] = id_of(atoms, atom);
    for (apart = 0; apart < 3; ++apart) {
        const int64_t next = widen(at, near, begin, end);
        int64_t i;
        if (next < 0)
            return lammps_fail(GRAFT_ERROR_UNSUPPORTED,
                               "atom %lld has more than %d others within three bonds", (long long)near[0],
                               NEAR_CAPACITY - 1);
        for (i = end; i < next && at->factor[apart] != 1; ++i) {
            const int32_t partner = find(map, atoms, near[i]);
            int32_t status;
            if (partner < 0)
                return lammps_fail(
                    GRAFT_ERROR_VALUE,
                    "atom %lld: atom %lld, %d bonds away, is not among the atoms and ghosts of this rank; "
                    "raise LAMMPS's `comm_modify cutoff`",
                    (long long)near[0], (long long)near[i], apart + 1);
            status = add_pair(at, atom, partner, at->factor[apart]);
            if (status != GRAFT_OK)
                return status;
        }
        begin = end;
        end = next;
    }
    return GRAFT_OK;
}

static int unchanged(const exclusions* at, const exclusion_atoms* atoms, const double factor[3]) {
    int64_t i;
    if (at->stale || at->seen_count != atoms->all || at->seen_local != atoms->local ||
        memcmp(at->factor, factor, sizeof at->factor) != 0)
        return 0;
    for (i = 0; i < atoms->all && at->seen[i] == id_of(atoms, i); ++i)
        ;
    return i == atoms->all;
}

static int32_t remember(exclusions* at, const exclusion_atoms* atoms) {
    int64_t i;
    if (at->seen_capacity < atoms->all) {
        int64_t* seen = realloc(at->seen, (size_t)atoms->all * sizeof *seen);
        if (seen == NULL)
            return lammps_fail(GRAFT_ERROR_MEMORY, "no memory for the ids of %d atoms and ghosts",
                               atoms->all);
        at->seen = seen;
        at->seen_capacity = atoms->all;
    }
    for (i = 0; i < atoms->all; ++i)
        at->seen[i] = id_of(atoms, i);
    at->seen_count = atoms->all;
    at->seen_local = atoms->local;
    return GRAFT_OK;
}

int32_t exclusions_find_pairs(exclusions* at, const exclusion_atoms* atoms, const double factor[3]) {
    id_map map;
    int32_t status, i;
    if (unchanged(at, atoms, factor))
        return GRAFT_OK;
    at->stale = 1; /* until all has gone well */
    memcpy(at->factor, factor, sizeof at->factor);
    at->pair_count = 0;
    status = remember(at, atoms);
    if (status != GRAFT_OK)
        return status;
    if (!make_map(&map, atoms))
        return lammps_fail(GRAFT_ERROR_MEMORY, "no memory for a map of %d atoms and ghosts", atoms->all);
    for (i = 0; i < atoms->local && status == GRAFT_OK; ++i)
        status = pairs_of(at, atoms, &map, i);
    free(map.slot);
    at->stale = status != GRAFT_OK;
    return status;
}

/* ---- forces ---- */

/* The image nearest to the origin, for vectors that are shorter than half the box: bonds are. LAMMPS's order.
 */
static void nearest_image(const exclusion_atoms* atoms, double d[3]) {
    const double* length = atoms->lower_to_upper;
    if (atoms->periodic[2]) {
        const double turns = round(d[2] / length[2]);
        d[2] -= turns * length[2];
        d[1] -= turns * atoms->tilt[2];
        d[0] -= turns * atoms->tilt[1];
    }
    if (atoms->periodic[1]) {
        const double turns = round(d[1] / length[1]);
        d[1] -= turns * length[1];
        d[0] -= turns * atoms->tilt[0];
    }
    if (atoms->periodic[0])
        d[0] -= round(d[0] / length[0]) * length[0];
}

void exclusions_apply(const exclusions* at, const exclusion_atoms* atoms, double** f, double* energy,
                      double* total, double virial[6]) {
    int64_t k;
    for (k = 0; k < at->pair_count; ++k) {
        const int32_t i = at->pairs[k].atom, j = at->pairs[k].partner;
        double d[3] = {atoms->x[i][0] - atoms->x[j][0], atoms->x[i][1] - atoms->x[j][1],
                       atoms->x[i][2] - atoms->x[j][2]};
        double square, pair_energy, over_square;
        nearest_image(atoms, d);
        square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        if (!(square > 0)) /* Graft has no interaction between atoms in one place either */
            continue;
        pair_energy =
            at->pairs[k].factor * atoms->constant * atoms->charge[i] * atoms->charge[j] / sqrt(square);
        over_square = pair_energy / square;
        f[i][0] += over_square * d[0];
        f[i][1] += over_square * d[1];
        f[i][2] += over_square * d[2];
        energy[i] += 0.5 * pair_energy; /* the other half when the pair is met from its other end */
        *total += 0.5 * pair_energy;
        virial[0] += 0.5 * over_square * d[0] * d[0];
        virial[1] += 0.5 * over_square * d[1] * d[1];
        virial[2] += 0.5 * over_square * d[2] * d[2];
        virial[3] += 0.5 * over_square * d[0] * d[1];
        virial[4] += 0.5 * over_square * d[0] * d[2];
        virial[5] += 0.5 * over_square * d[1] * d[2];
    }
}

void exclusions_free(exclusions* at) {
    free(at->ends);
    free(at->pairs);
    free(at->seen);
    memset(at, 0, sizeof *at);
}
