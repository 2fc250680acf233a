// SPDX-License-Identifier: BSD-3-Clause
// The smallest host on a GPU: positions and accelerations stay in device memory, Graft reads and writes them there, on the host's
// stream. A ring of equal masses: the accelerations are known. Needs the CUDA run time, not its compiler.
#include <graft/graft.hpp>

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <vector>

int main() try {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("no CUDA device here");
        return 77; // CTest: skipped
    }
    const int64_t n = 1000;
    const double pi = std::acos(-1.0);
    std::vector<double> ring(3 * n), a(3 * n);
    double expected = 0; // of one mass on the ring: sum over the others of 1 / (4 n sin(pi k / n))
    for (int64_t i = 0; i < n; ++i) {
        ring[3 * i] = std::cos(2 * pi * i / n), ring[3 * i + 1] = std::sin(2 * pi * i / n);
        expected += i > 0 ? 1 / (4 * n * std::sin(pi * i / n)) : 0;
    }
    double *x = nullptr, *acceleration = nullptr;
    cudaStream_t stream = nullptr;
    const size_t bytes = 3 * n * sizeof(double);
    if (cudaMalloc(reinterpret_cast<void**>(&x), bytes) != cudaSuccess ||
        cudaMalloc(reinterpret_cast<void**>(&acceleration), bytes) != cudaSuccess ||
        cudaStreamCreate(&stream) != cudaSuccess)
        return 1;
    cudaMemcpyAsync(x, ring.data(), bytes, cudaMemcpyHostToDevice, stream);

    graft::Options options(graft::Library::load());
    options.set("backend", "gpu").set("precision", "fp64").set("mac.theta", 0.3).set("mac.type", "edge");
    graft::Context gravity(options);
    gravity.set_stream(stream);
    const graft_array positions = graft::in_memory(graft::view(x, n, 3), GRAFT_MEMORY_DEVICE);
    const graft_array field = graft::in_memory(graft::view(acceleration, n, 3), GRAFT_MEMORY_DEVICE);
    gravity.compute_begin(graft::Particles().positions(positions).charge_all(1.0 / n),
                          graft::Results().accelerations(field)); // returns at once; work of yours may go here
    gravity.compute_end();

    cudaMemcpyAsync(a.data(), acceleration, bytes, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    std::printf("%s: acceleration %.6f, formula %.6f\n", gravity.query_text("device").c_str(), -a[0], expected);
    return std::abs(-a[0] / expected - 1) < 1e-3 ? 0 : 1;
} catch (const graft::Error& error) {
    std::fprintf(stderr, "graft: %s\n", error.what());
    return 1;
}
