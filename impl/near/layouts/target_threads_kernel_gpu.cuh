// SPDX-License-Identifier: BSD-3-Clause
// The bodies of target_threads_gpu.cuh; included by the files that instantiate them.
#pragma once

#include "near/layouts/target_threads_gpu.cuh"

namespace graft::near {

template <Form form, Precision precision, int components, bool slope>
struct TargetLoop {
    using View = SumView<precision>;
    using Stored = typename View::Stored;
    using Real = typename View::Real;
    const View& v;
    TargetSum<form, precision, components, slope> sum;
    Stored x, y, z;
    int32_t self; // k of the target itself, or -1

    __device__ __forceinline__ void begin(Stored px, Stored py, Stored pz, int32_t own) {
        x = px, y = py, z = pz, self = own;
        sum.clear();
    }
    __device__ __forceinline__ void add(int32_t k, Stored px, Stored py, Stored pz,
                                        const Real (&q)[components]) {
        add(k, k, px, py, pz, q);
    }
    /// turn: of this thread's pairs.
    __device__ __forceinline__ void add(int32_t k, int32_t turn, Stored px, Stored py, Stored pz,
                                        const Real (&q)[components]) {
        const Real d[3] = {static_cast<Real>(px - x), static_cast<Real>(py - y), static_cast<Real>(pz - z)};
        if (k != self)
            sum.template add<true>(d, q, v.softening_square, v.constants);
        if ((turn & 15) == 15)
            sum.flush();
    }
    /// The sums of 2^log_lanes lanes, in all of them. By whole warps.
    __device__ __forceinline__ void join(int32_t log_lanes) {
        sum.flush();
#pragma unroll
        for (int c = 0; c < sum.values; ++c)
            for (int32_t step = 0; step < log_lanes; ++step)
                sum.result(c) += __shfl_xor_sync(~0u, sum.result(c), 1 << step);
    }
    __device__ __forceinline__ void write(int32_t slot) {
        sum.flush();
        const int64_t at = v.boxes.target_index != nullptr ? v.boxes.target_index[slot] : slot;
#pragma unroll
        for (int c = 0; c < sum.values; ++c)
            write_result<components, 3>(v.results, c, at, sum.result(c));
    }
};

/// Charges of this pass at place `at` of the charge arrays.
template <int components, Precision precision, typename Stored, typename Real>
__device__ __forceinline__ void load_charges(const SumView<precision>& v, int64_t at, Stored first,
                                             Real (&q)[components]) {
    if constexpr (components == 1) {
        q[0] = static_cast<Real>(first);
    } else {
#pragma unroll
        for (int c = 0; c < components; ++c)
            q[c] = c < v.components
                       ? static_cast<Real>(v.charge[(v.first_component + c) * v.charge_stride + at])
                       : Real(0);
    }
}

/// Sources lane, lane + 2^log_lanes ... of a box's.
template <int components, class Loop>
__device__ __forceinline__ void feed_share(Loop& loop, int32_t box, int32_t lane, int32_t log_lanes) {
    const auto& v = loop.v;
    const int32_t m = v.runs.sources[box];
    int64_t next = v.runs.offset[box];
    int32_t end = 0, shift = 0; // k of the run's end; from a k in the run to its slot
    for (int32_t k = lane, turn = 0; k < m; k += 1 << log_lanes, ++turn) {
        while (k >= end) {
            const int2 run = v.runs.run[next++];
            shift = run.x - end, end += run.y - run.x;
        }
        const auto s = v.source[k + shift];
        typename Loop::Real q[components];
        load_charges<components>(v, k + shift, s.charge, q);
        loop.add(k, turn, s.x, s.y, s.z, q);
    }
}

template <int components, class Loop>
__device__ __forceinline__ void feed_target(const GroupFeed& feed, Loop& loop, int32_t box) {
    const auto& v = loop.v;
    const int64_t first = feed.record.of_box(box) - feed.base;
    const int32_t m = v.runs.sources[box];
#pragma unroll 4
    for (int32_t k = 0; k < m; ++k) {
        const auto s = v.source[first + k];
        typename Loop::Real q[components];
        load_charges<components>(v, first + k, s.charge, q);
        loop.add(k, s.x, s.y, s.z, q);
    }
}

template <int components, class Loop>
__device__ __forceinline__ void feed_record(const RecordFeed& feed, Loop& loop, int32_t slot, int32_t box,
                                            int32_t self) {
    using Stored = typename Loop::Stored;
    const auto& v = loop.v;
    const int64_t stride = feed.record.stride();
    const Stored* word =
        static_cast<const Stored*>(feed.words) + (feed.record.of_target(slot, box) - feed.base);
    const bool solid = feed.dimension == 3;
    loop.begin(word[0], word[stride], solid ? word[2 * stride] : Stored(0), self);
    const auto m = static_cast<int32_t>(word[feed.dimension * stride]);
    word += (feed.dimension + 1) * stride;
    const int32_t size = feed.dimension + feed.charges;
#pragma unroll 2
    for (int32_t k = 0; k < m; ++k, word += size * stride) {
        typename Loop::Real q[components];
#pragma unroll
        for (int c = 0; c < components; ++c)
            q[c] = c < v.components ? static_cast<typename Loop::Real>(
                                          word[(feed.dimension + v.first_component + c) * stride])
                                    : typename Loop::Real(0);
        loop.add(k, word[0], word[stride], solid ? word[2 * stride] : Stored(0), q);
    }
}

/// k of the point in `slot` among its own sources, -1: not there.
template <class View>
__device__ __forceinline__ int32_t self_of(const View& v, int32_t box, int32_t slot) {
    const int32_t own = v.runs.own_first != nullptr ? v.runs.own_first[box] : -1;
    return own < 0 ? -1 : own + slot - v.boxes.target_offset[box];
}

template <class Feed, Form form, Precision precision, int components, bool slope>
__global__ __launch_bounds__(256) void sum_by_target(SumView<precision> v, Feed feed) {
    const int32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= v.count)
        return;
    const int32_t slot = v.first + i, box = v.boxes.box_of[slot];
    TargetLoop<form, precision, components, slope> loop{v};
    const int32_t self = self_of(v, box, slot);
    if constexpr (std::is_same_v<Feed, RecordFeed>) {
        feed_record<components>(feed, loop, slot, box, self);
    } else {
        const auto t = v.target[slot];
        loop.begin(t.x, t.y, t.z, self);
        feed_target<components>(feed, loop, box);
    }
    loop.write(slot);
}

