/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attach and detach, and the registry that finds the adapter of a simulation. */
#define _POSIX_C_SOURCE 200809L
#include "internal.h"

#include <graft/graft_loader.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* REBOUND's callbacks get the simulation alone, and its `extras` is REBOUNDx's. */
static struct graft_rebound* attached;
static pthread_mutex_t attached_lock = PTHREAD_MUTEX_INITIALIZER;

static struct graft_rebound* find(const struct reb_simulation* r) {
    struct graft_rebound* g;
    pthread_mutex_lock(&attached_lock);
    for (g = attached; g != NULL && g->simulation != r; g = g->next)
        ;
    pthread_mutex_unlock(&attached_lock);
    return g;
}

static void insert(struct graft_rebound* g) {
    pthread_mutex_lock(&attached_lock);
    g->next = attached;
    attached = g;
    pthread_mutex_unlock(&attached_lock);
}

static void take_out(struct graft_rebound* g) {
    struct graft_rebound** at;
    pthread_mutex_lock(&attached_lock);
    for (at = &attached; *at != NULL && *at != g; at = &(*at)->next)
        ;
    if (*at != NULL)
        *at = g->next;
    pthread_mutex_unlock(&attached_lock);
}

static void on_gravity(struct reb_simulation* r) {
    struct graft_rebound* g = find(r);
    if (g != NULL)
        graft_rebound_evaluate(g);
    else /* detached, and the host has kept the pointer: nothing is known but the simulation itself */
        r->status = REB_STATUS_GENERIC_ERROR;
}

/* After each step: was Graft asked? An integrator chosen after attach may bring gravity of its own. */
static void on_heartbeat(struct reb_simulation* r) {
    struct graft_rebound* g = find(r);
    char why[512];
    if (g == NULL)
        return;
    if (r->steps_done > g->steps_seen && g->figures.evaluations == g->evaluations_seen && !g->failed &&
        r->N > 0) {
        if (graft_rebound_refuses(r, why, sizeof why) == GRAFT_OK)
            snprintf(why, sizeof why,
                     "integrator %s has made a step without asking for accelerations (r->gravity is %d)",
                     r->integrator.name != NULL ? r->integrator.name : "?", (int)r->gravity);
        graft_rebound_fail(g, "%s", why);
    }
    g->steps_seen = r->steps_done;
    g->evaluations_seen = g->figures.evaluations;
    if (g->heartbeat_before != NULL)
        g->heartbeat_before(r);
}

/* Whether the deck has left these keys, which are REBOUND's, as a fresh one has them. */
static int leaves_ours_alone(const graft_api_v1* api, const graft_options* deck, const graft_options* fresh) {
    static const char* const keys[] = {"constant",       "interaction",      "dimension",
                                       "softening.kind", "softening.length", "units.length",
                                       "units.mass",     "units.time",       "units.charge"};
    size_t i;
    for (i = 0; i < sizeof keys / sizeof *keys; ++i) {
        char given[64] = "", usual[64] = ""; /* empty: no value */
        api->options_get(deck, keys[i], given, sizeof given, NULL);
        api->options_get(fresh, keys[i], usual, sizeof usual, NULL);
        if (strcmp(given, usual) != 0)
            return 0;
    }
    return 1;
}

/* Options from the deck; G and softening are the simulation's. */
static int32_t read_options(struct graft_rebound* g, const char* deck, const char* text, char* why,
                            int64_t capacity) {
    graft_options* fresh = NULL;
    const int none = deck == NULL && text == NULL;
    int32_t status = g->api->options_create(&g->options);
    if (status == GRAFT_OK)
        status = g->api->options_create(&fresh);
    if (status == GRAFT_OK && none)
        status = g->api->options_set(g->options, "method", "direct");
    if (status == GRAFT_OK && none)
        status = g->api->options_set(g->options, "precision", "fp64");
    if (status == GRAFT_OK && deck != NULL)
        status = g->api->options_read_file(g->options, deck);
    if (status == GRAFT_OK && text != NULL)
        status = g->api->options_read_text(g->options, text, (int64_t)strlen(text), "text");
    if (status != GRAFT_OK)
        snprintf(why, (size_t)capacity, "%s", g->api->last_error());
    else if (!leaves_ours_alone(g->api, g->options, fresh)) {
        snprintf(why, (size_t)capacity,
                 "the deck sets constant, units, softening, dimension or interaction, which are REBOUND's: "
                 "take these keys out, and "
                 "set r->G and r->softening");
        status = GRAFT_ERROR_UNSUPPORTED;
    }
    g->api->options_destroy(&fresh);
    return status;
}

