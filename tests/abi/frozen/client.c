/* A host from the day of release 1.0.0: compiled against the headers beside it, which are never edited again, and kept as a binary
 * (client.x86_64, made by record.sh). Both must run with every later library of this ABI major. It fills every struct as that day's
 * documentation says. Exit status 0: all as promised. */
#include <graft/graft.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const graft_api_v1 *api;
static int failures = 0;

static void expect(int condition, const char *what) {
    if (!condition) {
        printf("violated: %s (%s)\n", what, api->last_error());
        ++failures;
    }
}

static int near_to(double a, double b) { return a - b < 1e-12 && b - a < 1e-12; }

static void count_text(void *user, const char *text, int64_t bytes) {
    (void)text;
    *(int64_t *)user += bytes;
}

static void count_line(void *user, int32_t level, const char *message) {
    *(int64_t *)user += level >= GRAFT_LOG_ERROR && level <= GRAFT_LOG_DEBUG && message != NULL;
}

/* Two masses at distance 2, constant 2: each is pulled with constant * m / 4 toward the other. */
static double x[6] = {-1, 0, 0, 1, 0, 0}, m[2] = {3, 5}, a[6], phi[2], energy[1], virial[6], lengths[2] = {0, 0};
static int64_t id[2] = {7, 9};
static int32_t index_from_1[1] = {2};

typedef struct problem {
    graft_array position, charge, acceleration, potential, energy, virial, id, softening, target_index;
    graft_particles particles;
    graft_results results;
} problem;

static void describe(problem *p) {
    memset(p, 0, sizeof *p);
    p->position = graft_rows_const_f64(x, 2, 3, 0);
    p->charge = graft_view_const_f64(m, 2);
    p->acceleration = graft_rows_f64(a, 2, 3, 0);
    p->potential = graft_view_f64(phi, 2);
    p->energy = graft_view_f64(energy, 1);
    p->virial = graft_rows_f64(virial, 1, 6, 0);
    p->id = graft_view_const_i64(id, 2);
    p->softening = graft_view_const_f64(lengths, 2);
    p->target_index = graft_view_const_i32(index_from_1, 1);
    p->target_index.flags |= GRAFT_ARRAY_INDEX_FROM_1;
    p->particles.struct_size = sizeof p->particles;
    p->particles.n = 2;
    p->particles.position[0] = &p->position;
    p->particles.charge = &p->charge;
    p->results.struct_size = sizeof p->results;
    p->results.acceleration[0] = &p->acceleration;
    p->results.potential = &p->potential;
}

static void two_bodies(graft_context *context) {
    double time_s = -1;
    int64_t text = 0;
    problem p;
    describe(&p);
    p.particles.id = &p.id;
    p.results.energy = &p.energy;
    p.results.virial = &p.virial;
    expect(api->compute(context, &p.particles, &p.results) == GRAFT_OK, "compute");
    expect(near_to(a[0], 2 * 5.0 / 4) && near_to(a[3], -2 * 3.0 / 4), "accelerations");
    expect(near_to(phi[0], -2 * 5.0 / 2) && near_to(phi[1], -2 * 3.0 / 2), "potentials");
    expect(near_to(energy[0], -2 * 15.0 / 2) && near_to(virial[0], energy[0]), "energy and virial");
    expect(api->query(context, "time_s.total", &time_s) == GRAFT_OK && time_s >= 0, "query");
    expect(api->query_text(context, "", count_text, &text) == GRAFT_OK && text > 0, "query_text");
    describe(&p);
    p.acceleration.flags = GRAFT_ARRAY_ADD;
    p.results.flags = GRAFT_RESULTS_FORCE;
    p.particles.target_index = &p.target_index;
    expect(api->compute(context, &p.particles, &p.results) == GRAFT_OK, "compute, targets listed");
    expect(near_to(a[0], 2 * 5.0 / 4) && near_to(a[3], -2 * 3.0 / 4 - 5 * 2 * 3.0 / 4), "one force added, one array untouched");
    p.acceleration.flags = GRAFT_ARRAY_READ_ONLY;
    expect(api->compute(context, &p.particles, &p.results) == GRAFT_ERROR_ARRAY, "a read-only result");
    describe(&p);
    p.particles.charge = NULL;
    expect(api->compute(context, &p.particles, &p.results) == GRAFT_ERROR_ARGUMENT, "no charges");
    p.particles.charge_all = 1;
    expect(api->field_at(context, &p.particles, &p.particles, &p.results) == GRAFT_OK && near_to(a[0], 2 / 4.0), "field_at");
}

