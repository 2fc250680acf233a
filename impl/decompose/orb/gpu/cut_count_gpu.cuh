// SPDX-License-Identifier: BSD-3-Clause
// The pass that reads points: which cell of its root's subtree each is in so far, whether its coordinate is
// below the bracket of that cell's cut, and a list of those within it.
//
// Floor: the columns of the axes cut so far in the root, 4 (8) bytes a point each; about 7 instructions a
// point and level. Counters are packed in registers, a word for all cells, so nothing but lists goes through
// atomics; all sums are integers.
#pragma once

#include "decompose/orb/gpu/cut_recount_gpu.cuh"

#include <algorithm>

namespace graft::decompose {

template <typename T, bool weighted, int step, bool last>
class Counter {
  public:
    static constexpr int nodes = 1 << step;
    __device__ Counter(const OrbView<T>& view, CountShared<T>& shared) : view_(view), shared_(shared) {}

    /// Tiles [tile, end) of one root.
    __device__ void run(int64_t tile, int64_t end) {
        const OrbTile first = OrbTile::of(view_, tile);
        begin(first);
        below_ = {}, outside_ = {};
        for (int t = 0; tile + t < end; ++t) {
            const int64_t at = first.begin + int64_t{t} * tile_points;
            if (tile + t + 1 < end || first.root_end - at >= tile_points)
                full_tile(at, t * tile_points);
            else
                part_tile(at, static_cast<int>(first.root_end - at), t * tile_points);
            if constexpr (last)
                end_tile(t);
        }
        if constexpr (!last)
            add_fields(below_, shared_.below);
        finish(first, static_cast<int>(end - tile));
    }

  private:
    __device__ void begin(const OrbTile& here) {
        const int thread = threadIdx.x;
        if (thread == 0)
            shared_.axes = 0, shared_.list_size = 0;
        if (thread < most_nodes)
            shared_.below[thread] = 0;
        __syncthreads();
        if (thread < nodes) {
            shared_.brackets.load(view_.node, view_.parts, here.root, step, thread);
            shared_.listed[thread] = 0;
            for (int k = 0; k < 4; ++k)
                shared_.weights[k][thread] = 0;
            if (shared_.brackets.cell[thread] != 0)
                atomicOr(&shared_.axes, 1u << shared_.brackets.at[thread].axis);
        }
        if (thread >= 1 && thread < nodes) {
            shared_.cuts.load(view_.node, view_.parts, here.root, thread);
            atomicOr(&shared_.axes, 1u << shared_.cuts.at[thread].axis());
        }
        for (int m = 0; m < (weighted ? nodes : 1); ++m)
            sum_low_[m] = sum_high_[m] = 0;
        __syncthreads();
        axes_ = shared_.axes;
    }

    __device__ __forceinline__ void full_tile(int64_t at, int offset) {
        T x[count_items][3];
        if (step == 0) {
            const T* only = view_.from.c[shared_.brackets.at[0].axis] + at + threadIdx.x;
#pragma unroll
            for (int i = 0; i < count_items; ++i)
                x[i][0] = __ldcs(only + i * count_threads), x[i][1] = x[i][2] = T(0);
        } else {
#pragma unroll
            for (int axis = 0; axis < 3; ++axis) {
                const T* column = view_.from.c[axis] + at + threadIdx.x;
                const bool wanted = ((axes_ >> axis) & 1) != 0;
#pragma unroll
                for (int i = 0; i < count_items; ++i)
                    x[i][axis] = wanted ? __ldcs(column + i * count_threads) : T(0);
            }
        }
        take(x, at + threadIdx.x, offset + threadIdx.x);
    }

    __device__ void part_tile(int64_t at, int count, int offset) {
        for (int local = threadIdx.x; local < count; local += count_threads) {
            T x[1][3];
            for (int axis = 0; axis < 3; ++axis)
                x[0][axis] = ((axes_ >> axis) & 1) != 0 ? view_.from.c[axis][at + local] : T(0);
            if (step == 0)
                x[0][0] = pick(x[0], static_cast<int>(shared_.brackets.at[0].axis));
            take(x, at + local, offset + local);
        }
    }

