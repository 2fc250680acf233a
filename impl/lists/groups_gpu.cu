// SPDX-License-Identifier: BSD-3-Clause
// See groups_gpu.cuh. The host cuts recursively; as its open group is always empty when it enters or
// leaves a node, each node's packing stands alone and one thread does it (and marks a child that is one group
// by itself, which that child's thread cannot know). Marks in target order replace the host's order of
// pushing, which is the same.
#include "lists/groups_gpu.cuh"

#include "geometry/morton.hpp"
#include "lists/groups.hpp"

namespace graft::lists::device {

namespace {

__device__ int64_t limit_of(const GroupingInput& in, const tree::Node& node) {
    return node.child_count == 0 ? in.group_size : group_limit(node.count, in.group_size);
}

/// Packs pieces in order into groups of at most `limit` targets, as Cutter::pack.
class Packer {
  public:
    __device__ Packer(const GroupingInput& in, int64_t limit, uint8_t* start)
        : in_(in), limit_(limit), start_(start) {}

    __device__ int64_t targets_before(int64_t place) const {
        return in_.before != nullptr ? in_.before[place] : place;
    }
    __device__ int64_t targets_in(int64_t begin, int64_t end) const {
        return targets_before(end) - targets_before(begin);
    }
    /// False: more than the limit.
    __device__ bool pack(int64_t begin, int64_t end) {
        const int64_t first = targets_before(begin), count = targets_before(end) - first;
        if (open_ + count > limit_)
            flush();
        if (count > limit_)
            return false;
        if (open_ == 0 && count > 0)
            start_[first] = 1;
        open_ += count;
        return true;
    }
    /// A child with a group of its own.
    __device__ void single(int64_t begin) { start_[targets_before(begin)] = 1; }
    __device__ void flush() { open_ = 0; }
    __device__ void limit(int64_t most) { limit_ = most; }

