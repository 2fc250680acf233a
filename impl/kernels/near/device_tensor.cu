// Kernels of device_tensor.cuh, and the frames that they count in.
#include "kernels/near/device_tensor.cuh"

#include <cfloat>

namespace graft::kernels::near {

namespace {

constexpr int tensor_threads = 32 * tensor_warps;
constexpr int tensor_resident = 512 / tensor_threads; // blocks: 128 registers a thread

template <bool value, bool slope>
__global__ __launch_bounds__(tensor_threads,
                             tensor_resident) void sum_tensor_kernel(SumView<Precision::fp32> v,
                                                                     const TileBlock* blocks,
                                                                     const int2* check, const float4* frame) {
    __shared__ TensorRoom room;
    const TileBlock block = blocks[blockIdx.x];
    run_tensor_block<value, slope, tensor_most>(v, block, check[block.box], frame[block.box], room);
}

__device__ __forceinline__ float warp_most(float value) {
    for (int step = 16; step > 0; step /= 2)
        value = fmaxf(value, __shfl_xor_sync(all_lanes, value, step));
    return value;
}

/// A warp a box.
__global__ void frames_kernel(StructureView boxes, RunsView runs, const Point<float>* target,
                              const Point<float>* source, float4* frame) {
    const int64_t box = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
    if (box >= boxes.boxes)
        return;
    const int lane = threadIdx.x % 32;
    const int32_t begin = boxes.target_offset[box], end = boxes.target_offset[box + 1];
    if (begin == end)
        return;
    float minus_low[3] = {-FLT_MAX, -FLT_MAX, -FLT_MAX}, high[3] = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
    const auto each = [&](const Point<float>& p, auto&& take) { take(0, p.x), take(1, p.y), take(2, p.z); };
    for (int32_t s = begin + lane; s < end; s += 32)
        each(target[s], [&](int axis, float at) {
            minus_low[axis] = fmaxf(minus_low[axis], -at), high[axis] = fmaxf(high[axis], at);
        });
    float centre[3], reach = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        minus_low[axis] = warp_most(minus_low[axis]), high[axis] = warp_most(high[axis]);
        centre[axis] = high[axis] / 2 - minus_low[axis] / 2;
        reach = fmaxf(reach, fmaxf(high[axis] - centre[axis], minus_low[axis] + centre[axis]));
    }
    for (int64_t r = runs.offset[box]; r < runs.offset[box + 1]; ++r) {
        const int2 run = runs.run[r];
        for (int32_t j = run.x + lane; j < run.y; j += 32)
            each(source[j], [&](int axis, float at) { reach = fmaxf(reach, fabsf(at - centre[axis])); });
    }
    reach = warp_most(reach);
    constexpr float least = 1e-12f; // whose inverse' cube single precision holds
    if (lane == 0)
        frame[box] = make_float4(centre[0], centre[1], centre[2], 0.999f / fmaxf(reach, least));
}

} // namespace

void find_frames(backend::Queue& queue, const StructureView& boxes, const RunsView& runs,
                 const Point<float>* target, const Point<float>* source, float4* frame) {
    if (boxes.boxes == 0)
        return;
    frames_kernel<<<backend::blocks_for(int64_t{boxes.boxes} * 32, 128), 128, 0, queue.stream()>>>(
        boxes, runs, target, source, frame);
    GRAFT_CUDA_LAUNCHED("frames");
    ++queue.launches;
}

void sum_tensor_blocks(backend::Queue& queue, const SumView<Precision::fp32>& view, const TileBlock* blocks,
                       const int2* check, const float4* frame) {
    if (view.count == 0)
        return;
    with_outputs(view.results, [&]<bool value, bool slope>() {
        sum_tensor_kernel<value, slope>
            <<<static_cast<unsigned>(view.count), tensor_threads, 0, queue.stream()>>>(view, blocks, check,
                                                                                       frame);
        GRAFT_CUDA_LAUNCHED("near field, tensor tiles");
        ++queue.launches;
    });
}

} // namespace graft::kernels::near