template <Form form, Precision precision, int components, bool slope>
__global__ __launch_bounds__(256) void sum_by_lanes(SumView<precision> v, int32_t log_lanes) {
    const auto i = static_cast<int32_t>((int64_t{blockIdx.x} * blockDim.x + threadIdx.x) >> log_lanes);
    const int32_t lane = threadIdx.x & ((1 << log_lanes) - 1), slot = v.first + i;
    TargetLoop<form, precision, components, slope> loop{v};
    loop.begin(0, 0, 0, -1);
    if (i < v.count) {
        const int32_t box = v.boxes.box_of[slot];
        const auto t = v.target[slot];
        loop.begin(t.x, t.y, t.z, self_of(v, box, slot));
        feed_share<components>(loop, box, lane, log_lanes);
    }
    loop.join(log_lanes);
    if (i < v.count && lane == 0)
        loop.write(slot);
}

/// Algorithm 2 of the paper.
template <class Feed, Form form, Precision precision, int components, bool slope>
__global__ __launch_bounds__(256) void sum_by_box(SumView<precision> v, Feed feed) {
    const int32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= v.count)
        return;
    const int32_t box = v.first + i, begin = v.boxes.target_offset[box], end = v.boxes.target_offset[box + 1];
    const int64_t first = feed.first_neighbour[box] - feed.base;
    const int32_t m = v.runs.sources[box];
    TargetLoop<form, precision, components, slope> loop{v};
    for (int32_t slot = begin; slot < end; ++slot) {
        const auto t = v.target[feed.all_targets[slot]];
        loop.begin(t.x, t.y, t.z, self_of(v, box, slot));
        for (int32_t k = 0; k < m; ++k) {
            const int32_t j = feed.all_neighbours[first + k];
            const auto s = v.source[j];
            typename SumView<precision>::Real q[components];
            load_charges<components>(v, j, s.charge, q);
            loop.add(k, s.x, s.y, s.z, q);
        }
        loop.write(slot);
    }
}

template <class Feed, Form form, Precision precision, int components, bool slope>
void launch_targets(backend::Queue& queue, const SumView<precision>& view, const Feed& feed, int threads) {
    if constexpr (std::is_same_v<Feed, RangesFeed>)
        sum_by_lanes<form, precision, components, slope>
            <<<backend::blocks_for(int64_t{view.count} << feed.log_lanes, threads), threads, 0,
               queue.stream()>>>(view, feed.log_lanes);
    else if constexpr (Feed::by_box)
        sum_by_box<Feed, form, precision, components, slope>
            <<<backend::blocks_for(view.count, threads), threads, 0, queue.stream()>>>(view, feed);
    else
        sum_by_target<Feed, form, precision, components, slope>
            <<<backend::blocks_for(view.count, threads), threads, 0, queue.stream()>>>(view, feed);
    GRAFT_CUDA_LAUNCHED("near field, a thread a target");
    ++queue.launches;
}

template <class Feed, Form form, Precision precision>
void launch_form(backend::Queue& queue, bool gradient, const SumView<precision>& view, const Feed& feed,
                 int threads) {
    if constexpr (form != Form::helmholtz)
        if (view.components == 1 && view.first_component == 0)
            return gradient ? launch_targets<Feed, form, precision, 1, true>(queue, view, feed, threads)
                            : launch_targets<Feed, form, precision, 1, false>(queue, view, feed, threads);
    gradient ? launch_targets<Feed, form, precision, 2, true>(queue, view, feed, threads)
             : launch_targets<Feed, form, precision, 2, false>(queue, view, feed, threads);
}

template <class Feed, Precision precision>
void sum_targets(backend::Queue& queue, Form form, bool gradient, const SumView<precision>& view,
                 const Feed& feed, int threads) {
    if (view.count == 0)
        return;
    switch (form) {
    case Form::logarithm:
        return launch_form<Feed, Form::logarithm>(queue, gradient, view, feed, threads);
    case Form::yukawa:
        return launch_form<Feed, Form::yukawa>(queue, gradient, view, feed, threads);
    case Form::helmholtz:
        return launch_form<Feed, Form::helmholtz>(queue, gradient, view, feed, threads);
    case Form::table:
        return launch_form<Feed, Form::table>(queue, gradient, view, feed, threads);
    default:
        return launch_form<Feed, Form::laplace>(queue, gradient, view, feed, threads);
    }
}

} // namespace graft::near
