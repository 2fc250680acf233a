// SPDX-License-Identifier: BSD-3-Clause
// The fused construction's leaves and inner nodes, from neighbouring keys. octree_gpu.cu makes nodes of them.
#include "tree/octree_gpu.cuh"

#include <cooperative_groups.h>

#include <algorithm>

namespace graft::tree::fused {

namespace {

constexpr int rows = 4; // particles of a lane, in lockstep, so that their loads are in flight together

/// Does the cell of the boundary before particle i + 32 r hold more than `leaf` particles? Bit r of the
/// result.
__device__ uint32_t starts_leaf(const Build& b, int64_t i) {
    uint64_t lower[rows] = {}, size[rows] = {};
    uint32_t starts = 0, open = 0;
    const auto holds = [&](int r, int64_t k) {
        return k >= 0 && k < b.n && b.keys[k] >= lower[r] && b.keys[k] - lower[r] < size[r];
    };
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        const int64_t k = i + 32 * r;
        const uint64_t key = k < b.n ? b.keys[k] : 0;
        const int level = k == 0 || k >= b.n ? -1 : b.cells.level(b.keys[k - 1], key);
        lower[r] = level < 0 ? 0 : b.cells.first_key(key, level);
        size[r] = level < 0 ? 0 : b.cells.size(level);
        const bool parts = level >= 0 && level < b.cells.key_levels;
        const bool root = level < 0 && k < b.n;
        const bool full = holds(r, k - b.leaf) || holds(r, k + b.leaf - 1);
        starts |= static_cast<uint32_t>(root || (parts && full)) << r;
        open |= static_cast<uint32_t>(parts && !full) << r;
    }
    int64_t first[rows]; // first particle of the cell, at most leaf - 1 before
#pragma unroll
    for (int r = 0; r < rows; ++r)
        first[r] = i + 32 * r > b.leaf ? i + 32 * r - b.leaf : 0;
    for (int64_t step = b.search_step; open != 0 && step > 0; step /= 2)
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const int64_t k = first[r] + step - 1;
            if (open >> r & 1 && k < i + 32 * r && b.keys[k] < lower[r])
                first[r] += step;
        }
#pragma unroll
    for (int r = 0; r < rows; ++r)
        starts |= static_cast<uint32_t>((open >> r & 1) && holds(r, first[r] + b.leaf)) << r;
    return starts;
}

/// Words of flags, `rows` a warp. For leaves of more than most_window particles.
__global__ void __launch_bounds__(256) search_leaves(const Build b) {
    const int64_t begin = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32 * (rows * 32);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (backend::stopped(b.status) || begin >= b.n)
        return;
    const uint32_t starts = starts_leaf(b, begin + lane);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        const uint32_t bits = __ballot_sync(~0u, starts >> r & 1);
        if (lane == 0 && begin + 32 * r < b.n)
            b.flags[begin / 32 + r] = bits;
    }
}

// The same without a search: the cell of the boundary before particle j holds more than N_leaf particles when
// it holds some row of N_leaf + 1 with particles on both sides, s < j <= s + N_leaf; the smallest cell with
// such a row has level c_s = common_level(key s, key s + N_leaf). So a leaf starts at j where its boundary's
// level is at most the largest c_s of the N_leaf rows: a maximum over a sliding window, by doubling.
// A block makes as many rows as it has threads for, four each, and flags of those behind the first window.
constexpr int window_threads = 256, window_rows = 4 * window_threads;
constexpr int most_window = 512; // particles a leaf

/// In shared memory: keys from `pad` >= leaf particles before the block's own to `leaf` behind them, and a
/// byte for each row, 1 + c_s (0: there is no such row), four a word, `ahead` more for reading ahead.
struct Window {
    static constexpr int words = window_rows / 4, ahead = most_window / 8 + 1;
    uint64_t keys[window_rows + most_window];
    uint32_t rows[2][words + ahead];
};

/// Particles before the block's own: at least the leaf's, in whole words of flags.
__host__ __device__ constexpr int window_pad(int leaf) {
    return (leaf + 31) / 32 * 32;
}

/// Level of the smallest cell with both keys.
__device__ int common_level(const Build& b, uint64_t one, uint64_t other) {
    const int bits = b.cells.dimension * b.cells.key_levels;
    const int equal = min(bits, __clzll(static_cast<long long>(one ^ other)) - (64 - bits));
    return b.cells.dimension == 3 ? equal / 3 : equal / 2;
}

/// The block's keys and rows.
__device__ void load_window(const Build& b, int64_t first, Window& window) {
    const int t = static_cast<int>(threadIdx.x);
    for (int i = t; i < window_rows + b.leaf; i += window_threads) {
        const int64_t k = first + i;
        window.keys[i] = k >= 0 && k < b.n ? b.keys[k] : 0;
    }
    __syncthreads();
    auto* levels = reinterpret_cast<uint8_t*>(window.rows[0]);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int i = t + r * window_threads;
        const bool whole = first + i >= 0 && first + i + b.leaf < b.n;
        const int level = common_level(b, window.keys[i], window.keys[i + b.leaf]);
        levels[i] = static_cast<uint8_t>(whole ? 1 + level : 0);
    }
    if (t < Window::ahead)
        window.rows[0][Window::words + t] = window.rows[1][Window::words + t] = 0;
    __syncthreads();
}

