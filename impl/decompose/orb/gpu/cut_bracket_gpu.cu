// SPDX-License-Identifier: BSD-3-Clause
// Brackets around the cuts of a level, from samples: one block a cell.
//
// A sample belongs to the cell when it is on the cell's side of all cuts above
// it within the round: each keeps the number of its cell and goes down one
// level a step. Among the cell's samples the two ranks that bound the wanted
// share by so many standard deviations are selected by digits of a 32-bit key,
// the place between the ends of the cell. What comes out need only be likely: a
// bracket that misses costs a second pass (cut_count_gpu.cuh).
#include "decompose/orb/gpu/orb_steps_gpu.cuh"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include <algorithm>
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
    double total,
        squares; // integers below 2^53 and, of the weights' squares, about
    unsigned long long before[2], inside[2];
    uint32_t found[2], prefix[2], kept;
};

/// Samples of the root's cells of the last step go on to those of this one.
template <typename T>
__global__ void descend_samples(OrbView<T> view, int step) {
    const OrbSamples& samples = view.samples;
    const int64_t slot = int64_t{blockIdx.x} * threads + threadIdx.x;
    const int64_t r = slot / samples.per_root;
    if (r >= view.tiles.roots || backend::stopped(view.status) || samples.cell[slot] == no_cell)
        return;
    const int32_t above = samples.cell[slot];
    const int32_t k = ((view.tiles.first_cell + static_cast<int32_t>(r)) << (step - 1)) + above;
    uint8_t cell = no_cell;
    if (k < view.parts) {
        const OrbNode& node = view.node[k];
        const T v = static_cast<const T*>(samples.c[node.axis])[slot], split = static_cast<T>(node.split);
        const bool right =
            v > split || (v == split && view.from.id_of_index(samples.index[slot]) >= node.cell.tie);
        cell = static_cast<uint8_t>(2 * above + (right ? 1 : 0));
    }
    samples.cell[slot] = cell;
}

/// Bit i: byte i of sixteen is `cell`, four times in `pattern`.
__device__ uint32_t which_are(const uint4& cells, uint32_t pattern) {
    const auto nibble = [&](uint32_t word) { // one bit a byte, gathered by a product
        return ((__vcmpeq4(word, pattern) & 0x01010101u) * 0x01020408u) >> 24;
    };
    return nibble(cells.x) | nibble(cells.y) << 4 | nibble(cells.z) << 8 | nibble(cells.w) << 12;
}

/// Keys (and weights) of the cell's samples, of which every stride-th is taken,
/// to shared memory; returns how many.
template <typename T, bool weighted>
__device__ int gather(const OrbView<T>& view, int32_t k, int step, int stride, int room, uint32_t* keys,
                      uint32_t* weights, BracketShared<weighted>& shared) {
    const OrbNode& node = view.node[k];
    const int64_t begin = ((k >> step) - view.tiles.first_cell) * view.samples.per_root;
    const int vectors = static_cast<int>(view.samples.per_root / 16);
    const uint32_t pattern = static_cast<uint32_t>(k & ((1 << step) - 1)) * 0x01010101u;
    const uint32_t taken = stride == 1 ? 0xffffu : stride == 2 ? 0x5555u : stride == 4 ? 0x1111u : 0x0101u;
    const double lower = node.cell.lower[node.axis], width = node.cell.upper[node.axis] - lower;
    const double scale = width > 0 ? 4294967296.0 / width : 0.0;
    const T* values = static_cast<const T*>(view.samples.c[node.axis]) + begin;
    const uint4* cells = reinterpret_cast<const uint4*>(view.samples.cell + begin);
    const int lane = threadIdx.x % 32;
    for (int first = static_cast<int>(threadIdx.x) - lane; first < vectors; first += threads) {
        const int v = first + lane;
        uint32_t matches = v < vectors ? which_are(cells[v], pattern) & taken : 0;
        uint32_t inclusive = __popc(matches), at = 0;
        const uint32_t mine = inclusive;
        for (int offset = 1; offset < 32; offset *= 2) {
            const uint32_t other = __shfl_up_sync(~0u, inclusive, offset);
            inclusive += lane >= offset ? other : 0;
        }
        if (lane == 31)
            at = atomicAdd(&shared.kept, inclusive);
        at = __shfl_sync(~0u, at, 31) + inclusive - mine;
        for (; matches != 0 && at < static_cast<uint32_t>(room); matches &= matches - 1, ++at) {
            const int slot = 16 * v + __ffs(static_cast<int>(matches)) - 1;
            const double position = (static_cast<double>(values[slot]) - lower) * scale;
            keys[at] =
                position > 0 ? (position < 4294967295.0 ? static_cast<uint32_t>(position) : 0xffffffffu) : 0u;
            if (weighted)
                weights[at] = view.samples.weight[begin + slot];
        }
    }
    __syncthreads();
    return static_cast<int>(min(shared.kept, static_cast<uint32_t>(room)));
}

