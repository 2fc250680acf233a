/* SPDX-License-Identifier: BSD-3-Clause */
/* Signed charges: a piece of rock salt in units of e, the lattice edge and Coulomb's constant 1. The
 * potential at the middle ion is the Madelung sum of the piece, computed here by hand; a dipole is torn
 * apart, like charges repel. */
#include <graft/graft.h>
#include <graft/graft_loader.h>

#include <math.h>
#include <stdio.h>

enum { half = 7, edge = 2 * half + 1, n = edge * edge * edge };
static double xyz[n][3], charge[n], field[n][3], phi[n];

int main(void) {
    const graft_api_v1* api = NULL;
    char why[1024];
    if (graft_load(NULL, &api, why, sizeof why) != GRAFT_OK)
        return fprintf(stderr, "%s\n", why), 1;
    double expected = 0;
    int i = 0, middle = 0;
    for (int a = -half; a <= half; ++a)
        for (int b = -half; b <= half; ++b)
            for (int c = -half; c <= half; ++c, ++i) {
                xyz[i][0] = a, xyz[i][1] = b, xyz[i][2] = c;
                charge[i] = (a + b + c) % 2 == 0 ? 1 : -1;
                if (a == 0 && b == 0 && c == 0)
                    middle = i;
                else
                    expected += charge[i] / sqrt(a * a + b * b + c * c);
            }
    graft_options* options = NULL;
    graft_context* context = NULL;
    int32_t status = api->options_create(&options);
    status = status ? status : api->options_set(options, "interaction", "coulomb");
    status = status ? status : api->options_set_int64(options, "order", 4);
    status = status ? status : api->options_set_double(options, "mac.theta", 0.4);
    status = status ? status : api->context_create(options, NULL, &context);
    const graft_array position = graft_rows_const_f64(xyz[0], n, 3, 3), q = graft_view_const_f64(charge, n);
    const graft_array e = graft_rows_f64(field[0], n, 3, 3), p = graft_view_f64(phi, n);
    graft_particles particles = {0};
    particles.struct_size = sizeof particles;
    particles.n = n;
    particles.position[0] = &position;
    particles.charge = &q;
    graft_results results = {0};
    results.struct_size = sizeof results;
    results.flags = GRAFT_RESULTS_FORCE; /* charge * field: what moves the ion */
    results.acceleration[0] = &e;
    results.potential = &p;
    status = status ? status : api->compute(context, &particles, &results);
    if (status != GRAFT_OK)
        return fprintf(stderr, "graft: %s\n", api->last_error()), 1;
    printf("%d ions: potential at the middle %.5f, summed by hand %.5f (Madelung's constant: -1.74756)\n",
           (int)n, phi[middle], expected);
    api->context_destroy(&context);
    api->options_destroy(&options);
    return fabs(phi[middle] - expected) > 1e-2 || fabs(field[middle][0]) > 1e-2;
}
