/* A host from the day of the first header: it is compiled against tests/abi/frozen/ (never edited again) and must run
 * with every later library of this ABI major. It fills every struct as that day's documentation says. */
#include <graft/graft.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int condition, const char *what, const graft_api_v1 *api) {
    if (!condition) {
        printf("violated: %s (%s)\n", what, api->last_error());
        ++failures;
    }
}

static void count_text(void *user, const char *text, int64_t bytes) {
    (void)text;
    *(int64_t *)user += bytes;
}

static graft_array view(void *data, int32_t components, int64_t n) {
    graft_array array = {0};
    array.struct_size = sizeof array;
    array.data = data;
    array.dtype = GRAFT_F64;
    array.memory = GRAFT_MEMORY_HOST;
    array.components = components;
    array.n = n;
    array.bytes = n * components * 8;
    return array;
}

/* Two masses at distance 2: each is pulled with constant * m / 4 toward the other. */
static void two_bodies(const graft_api_v1 *api, graft_context *context) {
    double x[6] = {-1, 0, 0, 1, 0, 0}, m[2] = {3, 5}, a[6] = {0}, potential[2] = {0}, time_s = -1;
    int64_t text = 0;
    graft_array position = view(x, 3, 2), charge = view(m, 1, 2), field = view(a, 3, 2), phi = view(potential, 1, 2);
    graft_particles particles = {0};
    graft_results results = {0};
    particles.struct_size = sizeof particles;
    results.struct_size = sizeof results;
    particles.n = 2;
    particles.position[0] = &position;
    particles.charge = &charge;
    results.acceleration[0] = &field;
    results.potential = &phi;
    expect(api->compute(context, &particles, &results) == GRAFT_OK, "compute", api);
    expect(fabs(a[0] - 2 * 5.0 / 4) < 1e-12 && fabs(a[3] + 2 * 3.0 / 4) < 1e-12, "accelerations", api);
    expect(fabs(potential[0] + 2 * 5.0 / 2) < 1e-12 && fabs(potential[1] + 2 * 3.0 / 2) < 1e-12, "potentials", api);
    expect(api->query(context, "time_s.total", &time_s) == GRAFT_OK && time_s >= 0, "query", api);
    expect(api->query_text(context, "", count_text, &text) == GRAFT_OK && text > 0, "query_text", api);
}

int main(int argc, char **argv) {
    const graft_api_v1 *api = NULL;
    graft_get_api_function get_api;
    graft_options_values values = {0};
    graft_options *options = NULL;
    graft_context *context = NULL;
    int64_t text = 0;
    void *library = dlopen(argc > 1 ? argv[1] : "libgraft.so.0", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, "graft_get_api") : NULL;
    if (symbol == NULL)
        return 2;
    memcpy(&get_api, &symbol, sizeof get_api);
    if (get_api(GRAFT_ABI_MAJOR + 1, sizeof *api) != NULL || get_api(GRAFT_ABI_MAJOR, 0) != NULL)
        return 3;
    api = get_api(GRAFT_ABI_MAJOR, sizeof *api);
    if (api == NULL || api->struct_size < sizeof *api || api->abi_major != 1)
        return 4;
    values.struct_size = sizeof values;
    expect(api->options_create(&options) == GRAFT_OK, "options_create", api);
    expect(api->options_read_struct(options, &values) == GRAFT_OK, "options_read_struct", api);
    values.method = GRAFT_METHOD_DIRECT;
    values.precision = GRAFT_PRECISION_FP64;
    expect(api->options_write_struct(options, &values) == GRAFT_OK, "options_write_struct", api);
    expect(api->options_set(options, "constant", "2") == GRAFT_OK, "options_set", api);
    expect(api->options_explain(0, count_text, &text) == GRAFT_OK && text > 1000, "options_explain", api);
    expect(api->context_create(options, NULL, &context) == GRAFT_OK, "context_create", api);
    if (context != NULL)
        two_bodies(api, context);
    expect(api->context_destroy(&context) == GRAFT_OK && context == NULL, "context_destroy", api);
    expect(api->options_destroy(&options) == GRAFT_OK && options == NULL, "options_destroy", api);
    return failures != 0;
}
