// SPDX-License-Identifier: BSD-3-Clause
// The host's particles, objects or points as decompose and balance want them: contiguous, checked, the same
// arrays present on every rank.
#pragma once

#include "decompose/decompose.hpp"
#include "domain_state.hpp"
#include "structs.hpp"

#include "backend/executor.hpp"

namespace graft::capi {

/// The checked views of one call, before anything is read through them.
struct PointViews {
    int64_t n = 0;
    particles::ArrayView position[3], cost, bytes, id;
};

/// Positions, ids and costs of particles. Throws what read_array throws.
PointViews view_particles(const graft_particles* particles, int dimension);
/// Positions, ids, loads and bytes of objects.
PointViews view_objects(const graft_objects& objects, int dimension);

/// Copies into the buffers and checks every value. Throws Error (value: not finite, negative costs, bytes or
/// ids, the first one named; argument: n beyond 2^31 - 1; memory). Cost O(n).
void import_points(const backend::Executor& executor, const PointViews& views, int dimension,
                   PointBuffers& buffers);

/// Collective. The points as decompose takes them: costs and ids only where some rank has them; then every
/// rank that has points must, else Error(argument) on all ranks.
decompose::Points agree_points(comm::Communicator& ranks, const PointViews& views,
                               const PointBuffers& buffers);

/// Writes integers to I32 or I64 items, `base` added. The view has `count` items.
void export_integers(const backend::Executor& executor, const int32_t* value, int64_t count, int64_t base,
                     const particles::ArrayView& view);
void export_integers(const backend::Executor& executor, const int64_t* value, int64_t count, int64_t base,
                     const particles::ArrayView& view);

} // namespace graft::capi
