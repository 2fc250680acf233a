/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library says of a libgraft_cuda.so that will not do: in `graft info`, for backend gpu, and with auto, which
 * computes all the same; and that backend cpu never looks.
 * usage: cuda_search_test LIBGRAFT WORDS...     environment: GRAFT_CUDA_LIBRARY. Each of WORDS must be in the reason. */
#include "graft_loader.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const graft_api_v1 *api;
static int wrong;

static void expect(int holds, const char *what, const char *found) {
    if (!holds) {
        printf("wrong: %s; found: %s\n", what, found);
        ++wrong;
    }
}

static void keep(void *user, const char *text, int64_t bytes) {
    snprintf((char *)user, 4096, "%.*s", (int)bytes, text);
}

static graft_context *create(const char *backend, int32_t expected) {
    graft_options *options = NULL;
    graft_context *context = NULL;
    expect(api->options_create(&options) == GRAFT_OK, "options", api->last_error());
    expect(api->options_set(options, "backend", backend) == GRAFT_OK, "options_set", api->last_error());
    expect(api->context_create(options, NULL, &context) == expected, backend, api->last_error());
    api->options_destroy(&options);
    return context;
}

/* Two bodies at distance 2. */
static void compute(graft_context *context) {
    double x[6] = {0, 0, 0, 2, 0, 0}, a[6] = {0};
    graft_array in = {0}, out;
    graft_particles particles = {0};
    graft_results results = {0};
    in.struct_size = sizeof in;
    in.data = x;
    in.dtype = GRAFT_F64;
    in.memory = GRAFT_MEMORY_HOST;
    in.components = 3;
    in.n = 2;
    in.bytes = sizeof x;
    out = in;
    out.data = a;
    particles.struct_size = sizeof particles;
    particles.n = 2;
    particles.position[0] = &in;
    particles.charge_all = 1;
    results.struct_size = sizeof results;
    results.acceleration[0] = &out;
    expect(api->compute(context, &particles, &results) == GRAFT_OK, "compute", api->last_error());
    expect(fabs(a[0] - 0.25) < 1e-6, "the force", "another one");
}

static int opened(const char *library) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    if (handle != NULL)
        dlclose(handle);
    return handle != NULL;
}

int main(int count, char **words) {
    char text[4096] = "";
    const char *fake = getenv("GRAFT_CUDA_LIBRARY");
    if (count < 2 || graft_load(words[1], &api, text, sizeof text) != GRAFT_OK) {
        printf("%s\n", text);
        return 1;
    }
    graft_context *context = create("cpu", GRAFT_OK);
    compute(context);
    api->context_destroy(&context);
    expect(!opened(fake), "backend cpu never looks for a GPU", fake);
    expect(create("gpu", GRAFT_ERROR_DEVICE) == NULL, "no context", "one");
    for (int k = 2; k < count; ++k)
        expect(strstr(api->last_error(), words[k]) != NULL, words[k], api->last_error());
    context = create("auto", GRAFT_OK);
    compute(context);
    expect(api->query_text(context, "backend", keep, text) == GRAFT_OK && strcmp(text, "cpu") == 0, "auto", text);
    api->context_destroy(&context);
    expect(api->run_tool("info", "", keep, text) == GRAFT_OK, "info", api->last_error());
    expect(strstr(text, "\"gpu\":{\"usable\":false,\"why\":") != NULL, "info says that there is none", text);
    for (int k = 2; k < count; ++k)
        expect(strstr(text, words[k]) != NULL, words[k], text);
    return wrong != 0;
}
