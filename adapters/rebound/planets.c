/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A C program with REBOUND and Graft: the outer planets for a thousand years, and the energy that is left.
 * cc planets.c -I$REBOUND/src -I$P/include -L$P/lib -lgraft_rebound -L$REBOUND -lrebound -lm (README.md) */
#include <graft_rebound.h>

#include <math.h>
#include <stdio.h>

int main(void) {
    const double axis[] = {5.20, 9.58, 19.2, 30.1},
                 mass[] = {9.55e-4, 2.86e-4, 4.37e-5, 5.15e-5}; /* au, solar masses */
    const double year = 6.283185307179586;                      /* with G = 1 */
    struct reb_simulation* r = reb_simulation_create();
    struct reb_particle sun = {.m = 1};
    struct graft_rebound* gravity = NULL;
    char why[1024];
    double before, change;
    int i, wrong;
    reb_simulation_add(r, sun);
    for (i = 0; i < 4; ++i)
        reb_simulation_add(r,
                           reb_particle_from_orbit(r->G, sun, mass[i], axis[i], 0.05, 0.02 * i, 0, i, 2 * i));
    reb_simulation_move_to_com(r);
    reb_simulation_set_integrator(r, "whfast");
    r->dt = 0.5 * year;
    before = reb_simulation_energy(r);
    if (graft_rebound_attach(&gravity, r, GRAFT_REBOUND_HOST, NULL, NULL, 0, why, sizeof why) != 0) {
        fprintf(stderr, "%s\n", why);
        reb_simulation_free(r);
        return 1;
    }
    reb_simulation_integrate(r, 1000 * year);
    change = reb_simulation_energy(r) / before - 1;
    printf("%.0f years, %lld evaluations: energy changed by %.1e\n", r->t / year,
           (long long)graft_rebound_get_figures(gravity).evaluations, change);
    wrong = !(fabs(change) < 1e-5) || graft_rebound_get_figures(gravity).evaluations < 2000;
    graft_rebound_detach(&gravity);
    reb_simulation_free(r);
    return wrong;
}