    /// `many` points of this thread, count_threads apart: counted, and listed when within.
    template <int many>
    __device__ __forceinline__ void take(const T (&x)[many][3], int64_t place, int offset) {
        using Below = decltype(below_);
        T value[many];
        int local[many]; // heap index of its cell in the root's subtree
        bool tied = false;
#pragma unroll
        for (int i = 0; i < many; ++i)
            local[i] = descend_untied<step>(shared_.cuts, x[i], tied);
        if (step > 0 && tied) { // in line: a call would cost the loop registers
#pragma unroll
            for (int i = 0; i < many; ++i)
                local[i] = descend_by_ids(shared_.cuts, view_.from, step, x[i], place + i * count_threads);
        }
        uint32_t within = 0, where = 0; // four bits each hold the cell
#pragma unroll
        for (int i = 0; i < many; ++i) { // without branches
            const OrbBracket<T> bracket = shared_.brackets.at[local[i] - nodes];
            value[i] = step == 0 ? x[i][0] : pick(x[i], static_cast<int>(bracket.axis));
            const bool is_below = value[i]<bracket.low, is_above = value[i]> bracket.high;
            const uint32_t one = Below::one(local[i]);
            below_.word += is_below ? one : 0;
            if (last)
                outside_.word += is_below | is_above ? one : 0;
            if (weighted && is_below)
                add_weight(local[i] - nodes, view_.from.weight[place + i * count_threads]);
            within += is_below | is_above ? 0 : 1u << i;
            where += static_cast<uint32_t>(local[i]) << (4 * i);
        }
        if (within == 0)
            return;
        uint32_t slot = atomicAdd(&shared_.list_size, static_cast<uint32_t>(__popc(within)));
        for (; within != 0; within &= within - 1, ++slot) { // few: once or twice
            const int i = __ffs(static_cast<int>(within)) - 1;
            const uint32_t at = (where >> (4 * i)) & (nodes - 1);
            if (slot < list_room) {
                shared_.list_value[slot] = chosen(value, i);
                shared_.list_tag[slot] = static_cast<uint32_t>(offset + i * count_threads) | at << 16;
            } else {
                list_now(view_.node + shared_.brackets.cell[at], view_.list_value, view_.list_place,
                         chosen(value, i), static_cast<uint32_t>(place + i * count_threads));
                if (weighted)
                    add_shared(2, at, view_.from.weight[place + i * count_threads]);
            }
        }
    }

    /// The warp's sums of tile t of the block, for its histogram.
    __device__ __forceinline__ void end_tile(int t) {
        uint32_t below[4], above[4];
        sum_fields<nodes>(below_.word, below);
        sum_fields<nodes>(outside_.word - below_.word, above); // no field borrows
        if (threadIdx.x % 32 == 0) {
            uint4(&sums)[2] = shared_.tile_sums[t][threadIdx.x / 32];
            sums[0] = {below[0], below[1], below[2], below[3]};
            sums[1] = {above[0], above[1], above[2], above[3]};
        }
        below_ = {}, outside_ = {};
    }
    /// Histograms of the block's tiles, a counter a thread, and what is below over all of them.
    __device__ void write_histograms(const OrbTile& first, int tiles) {
        const int t = threadIdx.x % most_tiles, bin = static_cast<int>(threadIdx.x) / most_tiles;
        if (bin >= 2 * nodes || t >= tiles)
            return;
        const int node = bin / 2;
        uint32_t count = 0;
        for (const uint4(&sums)[2] : shared_.tile_sums[t]) {
            const uint4& side = sums[bin % 2];
            const uint32_t pair[4] = {side.x, side.y, side.z, side.w};
            count += (chosen(pair, node % 4) >> (node / 4 * 16)) & 0xffffu;
        }
        view_.tiles.histogram[first.histogram + bin * first.stride + t] = count;
        if (bin % 2 == 0)
            atomicAdd(&shared_.below[node], count);
    }

    __device__ __forceinline__ void add_weight(int node, uint64_t w) {
#pragma unroll
        for (int m = 0; m < nodes; ++m)
            if (m == node)
                sum_low_[weighted ? m : 0] += w & 0xffffffffu, sum_high_[weighted ? m : 0] += w >> 32;
    }
    __device__ void add_shared(int which, uint32_t node, uint64_t w) {
        atomicAdd(&shared_.weights[which][node], static_cast<unsigned long long>(w & 0xffffffffu));
        atomicAdd(&shared_.weights[which + 1][node], static_cast<unsigned long long>(w >> 32));
    }

    __device__ void sum_weights() {
#pragma unroll
        for (int m = 0; m < nodes; ++m) {
            unsigned long long low = sum_low_[weighted ? m : 0], high = sum_high_[weighted ? m : 0];
            for (int offset = 16; offset > 0; offset /= 2)
                low += __shfl_xor_sync(~0u, low, offset), high += __shfl_xor_sync(~0u, high, offset);
            if ((threadIdx.x & 31) == 0 && (low | high) != 0)
                atomicAdd(&shared_.weights[0][m], low), atomicAdd(&shared_.weights[1][m], high);
        }
    }

