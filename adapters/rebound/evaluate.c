/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One evaluation: the sums of REBOUND's basic gravity, made by Graft.
 *
 * Particles [0, N_active) act on all; with testparticle_type 1 the others act on those, never on each other.
 * gravity_ignore_terms 1 leaves out the pair (0, 1), 2 all pairs with particle 0 (WHFast and SABA account for
 * these in their Kepler steps). These pairs are left out, not subtracted afterwards: the star's pull is so
 * much larger than the planets' that a difference would be rounding alone. So wherever terms are ignored (or
 * `central` asks for it) particle 0 is summed here, and Graft gets the particles from 1 on. */
#define _POSIX_C_SOURCE 200809L
#include "internal.h"

#include <math.h>
#include <time.h>

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A view of particles [first, end): the member at `offset`, `components` doubles. */
static graft_array view(const struct reb_simulation* r, size_t first, size_t end, size_t offset,
                        int32_t components) {
    graft_array a = {0};
    a.struct_size = sizeof a;
    a.data = (char*)(r->particles + first) + offset;
    a.dtype = GRAFT_F64;
    a.memory = GRAFT_MEMORY_HOST;
    a.components = components;
    a.n = (int64_t)(end - first);
    a.item_stride = (int64_t)sizeof(struct reb_particle);
    a.component_stride = (int64_t)sizeof(double);
    a.bytes = (a.n - 1) * a.item_stride + components * a.component_stride;
    return a;
}

/* Field of the particles [source, source_end) at [first, end), into their accelerations. */
static int32_t field(struct graft_rebound* g, size_t source, size_t source_end, size_t first, size_t end,
                     int32_t mode) {
    const struct reb_simulation* r = g->simulation;
    const graft_array from = view(r, source, source_end, offsetof(struct reb_particle, x), 3);
    const graft_array mass = view(r, source, source_end, offsetof(struct reb_particle, m), 1);
    const graft_array to = view(r, first, end, offsetof(struct reb_particle, x), 3);
    const graft_array acceleration = view(r, first, end, offsetof(struct reb_particle, ax), 3);
    graft_particles sources = {0}, points = {0};
    graft_results results = {0};
    const double begin_s = now_s();
    int32_t status;
    sources.struct_size = points.struct_size = sizeof sources;
    sources.n = from.n;
    sources.position[0] = &from;
    sources.charge = &mass;
    points.n = to.n;
    points.position[0] = &to;
    results.struct_size = sizeof results;
    results.acceleration[0] = &acceleration;
    results.mode = mode;
    status = source == first && source_end == end ? g->api->compute(g->context, &sources, &results)
                                                  : g->api->field_at(g->context, &sources, &points, &results);
    g->figures.graft_time_s += now_s() - begin_s;
    if (status != GRAFT_OK)
        graft_rebound_fail(g, "particles %zu to %zu of t = %g: %s", source, source_end - 1, r->t,
                           g->api->last_error());
    return status;
}

static void clear(struct reb_simulation* r, size_t first, size_t end) {
    size_t i;
    for (i = first; i < end; ++i)
        r->particles[i].ax = r->particles[i].ay = r->particles[i].az = 0;
}

/* Pairs of particle 0 with those from `first` on. */
static void add_central(struct reb_simulation* r, size_t first, size_t active) {
    struct reb_particle* const p = r->particles;
    const double softening2 = r->softening * r->softening;
    size_t j;
    for (j = first; active > 0 && j < r->N; ++j) {
        const double dx = p[j].x - p[0].x, dy = p[j].y - p[0].y, dz = p[j].z - p[0].z;
        const double square = dx * dx + dy * dy + dz * dz + softening2;
        const double factor =
            square > 0 ? r->G / (square * sqrt(square)) : 0; /* as Graft: no pull at no distance */
        p[j].ax -= factor * p[0].m * dx;
        p[j].ay -= factor * p[0].m * dy;
        p[j].az -= factor * p[0].m * dz;
        if (j < active || r->testparticle_type) {
            p[0].ax += factor * p[j].m * dx;
            p[0].ay += factor * p[j].m * dy;
            p[0].az += factor * p[j].m * dz;
        }
    }
}

/* A context for the simulation's G and softening, made anew when they have changed. */
static int32_t renew_context(struct graft_rebound* g) {
    const struct reb_simulation* r = g->simulation;
    graft_options_values values = {0};
    int32_t status;
    if (g->context != NULL && g->constant == r->G && g->softening == r->softening)
        return GRAFT_OK;
    g->api->context_destroy(&g->context);
    values.struct_size = sizeof values;
    status = g->api->options_read_struct(g->options, &values);
    values.constant = r->G;
    values.softening_kind = r->softening > 0 ? GRAFT_SOFTENING_PLUMMER : GRAFT_SOFTENING_NONE;
    values.softening_length = r->softening;
    status = status != GRAFT_OK ? status : g->api->options_write_struct(g->options, &values);
    status = status != GRAFT_OK ? status : g->api->context_create(g->options, NULL, &g->context);
    if (status != GRAFT_OK)
        graft_rebound_fail(g, "%s", g->api->last_error());
    g->constant = r->G;
    g->softening = r->softening;
    return status;
}

/* Gravity alone; a status other than OK has been told to REBOUND. */
static int32_t gravity(struct graft_rebound* g) {
    struct reb_simulation* r = g->simulation;
    const int ignore = (int)r->gravity_ignore_terms;
    const int split = g->central || ignore != REB_GRAVITY_IGNORE_TERMS_NONE;
    const size_t active = r->N_active < r->N ? r->N_active : r->N, first = split ? 1 : 0;
    const size_t tests = active > first ? active : first; /* where the test particles begin */
    int32_t status = GRAFT_OK;
    if (r->N == 0 || r->G == 0) {
        clear(r, 0, r->N);
        return GRAFT_OK;
    }
    status = renew_context(g);
    if (status == GRAFT_OK && active > first)
        status = field(g, first, active, first, r->N, GRAFT_MODE_OVERWRITE);
    else if (status == GRAFT_OK)
        clear(r, first, r->N);
    if (status == GRAFT_OK && r->testparticle_type && active > first && tests < r->N)
        status = field(g, tests, r->N, first, active, GRAFT_MODE_ADD);
    if (status == GRAFT_OK && split) {
        clear(r, 0, 1);
        if (ignore != REB_GRAVITY_IGNORE_TERMS_INVOLVING_0)
            add_central(r, ignore == REB_GRAVITY_IGNORE_TERMS_BETWEEN_0_AND_1 ? 2 : 1, active);
    }
    return status;
}

void graft_rebound_evaluate(struct graft_rebound* g) {
    struct reb_simulation* r = g->simulation;
    const double begin_s = now_s();
    char why[512];
    int32_t status;
    if (g->failed && r->status == REB_STATUS_GENERIC_ERROR)
        return; /* the rest of a step that has failed already */
    g->failed = 0;
    status = graft_rebound_refuses(r, why, sizeof why);
    if (status != GRAFT_OK)
        graft_rebound_fail(g, "%s", why);
    else
        status = gravity(g);
    g->figures.time_s += now_s() - begin_s;
    if (status != GRAFT_OK)
        return;
    g->figures.evaluations += 1;
    if (r->additional_forces !=
        NULL) /* with REB_GRAVITY_CUSTOM REBOUND leaves them to the routine (tests/hosts/rebound) */
        r->additional_forces(r);
}
