/* SPDX-License-Identifier: BSD-3-Clause */
/* LAMMPS's box in Graft's words. Invariant: the lattice told is LAMMPS's, by a basis whose tilts are at most
 * half an edge. */
#include "internal.h"

#include <math.h>
#include <string.h>

/* LAMMPS lets tilts grow beyond one half before it flips a box, or for ever (`box tilt large`). */
static void reduce(const double length[3], double tilt[3]) {
    const double turns = round(tilt[2] / length[1]);
    tilt[2] -= turns * length[1];
    tilt[1] -= turns * tilt[0];
    tilt[1] -= round(tilt[1] / length[0]) * length[0];
    tilt[0] -= round(tilt[0] / length[0]) * length[0];
}

int32_t lammps_tell_box(graft_lammps* at) {
    graft_box box = {0};
    int changes = 0, i, periodic[3];
    int32_t status;
    double tilt[3], length[3];
    box.struct_size = sizeof box;
    at->host->extract_box(at->lammps, box.lower, box.upper, &tilt[0], &tilt[2], &tilt[1], periodic, &changes);
    for (i = 0; i < 3; ++i)
        box.periodic[i] = periodic[i];
    if (!periodic[0] && !periodic[1] && !periodic[2]) {
        memset(&box, 0, sizeof box);
        memset(tilt, 0, sizeof tilt);
    }
    for (i = 0; i < 3; ++i)
        length[i] = box.upper[i] - box.lower[i];
    if (box.struct_size > 0)
        reduce(length, tilt);
    memcpy(box.tilt, tilt, sizeof tilt);
    memcpy(at->told_box.tilt, tilt, sizeof tilt);
    if (at->told_box.known && memcmp(&box, &at->told_box.box, sizeof box) == 0)
        return GRAFT_OK;
    status = at->graft->context_set_box(at->context, box.struct_size > 0 ? &box : NULL);
    if (status != GRAFT_OK)
        return lammps_fail(status, "%s", at->graft->last_error());
    at->told_box.box = box;
    at->told_box.known = 1;
    return GRAFT_OK;
}
