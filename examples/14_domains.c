/* SPDX-License-Identifier: BSD-3-Clause */
/* A code on four ranks (threads here; with MPI only the communicator differs) that lets Graft choose its
 * domains: forces where the particles are, new owners from the measured work, all fields moved, forces again.
 * 13_mpi_domains.c is the same with MPI. */
#include <graft/graft.h>
#include <graft/graft_loader.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ranks = 4, most = 8000 };

typedef struct {
    const graft_api_v1* api;
    graft_comm_v1* comm;
    int64_t n;
    double position[most][3], mass[most], acceleration[most][3];
    int64_t id[most];
    double before, after, id_sum, force[3];
    char decision[32];
    int32_t status;
} host;

static void take_text(void* user, const char* text, int64_t bytes) {
    snprintf((char*)user, 32, "%.*s", (int)bytes, text);
}

/* Forces of all ranks' particles on those of this rank. */
static int32_t forces(host* h, graft_context* context) {
    const graft_array position = graft_rows_const_f64(h->position[0], h->n, 3, 3);
    const graft_array mass = graft_view_const_f64(h->mass, h->n);
    const graft_array acceleration = graft_rows_f64(h->acceleration[0], h->n, 3, 3);
    graft_particles particles = {0};
    graft_results results = {0};
    particles.struct_size = sizeof particles;
    particles.n = h->n;
    particles.position[0] = &position;
    particles.charge = &mass;
    results.struct_size = sizeof results;
    results.acceleration[0] = &acceleration;
    return h->api->compute(context, &particles, &results);
}

/* Who should have which particle, by the work of the last forces. */
static int32_t new_owners(host* h, graft_context* context, graft_array* owner) {
    const graft_array position = graft_rows_const_f64(h->position[0], h->n, 3, 3);
    const graft_array id = graft_view_const_i64(h->id, h->n);
    graft_particles particles = {0};
    graft_balancing balancing = {0};
    particles.struct_size = sizeof particles;
    particles.n = h->n;
    particles.position[0] = &position;
    particles.id = &id;
    balancing.struct_size = sizeof balancing;
    balancing.owner = owner;
    balancing.step_s = 1;          /* what a step of a larger run would take */
    balancing.bytes_per_item = 40; /* position, mass, id */
    int32_t status = h->api->balance(context, &particles, &balancing);
    if (status == GRAFT_OK)
        status = h->api->query_text(context, "balance.decision", take_text, h->decision);
    if (status == GRAFT_OK)
        status = h->api->query(context, "balance.before.imbalance_work", &h->before);
    return status;
}

/* All fields move together, in place: Graft stages what arrives. */
static int32_t move(host* h, graft_context* context, const graft_array* owner) {
    int64_t n_after = 0;
    int32_t status = h->api->migrate_plan(context, owner, &n_after);
    if (status != GRAFT_OK || n_after > most)
        return status ? status : GRAFT_ERROR_MEMORY;
    const graft_array from[3] = {graft_rows_f64(h->position[0], h->n, 3, 3), graft_view_f64(h->mass, h->n),
                                 graft_view_i64(h->id, h->n)};
    const graft_array to[3] = {graft_rows_f64(h->position[0], n_after, 3, 3),
                               graft_view_f64(h->mass, n_after), graft_view_i64(h->id, n_after)};
    const graft_array *sources[3] = {&from[0], &from[1], &from[2]}, *targets[3] = {&to[0], &to[1], &to[2]};
    status = h->api->migrate(context, 3, sources, targets);
    if (status == GRAFT_OK)
        h->n = n_after;
    return status;
}

static void* run_rank(void* user) {
    host* h = user;
    int32_t owner[most];
    graft_array owners = graft_view_i32(owner, h->n);
    graft_options* options = NULL;
    graft_context* context = NULL;
    int32_t status = h->api->options_create(&options);
    status = status ? status : h->api->options_set_int64(options, "threads", 1);
    status = status ? status : h->api->context_create(options, NULL, &context);
    status = status ? status : h->api->context_set_communicator(context, h->comm);
    status = status ? status : forces(h, context);
    status = status ? status : new_owners(h, context, &owners);
    status = status ? status : move(h, context, &owners);
    status = status ? status : forces(h, context);
    status = status ? status : h->api->query(context, "ranks.imbalance", &h->after);
    if (status != GRAFT_OK)
        fprintf(stderr, "%s\n", h->api->last_error());
    for (int64_t i = 0; i < h->n; ++i) {
        h->id_sum += (double)h->id[i];
        for (int a = 0; a < 3; ++a)
            h->force[a] += h->mass[i] * h->acceleration[i][a];
    }
    h->api->context_destroy(&context);
    h->api->options_destroy(&options);
    h->status = status;
    return NULL;
}

/* A dense cloud and a thin halo, in slabs of equal thickness: most of it lies on the ranks in the middle. */
static void fill(host* hosts, int n) {
    for (int i = 0; i < n; ++i) {
        const double radius = i % 4 ? 0.2 + 0.1 * sin(i) : 1.0, height = 1 - (2 * i + 1.0) / n;
        const double angle = 2.399963229728653 * i, ring = sqrt(1 - height * height);
        const double x = radius * ring * cos(angle);
        int rank = (int)((x + 1) / 2 * ranks);
        host* h = &hosts[rank < ranks ? rank : ranks - 1];
        h->position[h->n][0] = x;
        h->position[h->n][1] = radius * ring * sin(angle);
        h->position[h->n][2] = radius * height;
        h->mass[h->n] = 1.0 / n;
        h->id[h->n++] = i;
    }
}

int main(void) {
    enum { n = most };
    const graft_api_v1* api = NULL;
    char why[1024];
    graft_comm_v1* comms[ranks] = {NULL};
    pthread_t threads[ranks];
    if (graft_load(NULL, &api, why, sizeof why) != GRAFT_OK)
        return fprintf(stderr, "%s\n", why), 1;
    if (api->comm_create_threads(ranks, comms) != GRAFT_OK)
        return fprintf(stderr, "no ranks: %s\n", api->last_error()), 1;
    host* hosts = calloc(ranks, sizeof *hosts);
    if (!hosts)
        return 1;
    fill(hosts, n);
    for (int r = 0; r < ranks; ++r) {
        hosts[r].api = api;
        hosts[r].comm = comms[r];
        printf("rank %d begins with %lld particles\n", r, (long long)hosts[r].n);
        if (pthread_create(&threads[r], NULL, run_rank, &hosts[r]) != 0)
            return 1;
    }
    int failed = 0;
    double id_sum = 0, force = 0;
    for (int r = 0; r < ranks; ++r) {
        pthread_join(threads[r], NULL);
        comms[r]->comm_free(comms[r]);
        failed |= hosts[r].status != GRAFT_OK;
        id_sum += hosts[r].id_sum;
        printf("rank %d ends with %lld particles\n", r, (long long)hosts[r].n);
    }
    for (int a = 0; a < 3; ++a)
        force += fabs(hosts[0].force[a] + hosts[1].force[a] + hosts[2].force[a] + hosts[3].force[a]);
    printf("balance: %s; max/mean of the work %.3f -> %.3f; net force %.1e\n", hosts[0].decision,
           hosts[0].before, hosts[0].after, force);
    failed |= !(hosts[0].before > 1.3 && hosts[0].after < 1.15); /* it was worth it */
    failed |= id_sum != n / 2.0 * (n - 1);                       /* nobody lost, nobody doubled */
    failed |= !(force < 1e-2);                                   /* actio = reactio, to the tree's accuracy */
    free(hosts);
    return failed;
}
