// SPDX-License-Identifier: BSD-3-Clause
// See box_order_gpu.cuh; and the particles' way into the box.
#include "periodic/box_order_gpu.cuh"

#include "backend/primitives_gpu.cuh"
#include "geometry/hilbert.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

namespace {

constexpr int threads = 256;

constexpr int most_bits = 10; // of a coordinate

/// hilbert_detail's steps: the digit, and the next state times 256, by state and Morton digit.
struct Curve {
    static constexpr int states = 24, digits = 8;
    uint16_t step[states * digits];
};

Curve make_curve() {
    const auto& table = geometry::hilbert_detail::tables<3>.from_morton;
    static_assert(sizeof table == Curve::states * Curve::digits * sizeof(geometry::hilbert_detail::Step));
    Curve curve;
    for (size_t k = 0; k < Curve::states * Curve::digits; ++k) {
        const geometry::hilbert_detail::Step& step = table[k / Curve::digits][k % Curve::digits];
        curve.step[k] = static_cast<uint16_t>(step.digit | step.state << 8);
    }
    return curve;
}

/// Cubic cells of the box: fractions times `cells`, which are 2^bits along the longest edge.
struct Cells {
    geometry::Lattice box;
    double cells[3];
    int bits;
};

__global__ void make_keys(const forces::DeviceSources from, const Cells in, const __grid_constant__ Curve curve,
                          uint32_t* keys, int32_t* index) {
    __shared__ uint16_t steps[Curve::states * Curve::digits]; // lanes look up different ones
    for (int w = threadIdx.x; w < Curve::states * Curve::digits; w += threads)
        steps[w] = curve.step[w];
    __syncthreads();
    const int64_t k = blockIdx.x * int64_t{threads} + threadIdx.x;
    if (k >= from.n)
        return;
    const geometry::Vec3 f = in.box.fractions(from.x[k], from.y[k], from.z[k]);
    const auto place = [](double value, double cells) { // NaN of a stopped computation: 0
        return static_cast<uint32_t>(fmin(fmax(value, 0.0), 0.999999) * cells);
    };
    const uint32_t cell[3] = {place(f.x, in.cells[0]), place(f.y, in.cells[1]), place(f.z, in.cells[2])};
    uint32_t key = 0, state = 0;
    for (int b = in.bits - 1; b >= 0; --b) {
        const uint32_t digit = (cell[0] >> b & 1) << 2 | (cell[1] >> b & 1) << 1 | (cell[2] >> b & 1);
        const uint32_t step = steps[state * Curve::digits + digit];
        key = key << 3 | (step & 0xff);
        state = step >> 8;
    }
    keys[k] = key;
    index[k] = static_cast<int32_t>(k);
}

/// So many that a particle of a uniform box has about eight.
Cells make_cells(const geometry::Lattice& box, int64_t n) {
    Cells to{box, {}, 1};
    const double longest = std::max({box.edge[0], box.edge[1], box.edge[2]});
    const double wanted = 8 * static_cast<double>(n) * longest * longest * longest / box.volume();
    to.bits = std::clamp(static_cast<int>(std::ceil(std::log2(wanted) / 3)), 1, most_bits);
    for (int a = 0; a < 3; ++a)
        to.cells[a] = std::ldexp(box.edge[a] / longest, to.bits);
    return to;
}

/// Bits at the end of a key that the sort leaves out: those of a third pass, where two particles on average share the cells that
/// are left at most. Of more particles a pass is a small part of the whole, and chunks of a clump would be larger.
int unsorted_bits(int64_t n, const Cells& cells) {
    constexpr int two_passes = 16;
    const int spare = 3 * cells.bits - two_passes;
    const double per_cell = static_cast<double>(n) / (std::ldexp(cells.cells[0], -spare) * cells.cells[1] * cells.cells[2]);
    return spare > 0 && spare < 8 && per_cell <= 2 ? spare : 0;
}

struct Ordered {
    double *x, *y, *z, *charge, *softening;
};

/// The box around those of a warp's lanes.
__device__ SourceChunk unite(const geometry::Lattice& box, double (&lower)[3], double (&upper)[3]) {
    for (int step = 16; step > 0; step /= 2)
        for (int a = 0; a < 3; ++a) {
            lower[a] = fmin(lower[a], __shfl_xor_sync(~0u, lower[a], step));
            upper[a] = fmax(upper[a], __shfl_xor_sync(~0u, upper[a], step));
        }
    SourceChunk chunk;
    for (int a = 0; a < 3; ++a)
        chunk.centre[a] = 0.5 * lower[a] + 0.5 * upper[a], chunk.half[a] = 0.5 * (upper[a] - lower[a]);
    for (int a = 0; a < 3; ++a) {
        const geometry::Vec3 g = box.reciprocal(a == 0, a == 1, a == 2);
        chunk.extent[a] =
            (1 + 1e-9) * (fabs(g.x) * chunk.half[0] + fabs(g.y) * chunk.half[1] + fabs(g.z) * chunk.half[2]);
    }
    return chunk;
}

/// Entry k of the order; a warp has a chunk.
__global__ void gather_chunks(const forces::DeviceSources from, const int32_t* order, const geometry::Lattice box,
                              const Ordered to, const ChunkOutput out) {
    const int64_t k = blockIdx.x * int64_t{threads} + threadIdx.x;
    if (k / chunk_sources * chunk_sources >= from.n)
        return;
    const int32_t j = order[min(k, from.n - 1)];
    const double at[3] = {from.x[j], from.y[j], from.z[j]};
    if (k < from.n) {
        to.x[k] = at[0], to.y[k] = at[1], to.z[k] = at[2];
        if (to.charge != nullptr)
            to.charge[k] = from.charge[j];
        if (to.softening != nullptr)
            to.softening[k] = from.softening[j];
    }
    if (out.chunks == nullptr)
        return;
    double lower[3] = {at[0], at[1], at[2]}, upper[3] = {at[0], at[1], at[2]};
    const SourceChunk chunk = unite(box, lower, upper);
    if (threadIdx.x % chunk_sources == 0)
        out.chunks[k / chunk_sources] = chunk;
    if (out.near_centre == nullptr || k >= from.n)
        return;
    ChunkSource source;
    source.x = split_float((at[0] - chunk.centre[0]) * out.scale, source.rest[0]);
    source.y = split_float((at[1] - chunk.centre[1]) * out.scale, source.rest[1]);
    source.z = split_float((at[2] - chunk.centre[2]) * out.scale, source.rest[2]);
    source.q = static_cast<float>(from.charge[j] * out.charge_scale);
    source.print = fingerprint(at[0], at[1], at[2]);
    out.near_centre[k] = source;
}

/// A warp for 32 chunks.
__global__ void unite_chunks(const SourceChunk* chunks, int64_t count, const geometry::Lattice box, SourceChunk* supers) {
    const int64_t k = blockIdx.x * int64_t{threads} + threadIdx.x;
    if (k / 32 * 32 >= count)
        return;
    const SourceChunk& own = chunks[min(k, count - 1)];
    double lower[3], upper[3];
    for (int a = 0; a < 3; ++a) {
        const double margin = 1e-15 * (fabs(own.centre[a]) + own.half[a]); // centre and half were rounded
        lower[a] = own.centre[a] - own.half[a] - margin, upper[a] = own.centre[a] + own.half[a] + margin;
    }
    const SourceChunk super = unite(box, lower, upper);
    if (threadIdx.x % 32 == 0)
        supers[k / 32] = super;
}

__global__ void wrap(const geometry::Lattice box, int open_axis, int64_t n, double* x, double* y, double* z) {
    const int64_t k = blockIdx.x * int64_t{threads} + threadIdx.x;
    if (k < n)
        box.wrap(x[k], y[k], z[k], open_axis);
}

} // namespace

