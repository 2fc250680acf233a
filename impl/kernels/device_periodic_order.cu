// See device_periodic_order.cuh; and the particles' way into the box.
#include "kernels/device_periodic_order.cuh"

#include "backend/device_primitives.cuh"

#include <algorithm>
#include <bit>

namespace graft::kernels {

namespace {

constexpr int threads = 256;

/// Spreads 10 bits to every third one.
__device__ uint32_t spread(uint32_t v) {
    v = (v | v << 16) & 0x030000ff;
    v = (v | v << 8) & 0x0300f00f;
    v = (v | v << 4) & 0x030c30c3;
    return (v | v << 2) & 0x09249249;
}

__global__ void make_keys(const DeviceSources from, const geometry::Lattice box, int bits, uint32_t* keys,
                          int32_t* index) {
    const int64_t k = blockIdx.x * int64_t{threads} + threadIdx.x;
    if (k >= from.n)
        return;
    const geometry::Vec3 f = box.fractions(from.x[k], from.y[k], from.z[k]);
    const auto cell = [&](double value) { // NaN of a stopped computation: 0
        return spread(static_cast<uint32_t>(fmin(fmax(value, 0.0), 0.999999) * (1 << bits)));
    };
    keys[k] = cell(f.x) << 2 | cell(f.y) << 1 | cell(f.z);
    index[k] = static_cast<int32_t>(k);
}

struct Ordered {
    double *x, *y, *z, *charge, *softening;
};

/// Entry k of the order; a warp has a chunk.
__global__ void gather_chunks(const DeviceSources from, const int32_t* order, const geometry::Lattice box,
                              const Ordered to, SourceChunk* chunks) {
    const int64_t k = blockIdx.x * int64_t{threads} + threadIdx.x;
    if (k / chunk_sources * chunk_sources >= from.n)
        return;
    const int32_t j = order[min(k, from.n - 1)];
    double lower[3] = {from.x[j], from.y[j], from.z[j]}, upper[3] = {lower[0], lower[1], lower[2]};
    if (k < from.n) {
        to.x[k] = lower[0], to.y[k] = lower[1], to.z[k] = lower[2];
        if (to.charge != nullptr)
            to.charge[k] = from.charge[j];
        if (to.softening != nullptr)
            to.softening[k] = from.softening[j];
    }
    if (chunks == nullptr)
        return;
    for (int step = 16; step > 0; step /= 2)
        for (int a = 0; a < 3; ++a) {
            lower[a] = fmin(lower[a], __shfl_xor_sync(~0u, lower[a], step));
            upper[a] = fmax(upper[a], __shfl_xor_sync(~0u, upper[a], step));
        }
    if (threadIdx.x % chunk_sources != 0)
        return;
    SourceChunk chunk;
    for (int a = 0; a < 3; ++a)
        chunk.centre[a] = 0.5 * lower[a] + 0.5 * upper[a], chunk.half[a] = 0.5 * (upper[a] - lower[a]);
    for (int a = 0; a < 3; ++a) {
        const geometry::Vec3 g = box.reciprocal(a == 0, a == 1, a == 2);
        chunk.extent[a] =
            (1 + 1e-9) * (fabs(g.x) * chunk.half[0] + fabs(g.y) * chunk.half[1] + fabs(g.z) * chunk.half[2]);
    }
    chunks[k / chunk_sources] = chunk;
}

__global__ void wrap(const geometry::Lattice box, int64_t n, double* x, double* y, double* z,
                     const double* softening, double longest, backend::DeviceStatus* status) {
    const int64_t k = blockIdx.x * int64_t{threads} + threadIdx.x;
    if (k >= n)
        return;
    box.wrap(x[k], y[k], z[k]);
    if (softening != nullptr && softening[k] > longest) {
        atomicMax(reinterpret_cast<long long*>(&status->spare[longest_softening_word]),
                  __double_as_longlong(softening[k])); // of positive numbers the order is theirs
        backend::stop_with(status, backend::too_small);
    }
}

} // namespace

PeriodicOrder::PeriodicOrder(backend::DeviceMemory& memory)
    : keys_(memory, "keys of a periodic box"), sorted_(memory, "keys of a periodic box"),
      index_(memory, "order in a periodic box"), order_(memory, "order in a periodic box"),
      x_(memory, "sorted x"), y_(memory, "sorted y"), z_(memory, "sorted z"),
      charge_(memory, "sorted charges"), softening_(memory, "sorted softening") {}

DeviceSources PeriodicOrder::sort(backend::Queue& queue, const geometry::Lattice& box,
                                  const DeviceSources& from, SourceChunk* chunks) {
    const int64_t n = from.n;
    keys_.resize(n), sorted_.resize(n), index_.resize(n), order_.resize(n);
    x_.resize(n), y_.resize(n), z_.resize(n);
    charge_.resize(from.charge != nullptr ? n : 0);
    softening_.resize(from.softening != nullptr ? n : 0);
    const unsigned blocks = backend::blocks_for(n, threads);
    const int bits = std::min(10, (static_cast<int>(std::bit_width(static_cast<uint64_t>(n))) + 2) / 3 + 1);
    make_keys<<<blocks, threads, 0, queue.stream()>>>(from, box, bits, keys_.data(), index_.data());
    GRAFT_CUDA_LAUNCHED("keys of a periodic box");
    backend::sort_pairs(queue, keys_.data(), sorted_.data(), index_.data(), order_.data(), n, 0, 3 * bits);
    double* const charge = from.charge != nullptr ? charge_.data() : nullptr;
    double* const softening = from.softening != nullptr ? softening_.data() : nullptr;
    gather_chunks<<<blocks, threads, 0, queue.stream()>>>(
        from, order_.data(), box, {x_.data(), y_.data(), z_.data(), charge, softening}, chunks);
    GRAFT_CUDA_LAUNCHED("chunks of sources");
    queue.launches += 2;
    return {x_.data(), y_.data(), z_.data(), charge, softening, n};
}

void wrap_into_box(backend::Queue& queue, const geometry::Lattice& box, int64_t n, double* x, double* y,
                   double* z, const double* softening, double longest) {
    if (n == 0)
        return;
    wrap<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(box, n, x, y, z, softening, longest,
                                                                          queue.status());
    GRAFT_CUDA_LAUNCHED("particles into the box");
    ++queue.launches;
}

} // namespace graft::kernels
