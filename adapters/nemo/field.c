/* One acceleration field: its options, and one call of NEMO's as one of Graft's. */
#include "internal.h"

#include <graft_loader.h>

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

static graft_array view(const call* c, const void* data, int components) {
    graft_array a = {0};
    a.struct_size = sizeof a;
    a.data = (void*)data;
    a.dtype = c->single ? GRAFT_F32 : GRAFT_F64;
    a.memory = GRAFT_MEMORY_HOST;
    a.components = components;
    a.n = c->n;
    a.bytes = (int64_t)c->n * components * (c->single ? (int64_t)sizeof(float) : (int64_t)sizeof(double));
    return a;
}

static bool renew_context(field* f, int dimensions) {
    graft_options_values values = {0};
    int32_t status;
    if (f->context != NULL && f->dimensions == dimensions)
        return true;
    f->api->context_destroy(&f->context);
    values.struct_size = sizeof values;
    status = f->api->options_read_struct(f->options, &values);
    values.dimension = dimensions;
    status = status != GRAFT_OK ? status : f->api->options_write_struct(f->options, &values);
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

/* scratch (and half of it, where the deck says so) to the host's potentials, added or assigned. */
static void write_potential(const field* f, const call* c) {
    const double factor = f->half_potential ? 0.5 : 1;
    const bool add = (c->indicator & 1) != 0;
    int i;
    for (i = 0; i < c->n; ++i) {
        if (!is_active(c, i))
            continue;
        if (c->single) {
            float* const p = (float*)c->potential + i;
            *p = (add ? *p : 0.0F) + (float)factor * ((const float*)f->scratch)[i];
        } else {
            double* const p = (double*)c->potential + i;
            *p = (add ? *p : 0.0) + factor * ((const double*)f->scratch)[i];
        }
    }
}

/* Graft's mode is one for all results, NEMO's one for each: where they differ, potentials come by way of the
 * scratch array. */
static bool compute(field* f, const call* c) {
    const bool add = (c->indicator & 2) != 0;
    const bool by_scratch = c->potential != NULL && (f->half_potential || add != ((c->indicator & 1) != 0));
    const graft_array mass = view(c, c->mass, 1), position = view(c, c->position, c->dimensions);
    const graft_array acceleration = view(c, c->acceleration, c->dimensions);
    graft_array potential, active = {0};
    graft_particles particles = {0};
    graft_results results = {0};
    if (by_scratch && !grow(&f->scratch, &f->scratch_bytes, (size_t)mass.bytes)) {
        graft_nemo_fail("no memory for %lld bytes of potentials", (long long)mass.bytes);
        return false;
    }
    if (by_scratch)
        memset(f->scratch, 0, (size_t)mass.bytes);
    potential = view(c, by_scratch ? f->scratch : c->potential, 1);
    particles.struct_size = sizeof particles;
    particles.n = c->n;
    particles.position[0] = &position;
    particles.charge = &mass;
    if (c->flags != NULL) {
        active = mass;
        active.data = f->active;
        active.dtype = GRAFT_I32;
        active.bytes = (int64_t)c->n * (int64_t)sizeof(int32_t);
        particles.active = &active;
    }
    results.struct_size = sizeof results;
    results.mode = add ? GRAFT_MODE_ADD : GRAFT_MODE_OVERWRITE;
    results.acceleration[0] = c->acceleration != NULL ? &acceleration : NULL;
    results.potential = c->potential != NULL ? &potential : NULL;
    if (f->api->compute(f->context, &particles, &results) != GRAFT_OK) {
        graft_nemo_fail("%d bodies at time %g: %s", c->n, c->time, f->api->last_error());
        return false;
    }
    if (by_scratch)
        write_potential(f, c);
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
