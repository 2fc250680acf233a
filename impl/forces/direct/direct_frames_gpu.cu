// SPDX-License-Identifier: BSD-3-Clause
// Frames of the blocks of targets for all-pairs on the device, as direct_force.cpp makes them on the host.
//
// Boxes are made of minima and maxima alone, so no order of reduction changes a bit. A block of targets at
// one place looks for the nearest source at another place: n_sources reads of it, which only such blocks pay.
#include "forces/direct/direct_gpu.cuh"
#include "forces/frame_gpu.cuh"

namespace graft::forces {

namespace {

constexpr int threads = 128;

struct Corners {
    double lower[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, upper[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    double softening = 0; // the longest
    __device__ void include(double x, double y, double z) {
        lower[0] = fmin(lower[0], x), upper[0] = fmax(upper[0], x);
        lower[1] = fmin(lower[1], y), upper[1] = fmax(upper[1], y);
        lower[2] = fmin(lower[2], z), upper[2] = fmax(upper[2], z);
    }
};

/// The smallest of a value over the block, in all threads. `scratch`: a double a warp.
__device__ double block_min(double value, double* scratch) {
    for (int step = 16; step > 0; step /= 2)
        value = fmin(value, __shfl_xor_sync(~0u, value, step));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = value;
    __syncthreads();
    for (int warp = 0; warp < threads / 32; ++warp)
        value = fmin(value, scratch[warp]);
    return value;
}

__device__ void block_corners(Corners& c, double* scratch) {
    for (int axis = 0; axis < 3; ++axis) {
        c.lower[axis] = block_min(c.lower[axis], scratch);
        c.upper[axis] = -block_min(-c.upper[axis], scratch);
    }
    c.softening = -block_min(-c.softening, scratch);
}

__device__ Corners corners_of(const DeviceSources& points, int64_t first, int64_t end, int64_t step) {
    Corners c;
    for (int64_t k = first; k < end; k += step) {
        c.include(points.x[k], points.y[k], points.z[k]);
        c.softening = points.softening != nullptr ? fmax(c.softening, points.softening[k]) : 0;
    }
    return c;
}

__global__ __launch_bounds__(threads) void bound_sources(const DirectInput input, double* bounds) {
    __shared__ double scratch[threads / 32];
    if (backend::stopped(input.status))
        return;
    Corners c = corners_of(input.sources, blockIdx.x * int64_t{threads} + threadIdx.x, input.sources.n,
                           int64_t{threads} * direct_bound_blocks);
    block_corners(c, scratch);
    double* const to = bounds + direct_bounds * blockIdx.x;
    if (threadIdx.x != 0)
        return;
    for (int axis = 0; axis < 3; ++axis)
        to[axis] = c.lower[axis], to[3 + axis] = c.upper[axis];
    to[6] = c.softening;
}

__device__ Corners all_sources(const double* bounds, double* scratch) {
    Corners c;
    for (int k = threadIdx.x; k < direct_bound_blocks; k += threads) {
        const double* const from = bounds + direct_bounds * k;
        for (int axis = 0; axis < 3; ++axis) { // boxes may be empty
            c.lower[axis] = fmin(c.lower[axis], from[axis]);
            c.upper[axis] = fmax(c.upper[axis], from[3 + axis]);
        }
        c.softening = fmax(c.softening, from[6]);
    }
    block_corners(c, scratch);
    return c;
}

/// Largest coordinate distance of the nearest source at another place than `place`; 0: there is none.
__device__ double nearest_source(const DeviceSources& sources, const double (&place)[3], double* scratch) {
    double nearest = HUGE_VAL;
    for (int64_t k = threadIdx.x; k < sources.n; k += threads) {
        const double distance = fmax(fmax(fabs(sources.x[k] - place[0]), fabs(sources.y[k] - place[1])),
                                     fabs(sources.z[k] - place[2]));
        nearest = distance > 0 ? fmin(nearest, distance) : nearest;
    }
    nearest = block_min(nearest, scratch);
    return isfinite(nearest) ? nearest : 0;
}

__device__ double furthest_corner(const Corners& c, const double (&place)[3]) {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const double far = fmax(place[axis] - c.lower[axis], c.upper[axis] - place[axis]);
        square += far * far;
    }
    return sqrt(square);
}

template <typename T, bool one>
__global__ __launch_bounds__(threads) void make_frames(const DirectInput input, bool softened,
                                                       const DirectFrames to) {
    __shared__ double scratch[threads / 32];
    if (backend::stopped(input.status))
        return;
    const Corners of_sources = all_sources(to.bounds, scratch);
    Corners box = of_sources;
    if (!one) {
        const int64_t first = blockIdx.x * input.division.block;
        box = corners_of(input.targets, first + threadIdx.x,
                         min(first + input.division.block, input.division.targets), threads);
        block_corners(box, scratch);
    }
    const bool point = box.lower[0] == box.upper[0] && box.lower[1] == box.upper[1] &&
                       box.lower[2] == box.upper[2]; // the same in all threads
    const double nearest = point ? nearest_source(input.sources, box.lower, scratch) : 0;
    if (threadIdx.x != 0)
        return;
    const double reach = furthest_corner(of_sources, box.lower);
    const double longest = !softened                           ? 0
                           : input.sources.softening != nullptr ? fmax(of_sources.softening, box.softening)
                                                                : input.length;
    const auto frame_of = [&]<typename Number>(Number, double furthest, double softening) {
        return make_device_frame<Number>(box.lower, box.upper, nearest, furthest, softening);
    };
    const Frame frame = frame_of(T(), reach, sizeof(T) == 8 ? longest : 0);
    to.frames[blockIdx.x] = frame;
    const ExactFrame exact{frame_of(double(), reach, longest).scale, softened_too_far(frame, longest)};
    to.exact[blockIdx.x] = exact;
    if (input.close.limits != nullptr && !exact.all)
        add_limit(input.close, close_limit(frame));
}

} // namespace

void launch_direct_frames(backend::Queue& queue, bool in_double, bool one, bool softened, const DirectInput& input,
                          const DirectFrames& to) {
    bound_sources<<<direct_bound_blocks, threads, 0, queue.stream()>>>(input, to.bounds);
    GRAFT_CUDA_LAUNCHED("bound_sources");
    const auto kernel = in_double ? (one ? make_frames<double, true> : make_frames<double, false>)
                                  : (one ? make_frames<float, true> : make_frames<float, false>);
    kernel<<<one ? 1u : static_cast<unsigned>(input.division.blocks), threads, 0, queue.stream()>>>(
        input, softened, to);
    GRAFT_CUDA_LAUNCHED("make_frames");
    queue.launches += 2;
}

} // namespace graft::forces
