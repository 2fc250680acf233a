// SPDX-License-Identifier: BSD-3-Clause
// A warp per group; the frontier is a stack of opened nodes in shared memory. A step takes 4 of them (8 in
// two dimensions, 16 of a k-d tree) and tests their children, one a lane.
//
// A group that is not done after view.patience steps (a huge box: its list is many times the usual) waits for
// its block to finish the others and is then walked by the whole block, from where its warp stopped. What a
// group's list holds, and in which order, depends on that group alone.
//
// Floors at Plummer 1e6 (error MAC 1e-3, 2.2e4 groups, 1.9e7 entries): 76 MB of entries written, 0.02
// ms; 2.2e7 nodes looked at, 8.4e5 steps of about 110 issue slots (27 of them for 14 double operations): 9e7
// slots, 0.10 ms.
#include "lists/walk_step_gpu.cuh"

namespace graft::lists::device {

namespace {

constexpr int warps = 8; // a block
constexpr int threads = 32 * warps;
constexpr int block_stack_capacity = 2048;

struct Shared {
    uint32_t stack[warps][warp_stack_capacity];
    uint32_t block_stack[block_stack_capacity];
    uint32_t totals[warps];              // entries and openings of each warp in a step of the block
    int32_t top[warps];                  // of unfinished groups
    int32_t nodes[warps], leaves[warps]; // entries so far of unfinished groups
};

/// Where the entries of a group go; keeping: as many as there is room for.
struct GroupOutput {
    int32_t *nodes, *leaves;
    int32_t node_room;
};
template <class K>
__device__ inline void put_node(const GroupOutput& place, int32_t at, int32_t node) {
    if (!K::keeping || at < place.node_room)
        place.nodes[at] = node;
}
template <class K>
__device__ inline void put_leaf(const GroupOutput& place, int32_t at, int32_t node) {
    if (!K::keeping || at < kept_leaf_room)
        place.leaves[at] = node;
}

/// A group's walk so far.
struct Progress {
    int32_t top, nodes, leaves;
};

/// Looks at a child a lane: writes entries, pushes what is opened.
template <class K>
__device__ inline void take_children(const WalkView& view, const Target& target, const Child& child,
                                     uint32_t* stack, const GroupOutput& place, Progress& walk) {
    const Outcome outcome = look_at<K>(view, target, child);
    const uint32_t accepted = __ballot_sync(~0u, outcome.accepted);
    const uint32_t leaf = __ballot_sync(~0u, outcome.leaf);
    if (outcome.accepted)
        put_node<K>(place, walk.nodes + set_below(accepted), child.node);
    walk.nodes += __popc(accepted);
    if (leaf != 0) {
        if (outcome.leaf)
            put_leaf<K>(place, walk.leaves + set_below(leaf), child.node);
        walk.leaves += __popc(leaf);
    }
    const uint32_t opened = __ballot_sync(~0u, outcome.opened);
    if (outcome.opened)
        stack[walk.top + set_below(opened)] = outcome.link;
    walk.top += __popc(opened);
    __syncwarp();
}

/// Steps until the stack is empty, or patience runs out.
template <class K>
__device__ inline void walk_with_warp(const WalkView& view, const Target& target, int32_t wide_limit,
                                      uint32_t* stack, const GroupOutput& place, Progress& walk) {
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    for (int step = 0; step < view.patience && walk.top > 0; ++step) {
        const int32_t take = walk.top > wide_limit ? 1 : min(walk.top, 32 / K::children);
        walk.top -= take;
        const Child child = child_of<K>(stack, walk.top, take, lane);
        __syncwarp();
        take_children<K>(view, target, child, stack, place, walk);
    }
}

/// What its super group has found for all its groups: shared entries are taken over (keeping: later), and the
/// nodes it could not decide are where this walk begins.
template <class K>
__device__ inline void begin_below_super(const WalkView& view, const SuperView& super, const Target& target,
                                         const SuperPart& shared, uint32_t* stack, const GroupOutput& place,
                                         Progress& walk) {
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    const SuperCounts& counts = shared.counts;
    if (!K::keeping) {
        for (int32_t k = lane; k < counts.nodes; k += 32)
            place.nodes[k] = super.nodes[shared.s * super_node_room + k];
        for (int32_t k = lane; k < counts.leaves; k += 32)
            place.leaves[k] = super.leaves[shared.s * super_leaf_room + k];
        walk.nodes = counts.nodes, walk.leaves = counts.leaves;
    }
    for (int32_t k = lane; k - lane < counts.undecided; k += 32) {
        const bool there = k < counts.undecided;
        const Child child{there ? super.undecided[shared.s * super_undecided_room + k] : 0, there};
        take_children<K>(view, target, child, stack, place, walk);
    }
}

/// Numbers of accepted nodes, leaves and opened nodes, at most 512 each, in one.
__device__ inline uint32_t pack_totals(int32_t accepted, int32_t leaves, int32_t opened) {
    return static_cast<uint32_t>(accepted | leaves << 10 | opened << 20);
}

/// Sum of the warps' totals below this warp, and of all.
__device__ inline uint32_t sum_totals(const uint32_t* totals, uint32_t& all) {
    const int warp = static_cast<int>(threadIdx.x / 32);
    uint32_t below = 0;
    all = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) {
        below += w < warp ? totals[w] : 0;
        all += totals[w];
    }
    return below;
}

/// A step of the block: two children a thread, whose loads are under way together. Totals of a warp are those
/// of both; the first children of a warp come before its second.
struct BlockStep {
    Child child[2];
    Outcome outcome[2];
    uint32_t accepted[2], leaf[2], opened[2]; // masks of the warp
};
template <class K>
__device__ inline BlockStep look_at_two(const WalkView& view, const Target& target, const uint32_t* stack,
                                        int32_t top, int32_t take) {
    const int32_t first = static_cast<int32_t>(threadIdx.x / 32 * 64 + threadIdx.x % 32);
    BlockStep step;
#pragma unroll
    for (int half = 0; half < 2; ++half)
        step.child[half] = child_of<K>(stack, top, take, first + half * 32);
#pragma unroll
    for (int half = 0; half < 2; ++half)
        step.outcome[half] = look_at<K>(view, target, step.child[half]);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        step.accepted[half] = __ballot_sync(~0u, step.outcome[half].accepted);
        step.leaf[half] = __ballot_sync(~0u, step.outcome[half].leaf);
        step.opened[half] = __ballot_sync(~0u, step.outcome[half].opened);
    }
    return step;
}