/// Each byte becomes the largest of 2^steps from it on; which buffer they are in.
__device__ int slide(Window& window, int steps) {
    const int w = static_cast<int>(threadIdx.x);
    uint32_t own = window.rows[0][w];
    int from = 0;
    for (int step = 0; step < steps; ++step, from ^= 1) {
        const uint32_t* rows = window.rows[from];
        const uint32_t other = step == 0   ? __byte_perm(own, rows[w + 1], 0x4321)
                               : step == 1 ? __byte_perm(own, rows[w + 1], 0x5432)
                                           : rows[w + (1 << (step - 2))];
        own = __vmaxu4(own, other);
        window.rows[from ^ 1][w] = own;
        __syncthreads();
    }
    return from;
}

/// Words of flags, window_rows - window_pad particles a block. For leaves of at most most_window particles.
__global__ void __launch_bounds__(window_threads) flag_leaves(const Build b) {
    __shared__ Window window;
    if (backend::stopped(b.status))
        return;
    const int pad = window_pad(b.leaf), steps = 31 - __clz(b.leaf), last = 1 << steps;
    const int64_t first = int64_t{blockIdx.x} * (window_rows - pad) - pad;
    load_window(b, first, window);
    const auto* largest = reinterpret_cast<const uint8_t*>(window.rows[slide(window, steps)]);
    for (int i = pad + static_cast<int>(threadIdx.x); i < window_rows; i += window_threads) {
        const int64_t j = first + i;
        const uint64_t before = window.keys[i - 1], key = window.keys[i];
        const int level = common_level(b, before, key);
        const bool root = j == 0 || (b.cells.ranged && b.cells.level(before, key) < 0);
        const int window_level = max(int{largest[i - b.leaf]}, int{largest[i - last]}) - 1;
        const bool parts = level < b.cells.key_levels && level <= window_level;
        const uint32_t bits = __ballot_sync(~0u, j < b.n && (root || parts));
        if (threadIdx.x % 32 == 0 && j < b.n)
            b.flags[j / 32] = bits;
    }
}

__device__ void count_leaves(const Build& b, Shared& shared) {
    const Range words = own_part((b.n + 31) / 32);
    int32_t found = 0;
    for (int32_t w = words.begin + static_cast<int32_t>(threadIdx.x); w < words.end; w += threads)
        found += __popc(b.flags[w]);
    found = block_sum(found, shared);
    if (threadIdx.x == 0)
        b.blocks.leaves[blockIdx.x] = found;
}

__device__ void write_leaf(const Build& b, int32_t k, int32_t start) {
    b.leaves.start[k] = start;
    b.leaves.key[k] = b.keys[start];
    if (k <= b.capacity)
        b.leaves.mark[k] = 0;
}

/// Leaf starts in order, and how many there are.
__device__ void write_leaves(const Build& b, Shared& shared) {
    const Range words = own_part((b.n + 31) / 32);
    int32_t next = sum_blocks(b.blocks.leaves, blockIdx.x, shared);
    for (int32_t begin = words.begin; begin < words.end; begin += threads) {
        const int32_t w = begin + static_cast<int32_t>(threadIdx.x);
        uint32_t bits = w < words.end ? b.flags[w] : 0;
        int32_t place, all;
        cub::BlockScan<int32_t, threads>(shared.scan).ExclusiveSum(__popc(bits), place, all);
        __syncthreads();
        for (place += next; bits != 0; bits &= bits - 1)
            write_leaf(b, place++, w * 32 + __ffs(static_cast<int>(bits)) - 1);
        next += all;
    }
    const int32_t leaves = sum_blocks(b.blocks.leaves, gridDim.x, shared);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        b.leaves.start[leaves] = b.n;
        if (leaves <= b.capacity)
            b.leaves.mark[leaves] = 0;
        b.counts->leaves = leaves;
        b.tickets[device::listed] = 1;
    }
}

constexpr int cell_threads = 256;

/// The smallest power of two that `within` does not hold for, which holds up to some distance; four looks at
/// a time, as each waits for the one before.
template <typename Within>
__device__ int64_t first_beyond(const Within& within) {
    for (int64_t distance = 1;; distance *= 16) {
        int held = 0;
#pragma unroll
        for (int r = 0; r < 4; ++r)
            held += within(distance << r);
        if (held < 4)
            return distance << held;
    }
}

