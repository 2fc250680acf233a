// SPDX-License-Identifier: BSD-3-Clause
// How a warp splits a group's node list in two, see far_cells_gpu.cuh. For the .cu files of this room only.
#pragma once

#include "lists/far_cells.hpp"
#include "lists/far_cells_gpu.cuh"

namespace graft::lists::device {

/// What the split is about, but for a list's entries.
struct NearFarSplit {
    const DeviceFarNode* nodes;
    int order, degree;
    int32_t *entries, *near_count;
};
inline NearFarSplit make_split(DeviceFarLists& far, int order, int degree) {
    return {far.nodes.data(), order, degree, far.entries.data(), far.near_count.data()};
}

/// Puts the near ones of a group's `count` entries first and the far ones last in [begin, begin + count) of
/// split.entries; four entries a lane are under way together. entry(k): the k-th one.
template <class Entry>
__device__ inline void split_list(const NearFarSplit& split, const Group& group, int64_t g, int64_t begin,
                                  int64_t count, const Entry& entry) {
    constexpr int a_lane = 4;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const unsigned before = (1u << lane) - 1;
    const FarLimit limit = far_limit(group.target, split.order, split.degree);
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
            node[i] = split.nodes[max(k[i], 0)];
#pragma unroll
        for (int i = 0; i < a_lane; ++i) {
            const bool valid = k[i] >= 0;
            const bool is =
                valid && !few && is_far(limit, node[i].magnitude, node[i].x, node[i].y, node[i].z);
            const unsigned fars = __ballot_sync(~0u, is), nears = __ballot_sync(~0u, valid && !is);
            if (is)
                split.entries[far - __popc(fars & before)] = k[i];
            else if (valid)
                split.entries[near + __popc(nears & before)] = k[i];
            near += __popc(nears), far -= __popc(fars);
        }
    }
    if (lane == 0)
        split.near_count[g] = static_cast<int32_t>(near - begin);
}

} // namespace graft::lists::device
