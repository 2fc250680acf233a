// SPDX-License-Identifier: BSD-3-Clause
// Polynomials of groups on the device: M2L from packed cells, L2P in the gathering of partial sums.
//
// Order 2, single precision, charges of one sign (m2p_gpu.cuh: PackedCell); polynomials of degree
// local_order(2) = 5 about the group's centre, in the group's frame, charges times charge_scale as
// everywhere. Their centre is the frame's, which in single precision is that of the group's box.
#pragma once

#include "forces/m2p/m2p_gpu.cuh"
#include "forces/m2l/m2l_body.hpp"
#include "forces/m2l/m2l_terms.hpp"
#include "forces/vector_ops_gpu.cuh"

namespace graft::forces {

inline constexpr int device_local_order = 2;
inline constexpr int device_local_degree = local_order(device_local_order);
inline constexpr int device_local_terms = moments::term_count(device_local_degree);
static_assert(device_local_terms * 4 == local_bytes_a_group);
static_assert(sharing_groups == lists::least_sharing_groups);

/// Enqueued: the polynomials of the batch's groups that have far cells (view.far.near_count), from the entries
/// behind the near ones. Charges of both signs: stop-free, nothing is done, and gather_slots() adds nothing,
/// as make_tasks() then counts every cell as near. `length`: Plummer's, for all, softened only.
void sum_far(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
             const PackedCell* cells, const ChargeSigns* signs, bool softened, int64_t group_capacity,
             float* expansions);

/// What super groups share (view.far.shared, from lists of which `any()`): their polynomials, each about the
/// centre of its own box, with their frames. Enqueued, after pack_cells(); buffers have an entry a super
/// group. Status: far_cells.
void sum_shared(backend::Queue& queue, const EvaluationView& view, const PackedCell* cells, bool softened,
                int64_t super_capacity, GroupFrame* frames, float* expansions);
/// Adds them, moved to the groups' centres, to the groups' polynomials, or makes these of them; after
/// sum_far(). A thread a group: 462 products.
void spread_shared(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                   int64_t group_capacity, const GroupFrame* frames, const float* shared, float* expansions);

} // namespace graft::forces
