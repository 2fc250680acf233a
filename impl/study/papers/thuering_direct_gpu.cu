// SPDX-License-Identifier: BSD-3-Clause
// thuering2023's all-pairs kernel in his three stages (sections 4.1 and 5.3.1, after Nyland et al. 2007).
//
// A thread a target, one after the other all sources, each read as one (fp64: two) 128-bit words. Stage 0:
// from global memory, block size left to the run time. Stage 1: blocks of k threads, the last one padded.
// Stage 2: each thread of a block fetches one of k sources into shared memory, barrier, k pairs, barrier. The
// root is the library's, as his. Sums go to one part of `partial`.
#include "study/papers/paper_variants_gpu.cuh"

namespace graft::study {

namespace {

template <typename T>
__global__ void pack_direct(const forces::DirectInput input, forces::DirectSource<T>* sources, forces::DirectSource<T>* targets) {
    const int64_t k = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
    if (backend::stopped(input.status))
        return;
    const forces::Frame frame = input.frames[0];
    const auto pack = [&](const forces::DeviceSources& from, const double* charge) {
        return forces::DirectSource<T>{static_cast<T>((from.x[k] - frame.centre[0]) * frame.scale),
                               static_cast<T>((from.y[k] - frame.centre[1]) * frame.scale),
                               static_cast<T>((from.z[k] - frame.centre[2]) * frame.scale),
                               static_cast<T>(charge != nullptr ? charge[k] * input.charge_scale : 0.0)};
    };
    if (k < input.division.sources)
        sources[k] = pack(input.sources, input.sources.charge);
    if (k < input.division.targets)
        targets[k] = pack(input.targets, nullptr);
}

template <bool with_potential, typename T>
__device__ __forceinline__ void add_plain_pair(const forces::DirectSource<T>& s, const forces::DirectSource<T>& target,
                                               T soft, forces::PairSum<T>& sum) {
    const T dx = s.x - target.x, dy = s.y - target.y, dz = s.z - target.z;
    const T r2 = dx * dx + dy * dy + dz * dz + soft;
    const T inverse = rsqrt(r2), force = s.q * inverse * inverse * inverse;
    sum.x += force * dx, sum.y += force * dy, sum.z += force * dz;
    if constexpr (with_potential)
        sum.potential += r2 > forces::pair_tiny<T>() ? s.q * inverse : T(0);
}

template <bool with_potential, typename T>
__device__ void store_stage(const forces::DirectInput& input, int64_t k, const forces::PairSum<T>& sum) {
    T* to = static_cast<T*>(input.partial) + k;
    to[0] = sum.x, to[input.division.targets] = sum.y, to[2 * input.division.targets] = sum.z;
    if constexpr (with_potential)
        to[3 * input.division.targets] = sum.potential;
}

/// Stages 0 and 1: they differ in the size of the blocks alone.
template <typename T, bool with_potential>
__global__ void direct_plain(const forces::DirectInput input, const forces::DirectSource<T>* sources,
                             const forces::DirectSource<T>* targets) {
    const int64_t k = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
    if (k >= input.division.targets || backend::stopped(input.status))
        return;
    const T soft = forces::common_soft<T>(input.plummer, input.length, input.frames[0].scale);
    const forces::DirectSource<T> target = targets[k];
    forces::PairSum<T> sum{};
    for (int64_t j = 0; j < input.division.sources; ++j)
        add_plain_pair<with_potential>(sources[j], target, soft, sum);
    store_stage<with_potential>(input, k, sum);
}

template <typename T, bool with_potential>
__global__ void direct_tiled(const forces::DirectInput input, const forces::DirectSource<T>* sources,
                             const forces::DirectSource<T>* targets) {
    extern __shared__ __align__(16) char raw_tile[];
    forces::DirectSource<T>* tile = reinterpret_cast<forces::DirectSource<T>*>(raw_tile);
    if (backend::stopped(input.status))
        return;
    const int64_t k = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
    const T soft = forces::common_soft<T>(input.plummer, input.length, input.frames[0].scale);
    const forces::DirectSource<T> target = targets[min(k, input.division.targets - 1)];
    forces::PairSum<T> sum{};
    for (int64_t first = 0; first < input.division.sources; first += blockDim.x) {
        if (first + threadIdx.x < input.division.sources)
            tile[threadIdx.x] = sources[first + threadIdx.x];
        __syncthreads();
        const int count = static_cast<int>(min(int64_t{blockDim.x}, input.division.sources - first));
        for (int j = 0; j < count; ++j)
            add_plain_pair<with_potential>(tile[j], target, soft, sum);
        __syncthreads();
    }
    if (k < input.division.targets)
        store_stage<with_potential>(input, k, sum);
}

} // namespace

template <typename T>
void launch_direct_stage(backend::Queue& queue, forces::DirectStage stage, int threads, bool potential,
                         forces::DirectSource<T>* packed, const forces::DirectInput& input) {
    forces::DirectSource<T>* targets = packed + input.division.sources;
    const int64_t most =
        input.division.sources > input.division.targets ? input.division.sources : input.division.targets;
    pack_direct<T><<<backend::blocks_for(most, 256), 256, 0, queue.stream()>>>(input, packed, targets);
    GRAFT_CUDA_LAUNCHED("pack_direct");
    const auto kernel = stage == forces::DirectStage::tiled
                            ? (potential ? direct_tiled<T, true> : direct_tiled<T, false>)
                            : (potential ? direct_plain<T, true> : direct_plain<T, false>);
    const size_t tile_bytes =
        stage == forces::DirectStage::tiled ? static_cast<size_t>(threads) * sizeof(forces::DirectSource<T>) : 0;
    kernel<<<backend::blocks_for(input.division.targets, threads), threads, tile_bytes, queue.stream()>>>(
        input, packed, targets);
    GRAFT_CUDA_LAUNCHED("all pairs, a stage of thuering2023");
    queue.launches += 2;
}

template void launch_direct_stage<float>(backend::Queue&, forces::DirectStage, int, bool, forces::DirectSource<float>*,
                                         const forces::DirectInput&);
template void launch_direct_stage<double>(backend::Queue&, forces::DirectStage, int, bool, forces::DirectSource<double>*,
                                          const forces::DirectInput&);

} // namespace graft::study