static int32_t check_host(struct reb_simulation* r, const graft_rebound_host* host, char* why,
                          int64_t capacity) {
    const int64_t simulation = (int64_t)sizeof(struct reb_simulation),
                  particle = (int64_t)sizeof(struct reb_particle);
    if (host->simulation_bytes == simulation && host->particle_bytes == particle && host->error != NULL &&
        (r->N == 0 || r->particles[0].sim == r))
        return graft_rebound_refuses(r, why, (size_t)capacity);
    snprintf(why, (size_t)capacity,
             "this REBOUND (%s) keeps simulations of %lld bytes and particles of %lld, the adapter was built "
             "for %s with %lld and %lld; "
             "build Graft again with this REBOUND's headers (cmake -DGRAFT_HOSTS_PYTHON=...)",
             host->version != NULL ? host->version : "of unknown version", (long long)host->simulation_bytes,
             (long long)host->particle_bytes, GRAFT_REBOUND_VERSION, (long long)simulation,
             (long long)particle);
    return GRAFT_ERROR_ABI;
}

static void release(struct graft_rebound** gravity) {
    struct graft_rebound* g = *gravity;
    take_out(g);
    if (g->api != NULL) {
        g->api->context_destroy(&g->context);
        g->api->options_destroy(&g->options);
    }
    free(g);
    *gravity = NULL;
}

/* One adapter a simulation. An entry without its callback is that of a freed simulation at the same address.
 */
static int32_t make_room(const struct reb_simulation* r, char* why, int64_t capacity) {
    struct graft_rebound* old = find(r);
    if (old == NULL)
        return GRAFT_OK;
    if (r->gravity_custom == on_gravity) {
        snprintf(why, (size_t)capacity, "this simulation has Graft's gravity already; detach it first");
        return GRAFT_ERROR_CALL_ORDER;
    }
    take_out(old);
    old->simulation = NULL;
    return GRAFT_OK;
}

static void take_over(struct graft_rebound* g) {
    struct reb_simulation* r = g->simulation;
    /* A copied or stored simulation says "custom" and has lost the function. */
    g->gravity_before = r->gravity == REB_GRAVITY_CUSTOM && r->gravity_custom == NULL ? REB_GRAVITY_BASIC : (int)r->gravity;
    g->custom_before = r->gravity_custom;
    g->heartbeat_before = r->heartbeat;
    g->steps_seen = r->steps_done;
    r->gravity = REB_GRAVITY_CUSTOM;
    r->gravity_custom = on_gravity;
    r->heartbeat = on_heartbeat;
    insert(g);
}

int32_t graft_rebound_attach(struct graft_rebound** gravity, struct reb_simulation* r,
                             graft_rebound_host host, const char* deck, const char* text, int central,
                             char* why, int64_t capacity) {
    struct graft_rebound* g;
    char nowhere[1024];
    int32_t status;
    if (why == NULL || capacity <= 0) {
        why = nowhere;
        capacity = sizeof nowhere;
    }
    why[0] = '\0';
    if (gravity == NULL || r == NULL) {
        snprintf(why, (size_t)capacity, "graft_rebound_attach: %s is NULL",
                 r == NULL ? "the simulation" : "gravity");
        return GRAFT_ERROR_ARGUMENT;
    }
    *gravity = NULL;
    status = check_host(r, &host, why, capacity);
    if (status == GRAFT_OK)
        status = make_room(r, why, capacity);
    if (status != GRAFT_OK)
        return status;
    g = calloc(1, sizeof *g);
    if (g == NULL) {
        snprintf(why, (size_t)capacity, "no memory for the adapter (%zu bytes)", sizeof *g);
        return GRAFT_ERROR_MEMORY;
    }
    g->simulation = r;
    g->host = host;
    g->central = central;
    status = graft_load(NULL, &g->api, why, capacity);
    if (status == GRAFT_OK)
        status = read_options(g, deck, text, why, capacity);
    if (status != GRAFT_OK) {
        release(&g);
        return status;
    }
    take_over(g);
    *gravity = g;
    return GRAFT_OK;
}

void graft_rebound_detach(struct graft_rebound** gravity) {
    struct reb_simulation* r;
    if (gravity == NULL || *gravity == NULL)
        return;
    r = (*gravity)->simulation;
    if (r != NULL && r->gravity_custom == on_gravity) {
        r->gravity_custom = (*gravity)->custom_before;
        if (r->gravity == REB_GRAVITY_CUSTOM) /* else an integrator has replaced it */
            r->gravity = (*gravity)->gravity_before;
    }
    if (r != NULL && r->heartbeat == on_heartbeat)
        r->heartbeat = (*gravity)->heartbeat_before;
    release(gravity);
}

void graft_rebound_forget(struct graft_rebound** gravity) {
    if (gravity != NULL && *gravity != NULL)
        release(gravity);
}

const char* graft_rebound_error(const struct graft_rebound* gravity) {
    return gravity != NULL ? gravity->message : "";
}

graft_rebound_figures graft_rebound_get_figures(const struct graft_rebound* gravity) {
    const graft_rebound_figures none = {0};
    return gravity != NULL ? gravity->figures : none;
}
