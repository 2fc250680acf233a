/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest C host: load the plugin, make a context, compute. Three bodies on a line, forces known on
 * paper. */
#include <graft/graft.h>
#include <graft/graft_loader.h>

#include <math.h>
#include <stdio.h>

static const graft_api_v1* api;

static int failed(int32_t status) {
    if (status != GRAFT_OK)
        fprintf(stderr, "graft: %s\n", api->last_error());
    return status != GRAFT_OK;
}

int main(void) {
    const double x[3] = {0, 1, 3}, y[3] = {0}, z[3] = {0}, m[3] = {1, 2, 4};
    double ax[3], ay[3], az[3];
    char why[1024];
    if (graft_load(NULL, &api, why, sizeof why) != GRAFT_OK) {
        fprintf(stderr, "%s\n", why); /* the paths tried; a host can go on without Graft */
        return 1;
    }
    graft_options* options = NULL;
    graft_context* context = NULL;
    if (failed(api->options_create(&options)) || failed(api->context_create(options, NULL, &context)))
        return 1;

    const graft_array vx = graft_view_const_f64(x, 3), vy = graft_view_const_f64(y, 3);
    const graft_array vz = graft_view_const_f64(z, 3), vm = graft_view_const_f64(m, 3);
    const graft_array vax = graft_view_f64(ax, 3), vay = graft_view_f64(ay, 3), vaz = graft_view_f64(az, 3);
    graft_particles particles = {0};
    particles.struct_size = sizeof particles;
    particles.n = 3;
    particles.position[0] = &vx;
    particles.position[1] = &vy;
    particles.position[2] = &vz;
    particles.charge = &vm;
    graft_results results = {0};
    results.struct_size = sizeof results;
    results.acceleration[0] = &vax;
    results.acceleration[1] = &vay;
    results.acceleration[2] = &vaz;
    if (failed(api->compute(context, &particles, &results)))
        return 1;

    const double expected[3] = {2.0 + 4.0 / 9.0, -1.0 + 4.0 / 4.0, -1.0 / 9.0 - 2.0 / 4.0};
    int wrong = 0;
    for (int i = 0; i < 3; ++i) {
        printf("body %d: acceleration %9.6f, on paper %9.6f\n", i, ax[i], expected[i]);
        wrong |= fabs(ax[i] - expected[i]) > 1e-5 || fabs(ay[i]) > 1e-6;
    }
    api->context_destroy(&context);
    api->options_destroy(&options);
    return wrong;
}