/// Writes what the step found behind `walk` and what the warps below found.
template <class K>
__device__ inline void put_two(const BlockStep& step, uint32_t below, uint32_t* stack,
                               const GroupOutput& place, const Progress& walk) {
    int32_t node = walk.nodes + static_cast<int32_t>(below & 1023);
    int32_t leaf = walk.leaves + static_cast<int32_t>(below >> 10 & 1023);
    int32_t open = walk.top + static_cast<int32_t>(below >> 20);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        if (step.outcome[half].accepted)
            put_node<K>(place, node + set_below(step.accepted[half]), step.child[half].node);
        if (step.outcome[half].leaf)
            put_leaf<K>(place, leaf + set_below(step.leaf[half]), step.child[half].node);
        if (step.outcome[half].opened)
            stack[open + set_below(step.opened[half])] = step.outcome[half].link;
        node += __popc(step.accepted[half]);
        leaf += __popc(step.leaf[half]);
        open += __popc(step.opened[half]);
    }
}

/// The same walk by all threads of the block, to the end. All threads have the same `walk`.
template <class K>
__device__ inline void walk_with_block(const WalkView& view, const Target& target, int32_t wide_limit,
                                       Shared& shared, const GroupOutput& place, Progress& walk) {
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    while (walk.top > 0) {
        const int32_t take = walk.top > wide_limit ? 1 : min(walk.top, 2 * threads / K::children);
        walk.top -= take;
        const BlockStep step = look_at_two<K>(view, target, shared.block_stack, walk.top, take);
        if (thread % 32 == 0)
            shared.totals[thread / 32] = pack_totals(__popc(step.accepted[0]) + __popc(step.accepted[1]),
                                                     __popc(step.leaf[0]) + __popc(step.leaf[1]),
                                                     __popc(step.opened[0]) + __popc(step.opened[1]));
        __syncthreads();
        uint32_t all;
        const uint32_t below = sum_totals(shared.totals, all);
        put_two<K>(step, below, shared.block_stack, place, walk);
        walk.nodes += static_cast<int32_t>(all & 1023);
        walk.leaves += static_cast<int32_t>(all >> 10 & 1023);
        walk.top += static_cast<int32_t>(all >> 20);
        __syncthreads();
    }
}

template <class K>
__device__ inline GroupOutput place_of(const WalkLists& lists, int64_t g) {
    if (K::keeping)
        return {lists.kept_nodes + g * lists.node_room, lists.kept_leaves + g * kept_leaf_room,
                lists.node_room};
    return {lists.nodes + lists.node_offset[g], lists.leaves + lists.leaf_offset[g], 0};
}

