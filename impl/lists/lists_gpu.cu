// SPDX-License-Identifier: BSD-3-Clause
// The passes around the walk on the device: walk, scan, check of the capacities, entries to their lists.
#include "lists/far_cells_gpu.cuh"
#include "lists/walk_gpu.cuh"
#include "lists/node_criterion.hpp"

#include <algorithm>
#include <bit>

namespace graft::lists {

namespace {

/// Of the work of walk_warps.
struct Sharing {
    int32_t patience, block_groups;
};

int32_t most_children(const tree::TreeOptions& options) {
    return options.type == tree::TreeType::orb ? 2 : 1 << options.dimension;
}

device::WalkView walk_view(backend::Queue& queue, const tree::DeviceTree& tree,
                           const DeviceCriterion& criterion, const DeviceTargets& targets, int batch,
                           int batches, const Sharing& sharing) {
    return {device::batch_view(queue, targets, batch, batches),
            criterion.xy.data() + mac_shift,
            criterion.za.data() + mac_shift,
            criterion.links.data() + mac_shift,
            criterion.softening.empty() ? nullptr : criterion.softening.data(),
            tree.boxes.data(),
            tree.counts.data(),
            targets.groups.data(),
            criterion.options.softening_length,
            skin_margin(criterion.skin),
            criterion.root,
            criterion.levels,
            most_children(tree.options),
            sharing.patience,
            sharing.block_groups,
            criterion.options.compact_softening};
}

/// How a block shares its work. Where the groups are few, a warp for each would leave most of the device
/// idle: a block has two of them, and soon helps. Otherwise it has one for each warp, and helps late where a
/// warp has the whole tree to walk. By all groups, not by the batch's or by those there is room for: when the
/// block helps, entries come in another order, which must not depend on how much memory there is.
Sharing sharing_of(const backend::Queue& queue, const DeviceWalkTuning& tuning, const DeviceTargets& targets,
                   DeviceWalk kind) {
    constexpr int resident_warps = 40, few_warps = 24, block_warps = 8;
    const int64_t groups = targets.n * 4 / (3 * std::max(targets.group_size, 1)); // three quarters full
    const int64_t multiprocessors = queue.multiprocessors();
    Sharing sharing{kind == DeviceWalk::super_group ? 48 : 96, block_warps};
    if (groups <= multiprocessors * resident_warps)
        sharing.patience = 32;
    if (groups <= multiprocessors * few_warps && kind == DeviceWalk::warp_per_group)
        sharing = {8, 2};
    if (tuning.patience > 0)
        sharing.patience = tuning.patience;
    return sharing;
}

int32_t kept_node_room(DeviceWalk kind) {
    return kind == DeviceWalk::super_group ? device::kept_node_room_below_super : device::kept_node_room;
}

} // namespace

struct DeviceListBuilder::Work {
    explicit Work(backend::DeviceMemory& memory)
        : super_counts(memory, "counts of super groups"), super_nodes(memory, "nodes of super groups"),
          super_leaves(memory, "leaves of super groups"), undecided(memory, "undecided nodes"),
          far_counts(memory, "far cells of super groups"), kept_nodes(memory, "nodes of groups"),
          kept_leaves(memory, "leaves of groups") {}

    /// Room for the super groups of a batch of so many groups.
    device::SuperView super_view(int64_t groups, int32_t super_width) {
        const int64_t supers =
            groups / super_width + 2; // the first and the last may reach into other batches
        super_counts.resize(supers);
        super_nodes.resize(supers * device::super_node_room);
        super_leaves.resize(supers * device::super_leaf_room);
        undecided.resize(supers * device::super_undecided_room);
        far_counts.resize(supers);
        return {super_width,
                super_counts.data(),
                super_nodes.data(),
                super_leaves.data(),
                undecided.data(),
                nullptr,
                {}};
    }
    backend::DeviceBuffer<device::SuperCounts> super_counts;
    backend::DeviceBuffer<int32_t> super_nodes, super_leaves, undecided, far_counts;
    backend::DeviceBuffer<int32_t> kept_nodes, kept_leaves;
};

DeviceListBuilder::DeviceListBuilder(backend::DeviceMemory& memory) : work_(new Work(memory)) {}

DeviceListBuilder::~DeviceListBuilder() {
    delete work_;
}

int64_t DeviceListBuilder::bytes_a_group(DeviceWalk kind) const {
    constexpr int64_t super =
        sizeof(device::SuperCounts) + sizeof(int32_t) +
        4 * (device::super_node_room + device::super_leaf_room + device::super_undecided_room);
    const int64_t each =
        (kind == DeviceWalk::super_group ? super / tuning.super_width : 0) +
        (kind == DeviceWalk::thread_per_group ? 0 : 4 * (kept_node_room(kind) + device::kept_leaf_room));
    return each + each / 16 + 1;
}

void DeviceListBuilder::release_room() {
    work_->super_counts.release(), work_->super_nodes.release();
    work_->super_leaves.release(), work_->undecided.release(), work_->far_counts.release();
    work_->kept_nodes.release(), work_->kept_leaves.release();
}

void DeviceListBuilder::build(backend::Queue& queue, const tree::DeviceTree& tree,
                              const DeviceCriterion& criterion, const DeviceTargets& targets, DeviceWalk kind,
                              int batch, int batches, DeviceLists& lists, const DeviceFarChoice* far) {
    lists.batch = batch, lists.batches = batches;
    lists.shared = {};
    lists.node_offset.resize(targets.groups.size() + 2);
    lists.leaf_offset.resize(targets.groups.size() + 2);
    const device::WalkView view =
        walk_view(queue, tree, criterion, targets, batch, batches, sharing_of(queue, tuning, targets, kind));
    const bool by_threads = kind == DeviceWalk::thread_per_group;
    const int64_t kept_groups = by_threads ? 0 : device::group_room(view);
    work_->kept_nodes.resize(kept_groups * kept_node_room(kind));
    work_->kept_leaves.resize(kept_groups * device::kept_leaf_room);
    const device::WalkLists out{lists.node_offset.data(), lists.leaf_offset.data(), lists.nodes.data(),
                                lists.leaves.data(),      work_->kept_nodes.data(), work_->kept_leaves.data(),
                                kept_node_room(kind)};
    lists.split = !by_threads && far != nullptr && far->split != nullptr;
    if (lists.split) {
        far->split->entries.resize(lists.nodes.size());
        far->split->near_count.resize(device::group_room(view));
    }
    device::SuperView super{};
    if (kind == DeviceWalk::super_group) {
        const auto width = static_cast<uint32_t>(tuning.super_width);
        super = work_->super_view(device::group_room(view), tuning.super_width);
        if (far != nullptr && width >= least_sharing_groups && std::has_single_bit(width)) {
            super.far_count = work_->far_counts.data(), super.far = *far;
            lists.shared = {std::countr_zero(width), device::super_node_room, super.far_count, super.nodes};
        }
        device::walk_supers(queue, view, super);
    }
    const auto pass = [&](bool first) {
        if (by_threads)
            device::walk_threads(queue, view, out, first);
        else
            device::walk_warps(queue, view, super, out, first);
    };
    pass(true);
    device::scan_counts(queue, view, out, lists.nodes.size(), lists.leaves.size());
    pass(false);
    if (!by_threads)
        device::place_kept(queue, view, super, out, lists.split ? far : nullptr);
}

} // namespace graft::lists
