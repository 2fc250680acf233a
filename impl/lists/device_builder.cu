// The passes around the walk on the device: count, scan, check of the capacities, fill.
#include "lists/device_walk.cuh"

#include "backend/device_primitives.cuh"

namespace graft::lists {

namespace {

/// Counts behind the batch's last group are zero, so that the scan's total is theirs.
__global__ void clear_tail(device::WalkView view, device::WalkLists lists, int64_t capacity) {
    const device::BatchRange range = device::batch_range(view);
    const bool none = view.counts->nodes == 0 || backend::stopped(view.status);
    const int64_t g = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (g < capacity && (none || g >= range.count))
        lists.node_offset[g] = lists.leaf_offset[g] = 0;
}

/// Tells the host what the lists take, and stops where there is no room.
__global__ void check_room(device::WalkView view, device::WalkLists lists, int64_t last, int64_t node_room,
                           int64_t leaf_room) {
    if (backend::stopped(view.status))
        return;
    const int64_t nodes = lists.node_offset[last], leaves = lists.leaf_offset[last];
    view.status->node_entries_needed = max(view.status->node_entries_needed, nodes);
    view.status->leaf_entries_needed = max(view.status->leaf_entries_needed, leaves);
    if (nodes > node_room || leaves > leaf_room)
        backend::stop_with(view.status, backend::too_small);
}

int32_t most_children(const tree::TreeOptions& options) {
    return options.type == tree::TreeType::orb ? 2 : 1 << options.dimension;
}

device::WalkView walk_view(backend::Queue& queue, const tree::DeviceTree& tree,
                           const DeviceCriterion& criterion, const DeviceTargets& targets, int batch,
                           int batches) {
    return {device::batch_view(queue, targets, batch, batches),
            criterion.xy.data() + mac_shift,
            criterion.za.data() + mac_shift,
            criterion.links.data() + mac_shift,
            criterion.softening.empty() ? nullptr : criterion.softening.data(),
            tree.boxes.data(),
            tree.counts.data(),
            targets.groups.data(),
            criterion.options.softening_length,
            criterion.skin,
            criterion.root,
            criterion.levels,
            most_children(tree.options),
            criterion.options.compact_softening};
}

} // namespace

struct DeviceListBuilder::Work {
    explicit Work(backend::DeviceMemory& memory)
        : super_counts(memory, "counts of super groups"), super_nodes(memory, "nodes of super groups"),
          super_leaves(memory, "leaves of super groups"), undecided(memory, "undecided nodes") {}

    /// Room for the super groups of a batch of so many groups.
    device::SuperView super_view(int64_t groups) {
        const int64_t supers = groups / super_width + 1;
        super_counts.resize(supers);
        super_nodes.resize(supers * device::super_node_room);
        super_leaves.resize(supers * device::super_leaf_room);
        undecided.resize(supers * device::super_undecided_room);
        return {super_width, super_counts.data(), super_nodes.data(), super_leaves.data(), undecided.data()};
    }
    static constexpr int32_t super_width = 8;
    backend::DeviceBuffer<device::SuperCounts> super_counts;
    backend::DeviceBuffer<int32_t> super_nodes, super_leaves, undecided;
};

DeviceListBuilder::DeviceListBuilder(backend::DeviceMemory& memory) : work_(new Work(memory)) {}

DeviceListBuilder::~DeviceListBuilder() {
    delete work_;
}

void DeviceListBuilder::build(backend::Queue& queue, const tree::DeviceTree& tree,
                              const DeviceCriterion& criterion, const DeviceTargets& targets, DeviceWalk kind,
                              int batch, int batches, DeviceLists& lists) {
    const int64_t capacity = targets.groups.size() / batches + 1;
    lists.batch = batch, lists.batches = batches;
    lists.node_offset.resize(targets.groups.size() + 2);
    lists.leaf_offset.resize(targets.groups.size() + 2);
    const device::WalkView view = walk_view(queue, tree, criterion, targets, batch, batches);
    const device::WalkLists out{lists.node_offset.data(), lists.leaf_offset.data(), lists.nodes.data(),
                                lists.leaves.data()};
    clear_tail<<<backend::blocks_for(capacity + 1, 256), 256, 0, queue.stream()>>>(view, out, capacity + 1);
    GRAFT_CUDA_LAUNCHED("list counts");
    device::SuperView super{};
    if (kind == DeviceWalk::super_group) {
        super = work_->super_view(capacity);
        device::walk_supers(queue, view, super);
    }
    const auto pass = [&](bool counting) {
        if (kind == DeviceWalk::thread_per_group)
            device::walk_threads(queue, view, out, counting);
        else
            device::walk_warps(queue, view, super, out, counting);
    };
    pass(true);
    backend::exclusive_sum(queue, out.node_offset, out.node_offset, capacity + 1);
    backend::exclusive_sum(queue, out.leaf_offset, out.leaf_offset, capacity + 1);
    check_room<<<1, 1, 0, queue.stream()>>>(view, out, capacity, lists.nodes.size(), lists.leaves.size());
    GRAFT_CUDA_LAUNCHED("list capacities");
    queue.launches += 2;
    pass(false);
}

} // namespace graft::lists
