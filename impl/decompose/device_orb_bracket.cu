// Brackets around the cuts of a level, from samples: one block a cell.
//
// A sample belongs to the cell when it is on the cell's side of all cuts above it within the round. Among the
// cell's samples the two ranks that bound the wanted share by so many standard deviations are selected by
// digits of a 32-bit key, the place between the ends of the cell. What comes out need only be likely: a
// bracket that misses costs a second pass (device_orb_count.cuh).
#include "decompose/device_orb_kernels.cuh"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include <type_traits>

namespace graft::decompose {

namespace {

constexpr int threads = 512, digit_bins = 2048, bins_a_thread = digit_bins / threads;

using Scan = cub::BlockScan<unsigned long long, threads>;
using Reduce = cub::BlockReduce<double, threads>;

/// Sums in bins: native shared atomics where every weight is 1.
template <bool weighted>
using Sum = std::conditional_t<weighted, unsigned long long, uint32_t>;

template <bool weighted>
struct BracketShared {
    Sum<weighted> bins[2][digit_bins];
    typename Scan::TempStorage scan;
    typename Reduce::TempStorage reduce;
    double total, squares; // integers below 2^53 and, of the weights' squares, about
    unsigned long long before[2];
    uint32_t found[2], prefix[2], kept;
};

/// Is sample `slot` in cell k, whose round began at k >> step?
template <typename T>
__device__ bool in_cell(const OrbGround<T>& ground, int32_t k, int step, int64_t slot) {
    for (int level = 0; level < step; ++level) {
        const OrbNode& above = ground.node[k >> (step - level)];
        const bool right = ((k >> (step - level - 1)) & 1) != 0;
        const T v = static_cast<const T*>(ground.samples.c[above.axis])[slot];
        const T split = static_cast<T>(above.split);
        const bool is_right =
            v > split ||
            (v == split && ground.from.id_of_index(ground.samples.index[slot]) >= above.cell.tie);
        if (is_right != right)
            return false;
    }
    return true;
}

/// Keys (and weights) of the cell's samples to shared memory; returns how many.
template <typename T, bool weighted>
__device__ int gather(const OrbGround<T>& ground, int32_t k, int step, int room, uint32_t* keys,
                      uint32_t* weights, BracketShared<weighted>& shared) {
    const OrbNode& node = ground.node[k];
    const int64_t r = (k >> step) - ground.tiles.first_cell;
    const int64_t size = min(static_cast<long long>(ground.samples.per_root),
                             static_cast<long long>(ground.node[k >> step].count));
    const int stride = 1 << (ground.tiles.levels - 1 - step); // deeper cells need a denser sample
    const double lower = node.cell.lower[node.axis], width = node.cell.upper[node.axis] - lower;
    const double scale = width > 0 ? 4294967296.0 / width : 0.0;
    const T* values = static_cast<const T*>(ground.samples.c[node.axis]);
    for (int64_t i = int64_t{threadIdx.x} * stride; i < size; i += int64_t{threads} * stride) {
        const int64_t slot = r * ground.samples.per_root + i;
        if (!in_cell(ground, k, step, slot))
            continue;
        const uint32_t at = atomicAdd(&shared.kept, 1u);
        if (at >= static_cast<uint32_t>(room))
            break;
        const double position = (static_cast<double>(values[slot]) - lower) * scale;
        keys[at] =
            position > 0 ? (position < 4294967295.0 ? static_cast<uint32_t>(position) : 0xffffffffu) : 0u;
        if (weighted)
            weights[at] = ground.samples.weight[slot];
    }
    __syncthreads();
    return static_cast<int>(min(shared.kept, static_cast<uint32_t>(room)));
}

/// The digit where the sum of bins passes `target`, for query q; `before` becomes the sum ahead of it.
template <bool weighted>
__device__ void find_digit(BracketShared<weighted>& shared, int q, double target) {
    unsigned long long mine[bins_a_thread], sum = 0, at = 0;
    for (int b = 0; b < bins_a_thread; ++b)
        sum += mine[b] = shared.bins[q][threadIdx.x * bins_a_thread + b];
    Scan(shared.scan).ExclusiveSum(sum, at);
    at += shared.before[q];
    __syncthreads();
    for (int b = 0; b < bins_a_thread; ++b) {
        const unsigned long long after = at + mine[b];
        const bool last = threadIdx.x == threads - 1 && b == bins_a_thread - 1;
        if (static_cast<double>(at) <= target && (static_cast<double>(after) > target || last)) {
            shared.found[q] = threadIdx.x * bins_a_thread + b;
            shared.before[q] = at;
        }
        at = after;
    }
    __syncthreads();
}

/// shared.prefix[q]: key of the sample at which the running weight passes target[q].
template <bool weighted>
__device__ void select_keys(const uint32_t* keys, const uint32_t* weights, int count,
                            const double (&target)[2], BracketShared<weighted>& shared) {
    for (int shift = 21, bits = 11, done = 0; done < 32; done += bits, shift = max(shift - 11, 0)) {
        bits = done == 22 ? 10 : 11;
        for (int b = threadIdx.x; b < 2 * digit_bins; b += threads)
            shared.bins[0][b] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < count; i += threads)
            for (int q = 0; q < 2; ++q)
                if (done == 0 || keys[i] >> (32 - done) == shared.prefix[q])
                    atomicAdd(&shared.bins[q][(keys[i] >> shift) & ((1u << bits) - 1)],
                              static_cast<Sum<weighted>>(weighted ? weights[i] : 1));
        __syncthreads();
        for (int q = 0; q < 2; ++q)
            find_digit(shared, q, target[q]);
        if (threadIdx.x < 2)
            shared.prefix[threadIdx.x] = (shared.prefix[threadIdx.x] << bits) | shared.found[threadIdx.x];
        __syncthreads();
    }
}

/// A little further out than the rounding of the key and of T.
template <typename T>
__device__ double outwards(double x, double step, double sign) {
    const double grain = sizeof(T) == 4 ? 2.4e-7 : 4.5e-16;
    return x + sign * (step + fabs(x) * grain);
}

template <typename T, bool weighted>
__global__ void __launch_bounds__(threads)
    find_brackets(OrbGround<T> ground, int32_t first_cell, int step, int room, double sigmas) {
    extern __shared__ uint32_t keys[];
    __shared__ BracketShared<weighted> shared;
    const int32_t k = first_cell + static_cast<int32_t>(blockIdx.x);
    OrbNode& node = ground.node[k];
    if (node.stage == SearchStage::idle || backend::stopped(ground.status))
        return;
    uint32_t* weights = weighted ? keys + room : nullptr;
    if (threadIdx.x == 0) {
        shared.kept = 0;
        shared.before[0] = shared.before[1] = 0, shared.prefix[0] = shared.prefix[1] = 0;
    }
    __syncthreads();
    const int count = gather(ground, k, step, room, keys, weights, shared);
    double mine = 0, squares = 0;
    for (int i = threadIdx.x; i < count; i += threads) {
        const double w = weighted ? weights[i] : 1;
        mine += w, squares += w * w;
    }
    mine = Reduce(shared.reduce).Sum(mine);
    __syncthreads();
    squares = Reduce(shared.reduce).Sum(squares);
    if (threadIdx.x == 0)
        shared.total = mine, shared.squares = squares;
    __syncthreads();
    const double sum = shared.total;
    const double size = shared.squares > 0 ? sum * sum / shared.squares : 1;
    const double share = static_cast<double>(node.goal.parts_left) / node.goal.parts;
    const double scatter = sigmas * sqrt(fmax(share * (1 - share), 0.25 / size) / size) + 1 / size;
    const double target[2] = {fmax(share - scatter, 0.0) * sum, (share + scatter) * sum};
    const bool whole = count < 32 || sum == 0;
    if (!whole)
        select_keys(keys, weights, count, target, shared);
    if (threadIdx.x != 0)
        return;
    const double lower = node.cell.lower[node.axis],
                 unit = (node.cell.upper[node.axis] - lower) / 4294967296.0;
    const double low = outwards<T>(lower + shared.prefix[0] * unit, unit, -1);
    const double high = outwards<T>(lower + (shared.prefix[1] + 1.0) * unit, unit, 1);
    node.low = whole || share - scatter <= 0 ? -INFINITY : static_cast<double>(static_cast<T>(low));
    node.high = whole || share + scatter >= 1 ? INFINITY : static_cast<double>(static_cast<T>(high));
}

} // namespace

template <typename T>
void orb_bracket(backend::Queue& queue, const OrbGround<T>& ground, int level, int step, int samples_per_cell,
                 double sigmas) {
    const int32_t first = int32_t{1} << level, cells = end_of_level(level, ground.parts) - first;
    const int room = 2 * samples_per_cell;
    const size_t bytes = size_t{4} * room * (ground.samples.weight != nullptr ? 2 : 1);
    const auto launch = [&](auto kernel) {
        GRAFT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)));
        kernel<<<static_cast<unsigned>(cells), threads, bytes, queue.stream()>>>(ground, first, step, room,
                                                                                 sigmas);
    };
    ground.samples.weight != nullptr ? launch(find_brackets<T, true>) : launch(find_brackets<T, false>);
    GRAFT_CUDA_LAUNCHED("find_brackets");
    ++queue.launches;
}

template void orb_bracket<float>(backend::Queue&, const OrbGround<float>&, int, int, int, double);
template void orb_bracket<double>(backend::Queue&, const OrbGround<double>&, int, int, int, double);

} // namespace graft::decompose
