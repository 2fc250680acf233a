// SPDX-License-Identifier: BSD-3-Clause
// How a warp cuts a group's node list in two, see far_cells_gpu.cuh. For the .cu files of this room only.
#pragma once

#include "lists/far_cells_gpu.cuh"
#include "lists/far_cells.hpp"

namespace graft::lists::device {

/// What the cut is about, but for a list's entries.
struct Cut {
    const DeviceFarNode* nodes;
    int order, degree;
    int32_t *entries, *near_count;
};
inline Cut make_cut(DeviceFarLists& far, int order, int degree) {
    return {far.nodes.data(), order, degree, far.entries.data(), far.near_count.data()};
}

/// Puts the near ones of a group's `count` entries first and the far ones last in [begin, begin + count) of
/// cut.entries; four entries a lane are under way together. entry(k): the k-th one.
template <class Entry>
__device__ inline void cut_list(const Cut& cut, const Group& group, int64_t g, int64_t begin, int64_t count,
                                const Entry& entry) {
    constexpr int a_lane = 4;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const unsigned before = (1u << lane) - 1;
    const FarLimit limit = far_limit(group.target, cut.order, cut.degree);
    const bool few = group.count < least_far_targets;
    int64_t near = begin, far = begin + count - 1;
    for (int64_t base = 0; base < count; base += 32 * a_lane) {
        int32_t k[a_lane];
        DeviceFarNode node[a_lane];
#pragma unroll
        for (int i = 0; i < a_lane; ++i)
            k[i] = base + 32 * i + lane < count ? entry(base + 32 * i + lane) : -1;
#pragma unroll
        for (int i = 0; i < a_lane; ++i)
            node[i] = cut.nodes[max(k[i], 0)];
#pragma unroll
        for (int i = 0; i < a_lane; ++i) {
            const bool valid = k[i] >= 0;
            const bool is =
                valid && !few && is_far(limit, node[i].magnitude, node[i].x, node[i].y, node[i].z);
            const unsigned fars = __ballot_sync(~0u, is), nears = __ballot_sync(~0u, valid && !is);
            if (is)
                cut.entries[far - __popc(fars & before)] = k[i];
            else if (valid)
                cut.entries[near + __popc(nears & before)] = k[i];
            near += __popc(nears), far -= __popc(fars);
        }
    }
    if (lane == 0)
        cut.near_count[g] = static_cast<int32_t>(near - begin);
}

} // namespace graft::lists::device