static void two_halves(graft_context *context) {
    int32_t done = -1;
    void *event = &done;
    problem p;
    describe(&p);
    p.results.flags = GRAFT_RESULTS_NO_REPAIR;
    expect(api->compute_begin(context, &p.particles, &p.results) == GRAFT_OK, "compute_begin");
    expect(api->compute_poll(context, &done) == GRAFT_OK && done == 1, "compute_poll");
    expect(api->compute_event(context, &event) == GRAFT_OK && event == NULL, "compute_event");
    expect(api->compute_end(context) == GRAFT_OK && near_to(a[0], 2 * 5.0 / 4), "compute_end");
    expect(api->context_set_stream(context, NULL) == GRAFT_OK, "context_set_stream");
    expect(api->context_set_device_allocator(context, NULL) == GRAFT_OK, "context_set_device_allocator");
    expect(api->context_release_memory(context) == GRAFT_OK, "context_release_memory");
}

static void box_and_units(graft_context *context) {
    graft_box box = GRAFT_INIT(graft_box);
    graft_units units = GRAFT_INIT(graft_units);
    problem p;
    box.lower[0] = box.lower[1] = box.lower[2] = -4;
    box.upper[0] = box.upper[1] = box.upper[2] = 4;
    describe(&p);
    expect(api->context_set_box(context, &box) == GRAFT_OK, "an open box");
    units.constant = 4;
    expect(api->context_set_units(context, &units) == GRAFT_OK, "units");
    expect(api->compute(context, &p.particles, &p.results) == GRAFT_OK && near_to(a[0], 4 * 5.0 / 4), "other units");
    expect(api->context_set_box(context, NULL) == GRAFT_OK, "no box");
}

static void domains(graft_context *context) {
    int32_t owner[2] = {-1, -1};
    int64_t order[2], offset[2], after = -1;
    double edges[6], moved[2] = {0, 0}, home[2] = {0, 0};
    graft_array owners = graft_view_i32(owner, 2), sorted = graft_view_i64(order, 2), offsets = graft_view_i64(offset, 2),
                boxes = graft_rows_f64(edges, 1, 6, 0), from = graft_view_const_f64(m, 2), to = graft_view_f64(moved, 2),
                back = graft_view_f64(home, 2);
    const graft_array *sent[1], *received[1], *returned[1];
    graft_decomposition found = GRAFT_INIT(graft_decomposition);
    graft_balancing balancing = GRAFT_INIT(graft_balancing);
    graft_objects objects = GRAFT_INIT(graft_objects);
    graft_comm_v1 *ranks[1] = {NULL};
    problem p;
    describe(&p);
    sent[0] = &from, received[0] = &to, returned[0] = &back;
    found.owner = &owners, found.permutation = &sorted, found.part_offset = &offsets, found.boxes = &boxes;
    balancing.owner = objects.owner = &owners;
    objects.n = 2;
    objects.position[0] = &p.position;
    expect(api->comm_create_threads(1, ranks) == GRAFT_OK && ranks[0]->size == 1, "comm_create_threads");
    expect(api->context_set_communicator(context, ranks[0]) == GRAFT_OK, "context_set_communicator");
    expect(api->decompose(context, &p.particles, &found) == GRAFT_OK, "decompose");
    expect(owner[0] == 0 && owner[1] == 0 && offset[0] == 0 && offset[1] == 2 && near_to(edges[3], 1), "its answer");
    expect(api->owner_of(context, &p.particles, &owners) == GRAFT_OK && owner[1] == 0, "owner_of");
    expect(api->balance(context, &p.particles, &balancing) == GRAFT_OK && owner[1] == 0, "balance");
    expect(api->balance_objects(context, &objects) == GRAFT_OK && owner[1] == 0, "balance_objects");
    expect(api->migrate_plan(context, &owners, &after) == GRAFT_OK && after == 2, "migrate_plan");
    expect(api->migrate(context, 1, sent, received) == GRAFT_OK && moved[1] == 5, "migrate");
    expect(api->migrate_back(context, 1, received, returned) == GRAFT_OK && home[1] == 5, "migrate_back");
    expect(api->context_set_communicator(context, NULL) == GRAFT_OK, "no communicator");
    ranks[0]->comm_free(ranks[0]);
}

static void near_field(graft_context *context) {
    int32_t offset[2] = {0, 2}, list_offset[2] = {0, 1}, list[1] = {0};
    graft_array offsets = graft_view_const_i32(offset, 2), list_offsets = graft_view_const_i32(list_offset, 2),
                lists = graft_view_const_i32(list, 1);
    graft_near_field field = GRAFT_INIT(graft_near_field);
    graft_near_sums sums = GRAFT_INIT(graft_near_sums);
    graft_near_plan *plan = NULL;
    problem p;
    describe(&p);
    field.dimension = 3;
    field.kernel = GRAFT_NEAR_LAPLACE;
    field.outputs = GRAFT_NEAR_POTENTIAL | GRAFT_NEAR_GRADIENT;
    field.precision = GRAFT_PRECISION_FP64;
    field.boxes = GRAFT_NEAR_BOXES_LISTS;
    field.target_count = 2;
    field.target_position[0] = &p.position;
    field.target_offset = &offsets, field.neighbour_offset = &list_offsets, field.neighbour = &lists;
    sums.charge[0] = &p.charge;
    sums.potential[0] = &p.potential;
    sums.gradient[0] = &p.acceleration;
    expect(api->near_field_create(context, &field, &plan) == GRAFT_OK, "near_field_create");
    expect(api->near_field_execute(context, plan, &sums) == GRAFT_OK && near_to(phi[0], 5.0 / 2), "near_field_execute");
    p.potential.flags = GRAFT_ARRAY_ADD;
    expect(api->near_field_begin(context, plan, &sums) == GRAFT_OK && api->near_field_end(context, plan) == GRAFT_OK, "two halves");
    expect(near_to(phi[0], 5.0) && near_to(a[0], 5.0 / 4), "one array added to, one overwritten");
    expect(api->near_field_update(context, plan, &field) == GRAFT_OK, "near_field_update");
    expect(api->near_field_destroy(context, &plan) == GRAFT_OK && plan == NULL, "near_field_destroy");
}

