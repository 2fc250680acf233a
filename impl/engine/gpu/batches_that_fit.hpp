// SPDX-License-Identifier: BSD-3-Clause
// How many batches of groups a GPU makes of an evaluation, so that lists, tasks and partial sums fit the
// memory that is left (design: "bounded in memory: when they would not fit, evaluate in chunks, never fail").
//
// Plain arithmetic over what a computation said it needs; what it does not know yet is guessed, and a
// computation that finds its room too small says by how much (DeviceStatus) and is done again. Needs of a
// batch go down as batches get more, but not below those of the longest single group: only when a single
// group's needs do not fit there is no plan.
#pragma once

#include "forces/evaluation_bytes.hpp"

#include <cstdint>

namespace graft::engine {

/// Numbers of the largest batch: what it needs, or what there is room for.
struct BatchNumbers {
    int64_t node_entries = 0, leaf_entries = 0, tasks = 0, slots = 0;
};

/// What the memory of a batch depends on, whatever its lists.
struct BatchShape {
    int64_t groups = 0;             // of all batches
    int64_t list_bytes_a_group = 0; // working memory of the walk
    bool in_double = false;         // partial sums
    bool with_tasks = true;         // false: kernels that need no tasks and no partial sums
    bool with_local = false;        // far cells become polynomials of groups
};

struct BatchLimits {
    int64_t bytes = 0;      // for everything of a batch
    int64_t list_bytes = 0; // for its lists, as long as more batches help
};

struct BatchPlan {
    bool fits = false;
    int64_t batches = 1;
    BatchNumbers capacity;
    int64_t bytes = 0; // of that room; where nothing fits: of the least that would do
};

/// A fifth more than needed, so that steps of a simulation do not ask for more each time.
int64_t with_spare_room(int64_t needed);

/// Bytes of lists alone, and of all that a batch takes.
int64_t list_bytes(const BatchNumbers& capacity);
int64_t batch_bytes(const BatchShape& shape, int64_t batches, const BatchNumbers& capacity);
forces::EvaluatorCapacity evaluator_capacity(const BatchShape& shape, int64_t batches,
                                             const BatchNumbers& capacity);

/// Guess of the needs of all groups in one batch, where nothing is known: lists as they are at p99 = 1e-3.
BatchNumbers guess_numbers(const BatchShape& shape, int64_t targets, int leaf);
/// Units and partial sums where only the lists' lengths are known.
void guess_tasks(const BatchShape& shape, int64_t batches, int64_t targets, int leaf, BatchNumbers& numbers);

/// The least number of batches from `batches` on for which `needed` (of the largest of `batches`) has room.
/// Doubles at least each time it needs more.
BatchPlan plan_batches(const BatchShape& shape, const BatchLimits& limits, int64_t batches,
                       const BatchNumbers& needed);

} // namespace graft::engine
