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

/* `components` doubles of each particle in [first, end), from `member` of the first one on. */
static graft_array view(const double* member, size_t first, size_t end, int32_t components) {
    return graft_view_const(member, GRAFT_F64, (int64_t)(end - first), components,
                            (int64_t)sizeof(struct reb_particle), 0);
}

/* Field of the particles [source, source_end) at [first, end), into their accelerations or added to them. */
static int32_t field(struct graft_rebound* g, size_t source, size_t source_end, size_t first, size_t end,
                     uint32_t add) {
    const struct reb_simulation* r = g->simulation;
    const graft_array from = view(&r->particles[source].x, source, source_end, 3);
    const graft_array mass = view(&r->particles[source].m, source, source_end, 1);
    const graft_array to = view(&r->particles[first].x, first, end, 3);
    graft_array acceleration = graft_view(&r->particles[first].ax, GRAFT_F64, to.n, 3, to.item_stride, 0);
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
    acceleration.flags = add;
    results.acceleration[0] = &acceleration;
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
    int32_t status;
    if (g->context != NULL && g->constant == r->G && g->softening == r->softening)
        return GRAFT_OK;
    g->api->context_destroy(&g->context);
    status = g->api->options_set_double(g->options, "constant", r->G);
    if (status == GRAFT_OK)
        status = g->api->options_set(g->options, "softening.kind", r->softening > 0 ? "plummer" : "none");
    if (status == GRAFT_OK)
        status = g->api->options_set_double(g->options, "softening.length", r->softening);
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
        status = field(g, first, active, first, r->N, 0);
    else if (status == GRAFT_OK)
        clear(r, first, r->N);
    if (status == GRAFT_OK && r->testparticle_type && active > first && tests < r->N)
        status = field(g, tests, r->N, first, active, GRAFT_ARRAY_ADD);
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
