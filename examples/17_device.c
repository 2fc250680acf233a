/* SPDX-License-Identifier: BSD-3-Clause */
/* A GPU-resident C host: particles live in device memory, work goes to the host's own stream, nothing is
 * copied through the host. A time step with the force computed in two halves: the host is free between them.
 * Two bodies on a circular orbit come back to where they began. Needs the CUDA run time (libcudart), not its
 * compiler. */
#include <graft/graft.h>
#include <graft/graft_loader.h>

#include <cuda_runtime_api.h>

#include <math.h>
#include <stdio.h>

enum { no_device = 77 }; /* what CTest takes as "skipped" */

static const graft_api_v1* api;

static int failed(int32_t status) {
    if (status != GRAFT_OK)
        fprintf(stderr, "graft: %s\n", api->last_error());
    return status != GRAFT_OK;
}

static int cuda_failed(cudaError_t error) {
    if (error != cudaSuccess)
        fprintf(stderr, "cuda: %s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}

/* xyz(3, n) in device memory, as float. */
static graft_array device_vectors(float* data, int64_t n) {
    graft_array a = graft_rows_f32(data, n, 3, 3);
    a.memory = GRAFT_MEMORY_DEVICE; /* GRAFT_MEMORY_AUTO, as it was: the library asks the GPU's driver */
    return a;
}

/* Kick and drift belong on the device, too, in a real host; two bodies can be stepped here. */
static void step(float* x, float* v, const float* a, float dt, int first) {
    for (int k = 0; k < 6; ++k) {
        v[k] += (first ? 0.5f : 1.0f) * dt * a[k];
        x[k] += dt * v[k];
    }
}

static int orbit(graft_context* context, cudaStream_t stream, float* device) {
    const int steps = 2000;
    const float dt = 6.2831853f / 2000;
    const float start[6] = {-0.5f, 0, 0, 0.5f, 0, 0};
    float x[6], v[6] = {0, -0.5f, 0, 0, 0.5f, 0}, a[6];
    const graft_array positions = device_vectors(device, 2), accelerations = device_vectors(device + 6, 2);
    graft_particles particles = {0};
    graft_results results = {0};
    particles.struct_size = sizeof particles;
    particles.n = 2;
    particles.position[0] = &positions;
    particles.charge_all = 0.5; /* masses */
    results.struct_size = sizeof results;
    results.acceleration[0] = &accelerations;
    for (int k = 0; k < 6; ++k)
        x[k] = start[k];
    for (int i = 0; i < steps; ++i) {
        if (cuda_failed(cudaMemcpyAsync(device, x, sizeof x, cudaMemcpyHostToDevice, stream)) ||
            failed(api->compute_begin(context, &particles, &results)))
            return 1;
        /* The host is free to do other work here, while the GPU computes. */
        if (failed(api->compute_end(context)) ||
            cuda_failed(cudaMemcpyAsync(a, device + 6, sizeof a, cudaMemcpyDeviceToHost, stream)) ||
            cuda_failed(cudaStreamSynchronize(stream)))
            return 1;
        step(x, v, a, dt, i == 0);
    }
    const double off = hypot(x[0] - start[0], x[1] - start[1]);
    printf("after one orbit the first body is %.5f from where it began, of 3.14159 gone\n", off);
    return off > 0.01;
}

int main(void) {
    int devices = 0;
    char why[1024];
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no CUDA device here\n");
        return no_device;
    }
    if (graft_load(NULL, &api, why, sizeof why) != GRAFT_OK) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    graft_options* options = NULL;
    graft_context* context = NULL;
    cudaStream_t stream = NULL;
    float* device = NULL; /* positions, then accelerations */
    if (failed(api->options_create(&options)) || failed(api->options_set(options, "backend", "gpu")) ||
        failed(api->context_create(options, NULL, &context)) || cuda_failed(cudaStreamCreate(&stream)) ||
        failed(api->context_set_stream(context, stream)) ||
        cuda_failed(cudaMalloc((void**)&device, 12 * sizeof(float))))
        return 1;
    const int wrong = orbit(context, stream, device);
    double waits = 0;
    if (failed(api->query(context, "device.waits", &waits)))
        return 1;
    printf("blocking waits of the library in 2000 computations: %.0f\n", waits);
    api->context_destroy(&context);
    api->options_destroy(&options);
    cudaFree(device);
    cudaStreamDestroy(stream);
    return wrong;
}
