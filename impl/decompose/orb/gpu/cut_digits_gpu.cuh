// SPDX-License-Identifier: BSD-3-Clause
// One digit of an exact selection: which of its bins the crossing point is in, and what follows for the node.
//
// Used by the streaming passes over whole lists (cut_select_gpu.cu) and by the block that finishes a cell
// from what the first digit left (cut_last_digits_gpu.cu). All integers, and the rule is the CPU's.
#pragma once

#include "decompose/orb/gpu/cut_children_gpu.cuh"

#include <cub/block/block_scan.cuh>

namespace graft::decompose {

/// Shift that spreads the window over at most 2^log2_bins bins.
__device__ inline int shift_of(const OrbNode& node, int log2_bins) {
    const uint64_t width = node.window_high - node.window_low;
    return max(0, 64 - __clzll(static_cast<long long>(width)) - log2_bins);
}
__device__ inline bool is_searching(const OrbNode& node) {
    return node.stage == SearchStage::images || node.stage == SearchStage::ids;
}

/// Key of a list's point in the stage the node is in; false: not within its window.
template <typename T>
__device__ __forceinline__ bool key_of(const OrbView<T>& view, const OrbNode& node, T value,
                                       const uint32_t* place, uint64_t& key) {
    key = image_of(value);
    if (node.stage == SearchStage::ids) {
        if (key != node.image)
            return false;
        key = id_image(view, *place);
    }
    return key >= node.window_low && key <= node.window_high;
}

/// body(i, value) for this block's share of a list, several loads at once.
template <typename T, typename Body>
__device__ __forceinline__ void for_listed(const T* values, int64_t listed, int64_t first, int64_t stride,
                                           const Body& body) {
    constexpr int many = 4;
    int64_t i = first;
    for (; i + (many - 1) * stride < listed; i += many * stride) {
        T v[many];
#pragma unroll
        for (int k = 0; k < many; ++k)
            v[k] = values[i + k * stride];
#pragma unroll
        for (int k = 0; k < many; ++k)
            body(i + k * stride, v[k]);
    }
    for (; i < listed; i += stride)
        body(i, values[i]);
}

/// A place of one's own at the end of what `size` counts: one atomic for all lanes that come along.
__device__ inline unsigned long long append(unsigned long long* size) {
    const uint32_t lanes = __activemask(), lane = threadIdx.x % 32;
    const int leader = __ffs(static_cast<int>(lanes)) - 1;
    unsigned long long first = 0;
    if (static_cast<int>(lane) == leader)
        first = atomicAdd(size, static_cast<unsigned long long>(__popc(lanes)));
    return __shfl_sync(lanes, first, leader) + __popc(lanes & ((1u << lane) - 1));
}

struct DigitSums {
    unsigned long long count, low, high; // weight = low + 2^32 high
    __device__ Wide weight() const { return static_cast<Wide>(low) + (static_cast<Wide>(high) << 32); }
};
struct AddDigitSums {
    __device__ DigitSums operator()(const DigitSums& a, const DigitSums& b) const {
        return {a.count + b.count, a.low + b.low, a.high + b.high};
    }
};

/// The image (or id) is known to the last digit: on to the ids of its heap, or done.
__device__ inline void conclude(OrbNode& node, bool implied, int64_t points) {
    if (node.window_low < node.window_high)
        return;
    if (node.stage == SearchStage::ids) {
        if (node.inside_count == 1) // else two points have one place and one id: stays unfound
            node.stage = SearchStage::found;
        return;
    }
    node.image = node.window_low;
    node.heap_begin = node.base_count, node.heap_end = node.base_count + node.inside_count;
    if (node.inside_count <= 1) {
        node.stage = SearchStage::found;
        return;
    }
    node.stage = SearchStage::ids;
    node.window_low = implied ? ordered_id(0) : 0;
    node.window_high = implied ? ordered_id(points - 1) : ~uint64_t{0};
    node.next_id = ~0ull;
}

template <int threads>
using DigitScan = cub::BlockScan<DigitSums, threads>;

/// The bin of the crossing point, from a digit's sums (sums_of(bin)): the node's window becomes that bin. All
/// threads of the block; one of them writes the node, after all have read it.
template <int threads, typename SumsOf>
__device__ void narrow_node(OrbNode& node, int log2_bins, const SumsOf& sums_of,
                            typename DigitScan<threads>::TempStorage& scratch, bool implied, int64_t points) {
    const CutGoal goal = node.goal;
    const uint64_t window_low = node.window_low, window_high = node.window_high;
    const int shift = shift_of(node, log2_bins);
    int64_t count = node.base_count;
    Wide weight = node.base_weight;
    const int bins = 1 << log2_bins, each = (bins + threads - 1) / threads;
    const int begin = static_cast<int>(threadIdx.x) * each, end = min(begin + each, bins);
    DigitSums mine{}, ahead{};
    for (int bin = begin; bin < end; ++bin)
        mine = AddDigitSums()(mine, sums_of(bin));
    DigitScan<threads>(scratch).ExclusiveScan(mine, ahead, DigitSums{0, 0, 0}, AddDigitSums());
    __syncthreads();
    count += static_cast<int64_t>(ahead.count);
    weight += ahead.weight();
    if (threadIdx.x != 0 && goal.past(count, weight))
        return;
    for (int bin = begin; bin < end; ++bin) {
        const DigitSums sums = sums_of(bin);
        const int64_t next = count + static_cast<int64_t>(sums.count);
        const Wide next_weight = weight + sums.weight();
        if (sums.count > 0 && goal.past(next, next_weight)) {
            node.base_count = count, node.base_weight = weight;
            node.inside_count = static_cast<int64_t>(sums.count), node.inside_weight = sums.weight();
            const uint64_t low = window_low + (static_cast<uint64_t>(bin) << shift);
            const uint64_t high = low + ((uint64_t{1} << shift) - 1);
            node.window_low = low;
            node.window_high = high < window_high ? high : window_high;
            conclude(node, implied, points);
            break;
        }
        count = next, weight = next_weight;
    }
}

/// Bytes of shared memory of a block's bins.
inline size_t digit_bytes(int log2_bins, bool weighted) {
    return (size_t{1} << log2_bins) * (weighted ? 20 : 4);
}

/// A digit of cell number k of the level, from part `slice` of `share` of its list, to the cell's sums.
template <typename T, bool weighted>
__device__ void add_digit(const OrbView<T>& view, int32_t first, unsigned k, unsigned slice, unsigned share,
                          unsigned long long* shared) {
    const OrbNode& node = view.node[first + static_cast<int32_t>(k)];
    if (!is_searching(node))
        return;
    const int bins = 1 << view.log2_bins, shift = shift_of(node, view.log2_bins);
    unsigned long long *low = shared, *high = shared + (weighted ? bins : 0);
    uint32_t* count = reinterpret_cast<uint32_t*>(high + (weighted ? bins : 0));
    __syncthreads(); // of the last one's use
    for (int b = threadIdx.x; b < bins; b += select_threads) {
        count[b] = 0;
        if (weighted)
            low[b] = high[b] = 0;
    }
    __syncthreads();
    for_listed(view.list_value + node.begin, static_cast<int64_t>(node.listed),
               int64_t{slice} * select_threads + threadIdx.x, int64_t{share} * select_threads,
               [&](int64_t i, T value) {
                   uint64_t key;
                   const uint32_t* place = view.list_place + node.begin + i;
                   if (!key_of(view, node, value, place, key))
                       return;
                   const uint64_t bin = (key - node.window_low) >> shift;
                   atomicAdd(&count[bin], 1u);
                   if (weighted) {
                       const uint64_t w = view.from.weight[*place];
                       atomicAdd(&low[bin], static_cast<unsigned long long>(w & 0xffffffffu));
                       atomicAdd(&high[bin], static_cast<unsigned long long>(w >> 32));
                   }
               });
    __syncthreads();
    const int64_t at = int64_t{k} << view.log2_bins;
    for (int b = threadIdx.x; b < bins; b += select_threads)
        if (count[b] != 0) {
            atomicAdd(&view.bins[at + b], count[b]);
            if (weighted) {
                atomicAdd(&view.bins_low[at + b], low[b]);
                atomicAdd(&view.bins_high[at + b], high[b]);
            }
        }
}

/// The block's cell, number k of the level, goes on to the bin of its crossing point; its sums are zeroed.
template <typename T, bool weighted>
__device__ void narrow_listed(const OrbView<T>& view, int32_t first, unsigned k, int64_t points,
                              typename DigitScan<select_threads>::TempStorage& scratch) {
    OrbNode& node = view.node[first + static_cast<int32_t>(k)];
    if (!is_searching(node))
        return;
    const int64_t at = int64_t{k} << view.log2_bins;
    const auto sums_of = [&](int b) -> DigitSums {
        const uint64_t count = view.bins[at + b];
        if (!weighted)
            return {count, count, 0};
        return {count, count != 0 ? view.bins_low[at + b] : 0, count != 0 ? view.bins_high[at + b] : 0};
    };
    narrow_node<select_threads>(node, view.log2_bins, sums_of, scratch, view.from.id == nullptr, points);
    __syncthreads();
    for (int b = threadIdx.x; b < 1 << view.log2_bins; b += select_threads) {
        view.bins[at + b] = 0;
        if (weighted)
            view.bins_low[at + b] = view.bins_high[at + b] = 0;
    }
}

} // namespace graft::decompose
