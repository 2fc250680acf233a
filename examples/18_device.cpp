// SPDX-License-Identifier: BSD-3-Clause
// A GPU-resident C++ host: device spans in, device spans out, on its own stream; then the same from managed
// memory, and a wrong pointer that is refused by name. Plummer's sphere: its energy is known.
#include <graft/graft.hpp>

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

void require(cudaError_t error) {
    if (error != cudaSuccess)
        throw std::runtime_error(cudaGetErrorString(error));
}

/// Device memory that is freed; columns of n floats.
class Columns {
  public:
    Columns(int64_t n, int columns) : n_(n) {
        require(
            cudaMalloc(reinterpret_cast<void**>(&data_), static_cast<size_t>(n * columns) * sizeof(float)));
    }
    ~Columns() { cudaFree(data_); }
    Columns(const Columns&) = delete;
    Columns& operator=(const Columns&) = delete;
    graft::DeviceSpan<float> operator[](int column) const { return {data_ + column * n_, n_, 0}; }

  private:
    float* data_ = nullptr;
    int64_t n_;
};

/// Positions x, y, z of Plummer's sphere with scale radius 1, one column after the other.
std::vector<float> plummer(int64_t n) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform(1e-9, 0.9999);
    std::vector<float> xyz(static_cast<size_t>(3 * n));
    for (int64_t i = 0; i < n; ++i) {
        const double r = 1 / std::sqrt(std::pow(uniform(random), -2.0 / 3.0) - 1);
        const double c = 2 * uniform(random) - 1, phi = 6.283185307179586 * uniform(random);
        const double s = std::sqrt(1 - c * c);
        const double p[3] = {r * s * std::cos(phi), r * s * std::sin(phi), r * c};
        for (int64_t axis = 0; axis < 3; ++axis)
            xyz[static_cast<size_t>(axis * n + i)] = static_cast<float>(p[axis]);
    }
    return xyz;
}

bool compute(graft::Context& gravity, cudaStream_t stream, int64_t n) {
    const std::vector<float> xyz = plummer(n);
    const Columns columns(n, 6);
    const auto x = columns[0], y = columns[1], z = columns[2], ax = columns[3], ay = columns[4],
               az = columns[5];
    require(
        cudaMemcpyAsync(x.pointer, xyz.data(), xyz.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
    double energy = 0;
    const auto particles = graft::Particles().positions(x, y, z).charge_all(1.0 / static_cast<double>(n));
    gravity.compute_begin(particles, graft::Results().accelerations(ax, ay, az).energy(energy));
    gravity.compute_end(); // energy is the host's: complete from here on
    const double expected = -3 * std::acos(-1.0) / 32;
    std::printf("potential energy %.5f, formula %.5f; time %.3g s on the %s\n", energy, expected,
                gravity.query("time_s.total"), gravity.query_text("device").c_str());

    float* managed = nullptr;
    require(
        cudaMallocManaged(reinterpret_cast<void**>(&managed), static_cast<size_t>(3 * n) * sizeof(float)));
    const graft_array field = graft::in_memory(graft::view(managed, n, 3), GRAFT_MEMORY_MANAGED);
    gravity.compute(particles, graft::Results().accelerations(field));
    float first = 0;
    require(cudaMemcpy(&first, ax.pointer, sizeof first, cudaMemcpyDefault));
    const bool same = first == managed[0]; // readable here: managed memory, and compute has returned
    require(cudaFree(managed));
    return std::abs(energy / expected - 1) < 0.02 && same;
}

} // namespace

int main() try {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("no CUDA device here\n");
        return 77; // CTest: skipped
    }
    graft::Options options(graft::Library::load());
    options.set("backend", "gpu").set("mac.accuracy", 1e-3);
    graft::Context gravity(options);
    cudaStream_t stream = nullptr;
    require(cudaStreamCreate(&stream));
    gravity.set_stream(stream);
    const bool right = compute(gravity, stream, 100000);

    std::vector<float> host(30, 1.0f);
    bool refused = false;
    try {
        const graft::DeviceSpan<float> not_there{host.data(), 10, 0};
        gravity.compute(graft::Particles().positions(not_there, not_there, not_there), graft::Results());
    } catch (const graft::Error& error) {
        refused = error.status() == GRAFT_ERROR_ARRAY;
        std::printf("as it should: %s\n", error.what());
    }
    gravity.set_stream(nullptr);
    require(cudaStreamDestroy(stream));
    return right && refused ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
