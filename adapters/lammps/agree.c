/* SPDX-License-Identifier: BSD-3-Clause */
/* What one rank finds out becomes what all ranks return. */
#include "internal.h"

#include <stddef.h>

int32_t lammps_agree(graft_lammps* at, int32_t status) {
    int32_t worst = status;
    if (at->comm == NULL)
        return status;
    if (at->comm->comm_allreduce(at->comm->self, &status, &worst, 1, GRAFT_I32, GRAFT_COMM_MAX) != GRAFT_OK)
        return lammps_fail(GRAFT_ERROR_COMMUNICATION, "the ranks could not agree on a status");
    if (status == GRAFT_OK && worst != GRAFT_OK)
        lammps_fail(worst, "another rank failed (%s); its own message says why",
                    at->graft->status_text(worst));
    return worst;
}