static graft_options *options_of_that_day(void) {
    graft_options *options = NULL;
    int64_t text = 0, whole = -1;
    double real = -1;
    char word[32] = "";
    expect(api->options_create(&options) == GRAFT_OK, "options_create");
    expect(api->options_set(options, "method", "direct") == GRAFT_OK, "options_set");
    expect(api->options_set(options, "precision", "fp64") == GRAFT_OK && api->options_set(options, "backend", "cpu") == GRAFT_OK,
           "words");
    expect(api->options_set(options, "balance.cost", "count") == GRAFT_OK, "a word of a section");
    expect(api->options_set_int64(options, "order", 1) == GRAFT_OK && api->options_get_int64(options, "order", &whole) == GRAFT_OK &&
               whole == 1, "a whole number");
    expect(api->options_set_double(options, "constant", 2) == GRAFT_OK &&
               api->options_get_double(options, "constant", &real) == GRAFT_OK && near_to(real, 2), "a real number");
    expect(api->options_read_text(options, "mac: {theta: 0.5}", 17, "deck") == GRAFT_OK, "options_read_text");
    expect(api->options_read_file(options, "/no/such/deck.yaml") == GRAFT_ERROR_DECK_FILE, "options_read_file");
    expect(api->options_get(options, "mac.theta", word, sizeof word, NULL) == GRAFT_OK && strcmp(word, "0.5") == 0, "options_get");
    expect(api->options_explain(GRAFT_EXPLAIN_TEXT, count_text, &text) == GRAFT_OK && text > 1000, "options_explain");
    expect(api->run_tool("info", "", count_text, &text) == GRAFT_OK, "run_tool");
    return options;
}

static void settings_of(graft_context *context) {
    char word[256] = "";
    int64_t lines = 0, needed = 0;
    expect(api->context_set_log(context, count_line, &lines, GRAFT_LOG_DEBUG) == GRAFT_OK, "context_set_log");
    expect(api->context_set(context, "mac.theta", "0.25") == GRAFT_OK, "context_set");
    expect(api->context_get(context, "mac.theta", word, sizeof word, NULL) == GRAFT_OK && strcmp(word, "0.25") == 0, "context_get");
    expect(api->context_set(context, "mac.theta", "wide") == GRAFT_ERROR_DECK_TYPE, "a wrong value");
    expect(api->context_error(context, NULL, 0, &needed) == GRAFT_OK && needed > 10, "context_error");
    two_bodies(context);
    two_halves(context);
    expect(lines >= 0 && api->context_set_log(context, NULL, NULL, 0) == GRAFT_OK, "no log");
}

int main(int argc, char **argv) {
    graft_get_api_function get_api;
    graft_options *options;
    graft_context *context = NULL;
    void *library = dlopen(argc > 1 ? argv[1] : "libgraft.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, "graft_get_api") : NULL;
    if (symbol == NULL) {
        printf("no graft_get_api: %s\n", dlerror());
        return 2;
    }
    memcpy(&get_api, &symbol, sizeof get_api);
    if (get_api(GRAFT_ABI_MAJOR + 1, sizeof *api) != NULL || get_api(GRAFT_ABI_MAJOR, 0) != NULL)
        return 3;
    api = get_api(GRAFT_ABI_MAJOR, sizeof *api);
    if (api == NULL || api->struct_size < sizeof *api || api->abi_major != 1)
        return 4;
    expect(strcmp(api->status_text(GRAFT_ERROR_ARRAY), "unknown status") != 0 && api->version() != NULL, "texts");
    options = options_of_that_day();
    expect(api->context_create(options, NULL, &context) == GRAFT_OK, "context_create");
    if (context != NULL) {
        settings_of(context);
        domains(context);
        near_field(context);
        box_and_units(context);
    }
    expect(api->context_destroy(&context) == GRAFT_OK && context == NULL, "context_destroy");
    expect(api->options_destroy(&options) == GRAFT_OK && options == NULL, "options_destroy");
    return failures != 0;
}
