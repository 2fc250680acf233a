/* SPDX-License-Identifier: BSD-3-Clause */
/* A C program that runs LAMMPS with Graft's forces: what a code does that has LAMMPS inside.
 *
 *     graft_lammps_driver SETUP.in GRAFT.yaml STEPS [LAMMPS's own options]
 *
 * SETUP.in makes the box, the atoms and the integrator, and no run. Under mpiexec every rank does the same;
 * LAMMPS starts MPI. Compile with -llammps -ldl, and open libgraft_lammps.so as here, or link it. */
#include "graft_lammps.h"

#include <lammps/library.h>

#include <stdio.h>
#include <stdlib.h>

static int failed(void* lammps) {
    char text[1024];
    if (!lammps_config_has_exceptions() || !lammps_has_error(lammps))
        return 0; /* without exceptions LAMMPS has ended the process by itself */
    lammps_get_last_error_message(lammps, text, (int)sizeof text);
    fprintf(stderr, "%s\n", text);
    return 1;
}

int main(int count, char** arguments) {
    graft_lammps* forces = NULL;
    double in_graft = 0, in_call = 0;
    char run[64];
    void* lammps;
    int wrong;
    if (count < 4) {
        fprintf(stderr, "usage: %s SETUP.in GRAFT.yaml STEPS [LAMMPS's options]\n", arguments[0]);
        return 2;
    }
    lammps =
        lammps_open_no_mpi(count - 3, arguments + 3, NULL); /* its own name is STEPS; nobody looks at it */
    if (lammps == NULL)
        return 1;
    lammps_file(lammps, arguments[1]);
    wrong = failed(lammps);
    if (!wrong && graft_lammps_attach(lammps, "graft", arguments[2], &forces) != GRAFT_OK) {
        fprintf(stderr, "%s\n", graft_lammps_error());
        wrong = 1;
    }
    if (!wrong) {
        snprintf(run, sizeof run, "run %ld", strtol(arguments[3], NULL, 10));
        lammps_command(lammps, run);
        wrong = failed(lammps);
    }
    if (!wrong) {
        const double energy = lammps_get_thermo(lammps, "pe"); /* collective */
        graft_lammps_query(forces, "adapter.time_s.graft", &in_graft);
        graft_lammps_query(forces, "adapter.time_s.call", &in_call);
        if (lammps_extract_setting(lammps, "world_rank") == 0)
            printf("potential energy %.12g, of the time in the callback %.3f in Graft\n", energy,
                   in_graft / in_call);
    }
    graft_lammps_detach(&forces);
    lammps_close(lammps);
    lammps_mpi_finalize();
    return wrong;
}