  private:
    const GroupingInput& in_;
    int64_t limit_;
    uint8_t* start_;
    int64_t open_ = 0;
};

/// First place in [begin, end) whose key is in another cell than the first's.
__device__ int64_t cell_end(const uint64_t* keys, int64_t begin, int64_t end, int shift) {
    const uint64_t cell = keys[begin] >> shift;
    int64_t low = begin, high = end; // keys[low] in the cell, keys[high] not
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (keys[middle] >> shift == cell)
            low = middle;
        else
            high = middle;
    }
    return high;
}

__device__ void cut_evenly(const GroupingInput& in, int64_t first, int64_t last, uint8_t* start) {
    for (; first < last; first += in.group_size)
        start[first] = 1;
}

/// The keys of one leaf: Cutter::cut_keys with the recursion's frames on a stack of its own.
__device__ void cut_keys(const GroupingInput& in, int64_t begin, int64_t end, uint8_t* start) {
    constexpr int deepest = 33;
    int64_t ends[deepest];
    int8_t shifts[deepest];
    int depth = 0;
    Packer packer(in, in.group_size, start);
    if (in.keys == nullptr) // leaves are no larger than groups, but for equal points (tree/build_in_place_gpu.cuh)
        return cut_evenly(in, packer.targets_before(begin), packer.targets_before(end), start);
    const int levels = geometry::key_levels(in.dimension);
    const auto enter = [&](int64_t first, int64_t last) {
        const int level = geometry::common_level(in.keys[first], in.keys[last - 1], in.dimension);
        if (level == levels)
            cut_evenly(in, packer.targets_before(first), packer.targets_before(last), start);
        ends[depth] = last;
        shifts[depth] = static_cast<int8_t>(level == levels ? -1 : (levels - 1 - level) * in.dimension);
        ++depth;
        return level == levels ? last : first;
    };
    int64_t place = enter(begin, end);
    while (depth > 0) {
        if (place == ends[depth - 1]) {
            packer.flush();
            --depth;
            continue;
        }
        const int64_t last = cell_end(in.keys, place, ends[depth - 1], shifts[depth - 1]);
        place = packer.pack(place, last) ? last : enter(place, last);
    }
}

/// Level of the largest key cell around `key` that lies inside the range: the cell of that root.
__device__ int root_level(const GroupingInput& in, uint64_t key) {
    int level = 0;
    while (level < geometry::key_levels(in.dimension) &&
           !geometry::cell_within(key, level, in.dimension, in.key_begin, in.key_end))
        ++level;
    return level;
}

/// Roots that are sisters in the tree of all particles are packed together: Cutter::cut_roots; what is around
/// them is not known here.
__global__ void mark_roots(GroupingInput in, uint8_t* start) {
    if (backend::stopped(in.status) || in.counts->nodes == 0)
        return;
    Packer packer(in, in.group_size, start);
    const int32_t roots = in.has_range ? in.level_offset[1] : 1;
    int previous_level = 0;
    uint64_t previous_key = 0;
    for (int32_t k = 0; k < roots; ++k) {
        const tree::Node root = in.nodes[k];
        if (in.has_range) {
            const uint64_t key = in.keys[root.first];
            const int level = root_level(in, key);
            const int shift = (geometry::key_levels(in.dimension) - level + 1) * in.dimension;
            if (k > 0 && !(level > 0 && level == previous_level && key >> shift == previous_key >> shift))
                packer.flush();
            previous_level = level, previous_key = key;
        }
        packer.limit(limit_of(in, root));
        packer.pack(root.first, root.first + root.count);
    }
}

__global__ void mark_nodes(GroupingInput in, uint8_t* start) {
    const int32_t i = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
    if (backend::stopped(in.status) || i >= min(in.counts->nodes, in.node_capacity))
        return;
    const tree::Node node = in.nodes[i];
    const int64_t limit = limit_of(in, node);
    Packer packer(in, limit, start);
    if (packer.targets_in(node.first, node.first + node.count) <= limit)
        return;
    if (node.child_count == 0)
        cut_keys(in, node.first, node.first + node.count, start);
    for (int32_t c = 0; c < node.child_count; ++c) {
        const tree::Node& child = in.nodes[node.first_child + c];
        const int64_t end = child.first + child.count;
        if (!packer.pack(child.first, end) && packer.targets_in(child.first, end) <= limit_of(in, child))
            packer.single(child.first);
    }
}

__global__ void part_strays(GroupingInput in, const double* x, const double* y, const double* z,
                            int64_t targets, uint8_t* start) {
    const int64_t t = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (backend::stopped(in.status) || t >= targets)
        return;
    if (in.counts->in_root(x[t], y[t], z[t], in.dimension))
        return;
    start[t] = 1;
    if (t + 1 < targets)
        start[t + 1] = 1;
}

/// A warp per group: box and largest softening. Both are exact, whatever the order.
__global__ void bound(const int32_t* first, const int32_t* count, int64_t n, const double* x, const double* y,
                      const double* z, const double* softening, Group* groups, int64_t capacity,
                      bool keeps_factors, backend::DeviceStatus* status) {
    if (backend::stopped(status))
        return;
    const int64_t g = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    const int64_t groups_there = *count;
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (g == 0 && lane == 0) {
        status->groups_needed = groups_there;
        if (groups_there > capacity)
            backend::stop_with(status, backend::too_small);
    }
    if (g >= min(groups_there, capacity))
        return;
    const int64_t begin = first[g], end = g + 1 < groups_there ? first[g + 1] : n;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double lower[3] = {infinity, infinity, infinity}, upper[3] = {-infinity, -infinity, -infinity},
           longest = 0;
    for (int64_t i = begin + lane; i < end; i += 32) {
        const double at[3] = {x[i], y[i], z[i]};
        for (int axis = 0; axis < 3; ++axis)
            lower[axis] = fmin(lower[axis], at[axis]), upper[axis] = fmax(upper[axis], at[axis]);
        if (softening != nullptr)
            longest = fmax(longest, softening[i]);
    }
    for (int step = 16; step > 0; step /= 2) {
        for (int axis = 0; axis < 3; ++axis) {
            lower[axis] = fmin(lower[axis], __shfl_xor_sync(~0u, lower[axis], step));
            upper[axis] = fmax(upper[axis], __shfl_xor_sync(~0u, upper[axis], step));
        }
        longest = fmax(longest, __shfl_xor_sync(~0u, longest, step));
    }
    if (lane != 0)
        return;
    Group group;
    group.first = begin, group.count = end - begin;
    for (int axis = 0; axis < 3; ++axis)
        group.target.box.lower[axis] = lower[axis], group.target.box.upper[axis] = upper[axis];
    group.target.softening = longest;
    if (keeps_factors)
        group.target.factor = groups[g].target.factor;
    groups[g] = group;
}

} // namespace

void mark_groups(backend::Queue& queue, const GroupingInput& input, const DeviceTargets& targets,
                 uint8_t* start) {
    GRAFT_CUDA(cudaMemsetAsync(start, 0, static_cast<size_t>(targets.n), queue.stream()));
    mark_roots<<<1, 1, 0, queue.stream()>>>(input, start);
    GRAFT_CUDA_LAUNCHED("groups at the roots");
    mark_nodes<<<backend::blocks_for(input.node_capacity, 128), 128, 0, queue.stream()>>>(input, start);
    GRAFT_CUDA_LAUNCHED("groups below the nodes");
    queue.launches += 2;
    if (!input.beyond_cells)
        return;
    part_strays<<<backend::blocks_for(targets.n, 256), 256, 0, queue.stream()>>>(
        input, targets.x, targets.y, targets.z, targets.n, start);
    GRAFT_CUDA_LAUNCHED("groups of strays");
    ++queue.launches;
}

void bound_groups(backend::Queue& queue, const int32_t* first, DeviceTargets& targets) {
    const int64_t capacity = targets.groups.size();
    bound<<<backend::blocks_for(capacity * 32, 128), 128, 0, queue.stream()>>>(
        first, targets.group_count.data(), targets.n, targets.x, targets.y, targets.z, targets.softening,
        targets.groups.data(), capacity, targets.keeps_factors, queue.status());
    GRAFT_CUDA_LAUNCHED("boxes of groups");
    ++queue.launches;
}

} // namespace graft::lists::device