/// First leaf of the cell from `lower`, looking back from leaf k.
__device__ int32_t cell_first(const uint64_t* keys, int32_t k, uint64_t lower) {
    const int64_t beyond =
        first_beyond([&](int64_t distance) { return distance <= k && keys[k - distance] >= lower; });
    return static_cast<int32_t>(device::lower_bound(keys, beyond <= k ? k - beyond + 1 : int64_t{0},
                                                    beyond > 1 ? k - beyond / 2 : int64_t{k}, lower));
}

/// First leaf after k whose key is not below lower + size.
__device__ int32_t cell_end(const uint64_t* keys, int32_t k, int32_t leaves, uint64_t lower, uint64_t size) {
    const int64_t beyond = first_beyond(
        [&](int64_t distance) { return distance < leaves - k && keys[k + distance] - lower < size; });
    return static_cast<int32_t>(device::lower_bound(keys, int64_t{k} + 1 + (beyond > 1 ? beyond / 2 : 0),
                                                    beyond < leaves - k ? k + beyond : int64_t{leaves},
                                                    lower + size));
}

/// The cell of leaf k's boundary, and where it ends if the boundary stands for the cell's node (else 0).
__device__ Range find_cell(const Build& b, int32_t k, int32_t leaves) {
    const int level = k == 0 ? -1 : b.cells.level(b.leaves.key[k - 1], b.leaves.key[k]);
    if (level < 0)
        return {k, 0};
    const uint64_t lower = b.cells.first_key(b.leaves.key[k], level);
    const int32_t first = cell_first(b.leaves.key, k, lower);
    const bool stands = b.cells.level(b.leaves.key[first], b.leaves.key[k - 1]) > level;
    return {first, stands ? cell_end(b.leaves.key, k, leaves, lower, b.cells.size(level)) : 0};
}

/// Where the inner nodes of this block's threads are listed, those of all blocks one after the other; all
/// threads together.
__device__ int32_t take_slots(const Build& b, bool inner) {
    __shared__ int32_t before[cell_threads / 32];
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const uint32_t lanes = __ballot_sync(~0u, inner);
    if (lane == 0)
        before[warp] = __popc(lanes);
    __syncthreads();
    if (threadIdx.x == 0) {
        int32_t all = 0;
        for (int32_t& count : before) {
            const int32_t own = count;
            count = all;
            all += own;
        }
        const int32_t first = atomicAdd(b.tickets + device::inner_total, all);
        for (int32_t& count : before)
            count += first;
    }
    __syncthreads();
    const int32_t slot = before[warp] + __popc(lanes & ((1u << lane) - 1));
    __syncthreads();
    return slot;
}

/// The cells of all boundaries; those that stand for an inner node mark its extent, and list it for its box.
__global__ void __launch_bounds__(cell_threads) find_cells_kernel(const Build b) {
    if (b.tickets[device::listed] == 0)
        return;
    const int32_t leaves = b.counts->leaves, stride = static_cast<int32_t>(gridDim.x) * cell_threads;
    for (int64_t begin = int64_t{blockIdx.x} * cell_threads; begin < leaves; begin += stride) {
        const auto k = static_cast<int32_t>(begin + threadIdx.x);
        const Range cell = k < leaves ? find_cell(b, k, leaves) : Range{0, 0};
        const int32_t slot = take_slots(b, cell.end > 0);
        if (k >= leaves || leaves > b.capacity) // too many already: only count
            continue;
        b.leaves.first[k] = cell.begin;
        b.leaves.end[k] = cell.end;
        if (cell.end == 0)
            continue;
        atomicAdd(b.leaves.mark + cell.begin + 1, 1);
        atomicAdd(b.leaves.mark + cell.end, -1);
        b.leaves.inner_slot[k] = slot;
        b.inner[slot] = {cell.begin, cell.end, -1, 0};
    }
}

__global__ void __launch_bounds__(threads) list_leaves_kernel(const Build b) {
    __shared__ Shared shared;
    if (backend::stopped(b.status))
        return;
    count_leaves(b, shared);
    cooperative_groups::this_grid().sync();
    write_leaves(b, shared);
}

} // namespace

void list_leaves(backend::Queue& queue, const Build& build, int blocks) {
    if (build.leaf <= most_window)
        flag_leaves<<<backend::blocks_for(build.n, window_rows - window_pad(build.leaf)), window_threads, 0,
                      queue.stream()>>>(build);
    else
        search_leaves<<<backend::blocks_for(build.n, 256 * rows), 256, 0, queue.stream()>>>(build);
    GRAFT_CUDA_LAUNCHED("flag_leaves");
    ++queue.launches;
    launch_together(queue, list_leaves_kernel, blocks, build);
}

void find_cells(backend::Queue& queue, const Build& build) {
    const int64_t leaves = std::min(build.n, std::max(build.capacity, 1));
    find_cells_kernel<<<backend::blocks_for(leaves, cell_threads), cell_threads, 0, queue.stream()>>>(build);
    GRAFT_CUDA_LAUNCHED("find_cells");
    ++queue.launches;
}

} // namespace graft::tree::fused
