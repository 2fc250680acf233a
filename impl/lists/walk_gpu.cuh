// SPDX-License-Identifier: BSD-3-Clause
// What every kind of walk on the device shares: its view of tree and targets, the test of one node, and where
// list entries go. For the .cu files of this room only.
//
// The test has the host's bits: separate multiplications and additions (the room is compiled with
// --fmad=false), so any order of visiting gives the host's sets.
#pragma once

#include "lists/lists_gpu.cuh"

namespace graft::lists::device {

/// What the upper part of the walk found for `width` (at most 32) neighbouring groups at once: nodes that all
/// of them accept (far ones apart, where that is asked for), leaves that all of them refuse, and nodes on
/// which they may differ. A super group with more than there is room for has only the root, undecided.
inline constexpr int super_node_room = 2048, super_leaf_room = 512, super_undecided_room = 512;
struct SuperCounts {
    int32_t nodes, leaves, undecided, unused;
};
struct SuperView {
    int32_t width; // 0: none
    SuperCounts* counts;
    int32_t *nodes, *leaves, *undecided; // *_room a super group
    int32_t* far_count;                  // far nodes end the room of nodes; null: none are told apart
    DeviceFarChoice far;
};

/// Which groups a kernel is about.
struct BatchView {
    const int32_t* group_count;
    backend::DeviceStatus* status;
    int64_t group_capacity;
    int32_t batch, batches;
};

inline BatchView batch_view(backend::Queue& queue, const DeviceTargets& targets, int batch, int batches) {
    return {targets.group_count.data(), queue.status(), targets.groups.size(), batch, batches};
}

/// Groups [begin, begin + count) are this batch's.
struct BatchRange {
    int64_t begin, count;
};
__device__ inline BatchRange batch_range(const BatchView& view) {
    const int64_t groups = min(static_cast<int64_t>(*view.group_count), view.group_capacity);
    const int64_t begin = batch_begin(groups, view.batch, view.batches);
    return {begin, batch_begin(groups, view.batch + 1, view.batches) - begin};
}

struct WalkView : BatchView {
    const DeviceMacXY* xy;
    const DeviceMacZA* za;
    const DeviceMacLink* links;
    const double* softening; // or null
    const geometry::Box* boxes;
    const tree::DeviceTreeCounts* counts;
    const Group* groups;
    double softening_length;
    double skin;          // added to distances that must be kept
    int32_t root, levels; // levels 0: counts->levels
    int32_t most_children;
    int32_t patience;     // steps of a warp after which its block helps
    int32_t block_groups; // of a block of walk_warps, at most one a warp
    bool compact;
    bool plain() const { return !compact && skin == 0; }
};

/// Room for what the first pass of walk_warps finds for a group beside what its super group has found;
/// without super groups lists have twice as many nodes. Groups that find more are walked a second time.
inline constexpr int kept_node_room = 2048, kept_node_room_below_super = 1024, kept_leaf_room = 256;

/// Where entries go. First pass: offset[g] = entries of group g. Then offset[g] is where they begin.
struct WalkLists {
    int64_t *node_offset, *leaf_offset;
    int32_t *nodes, *leaves;
    int32_t *kept_nodes, *kept_leaves; // node_room and kept_leaf_room a group
    int32_t node_room;
};

/// Most groups of a batch.
__host__ __device__ inline int64_t group_room(const BatchView& view) {
    return view.group_capacity / view.batches + 1;
}

/// The batch's groups; none where there is no tree or the computation has stopped.
__device__ inline BatchRange groups_to_walk(const WalkView& view) {
    const BatchRange range = batch_range(view);
    return {range.begin, backend::stopped(view.status) || view.counts->nodes == 0 ? 0 : range.count};
}

/// Counts behind the last group, up to entry group_room(), are zero, so that their scan ends with the total.
__device__ inline void clear_counts(const WalkView& view, const WalkLists& lists, int64_t count,
                                    int64_t block_first, int block_groups) {
    const int64_t g = block_first + threadIdx.x;
    if (static_cast<int>(threadIdx.x) < block_groups && g >= count && g <= group_room(view))
        lists.node_offset[g] = lists.leaf_offset[g] = 0;
}

/// Room of a depth-first stack below any node: siblings that wait on each level.
__device__ inline int32_t stack_reserve(const WalkView& view) {
    const int32_t levels = view.levels > 0 ? view.levels : view.counts->levels;
    return (levels + 1) * (view.most_children - 1);
}

/// max(lower - centre, centre - upper, 0) of finite numbers with lower <= upper: at most one of the two is
/// positive, so their signs decide, without comparisons in double.
__device__ inline double axis_distance(double lower, double upper, double centre) {
    const double below = lower - centre, above = centre - upper;
    const bool is_below = __double2hiint(below) >= 0, is_above = __double2hiint(above) >= 0;
    return is_below ? below : (is_above ? above : 0.0);
}

/// Compact softening: no particle of the node may be inside the softening length of any target.
__device__ inline bool clear_of_softening(const WalkView& view, const Target& target, int32_t node) {
    const geometry::Box& box = view.boxes[node];
    double square = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const double gap = fmax(
            fmax(box.lower[axis] - target.box.upper[axis], target.box.lower[axis] - box.upper[axis]), 0.0);
        square += gap * gap;
    }
    const double length =
        (view.softening != nullptr ? fmax(view.softening[node], target.softening) : view.softening_length) +
        view.skin;
    return square >= length * length;
}

