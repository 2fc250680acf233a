// SPDX-License-Identifier: BSD-3-Clause
// The crossing point of every cell of a level, found among the few points that share its first digit.
//
// One block a cell takes the digits that are left in its shared memory. Cells of which more stayed than there
// is room for (many points at one coordinate, a cut through zero, where images are dense) go through their
// whole lists once more a digit: one kernel for all of them, whose blocks wait for each other; without such a
// cell it returns at once. The results do not depend on the way.
#include "decompose/orb/gpu/cut_digits_gpu.cuh"

#include <cooperative_groups.h>

#include <algorithm>

namespace graft::decompose {

namespace {

constexpr int finish_threads = 512, finish_log2 = 10, finish_bins = 1 << finish_log2;
constexpr int most_passes = 2 * ((64 + finish_log2 - 1) / finish_log2); // images, ids

template <bool weighted>
struct LastDigitsShared {
    unsigned long long low[weighted ? finish_bins : 1], high[weighted ? finish_bins : 1];
    uint32_t count[finish_bins];
    typename DigitScan<finish_threads>::TempStorage scan;
};

/// One digit of the kept points to shared sums.
template <typename T, bool weighted>
__device__ void add_kept(const OrbView<T>& view, const OrbNode& node, const T* values, const uint32_t* places,
                         int64_t kept, LastDigitsShared<weighted>& shared) {
    const int shift = shift_of(node, finish_log2);
    for (int b = threadIdx.x; b < finish_bins; b += finish_threads) {
        shared.count[b] = 0;
        if (weighted)
            shared.low[b] = shared.high[b] = 0;
    }
    __syncthreads();
    for_listed(values, kept, threadIdx.x, finish_threads, [&](int64_t i, T value) {
        uint64_t key;
        if (!key_of(view, node, value, places + i, key))
            return;
        const uint64_t bin = (key - node.window_low) >> shift;
        atomicAdd(&shared.count[bin], 1u);
        if (weighted) {
            const uint64_t w = view.from.weight[places[i]];
            atomicAdd(&shared.low[bin], static_cast<unsigned long long>(w & 0xffffffffu));
            atomicAdd(&shared.high[bin], static_cast<unsigned long long>(w >> 32));
        }
    });
    __syncthreads();
}

/// Is this the crossing point's heap, and the id above the crossing point's? Then it may be the next one.
template <typename T>
__device__ void offer_next_id(const OrbView<T>& view, OrbNode& node, T value, const uint32_t* place) {
    if (image_of(value) != node.image)
        return;
    const uint64_t id = id_image(view, *place);
    if (id > node.window_low)
        atomicMin(&node.next_id, static_cast<unsigned long long>(id));
}
__device__ bool wants_next_id(const OrbNode& node) {
    return node.stage == SearchStage::found && node.heap_end - node.heap_begin > 1;
}

template <typename T, bool weighted>
__global__ void __launch_bounds__(finish_threads)
    finish_cells(OrbView<T> view, int32_t first, int64_t points) {
    OrbNode& node = view.node[first + static_cast<int32_t>(blockIdx.x)];
    if (!is_searching(node) || backend::stopped(view.status))
        return;
    __shared__ LastDigitsShared<weighted> shared;
    const int64_t kept = node.inside_count;
    if (kept > view.kept_room) {
        if (threadIdx.x == 0) {
            node.kept = too_many;
            atomicAdd(&view.misses[2], 1ull);
        }
        return;
    }
    const T* values = view.kept_value + blockIdx.x * view.kept_room;
    const uint32_t* places = view.kept_place + blockIdx.x * view.kept_room;
    for (int pass = 0; pass < most_passes && is_searching(node); ++pass) {
        add_kept<T, weighted>(view, node, values, places, kept, shared);
        const auto sums_of = [&](int b) -> DigitSums {
            return {shared.count[b], weighted ? shared.low[b] : shared.count[b],
                    weighted ? shared.high[b] : 0};
        };
        narrow_node<finish_threads>(node, finish_log2, sums_of, shared.scan, view.from.id == nullptr, points);
        __syncthreads();
    }
    if (wants_next_id(node))
        for (int64_t i = threadIdx.x; i < kept; i += finish_threads)
            offer_next_id(view, node, values[i], places + i);
}

/// The cells that finish_cells left, by their lists: at most `passes` digits more, then their next ids.
template <typename T, bool weighted>
__global__ void __launch_bounds__(select_threads)
    finish_long(OrbView<T> view, int32_t first, unsigned cells, unsigned share, int passes, int64_t points) {
    if (view.misses[2] == 0 || backend::stopped(view.status))
        return;
    extern __shared__ unsigned long long bins[];
    __shared__ typename DigitScan<select_threads>::TempStorage scratch;
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const auto is_long = [&](unsigned k) {
        return view.node[first + static_cast<int32_t>(k)].kept == too_many;
    };
    const unsigned items = cells * share;
    for (int pass = 0; pass < passes; ++pass) {
        for (unsigned item = blockIdx.x; item < items; item += gridDim.x)
            if (is_long(item / share))
                add_digit<T, weighted>(view, first, item / share, item % share, share, bins);
        grid.sync();
        for (unsigned k = blockIdx.x; k < cells; k += gridDim.x)
            if (is_long(k)) {
                __syncthreads();
                narrow_listed<T, weighted>(view, first, k, points, scratch);
            }
        grid.sync();
    }
    for (unsigned item = blockIdx.x; item < items; item += gridDim.x) {
        OrbNode& node = view.node[first + static_cast<int32_t>(item / share)];
        if (is_long(item / share) && wants_next_id(node))
            for_listed(view.list_value + node.begin, static_cast<int64_t>(node.listed),
                       int64_t{item % share} * select_threads + threadIdx.x, int64_t{share} * select_threads,
                       [&](int64_t i, T value) {
                           offer_next_id(view, node, value, view.list_place + node.begin + i);
                       });
    }
}

template <typename T, bool weighted>
void launch_finish(backend::Queue& queue, OrbView<T> view, int32_t first, int32_t cell_count,
                   int64_t points) {
    auto cells = static_cast<unsigned>(cell_count);
    finish_cells<T, weighted><<<cells, finish_threads, 0, queue.stream()>>>(view, first, points);
    GRAFT_CUDA_LAUNCHED("finish_cells");
    const size_t bytes = digit_bytes(view.log2_bins, weighted);
    const auto kernel = finish_long<T, weighted>;
    int per_multiprocessor = 0;
    GRAFT_CUDA(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, select_threads, bytes));
    const auto multiprocessors = static_cast<unsigned>(queue.multiprocessors());
    const unsigned blocks = multiprocessors * static_cast<unsigned>(std::clamp(per_multiprocessor, 1, 4));
    unsigned share = std::max(1u, 16 * multiprocessors / cells);
    const int id_bits = view.from.id != nullptr ? 64 : 32;
    int passes = (8 * static_cast<int>(sizeof(T)) + view.log2_bins - 1) / view.log2_bins +
                 (id_bits + view.log2_bins - 1) / view.log2_bins;
    void* arguments[] = {&view, &first, &cells, &share, &passes, &points};
    GRAFT_CUDA(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(blocks),
                                           dim3(select_threads), arguments, bytes, queue.stream()));
    queue.launches += 2;
}

} // namespace

template <typename T>
void orb_finish(backend::Queue& queue, const OrbView<T>& view, int32_t first, int32_t cells, int64_t points) {
    view.from.weight != nullptr ? launch_finish<T, true>(queue, view, first, cells, points)
                                : launch_finish<T, false>(queue, view, first, cells, points);
}

template void orb_finish<float>(backend::Queue&, const OrbView<float>&, int32_t, int32_t, int64_t);
template void orb_finish<double>(backend::Queue&, const OrbView<double>&, int32_t, int32_t, int64_t);

} // namespace graft::decompose
