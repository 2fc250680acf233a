// SPDX-License-Identifier: BSD-3-Clause
// How much memory the evaluation of a batch of lists takes on the device, for those that decide how many
// groups make a batch. Plain arithmetic, so that it is tested without a GPU.
//
// Invariants: bytes() is what DeviceEvaluator::set_capacity() leads to, growth of its buffers included; it grows
// with each of its members. Beside it, and whatever the batch, an evaluator holds 64 B a node of packed
// cells, with polynomials of groups 32 B more, and 4 B a particle.
#pragma once

#include <algorithm>
#include <cstdint>

namespace graft::forces {

/// Sizes of tasks: interactions (pairs or cells times targets), and the least sources or cells.
struct TaskSize {
    int pair_interactions = 65536, cell_interactions = 65536, least = 64;
};

/// Some ten tasks for each warp that the device runs at a time: a particle has about a thousand interactions
/// of either kind; with polynomials of groups (`far`) a tenth as many cells. Large problems: 2^16, where a
/// task's own cost does not count any more.
TaskSize task_size(int64_t targets, bool far);

/// Of a node list, at most this part is near as a rule where far cells become polynomials of groups.
inline constexpr int64_t near_part = 4;

inline constexpr int64_t task_bytes = 24, group_frame_bytes = 88,
                         source_entry_bytes = 8;    // warp_tasks_gpu.cuh
inline constexpr int64_t local_bytes_a_group = 224; // asserted in m2l_gpu.cuh
inline constexpr int64_t sharing_groups = 8;        // fewest of a super group, asserted in m2l_gpu.cuh
/// Super groups that `groups` of a batch are in, at most.
inline int64_t most_super_groups(int64_t groups) {
    return groups / sharing_groups + 2;
}

/// Room of an evaluator for a batch.
struct EvaluatorCapacity {
    int64_t groups = 0, leaf_entries = 0;
    int64_t tasks = 0; // of pairs, and as many of cells
    int64_t slots = 0; // partial sums
    bool in_double = false;
    int64_t node_entries = 0; // where far cells become polynomials of groups, else 0

    int64_t far_bytes() const {
        return 4 * node_entries + groups * (local_bytes_a_group + 4) +
               most_super_groups(groups) * (local_bytes_a_group + group_frame_bytes);
    }
    int64_t slot_bytes() const { return in_double ? 32 : 16; }
    int64_t bytes() const {
        const int64_t exact = groups * (group_frame_bytes + 4) +
                              (leaf_entries + groups) * source_entry_bytes + 2 * tasks * task_bytes +
                              slots * slot_bytes() + (node_entries > 0 ? far_bytes() : 0);
        return exact + exact / 16 + 256; // as DeviceBuffer grows
    }
};

/// Units and partial sums of groups with these lists, if all are alike.
struct TaskCount {
    int64_t tasks = 0, slots = 0;
};
/// `sources`: particles in the leaf lists; all numbers of the whole batch. `targets`: of all its groups.
inline TaskCount count_tasks(const TaskSize& size, int64_t groups, int64_t targets, int64_t node_entries,
                             int64_t sources) {
    if (groups <= 0 || targets <= 0)
        return {};
    const int64_t each = std::max<int64_t>(1, targets / groups);
    const auto tasks_of = [&](int64_t items, int64_t interactions) {
        const int64_t chunk = std::max<int64_t>(size.least, interactions / each / 32 * 32);
        return items / chunk + groups; // the last task of a group is a part of one
    };
    const int64_t pairs = tasks_of(sources, size.pair_interactions);
    const int64_t cells = tasks_of(node_entries, size.cell_interactions);
    return {std::max(pairs, cells), (pairs + cells) * each};
}

} // namespace graft::forces
