// SPDX-License-Identifier: BSD-3-Clause
// The walk over cells of targets: how they are shared out to threads, the way from the root to where a thread stands,
// and its lists. tree_walk.cpp does it.
#pragma once

#include "core/buffer.hpp"
#include "forces/m2l/m2l.hpp"
#include "lists/dual_walk.hpp"
#include "lists/lists.hpp"
#include "lists/targets.hpp"

#include <deque>
#include <vector>

namespace graft::engine {

/// The far field that the targets of a cell share.
struct CellField {
    forces::Frame frame;
    forces::LocalExpansion local; // about the middle of the targets' box
    bool empty = true;

    /// The field above, about the middle of `box`.
    void inherit(const CellField& above, int order, const geometry::Box& box, const forces::Frame& own);
};

/// What a cell hands down to the cells below it.
struct Inherited {
    explicit Inherited(core::Memory& memory) : left(memory, "undecided nodes") {}
    CellField field;
    core::Buffer<lists::Undecided> left;
};

/// One thread's lists of the group that it stands at, and what the cells above hand down.
struct WalkThread {
    explicit WalkThread(core::Memory& memory)
        : far(memory, "far cells"), near(memory, "node lists"), leaves(memory, "leaf lists"),
          stack(memory, "walk stacks"), builder(memory), transposed(memory) {}
    core::Buffer<int32_t> far, near, leaves;
    core::Buffer<lists::Undecided> stack;
    std::deque<Inherited> levels;      // a deque: those above stay where they are
    lists::ListBuilder builder;        // study.walk transposed
    lists::InteractionLists transposed; // of a task
    double walk_s = 0;
    int64_t bytes() const;
};

/// Cells [begin, end), sisters, which one thread takes with all below them.
struct CellTask {
    int32_t begin, end;
    int32_t above; // in `upper`
};

/// A cell above tasks.
struct UpperCell {
    int32_t cell, above;
};

struct TargetWalk {
    explicit TargetWalk(core::Memory& memory)
        : memory(memory), nodes(memory), images(memory, "images"), far(memory, "far cell counts") {}
    Inherited& next_upper();
    int64_t bytes() const;

    core::Memory& memory;
    lists::FarNodes nodes;
    core::Buffer<geometry::Vec3> images; // of the targets that the cells meet: (0, 0, 0), or those of a periodic box
    double furthest_image = 0;           // from the targets
    std::deque<WalkThread> threads;
    std::deque<Inherited> upper; // [0]: of nothing but the undecided root
    int32_t upper_count = 0;     // in use
    std::vector<UpperCell> frontier, next;
    std::vector<CellTask> tasks;
    core::Buffer<int64_t> far; // nodes that went into the polynomial of each cell of targets
};

} // namespace graft::engine
