// SPDX-License-Identifier: BSD-3-Clause
// The exact cut of every cell of a level, selected in the list of its bracket: by digits of the coordinate's
// image, then of the ids where many points share the crossing point's coordinate. Then the cut is made and
// the children opened.
//
// All integers, and the rule is the CPU's (cut_goal.hpp, cell_rule.hpp), so the cells have the CPU's bits. A
// list is read twice: for its first digit, and to keep what shares that digit with the crossing point (one in
// 2,000 or so), where a block a cell finds the rest (cut_last_digits_gpu.cu).
#include "decompose/orb/gpu/cut_digits_gpu.cuh"

namespace graft::decompose {

namespace {

constexpr int threads = select_threads;

/// After the first pass: where the crossing point is. A bracket that missed it is moved to its side.
template <typename T>
__global__ void check_brackets(OrbView<T> view, int32_t first, int32_t end, bool weighted) {
    const int32_t k = first + static_cast<int32_t>(blockIdx.x * threads + threadIdx.x);
    if (k >= end || backend::stopped(view.status))
        return;
    OrbNode& node = view.node[k];
    if (node.stage == SearchStage::idle)
        return;
    const int64_t below = static_cast<int64_t>(node.below.count), listed = static_cast<int64_t>(node.listed);
    const Wide weight = weighted ? node.below.weight() : static_cast<Wide>(below);
    const Wide band = weighted ? node.band.weight() : static_cast<Wide>(listed);
    node.base_count = below, node.base_weight = weight;
    const T low = static_cast<T>(node.low), high = static_cast<T>(node.high);
    node.missed = 0;
    if (below > 0 && node.goal.past(below, weight)) {
        node.missed = -1;
        node.base_count = 0, node.base_weight = 0;
        node.low = -INFINITY;
        node.high = static_cast<double>(value_of<T>(image_of(low) - 1));
    } else if (below + listed < node.count && !node.goal.past(below + listed, weight + band)) {
        node.missed = 1;
        node.base_count = below + listed, node.base_weight = weight + band;
        node.low = static_cast<double>(value_of<T>(image_of(high) + 1));
        node.high = INFINITY;
    }
    if (node.missed != 0) {
        atomicAdd(&view.misses[0], 1ull);
        view.missed_cell[atomicAdd(&view.misses[1], 1ull)] = k;
    }
    const T least = static_cast<T>(node.cell.lower[node.axis]),
            most = static_cast<T>(node.cell.upper[node.axis]);
    node.window_low = image_of(fmax(static_cast<T>(node.low), least));
    node.window_high = image_of(fmin(static_cast<T>(node.high), most));
    node.stage = SearchStage::images;
}

/// The first digit of every cell: `share` blocks a cell, each takes its part of the list.
template <typename T, bool weighted>
__global__ void __launch_bounds__(threads) add_digits(OrbView<T> view, int32_t first, unsigned share) {
    extern __shared__ unsigned long long shared[];
    if (!backend::stopped(view.status))
        add_digit<T, weighted>(view, first, blockIdx.x / share, blockIdx.x % share, share, shared);
}

/// One block a cell: the bin of the crossing point, from the digit's sums, which are zeroed for the next one.
template <typename T, bool weighted>
__global__ void __launch_bounds__(threads) narrow(OrbView<T> view, int32_t first, int64_t points) {
    __shared__ typename DigitScan<threads>::TempStorage scratch;
    if (!backend::stopped(view.status))
        narrow_listed<T, weighted>(view, first, blockIdx.x, points, scratch);
}

/// What is left of a list after the first digit, when it is not too much, to where one block finishes it.
template <typename T>
__global__ void __launch_bounds__(threads) keep_candidates(OrbView<T> view, int32_t first, unsigned share) {
    const int64_t k = blockIdx.x / share;
    OrbNode& node = view.node[first + k];
    if (!is_searching(node) || node.inside_count > view.kept_room || backend::stopped(view.status))
        return;
    T* values = view.kept_value + k * view.kept_room;
    uint32_t* places = view.kept_place + k * view.kept_room;
    const bool by_image = node.stage == SearchStage::images;
    const uint64_t low = by_image ? node.window_low : node.image,
                   high = by_image ? node.window_high : node.image;
    for_listed(view.list_value + node.begin, static_cast<int64_t>(node.listed),
               int64_t{blockIdx.x % share} * threads + threadIdx.x, int64_t{share} * threads,
               [&](int64_t i, T value) {
                   const uint64_t image = image_of(value);
                   if (image < low || image > high)
                       return;
                   const unsigned long long at = append(&node.kept);
                   values[at] = value;
                   places[at] = view.list_place[node.begin + i];
               });
}

template <typename T, bool weighted>
void select_level(backend::Queue& queue, const OrbView<T>& view, int level) {
    const int32_t first = int32_t{1} << level, end = end_of_level(level, view.parts);
    const auto cells = static_cast<unsigned>(end - first);
    const int64_t points = view.tiles.most * tile_points; // at least
    const unsigned share = std::max(1u, 16u * static_cast<unsigned>(queue.multiprocessors()) / cells);
    const unsigned grid = share * cells;
    add_digits<T, weighted>
        <<<grid, threads, digit_bytes(view.log2_bins, weighted), queue.stream()>>>(view, first, share);
    GRAFT_CUDA_LAUNCHED("add_digits");
    narrow<T, weighted><<<cells, threads, 0, queue.stream()>>>(view, first, points);
    GRAFT_CUDA_LAUNCHED("narrow");
    keep_candidates<T><<<grid, threads, 0, queue.stream()>>>(view, first, share);
    GRAFT_CUDA_LAUNCHED("keep_candidates");
    queue.launches += 3;
    orb_finish(queue, view, first, static_cast<int32_t>(cells), points);
    cut_cells<T, weighted>
        <<<backend::blocks_for(cells, threads), threads, 0, queue.stream()>>>(view, first, end);
    GRAFT_CUDA_LAUNCHED("cut_cells");
    ++queue.launches;
}

} // namespace

template <typename T>
void orb_check(backend::Queue& queue, const OrbView<T>& view, int level) {
    const int32_t first = int32_t{1} << level, end = end_of_level(level, view.parts);
    check_brackets<T><<<backend::blocks_for(end - first, threads), threads, 0, queue.stream()>>>(
        view, first, end, view.from.weight != nullptr);
    GRAFT_CUDA_LAUNCHED("check_brackets");
    ++queue.launches;
}

template <typename T>
void orb_select(backend::Queue& queue, const OrbView<T>& view, int level) {
    view.from.weight != nullptr ? select_level<T, true>(queue, view, level)
                                : select_level<T, false>(queue, view, level);
}

template void orb_check<float>(backend::Queue&, const OrbView<float>&, int);
template void orb_check<double>(backend::Queue&, const OrbView<double>&, int);
template void orb_select<float>(backend::Queue&, const OrbView<float>&, int);
template void orb_select<double>(backend::Queue&, const OrbView<double>&, int);

} // namespace graft::decompose
