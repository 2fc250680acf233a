// What every kind of walk on the device shares: its view of tree and targets, the test of one node, and where
// list entries go. For the .cu files of this room only.
//
// The test has the host's bits: separate multiplications and additions (the room is compiled with
// --fmad=false), so any order of visiting gives the host's sets.
#pragma once

#include "lists/device_lists.cuh"

namespace graft::lists::device {

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
    const DeviceMacCentre* centres;
    const DeviceMacLink* links;
    const geometry::Box* boxes;
    const tree::DeviceTreeCounts* counts;
    const Group* groups;
    double softening_length, skin;
    int32_t root, levels; // levels 0: counts->levels
    int32_t most_children;
    bool compact, per_node_softening;
};

/// Where entries go. Counting: offset[g] = entries of group g. Filling: offset[g] is where they begin.
struct WalkLists {
    int64_t *node_offset, *leaf_offset;
    int32_t *nodes, *leaves;
};

/// Room of a depth-first stack below any node: siblings that wait on each level.
__device__ inline int32_t stack_reserve(const WalkView& view) {
    const int32_t levels = view.levels > 0 ? view.levels : view.counts->levels;
    return (levels + 1) * (view.most_children - 1);
}

__device__ inline double axis_distance(double lower, double upper, double centre) {
    return fmax(fmax(lower - centre, centre - upper), 0.0);
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
    const double length = (view.per_node_softening ? fmax(view.links[node].softening, target.softening)
                                                   : view.softening_length) +
                          view.skin;
    return square >= length * length;
}

/// What one node is to one target.
struct Verdict {
    bool accepted, leaf;
    int32_t first_child, child_count; // child_count > 0: opened
};

template <bool compact>
__device__ inline Verdict judge(const WalkView& view, const Target& target, int32_t node) {
    const DeviceMacCentre centre = view.centres[node];
    const double b = view.links[node].b;
    const int2 link = *reinterpret_cast<const int2*>(&view.links[node].first_child);
    const double dx = axis_distance(target.box.lower[0], target.box.upper[0], centre.x);
    const double dy = axis_distance(target.box.lower[1], target.box.upper[1], centre.y);
    const double dz = axis_distance(target.box.lower[2], target.box.upper[2], centre.z);
    const double square = dx * dx + dy * dy + dz * dz;
    const double radius = fmax(centre.a * target.factor, b) + view.skin;
    bool accepted = square > radius * radius;
    if (compact && accepted)
        accepted = clear_of_softening(view, target, node);
    return {accepted, !accepted && link.y == 0, link.x, accepted ? 0 : link.y};
}

/// Nodes that a walk takes from a stack of `capacity` entries at once, at most `most`, so that what it pushes
/// leaves `reserve` entries free: below that it goes depth first, one node at a time, which the reserve
/// holds.
__device__ inline int32_t nodes_to_take(int32_t top, int32_t capacity, int32_t reserve, int32_t growth,
                                        int32_t most) {
    const int32_t room = (capacity - reserve - top) / growth;
    return min(top, max(1, min(room, most)));
}

// The kinds of walk; each enqueues one pass over the groups of the batch. `counting`: else filling.
void walk_warps(backend::Queue& queue, const WalkView& view, const WalkLists& lists, bool counting);
void walk_threads(backend::Queue& queue, const WalkView& view, const WalkLists& lists, bool counting);

} // namespace graft::lists::device
