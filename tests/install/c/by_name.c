/* SPDX-License-Identifier: BSD-3-Clause */
/* Three masses in a row, through the functions by name: exit status 0 when the middle one feels nothing. */
#include <graft/functions.h>
#include <graft/views.h>

#include <math.h>
#include <stdio.h>

int main(void) {
    const double x[9] = {-1, 0, 0, 0, 0, 0, 1, 0, 0};
    double a[9] = {7, 7, 7, 7, 7, 7, 7, 7, 7};
    const graft_array position = graft_rows_const_f64(x, 3, 3, 3), field = graft_rows_f64(a, 3, 3, 3);
    graft_particles particles = {0};
    graft_results results = {0};
    graft_options *options = NULL;
    graft_context *context = NULL;
    particles.struct_size = sizeof particles;
    particles.n = 3;
    particles.position[0] = &position;
    particles.charge_all = 1;
    results.struct_size = sizeof results;
    results.acceleration[0] = &field;
    if (graft_options_create(&options) || graft_options_set(options, "method", "direct") ||
        graft_options_set(options, "precision", "fp64") || graft_context_create(options, NULL, &context) ||
        graft_compute(context, &particles, &results)) {
        fprintf(stderr, "%s\n", graft_last_error());
        return 1;
    }
    graft_context_destroy(&context);
    graft_options_destroy(&options);
    printf("graft %s: %g %g %g\n", graft_version(), a[0], a[3], a[6]);
    return fabs(a[0] - 1.25) > 1e-12 || fabs(a[3]) > 1e-12 || fabs(a[6] + 1.25) > 1e-12;
}
