/* SPDX-License-Identifier: BSD-3-Clause */
/* One acceleration field: its options, and one call of NEMO's as one of Graft's. */
#include "internal.h"

#include <graft/graft_loader.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_active(const call* c, int i) {
    return c->flags == NULL || (c->flags[i] & 1) != 0;
}

static void poison(const call* c) {
    int i, d;
    for (i = 0; i < c->n; ++i)
        for (d = -1; d < c->dimensions && is_active(c, i); ++d) {
            void* const array = d < 0 ? c->potential : c->acceleration;
            const long at = d < 0 ? i : (long)c->dimensions * i + d;
            if (array != NULL && c->single)
                ((float*)array)[at] = NAN;
            else if (array != NULL)
                ((double*)array)[at] = NAN;
        }
}

static bool grow(void** buffer, size_t* have, size_t bytes) {
    void* larger = *have >= bytes ? *buffer : realloc(*buffer, bytes);
    if (larger == NULL)
        return false;
    *buffer = larger;
    *have = *have >= bytes ? *have : bytes;
    return true;
}

static int32_t dtype(const call* c) {
    return c->single ? GRAFT_F32 : GRAFT_F64;
}

static graft_array input(const call* c, const void* data, int components) {
    return graft_view_const(data, dtype(c), c->n, components, 0, 0);
}

static graft_array output(const call* c, void* data, int components, bool add) {
    graft_array array = graft_view(data, dtype(c), c->n, components, 0, 0);
    array.flags = add ? GRAFT_ARRAY_ADD : 0;
    return array;
}

static bool renew_context(field* f, int dimensions) {
    int32_t status;
    if (f->context != NULL && f->dimensions == dimensions)
        return true;
    f->api->context_destroy(&f->context);
    status = f->api->options_set_int64(f->options, "dimension", dimensions);
    status = status != GRAFT_OK ? status : f->api->context_create(f->options, NULL, &f->context);
    f->dimensions = dimensions;
    if (status != GRAFT_OK)
        graft_nemo_fail("%s", f->api->last_error());
    return status == GRAFT_OK;
}

/* Whether this call can be made at all; what cannot is told to NEMO. */
static bool check(const call* c, char type) {
    if (type != 'f' && type != 'd')
        graft_nemo_fail("arrays of type '%c'; known are 'f' and 'd'", type);
    else if (c->dimensions != 2 && c->dimensions != 3)
        graft_nemo_fail("%d dimensions; known are 2 and 3", c->dimensions);
    else if (c->n > 0 && c->mass == NULL)
        graft_nemo_fail(
            "no masses: this field is the gravity of the bodies, and the program gives positions only");
    else if (c->n > 0 && c->position == NULL)
        graft_nemo_fail("no positions");
    else
        return true;
    return false;
}

/* gyrfalcON calls once a block of bodies; a snapshot is one block unless it has sinks, gas or bodies added
 * later. */
static void notice_blocks(field* f, const call* c) {
    const graft_nemo_message warning = graft_nemo_function("warning");
    if (f->calls > 0 && !f->warned && c->time == f->last_time && c->position != f->last_position &&
        warning != NULL) {
        f->warned = true;
        warning("graft_acc: two sets of bodies (%d, then %d) at time %g: where they are blocks of one "
                "snapshot (sinks, gas, bodies "
                "added later), each feels its own block only",
                f->last_n, c->n, c->time);
    }
    f->calls += 1;
    f->last_time = c->time;
    f->last_position = c->position;
    f->last_n = c->n;
}

/* Half of scratch to the host's potentials, added or assigned. */
static void write_half_potential(const field* f, const call* c) {
    const bool add = (c->indicator & 1) != 0;
    int i;
    for (i = 0; i < c->n; ++i) {
        if (!is_active(c, i))
            continue;
        if (c->single) {
            float* const p = (float*)c->potential + i;
            *p = (add ? *p : 0.0F) + 0.5F * ((const float*)f->scratch)[i];
        } else {
            double* const p = (double*)c->potential + i;
            *p = (add ? *p : 0.0) + 0.5 * ((const double*)f->scratch)[i];
        }
    }
}