/// Tells how many entries a group has in all.
__device__ inline void put_counts(const WalkLists& lists, const SuperPart& shared, int64_t g,
                                  const Progress& walk) {
    lists.node_offset[g] = int64_t{shared.counts.nodes} + walk.nodes;
    lists.leaf_offset[g] = int64_t{shared.counts.leaves} + walk.leaves;
}

/// The group of this warp, as far as patience goes.
template <class K>
__device__ inline void walk_own_group(const WalkView& view, const SuperView& super, const WalkLists& lists,
                                      int64_t first, int64_t g, int32_t reserve, Shared& shared) {
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    const SuperPart from_super = super_part(super, first, g);
    if (!K::keeping && group_part(lists, from_super.counts, g).kept) {
        if (lane == 0)
            shared.top[warp] = 0;
        return;
    }
    uint32_t* stack = shared.stack[warp];
    const Target target = view.groups[first + g].target;
    const int32_t wide_limit = warp_stack_capacity - reserve - 32;
    const GroupOutput place = place_of<K>(lists, g);
    Progress walk{0, 0, 0};
    if (super.width > 0 && from_super.counts.undecided <= wide_limit) {
        begin_below_super<K>(view, super, target, from_super, stack, place, walk);
    } else {
        if (lane == 0)
            stack[0] = pack_link(view.root, 1);
        __syncwarp();
        walk.top = 1;
    }
    walk_with_warp<K>(view, target, wide_limit, stack, place, walk);
    if (K::keeping && lane == 0)
        put_counts(lists, from_super, g, walk);
    if (lane == 0)
        shared.top[warp] = walk.top, shared.nodes[warp] = walk.nodes, shared.leaves[warp] = walk.leaves;
}

/// The group of warp `of`, which its warp left unfinished, by the whole block.
template <class K>
__device__ inline void finish_group(const WalkView& view, const SuperView& super, const WalkLists& lists,
                                    int64_t first, int64_t g, int of, int32_t reserve, Shared& shared) {
    Progress walk{shared.top[of], shared.nodes[of], shared.leaves[of]};
    for (int32_t k = static_cast<int32_t>(threadIdx.x); k < walk.top; k += threads)
        shared.block_stack[k] = shared.stack[of][k];
    __syncthreads();
    const GroupOutput place = place_of<K>(lists, g);
    walk_with_block<K>(view, view.groups[first + g].target, block_stack_capacity - reserve - 2 * threads,
                       shared, place, walk);
    if (K::keeping && threadIdx.x == 0)
        put_counts(lists, super_part(super, first, g), g, walk);
}

template <class K>
__global__ void __launch_bounds__(threads) walk(WalkView view, SuperView super, WalkLists lists) {
    __shared__ Shared shared;
    const BatchRange range = groups_to_walk(view);
    const int64_t block_first = static_cast<int64_t>(blockIdx.x) * view.block_groups;
    if (K::keeping)
        clear_counts(view, lists, range.count, block_first, view.block_groups);
    if (block_first >= range.count)
        return;
    const int groups =
        static_cast<int>(min(range.count - block_first, static_cast<int64_t>(view.block_groups)));
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int32_t reserve = stack_reserve(view);
    if (warp < groups)
        walk_own_group<K>(view, super, lists, range.begin, block_first + warp, reserve, shared);
    __syncthreads();
    for (int w = 0; w < groups; ++w)
        if (shared.top[w] > 0)
            finish_group<K>(view, super, lists, range.begin, block_first + w, w, reserve, shared);
}

template <int width>
auto kernel_of(bool keeping, bool plain) {
    if (keeping)
        return plain ? walk<Kind<width, true, true>> : walk<Kind<width, true, false>>;
    return plain ? walk<Kind<width, false, true>> : walk<Kind<width, false, false>>;
}

} // namespace

void walk_warps(backend::Queue& queue, const WalkView& view, const SuperView& super, const WalkLists& lists,
                bool keeping) {
    const int64_t groups = group_room(view) + 1;
    const auto kernel = view.most_children == 8   ? kernel_of<8>(keeping, view.plain())
                        : view.most_children == 4 ? kernel_of<4>(keeping, view.plain())
                                                  : kernel_of<2>(keeping, view.plain());
    kernel<<<backend::blocks_for(groups, view.block_groups), threads, 0, queue.stream()>>>(view, super,
                                                                                           lists);
    GRAFT_CUDA_LAUNCHED("walk, a warp per group");
    ++queue.launches;
}

} // namespace graft::lists::device