/// The digit where the sum of bins[which] passes `target`, for query q;
/// `before` becomes the sum ahead of it.
template <bool weighted>
__device__ void find_digit(BracketShared<weighted>& shared, int which, int q, double target) {
    unsigned long long mine[bins_a_thread], sum = 0, at = 0;
    for (int b = 0; b < bins_a_thread; ++b)
        sum += mine[b] = shared.bins[which][threadIdx.x * bins_a_thread + b];
    Scan(shared.scan).ExclusiveSum(sum, at);
    at += shared.before[q];
    __syncthreads();
    for (int b = 0; b < bins_a_thread; ++b) {
        const unsigned long long after = at + mine[b];
        const bool last = threadIdx.x == threads - 1 && b == bins_a_thread - 1;
        if (static_cast<double>(at) <= target && (static_cast<double>(after) > target || last)) {
            shared.found[q] = threadIdx.x * bins_a_thread + b;
            shared.before[q] = at;
            shared.inside[q] = mine[b];
        }
        at = after;
    }
    __syncthreads();
}

/// shared.prefix[q]: first bits of the key of the sample at which the running
/// weight passes target[q]; returns how many bits. More of them are of no use
/// when those samples that share them weigh at most `fine`.
template <bool weighted>
__device__ int select_keys(const uint32_t* keys, const uint32_t* weights, int count,
                           const double (&target)[2], double fine, BracketShared<weighted>& shared) {
    int done = 0;
    while (done < 32) {
        const int bits = done == 22 ? 10 : 11, shift = 32 - done - bits, queries = done == 0 ? 1 : 2;
        for (int b = threadIdx.x; b < queries * digit_bins; b += threads)
            shared.bins[0][b] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < count; i += threads)
            for (int q = 0; q < queries; ++q) // they share their first digit's bins
                if (done == 0 || keys[i] >> (32 - done) == shared.prefix[q])
                    atomicAdd(&shared.bins[q][(keys[i] >> shift) & ((1u << bits) - 1)],
                              static_cast<Sum<weighted>>(weighted ? weights[i] : 1));
        __syncthreads();
        for (int q = 0; q < 2; ++q)
            find_digit(shared, queries == 1 ? 0 : q, q, target[q]);
        if (threadIdx.x < 2)
            shared.prefix[threadIdx.x] = (shared.prefix[threadIdx.x] << bits) | shared.found[threadIdx.x];
        done += bits;
        const bool enough = static_cast<double>(max(shared.inside[0], shared.inside[1])) <= fine;
        __syncthreads();
        if (enough)
            break;
    }
    return done;
}

/// A little further out than the rounding of the key and of T.
template <typename T>
__device__ double outwards(double x, double step, double sign) {
    const double grain = sizeof(T) == 4 ? 2.4e-7 : 4.5e-16;
    return x + sign * (step + fabs(x) * grain);
}