/// What one node is to one target: accepted, or opened (link != 0), or a leaf.
struct Verdict {
    bool accepted;
    uint32_t link;
};

/// `plain`: no compact softening, no skin.
template <bool plain>
__device__ inline Verdict judge(const WalkView& view, const Target& target, int32_t node) {
    const double2 xy = __ldg(reinterpret_cast<const double2*>(view.xy + node));
    const double2 za = __ldg(reinterpret_cast<const double2*>(view.za + node));
    const int4 link = __ldg(reinterpret_cast<const int4*>(view.links + node));
    const double b = __hiloint2double(link.y, link.x);
    const double dx = axis_distance(target.box.lower[0], target.box.upper[0], xy.x);
    const double dy = axis_distance(target.box.lower[1], target.box.upper[1], xy.y);
    const double dz = axis_distance(target.box.lower[2], target.box.upper[2], za.x);
    const double square = dx * dx + dy * dy + dz * dz;
    const double reach = za.y * target.factor;
    double radius = reach > b ? reach : b;
    if (!plain)
        radius += view.skin;
    bool accepted = square > radius * radius;
    if (!plain && view.compact && accepted)
        accepted = clear_of_softening(view, target, node);
    return {accepted, static_cast<uint32_t>(link.z)};
}

/// What the super group of the batch's group g has found.
struct SuperPart {
    int64_t s = 0;
    SuperCounts counts{0, 0, 0, 0};
};
__device__ inline SuperPart super_part(const SuperView& super, int64_t first, int64_t g) {
    if (super.width == 0)
        return {};
    const int64_t s = (first + g) / super.width - first / super.width;
    return {s, super.counts[s]};
}

/// Entries of the batch's group g, between the passes; those of its own, which it has kept if there was room.
struct GroupPart {
    int64_t node_begin, leaf_begin;
    int32_t nodes, leaves;
    bool kept;
};
__device__ inline GroupPart group_part(const WalkLists& lists, const SuperCounts& super, int64_t g) {
    GroupPart part;
    part.node_begin = lists.node_offset[g], part.leaf_begin = lists.leaf_offset[g];
    part.nodes = static_cast<int32_t>(lists.node_offset[g + 1] - part.node_begin);
    part.leaves = static_cast<int32_t>(lists.leaf_offset[g + 1] - part.leaf_begin);
    part.kept = part.nodes - super.nodes <= lists.node_room && part.leaves - super.leaves <= kept_leaf_room;
    return part;
}

// The kinds of walk; each enqueues one pass over the groups of the batch. walk_warps, `keeping`: counts, and
// keeps entries while there is room; then fills the lists of those that found more. walk_threads counts, or
// fills all.
void walk_warps(backend::Queue& queue, const WalkView& view, const SuperView& super, const WalkLists& lists,
                bool keeping);
/// After both passes of walk_warps: what was kept goes to the lists, or all entries near and far to `far`'s.
void place_kept(backend::Queue& queue, const WalkView& view, const SuperView& super, const WalkLists& lists,
                const DeviceFarChoice* far);
/// The upper part of the walk for super groups of super.width neighbouring groups of the batch.
void walk_supers(backend::Queue& queue, const WalkView& view, const SuperView& super);

/// Enqueues: counts become offsets, the status words learn the totals, and the computation stops where they
/// exceed the room for entries.
void scan_counts(backend::Queue& queue, const WalkView& view, const WalkLists& lists, int64_t node_room,
                 int64_t leaf_room);
void walk_threads(backend::Queue& queue, const WalkView& view, const WalkLists& lists, bool counting);

} // namespace graft::lists::device