static bool compute(field* f, const call* c) {
    const bool half = c->potential != NULL && f->half_potential;
    const graft_array mass = input(c, c->mass, 1), position = input(c, c->position, c->dimensions);
    const graft_array acceleration = output(c, c->acceleration, c->dimensions, (c->indicator & 2) != 0);
    const graft_array active = graft_view_const_i32(f->active, c->n);
    graft_array potential;
    graft_particles particles = {0};
    graft_results results = {0};
    if (half && !grow(&f->scratch, &f->scratch_bytes, (size_t)mass.bytes)) {
        graft_nemo_fail("no memory for %lld bytes of potentials", (long long)mass.bytes);
        return false;
    }
    potential = half ? output(c, f->scratch, 1, false) : output(c, c->potential, 1, (c->indicator & 1) != 0);
    particles.struct_size = sizeof particles;
    particles.n = c->n;
    particles.position[0] = &position;
    particles.charge = &mass;
    particles.active = c->flags != NULL ? &active : NULL;
    results.struct_size = sizeof results;
    results.acceleration[0] = c->acceleration != NULL ? &acceleration : NULL;
    results.potential = c->potential != NULL ? &potential : NULL;
    if (f->api->compute(f->context, &particles, &results) != GRAFT_OK) {
        graft_nemo_fail("%d bodies at time %g: %s", c->n, c->time, f->api->last_error());
        return false;
    }
    if (half)
        write_half_potential(f, c);
    return true;
}

/* The active bodies of this call into f->active; *any tells whether there are some. */
static bool read_flags(field* f, const call* c, bool* any) {
    void* buffer = f->active;
    int i;
    *any = c->n > 0;
    if (c->flags == NULL || c->n <= 0)
        return true;
    if (!grow(&buffer, &f->active_bytes, (size_t)c->n * sizeof(int32_t))) {
        graft_nemo_fail("no memory for the flags of %d bodies", c->n);
        return false;
    }
    f->active = buffer;
    *any = false;
    for (i = 0; i < c->n; ++i) {
        f->active[i] = c->flags[i] & 1;
        *any = *any || f->active[i] != 0;
    }
    return true;
}

void graft_nemo_evaluate(field* f, const call* c, char type) {
    bool any = false;
    if (!check(c, type)) {
        if (type == 'f' || type == 'd')
            poison(c);
        return;
    }
    notice_blocks(f, c);
    if (f->context == NULL && f->api == NULL) /* iniacceleration has failed, and the host went on */
        poison(c);
    else if (!renew_context(f, c->dimensions) || !read_flags(f, c, &any) || (any && !compute(f, c)))
        poison(c);
}

/* host.half_potential: true, false or absent. */
static bool read_half(field* f) {
    char text[16] = "";
    if (f->api->options_get(f->options, "host.half_potential", text, sizeof text, NULL) != GRAFT_OK ||
        strcmp(text, "false") == 0)
        return true;
    f->half_potential = strcmp(text, "true") == 0;
    if (!f->half_potential)
        graft_nemo_fail("host.half_potential is '%s', it can be true or false", text);
    return f->half_potential;
}

bool graft_nemo_open(field* f, const char* file) {
    char why[1024];
    const graft_api_v1* api = NULL;
    if (graft_load(NULL, &api, why, sizeof why) != GRAFT_OK) {
        graft_nemo_fail("%s", why);
        return false;
    }
    if (api->options_create(&f->options) != GRAFT_OK ||
        (file != NULL && file[0] != '\0' && api->options_read_file(f->options, file) != GRAFT_OK)) {
        graft_nemo_fail("accfile: %s", api->last_error());
        api->options_destroy(&f->options);
        return false;
    }
    f->api = api;
    if (!read_half(f))
        f->api = NULL; /* results are poisoned where the host goes on */
    return f->api != NULL;
}
