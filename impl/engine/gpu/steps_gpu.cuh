// SPDX-License-Identifier: BSD-3-Clause
// The steps of a computation on one GPU, side by side: what those see who conduct them.
#pragma once

#include "engine/gpu/evaluate_step_gpu.cuh"
#include "engine/gpu/list_reuse_gpu.cuh"
#include "engine/gpu/list_step_gpu.cuh"
#include "engine/gpu/batches_that_fit_gpu.cuh"
#include "engine/gpu/sum_step_gpu.cuh"
#include "engine/gpu/target_step_gpu.cuh"
#include "engine/gpu/tree_step_gpu.cuh"
#include "engine/write_results_gpu.cuh"
#include "engine/import_inputs_gpu.cuh"
#include "engine/solver_periodic_gpu.cuh"

namespace graft::engine {

struct Steps {
    Steps(int wanted_device, const backend::GpuAllocator& allocator);

    /// Target -> host item; NULL: itself.
    const int32_t* origin() const;
    RawResults raw() const { return {evaluate.field, import.charge.data(), origin()}; }
    DeviceTargetSources target_sources() const;
    /// Columns that a tree in place takes.
    tree::DeviceColumns columns();
    void give_columns_back(bool with_contents) { tree.give_back(c, columns(), with_contents); }

    Computation c;
    ImportStep import;
    TreeStep tree;
    TargetStep targets;
    ListStep lists;
    KeptLists kept;
    EvaluateStep evaluate;
    LatticeStep lattice;
    SumStep sums;
    WriteStep output;
    BatchCapacity capacity;
};

// tree_force_gpu.cu: the methods. Enqueued, each.
void sum_tree(Steps& s); // moments and targets of the tree
void prepare_walk(Steps& s);
void evaluate_tree(Steps& s);
void evaluate_direct(Steps& s);
/// The tree in the particles' memory, and the field's.
void build_tree_in_place(Steps& s);

} // namespace graft::engine