template <typename T, bool weighted>
__global__ void __launch_bounds__(threads)
    find_brackets(OrbView<T> view, int32_t first_cell, int step, int stride, int room, double sigmas) {
    extern __shared__ uint32_t keys[];
    __shared__ BracketShared<weighted> shared;
    const int32_t k = first_cell + static_cast<int32_t>(blockIdx.x);
    OrbNode& node = view.node[k];
    if (node.stage == SearchStage::idle || backend::stopped(view.status))
        return;
    uint32_t* weights = weighted ? keys + room : nullptr;
    if (threadIdx.x == 0) {
        shared.kept = 0;
        shared.before[0] = shared.before[1] = 0, shared.prefix[0] = shared.prefix[1] = 0;
    }
    __syncthreads();
    const int count = gather(view, k, step, stride, room, keys, weights, shared);
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
    int bits = 32;
    if (!whole)
        bits = select_keys(keys, weights, count, target, scatter / 16 * sum, shared);
    if (threadIdx.x != 0)
        return;
    const double lower = node.cell.lower[node.axis],
                 unit = (node.cell.upper[node.axis] - lower) / static_cast<double>(int64_t{1} << bits);
    const double low = outwards<T>(lower + shared.prefix[0] * unit, unit, -1);
    const double high = outwards<T>(lower + (shared.prefix[1] + 1.0) * unit, unit, 1);
    node.low = whole || share - scatter <= 0 ? -INFINITY : static_cast<double>(static_cast<T>(low));
    node.high = whole || share + scatter >= 1 ? INFINITY : static_cast<double>(static_cast<T>(high));
}

/// Keys that fit a block's shared memory beside what else it shares.
template <bool weighted>
int most_keys() {
    int device = 0, bytes = 0;
    GRAFT_CUDA(cudaGetDevice(&device));
    GRAFT_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    const int room = bytes - static_cast<int>(sizeof(BracketShared<weighted>)) - 1024;
    return std::clamp(room / (weighted ? 8 : 4), 1024, 32768);
}

/// The more points a cell has, the more samples it is worth to list fewer of
/// them: all there are of cells above 128 points each, `samples_per_cell` of
/// smaller ones.
template <typename T, bool weighted>
void launch_brackets(backend::Queue& queue, const OrbView<T>& view, int level, int step, int samples_per_cell,
                     double sigmas) {
    const int32_t first = int32_t{1} << level, cells = end_of_level(level, view.parts) - first;
    const int64_t points = view.tiles.most * tile_points; // at least
    const int64_t have = std::max<int64_t>(1, view.samples.per_root >> step), most = most_keys<weighted>();
    const int64_t wanted = std::max<int64_t>(samples_per_cell, points / (128 * int64_t{cells}));
    const auto room_of = [&](int stride) { return (step == 0 ? have : 2 * have) / stride; };
    int stride = 1; // powers of two: gather's patterns
    while (stride < 8 && (have / stride >= 2 * wanted || room_of(stride) > most))
        stride *= 2;
    const int room =
        static_cast<int>(std::min(most, std::max<int64_t>(room_of(stride), 2 * int64_t{samples_per_cell})));
    const size_t bytes = size_t{4} * static_cast<size_t>(room) * (weighted ? 2 : 1);
    const auto kernel = find_brackets<T, weighted>;
    GRAFT_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
    kernel<<<static_cast<unsigned>(cells), threads, bytes, queue.stream()>>>(view, first, step, stride, room,
                                                                             sigmas);
    GRAFT_CUDA_LAUNCHED("find_brackets");
    ++queue.launches;
}

} // namespace

template <typename T>
void orb_bracket(backend::Queue& queue, const OrbView<T>& view, int level, int step, int samples_per_cell,
                 double sigmas) {
    if (step > 0) {
        const int64_t slots = view.samples.per_root * view.tiles.roots;
        descend_samples<T><<<backend::blocks_for(slots, threads), threads, 0, queue.stream()>>>(view, step);
        GRAFT_CUDA_LAUNCHED("descend_samples");
        ++queue.launches;
    }
    view.samples.weight != nullptr
        ? launch_brackets<T, true>(queue, view, level, step, samples_per_cell, sigmas)
        : launch_brackets<T, false>(queue, view, level, step, samples_per_cell, sigmas);
}

template void orb_bracket<float>(backend::Queue&, const OrbView<float>&, int, int, int, double);
template void orb_bracket<double>(backend::Queue&, const OrbView<double>&, int, int, int, double);

} // namespace graft::decompose
