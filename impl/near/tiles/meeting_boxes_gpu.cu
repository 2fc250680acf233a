// SPDX-License-Identifier: BSD-3-Clause
// Which sources may stand where a target is, or too close to it to be told: those in the bounding box of the
// targets, or next to it. See tile_gpu.cuh.
#include "near/tiles/tile_gpu.cuh"

namespace graft::near {

namespace {

template <typename T>
__device__ T warp_least(T value) {
    for (int step = 16; step > 0; step /= 2)
        value = min(value, __shfl_xor_sync(~0u, value, step));
    return value;
}

/// A warp a box.
template <typename T>
__global__ void meetings(StructureView boxes, RunsView runs, const Point<T>* target, const Point<T>* source,
                         int2* check) {
    const int64_t box = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
    if (box >= boxes.boxes)
        return;
    const int lane = threadIdx.x % 32;
    const int32_t begin = boxes.target_offset[box], end = boxes.target_offset[box + 1];
    constexpr T huge = sizeof(T) == 4 ? T(3.4e38) : T(1.7e308);
    T low[3] = {huge, huge, huge}, minus_high[3] = {huge, huge, huge};
    for (int32_t s = begin + lane; s < end; s += 32) {
        const Point<T> p = target[s];
        low[0] = min(low[0], p.x), low[1] = min(low[1], p.y), low[2] = min(low[2], p.z);
        minus_high[0] = min(minus_high[0], -p.x), minus_high[1] = min(minus_high[1], -p.y);
        minus_high[2] = min(minus_high[2], -p.z);
    }
    for (int axis = 0; axis < 3; ++axis)
        low[axis] = warp_least(low[axis]), minus_high[axis] = warp_least(minus_high[axis]);
    for (int axis = 0; axis < 3; ++axis) {
        T margin = T(least_distance);
        if constexpr (sizeof(T) == 8) // mixed precision resolves 2^-48 of it: others differ in two floats
            margin = max(margin, T(1e-12) * (-minus_high[axis] - low[axis]));
        low[axis] -= margin, minus_high[axis] -= margin;
    }
    int32_t first = INT32_MAX, minus_last = 0, k = 0;
    for (int64_t r = runs.offset[box]; begin < end && r < runs.offset[box + 1]; ++r) {
        const int2 run = runs.run[r];
        for (int32_t j = run.x + lane; j < run.y; j += 32) {
            const Point<T> p = source[j];
            if (p.x >= low[0] && p.y >= low[1] && p.z >= low[2] && -p.x >= minus_high[0] &&
                -p.y >= minus_high[1] && -p.z >= minus_high[2])
                first = min(first, k + j - run.x), minus_last = min(minus_last, -(k + j - run.x + 1));
        }
        k += run.y - run.x;
    }
    first = warp_least(first), minus_last = warp_least(minus_last);
    if (lane == 0)
        check[box] = make_int2(first, -minus_last);
}

} // namespace

template <typename T>
void find_meetings(backend::Queue& queue, const StructureView& boxes, const RunsView& runs,
                   const Point<T>* target, const Point<T>* source, int2* check) {
    if (boxes.boxes == 0)
        return;
    meetings<<<backend::blocks_for(int64_t{boxes.boxes} * 32, 128), 128, 0, queue.stream()>>>(
        boxes, runs, target, source, check);
    GRAFT_CUDA_LAUNCHED("meetings");
    ++queue.launches;
}

template void find_meetings(backend::Queue&, const StructureView&, const RunsView&, const Point<float>*,
                            const Point<float>*, int2*);
template void find_meetings(backend::Queue&, const StructureView&, const RunsView&, const Point<double>*,
                            const Point<double>*, int2*);

} // namespace graft::near
