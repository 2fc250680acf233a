/* SPDX-License-Identifier: BSD-3-Clause */
/* Particles as an array of 112-byte structs, as many C codes keep them: no copy, strides say where things
 * are. */
#include <graft/graft.h>
#include <graft/graft_loader.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int64_t id;
    double position[3], velocity[3], acceleration[3];
    float mass, softening;
    double potential, age;
} particle; /* 104 bytes of members and 8 spare */
typedef union {
    particle p;
    char bytes[112];
} slot;

int main(void) {
    enum { n = 2000 };
    const graft_api_v1* api = NULL;
    char why[1024];
    if (graft_load(NULL, &api, why, sizeof why) != GRAFT_OK)
        return fprintf(stderr, "%s\n", why), 1;
    slot* s = calloc(n, sizeof *s);
    if (!s)
        return 1;
    for (int i = 0; i < n;
         ++i) { /* points on a sphere (Fibonacci): outside, they pull like one mass in the centre */
        const double height = 1 - (2 * i + 1.0) / n, angle = 2.399963229728653 * i,
                     ring = sqrt(1 - height * height);
        s[i].p =
            (particle){.id = i, .position = {ring * cos(angle), ring * sin(angle), height}, .mass = 1.0f / n};
    }
    s[n - 1].p.position[0] = 10; /* one outside */
    s[n - 1].p.position[1] = s[n - 1].p.position[2] = 0;

    graft_options* options = NULL;
    graft_context* context = NULL;
    int32_t status = api->options_create(&options);
    status = status ? status : api->context_create(options, NULL, &context);
    const graft_array position = graft_view_const(s->p.position, GRAFT_F64, n, 3, sizeof *s, 0);
    const graft_array mass = graft_view_const(&s->p.mass, GRAFT_F32, n, 1, sizeof *s, 0);
    const graft_array acceleration = graft_view(s->p.acceleration, GRAFT_F64, n, 3, sizeof *s, 0);
    const graft_array potential = graft_view(&s->p.potential, GRAFT_F64, n, 1, sizeof *s, 0);
    graft_particles particles = {0};
    particles.struct_size = sizeof particles;
    particles.n = n;
    particles.position[0] = &position;
    particles.charge = &mass;
    graft_results results = {0};
    results.struct_size = sizeof results;
    results.acceleration[0] = &acceleration;
    results.potential = &potential;
    status = status ? status : api->compute(context, &particles, &results);
    if (status != GRAFT_OK)
        return fprintf(stderr, "graft: %s\n", api->last_error()), 1;

    const particle* far = &s[n - 1].p;
    const double expected = -(n - 1.0) / n / 100;
    printf("%d structs of %d bytes: pull at distance 10: %.6f, of a point mass %.6f; potential %.6f\n",
           (int)n, (int)sizeof(slot), far->acceleration[0], expected, far->potential);
    int wrong =
        fabs(far->acceleration[0] / expected - 1) > 1e-3 || fabs(far->potential / (10 * expected) - 1) > 1e-3;
    for (int i = 0; i < n; ++i) /* what lies between the members is as it was */
        wrong |= s[i].p.id != i || s[i].p.velocity[2] != 0 || s[i].p.age != 0;
    api->context_destroy(&context);
    api->options_destroy(&options);
    free(s);
    return wrong;
}