PeriodicOrder::PeriodicOrder(backend::DeviceMemory& memory)
    : keys_(memory, "keys of a periodic box"), sorted_(memory, "keys of a periodic box"),
      index_(memory, "order in a periodic box"), order_(memory, "order in a periodic box"),
      x_(memory, "sorted x"), y_(memory, "sorted y"), z_(memory, "sorted z"),
      charge_(memory, "sorted charges"), softening_(memory, "sorted softening") {}

forces::DeviceSources PeriodicOrder::sort(backend::Queue& queue, const geometry::Lattice& box,
                                          const forces::DeviceSources& from, const ChunkOutput& to) {
    const int64_t n = from.n;
    keys_.resize(n), sorted_.resize(n), index_.resize(n), order_.resize(n);
    x_.resize(n), y_.resize(n), z_.resize(n);
    charge_.resize(from.charge != nullptr ? n : 0);
    softening_.resize(from.softening != nullptr ? n : 0);
    const unsigned blocks = backend::blocks_for(n, threads);
    const Cells cells = make_cells(box, n);
    make_keys<<<blocks, threads, 0, queue.stream()>>>(from, cells, make_curve(), keys_.data(), index_.data());
    GRAFT_CUDA_LAUNCHED("keys of a periodic box");
    backend::sort_pairs(queue, keys_.data(), sorted_.data(), index_.data(), order_.data(), n, unsorted_bits(n, cells),
                        3 * cells.bits);
    double* const charge = from.charge != nullptr ? charge_.data() : nullptr;
    double* const softening = from.softening != nullptr ? softening_.data() : nullptr;
    gather_chunks<<<blocks, threads, 0, queue.stream()>>>(
        from, order_.data(), box, {x_.data(), y_.data(), z_.data(), charge, softening}, to);
    GRAFT_CUDA_LAUNCHED("chunks of sources");
    queue.launches += 2;
    if (to.supers != nullptr) {
        const int64_t count = (n + chunk_sources - 1) / chunk_sources;
        unite_chunks<<<backend::blocks_for(count, threads), threads, 0, queue.stream()>>>(to.chunks, count, box, to.supers);
        GRAFT_CUDA_LAUNCHED("chunks of chunks");
        ++queue.launches;
    }
    return {x_.data(), y_.data(), z_.data(), charge, softening, n};
}

void wrap_into_box(backend::Queue& queue, const geometry::Lattice& box, int open_axis, int64_t n, double* x,
                   double* y, double* z) {
    if (n == 0)
        return;
    wrap<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(box, open_axis, n, x, y, z);
    GRAFT_CUDA_LAUNCHED("particles into the box");
    ++queue.launches;
}

} // namespace graft::periodic
