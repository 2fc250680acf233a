// SPDX-License-Identifier: BSD-3-Clause
// What the walk by warps has kept goes to the lists, a warp a group: first what the super group has found,
// then the group's own. Bytes: 4 read and 4 written an entry; where lists are split, 32 more read.
#include "lists/far_cells_warp_gpu.cuh"
#include "lists/walk_gpu.cuh"

namespace graft::lists::device {

namespace {

constexpr int threads = 128;

/// A list that is first a super group's, then the group's own.
struct TwoParts {
    const int32_t *shared, *own;
    int32_t shared_count;
    __device__ int32_t operator()(int64_t k) const {
        return k < shared_count ? shared[k] : own[k - shared_count];
    }
};

__device__ void copy(const TwoParts& from, int32_t count, int32_t* to) {
    for (int32_t k = static_cast<int32_t>(threadIdx.x % 32); k < count; k += 32)
        to[k] = from(k);
}

template <bool splits>
__global__ void __launch_bounds__(threads)
    place(WalkView view, SuperView super, WalkLists lists, NearFarSplit split) {
    const BatchRange range = groups_to_walk(view);
    const int64_t g = (int64_t{blockIdx.x} * threads + threadIdx.x) / 32;
    if (g >= range.count)
        return;
    const SuperPart shared = super_part(super, range.begin, g);
    const GroupPart part = group_part(lists, shared.counts, g);
    const TwoParts nodes{super.nodes + shared.s * super_node_room, lists.kept_nodes + g * lists.node_room,
                         shared.counts.nodes};
    const TwoParts leaves{super.leaves + shared.s * super_leaf_room, lists.kept_leaves + g * kept_leaf_room,
                          shared.counts.leaves};
    if (part.kept)
        copy(leaves, part.leaves, lists.leaves + part.leaf_begin);
    if constexpr (splits) {
        const Group& group = view.groups[range.begin + g];
        const TwoParts walked{nullptr, lists.nodes + part.node_begin, 0};
        split_list(split, group, g, part.node_begin, part.nodes, part.kept ? nodes : walked);
    } else if (part.kept) {
        copy(nodes, part.nodes, lists.nodes + part.node_begin);
    }
}

} // namespace

void place_kept(backend::Queue& queue, const WalkView& view, const SuperView& super, const WalkLists& lists,
                const DeviceFarChoice* far) {
    const NearFarSplit split =
        far != nullptr ? make_split(*far->split, far->order, far->degree) : NearFarSplit{};
    const auto kernel = far != nullptr ? place<true> : place<false>;
    kernel<<<backend::blocks_for(group_room(view) * 32, threads), threads, 0, queue.stream()>>>(view, super,
                                                                                                lists, split);
    GRAFT_CUDA_LAUNCHED("entries to their lists");
    ++queue.launches;
}

} // namespace graft::lists::device
