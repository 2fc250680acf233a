// SPDX-License-Identifier: BSD-3-Clause
// The upper part of the walk, a warp per super group: a node is tested against the box around all its groups.
//
// It is accepted for all when the nearest point of that box accepts it with the largest factor, and refused
// for all when the furthest point refuses it with the smallest; rounding is monotone, so each group's own
// test says the same. What is neither is left to the groups. Plummer 1e6, 8 groups each: 40 % of the entries
// are shared, 36 % of the tests are saved.
#include "lists/walk_step_gpu.cuh"
#include "lists/far_cells.hpp"

namespace graft::lists::device {

namespace {

constexpr int warps = 4; // a block

/// Box, largest factor and softening of up to 32 groups, and their smallest factor.
struct SuperTarget {
    Target all;
    double least_factor;
};

__device__ SuperTarget unite(const Group* groups, int64_t count) {
    const int64_t k = min(static_cast<int64_t>(threadIdx.x % 32), count - 1);
    SuperTarget super{groups[k].target, groups[k].target.factor};
    for (int step = 16; step > 0; step /= 2) {
        for (int axis = 0; axis < 3; ++axis) {
            double& lower = super.all.box.lower[axis];
            double& upper = super.all.box.upper[axis];
            lower = fmin(lower, __shfl_xor_sync(~0u, lower, step));
            upper = fmax(upper, __shfl_xor_sync(~0u, upper, step));
        }
        super.all.factor = fmax(super.all.factor, __shfl_xor_sync(~0u, super.all.factor, step));
        super.all.softening = fmax(super.all.softening, __shfl_xor_sync(~0u, super.all.softening, step));
        super.least_factor = fmin(super.least_factor, __shfl_xor_sync(~0u, super.least_factor, step));
    }
    return super;
}

/// Even the furthest point of the box refuses the node with the smallest factor.
__device__ bool refused_by_all(const WalkView& view, const SuperTarget& super, int32_t node) {
    const DeviceMacZA za = view.za[node];
    const double centre[3] = {view.xy[node].x, view.xy[node].y, za.z};
    double far[3];
    for (int axis = 0; axis < 3; ++axis)
        far[axis] = fmax(centre[axis] - super.all.box.lower[axis], super.all.box.upper[axis] - centre[axis]);
    const double square = far[0] * far[0] + far[1] * far[1] + far[2] * far[2];
    const double radius = fmax(za.a * super.least_factor, view.links[node].b) + view.skin;
    return !(square > radius * radius);
}

/// Appends the nodes of the lanes that have one while there is room; how many there are is counted anyway.
/// `backwards`: from the end of the room on.
__device__ void append(bool mine, int32_t node, int32_t* list, int32_t room, int32_t& count,
                       bool backwards = false) {
    const uint32_t mask = __ballot_sync(~0u, mine);
    const int32_t at = count + set_below(mask);
    if (mine && at < room)
        list[backwards ? room - 1 - at : at] = node;
    count += __popc(mask);
}

/// Whether a node that the super group accepts is a far cell of it.
struct SharedChoice {
    bool any;
    const double* magnitude;
    FarLimit limit;

    __device__ SharedChoice(const SuperView& out, const SuperTarget& super)
        : any(out.far_count != nullptr && *out.far.one_sign != 0), magnitude(out.far.magnitude),
          limit(any ? far_limit(super.all, out.far.order, out.far.degree) : FarLimit{}) {}
    __device__ bool takes(const WalkView& view, int32_t node) const {
        return any && is_far(limit, magnitude[node], view.xy[node].x, view.xy[node].y, view.za[node].z);
    }
};

template <class K>
__global__ void __launch_bounds__(32 * warps) walk(WalkView view, SuperView out) {
    __shared__ uint32_t stacks[warps][warp_stack_capacity];
    if (view.counts->nodes == 0 || backend::stopped(view.status))
        return;
    const BatchRange range = batch_range(view);
    // Super groups are numbered through all batches, so that a group is in the same one whatever its batch.
    const int64_t s = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
    const int64_t first = (range.begin / out.width + s) * out.width;
    if (range.count == 0 || first >= range.begin + range.count)
        return;
    const auto lane = static_cast<int32_t>(threadIdx.x % 32);
    uint32_t* stack = stacks[threadIdx.x / 32];
    const int64_t groups = min(static_cast<int64_t>(*view.group_count), view.group_capacity);
    const SuperTarget super =
        unite(view.groups + first, min(static_cast<int64_t>(out.width), groups - first));
    const SharedChoice far(out, super);
    const int32_t wide_limit = warp_stack_capacity - stack_reserve(view) - 32;
    SuperCounts counts{0, 0, 0, 0};
    int32_t far_count = 0;
    int32_t top = 1;
    if (lane == 0)
        stack[0] = pack_link(view.root, 1);
    __syncwarp();
    while (top > 0) {
        const int32_t take = top > wide_limit ? 1 : min(top, 32 / K::children);
        top -= take;
        const Child child = child_of<K>(stack, top, take, lane);
        __syncwarp();
        const Outcome outcome = look_at<K>(view, super.all, child);
        const bool refused = child.there && !outcome.accepted && refused_by_all(view, super, child.node);
        const bool is_far = outcome.accepted && far.takes(view, child.node);
        int32_t* const nodes = out.nodes + s * super_node_room;
        append(outcome.accepted && !is_far, child.node, nodes, super_node_room, counts.nodes);
        if (far.any)
            append(is_far, child.node, nodes, super_node_room, far_count, true);
        append(refused && outcome.leaf, child.node, out.leaves + s * super_leaf_room, super_leaf_room,
               counts.leaves);
        append(child.there && !outcome.accepted && !refused, child.node,
               out.undecided + s * super_undecided_room, super_undecided_room, counts.undecided);
        const bool opens = refused && outcome.opened;
        const uint32_t opened = __ballot_sync(~0u, opens);
        if (opens)
            stack[top + set_below(opened)] = outcome.link;
        top += __popc(opened);
        __syncwarp();
    }
    // A group that would not begin below its super group must find everything itself.
    if (counts.nodes + far_count > super_node_room || counts.leaves > super_leaf_room ||
        counts.undecided > min(super_undecided_room, max(wide_limit, 0))) {
        counts = {0, 0, 1, 0}, far_count = 0;
        if (lane == 0)
            out.undecided[s * super_undecided_room] = view.root;
    }
    if (lane == 0)
        out.counts[s] = counts;
    if (lane == 0 && out.far_count != nullptr)
        out.far_count[s] = far_count;
}

template <int width>
auto kernel_of(bool plain) {
    return plain ? walk<Kind<width, false, true>> : walk<Kind<width, false, false>>;
}

} // namespace

void walk_supers(backend::Queue& queue, const WalkView& view, const SuperView& super) {
    const int64_t supers = group_room(view) / super.width + 2;
    const auto kernel = view.most_children == 8   ? kernel_of<8>(view.plain())
                        : view.most_children == 4 ? kernel_of<4>(view.plain())
                                                  : kernel_of<2>(view.plain());
    kernel<<<backend::blocks_for(supers, warps), 32 * warps, 0, queue.stream()>>>(view, super);
    GRAFT_CUDA_LAUNCHED("walk, super groups");
    ++queue.launches;
}

} // namespace graft::lists::device
