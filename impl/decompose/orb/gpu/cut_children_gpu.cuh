// SPDX-License-Identifier: BSD-3-Clause
// From a cell's crossing point to its cut, and its children.
#pragma once

#include "decompose/orb/gpu/orb_steps_gpu.cuh"

namespace graft::decompose {

constexpr int select_threads = 256;

template <typename T>
__device__ uint64_t id_image(const OrbView<T>& view, uint32_t place) {
    return ordered_id(view.from.id_of(place));
}

/// The cut that follows from the crossing point, and the number and weight of the points left of it.
template <typename T>
__device__ Cut decide(OrbNode& node, int64_t& left, Wide& left_weight) {
    const int64_t after = node.base_count + 1;
    const Wide after_weight = node.base_weight + node.inside_weight;
    const double x = static_cast<double>(value_of<T>(node.image)) + 0.0;
    const bool heap = node.heap_end - node.heap_begin > 1;
    const int64_t id = heap ? from_ordered_id(node.window_low) : 0;
    node.split = x;
    if (node.goal.takes(after, node.base_weight, after_weight)) {
        left = after, left_weight = after_weight;
        if (after < node.heap_end)
            return {x, from_ordered_id(node.next_id)};
        node.split = static_cast<double>(value_of<T>(node.image + 1));
        return cut_after({x, id});
    }
    left = node.base_count, left_weight = node.base_weight;
    return cut_before({x, id}, node.base_count > node.heap_begin);
}

__device__ inline void open_child(OrbNode& node, const Cell& cell, int64_t begin, int64_t count, Wide weight,
                                  int dimension, int64_t cap) {
    node = {};
    node.cell = cell;
    node.begin = begin, node.count = count, node.weight = weight;
    if (cell.parts < 2)
        return;
    node.goal = CutGoal(count, weight, cell.parts, static_cast<int32_t>(leaves_left(cell.parts)), cap);
    node.axis = cut_axis(cell, dimension);
    node.stage = count > 0 ? SearchStage::images : SearchStage::idle;
}

template <typename T, bool weighted>
__global__ void cut_cells(OrbView<T> view, int32_t first, int32_t end) {
    const int32_t k = first + static_cast<int32_t>(blockIdx.x * select_threads + threadIdx.x);
    if (k == first)
        view.misses[1] = view.misses[2] = 0;
    if (k >= end || backend::stopped(view.status))
        return;
    OrbNode& node = view.node[k];
    int64_t left = 0;
    Wide left_weight = 0;
    Cut cut = middle_cut(node.cell, node.axis);
    if (node.count > 0) {
        if (!weighted)
            node.inside_weight = 1;
        cut = decide<T>(node, left, left_weight);
        if (node.stage != SearchStage::found) // two points with one place and one id
            backend::stop_with(view.status, backend::deep_cell);
    } else {
        node.split = cut.x;
    }
    Cell lower, upper;
    cut_cell(node.cell, node.axis, cut, lower, upper);
    open_child(view.node[2 * k], lower, node.begin, left, left_weight, view.dimension, view.cap);
    open_child(view.node[2 * k + 1], upper, node.begin + left, node.count - left, node.weight - left_weight,
               view.dimension, view.cap);
}

} // namespace graft::decompose