    /// Counts to the cells, histograms to the tiles, the list to where it belongs.
    __device__ void finish(const OrbTile& first, int tiles) {
        const int thread = threadIdx.x;
        if (weighted)
            sum_weights();
        __syncthreads();
        const int kept = static_cast<int>(min(shared_.list_size, static_cast<uint32_t>(list_room)));
        for (int s = thread; s < kept; s += count_threads) {
            const uint32_t tag = shared_.list_tag[s];
            atomicAdd(&shared_.listed[tag >> 16], 1u);
            if (weighted)
                add_shared(2, tag >> 16, view_.from.weight[first.begin + (tag & 0xffffu)]);
        }
        if constexpr (last)
            write_histograms(first, tiles);
        __syncthreads();
        if (thread < nodes)
            add_to_cell(thread);
        __syncthreads();
        for (int s = thread; s < kept; s += count_threads) {
            const uint32_t tag = shared_.list_tag[s], node = tag >> 16;
            const unsigned long long at = shared_.base[node] + atomicSub(&shared_.listed[node], 1u) - 1;
            view_.list_value[at] = shared_.list_value[s];
            view_.list_place[at] = static_cast<uint32_t>(first.begin + (tag & 0xffffu));
        }
        __syncthreads();
    }

    __device__ void add_to_cell(int node) {
        const int32_t k = shared_.brackets.cell[node];
        if (k == 0)
            return;
        OrbNode& cell = view_.node[k];
        if (shared_.below[node] != 0)
            atomicAdd(&cell.below.count, static_cast<unsigned long long>(shared_.below[node]));
        if (weighted) {
            atomicAdd(&cell.below.low, shared_.weights[0][node]),
                atomicAdd(&cell.below.high, shared_.weights[1][node]);
            atomicAdd(&cell.band.low, shared_.weights[2][node]),
                atomicAdd(&cell.band.high, shared_.weights[3][node]);
        }
        if (shared_.listed[node] != 0)
            shared_.base[node] =
                cell.begin + atomicAdd(&cell.listed, static_cast<unsigned long long>(shared_.listed[node]));
    }

    const OrbView<T>& view_;
    CountShared<T>& shared_;
    uint32_t axes_;
    Fields<nodes, last ? 4 : 8> below_, outside_; // of this thread: below, and below or above the brackets
    unsigned long long sum_low_[weighted ? nodes : 1], sum_high_[weighted ? nodes : 1];
};

/// Blocks of a multiprocessor that registers must leave room for. Sums of weights take two registers a cell.
template <typename T>
constexpr int count_blocks(bool weighted, int step) {
    if (sizeof(T) == 8)
        return step == 0 ? 4 : 2;
    if (step == 0)
        return weighted ? 6 : 8;
    return !weighted || step == 1 ? 4 : 5 - step;
}

/// Each block takes `group` tiles, root by root.
template <typename T, bool weighted, int step, bool last>
__global__ void __launch_bounds__(count_threads, count_blocks<T>(weighted, step))
    count_points(const __grid_constant__ OrbView<T> view, int group) {
    __shared__ CountShared<T> shared;
    const int64_t tiles = view.tiles.first[view.tiles.roots];
    int64_t tile = int64_t{blockIdx.x} * group;
    if (tile >= tiles || backend::stopped(view.status))
        return;
    const int64_t end = tile + group < tiles ? tile + group : tiles;
    Counter<T, weighted, step, last> counter(view, shared);
    while (tile < end) {
        const int64_t root_end = view.tiles.first[view.tiles.table[tile] + 1];
        const int64_t stop = root_end < end ? root_end : end;
        counter.run(tile, stop);
        tile = stop;
    }
}

template <typename T, int step>
void launch_count(backend::Queue& queue, const OrbView<T>& view) {
    const int group = static_cast<int>(
        std::clamp<int64_t>(view.tiles.most / (16 * int64_t{queue.multiprocessors()}), 1, most_tiles));
    const auto blocks = static_cast<unsigned>((view.tiles.most + group - 1) / group);
    const bool last = step + 1 == view.tiles.levels;
    const auto launch = [&](auto kernel) {
        kernel<<<blocks, count_threads, 0, queue.stream()>>>(view, group);
    };
    constexpr bool only = step + 1 == most_levels; // there is no level after it
    if (view.from.weight != nullptr)
        last ? launch(count_points<T, true, step, true>) : launch(count_points<T, true, step, only>);
    else
        last ? launch(count_points<T, false, step, true>) : launch(count_points<T, false, step, only>);
}

template <typename T>
void orb_count(backend::Queue& queue, const OrbView<T>& view, int, int step) {
    if (step == 0)
        launch_count<T, 0>(queue, view);
    else if (step == 1)
        launch_count<T, 1>(queue, view);
    else if (step == 2)
        launch_count<T, 2>(queue, view);
    else
        launch_count<T, 3>(queue, view);
    GRAFT_CUDA_LAUNCHED("count_points");
    ++queue.launches;
}

template <typename T>
void orb_count_again(backend::Queue& queue, const OrbView<T>& view, int, int step) {
    const auto blocks =
        static_cast<unsigned>(std::min<int64_t>(view.tiles.most, 8 * int64_t{queue.multiprocessors()}));
    list_again<T><<<blocks, count_threads, 0, queue.stream()>>>(view, step);
    GRAFT_CUDA_LAUNCHED("list_again");
    ++queue.launches;
}

} // namespace graft::decompose
