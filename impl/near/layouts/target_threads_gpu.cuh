// SPDX-License-Identifier: BSD-3-Clause
// Kernels with a thread a target (indexed: a thread a box; ranges: a few a target), for the layouts that
// differ only in where a thread finds its sources. A Feed calls add(k, x, y, z, charges) for the sources
// k = 0 ... m - 1 of a target.
//
// Every pair is checked for distance zero and for being a point and itself: these kernels wait for memory.
// Slots a pair, laplace in fp32 with the gradient: 14 + 2 of the check + the loop and addresses, 5 to 8.
#pragma once

#include "near/near_sum_gpu.cuh"

namespace graft::near {

/// Sorted points, runs of them: 16 bytes (32 in double) a source, which neighbouring threads share.
/// 2^log_lanes neighbouring lanes of a warp a target: source k of it is lane k mod 2^log_lanes' own, and the
/// lanes' sums are added in a tree. A thread a target would wait for one source after another.
struct RangesFeed {
    static constexpr bool by_box = false;
    int32_t log_lanes;
};
/// One run a box, its own copy of all its sources: record.of_box(box) + k.
struct GroupFeed {
    static constexpr bool by_box = false;
    RecordOffsets record;
    int64_t base; // subtracted: the chunk's first
};
/// The paper's record of a target, in words of the stored type: x y (z) n, then x y (z) q... of each source.
/// Word w of target s is at record.of_target(s, box) + w * record.stride().
struct RecordFeed {
    static constexpr bool by_box = false;
    const void* words;
    RecordOffsets record;
    int64_t base; // subtracted: the chunk's first word
    int32_t dimension, charges;
};
/// The paper's index arrays of second order; points and charges in the caller's order.
struct IndexedFeed {
    static constexpr bool by_box = true;
    const int32_t* all_targets;
    const int32_t* all_neighbours;
    const int64_t* first_neighbour; // of a box
    int64_t base;
};

/// The kernels' launch for one feed and precision: forms, components (1, 2), with or without gradients.
template <class Feed, Precision precision>
void sum_targets(backend::Queue& queue, Form form, bool gradient, const SumView<precision>& view,
                 const Feed& feed, int threads);

/// Components of the next pass of these kernels.
inline int32_t pass_components(Form form, int32_t left) {
    return form == Form::helmholtz || left > 1 ? (left < 2 ? left : 2) : 1;
}

} // namespace graft::near
