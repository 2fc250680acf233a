// SPDX-License-Identifier: BSD-3-Clause
// What the walk over cells of targets keeps: the way from the root to where a thread stands, and how the cells are
// shared out to threads.
#pragma once

#include "core/buffer.hpp"
#include "forces/m2l/m2l.hpp"
#include "lists/dual_walk.hpp"
#include "lists/targets.hpp"

#include <deque>
#include <vector>

namespace graft::engine {

/// The far field that the targets of a cell share.
struct CellField {
    forces::Frame frame;
    forces::LocalExpansion local;
    bool empty = true;
};

/// What a cell hands down to the cells below it.
struct Inherited {
    explicit Inherited(core::Memory& memory) : left(memory, "undecided nodes") {}
    CellField field;
    core::Buffer<lists::Undecided> left;
};

/// One thread's lists, and what the cells above the one that it stands at hand down.
struct WalkThread {
    explicit WalkThread(core::Memory& memory)
        : nodes(memory, "node lists"), leaves(memory, "leaf lists"), stack(memory, "walk stacks") {}
    core::Buffer<int32_t> nodes, leaves;
    core::Buffer<lists::Undecided> stack;
    std::deque<Inherited> levels; // a deque: those above stay where they are
    int64_t far = 0;              // cells that went into polynomials of inner cells
    double walk_s = 0;
};

/// Cells [begin, end), sisters, which one thread takes with all below them.
struct CellTask {
    int32_t begin, end;
    int32_t above; // in `upper`
};

/// A cell above tasks.
struct UpperCell {
    int32_t cell;
    int32_t above;
};

struct TargetWalk {
    explicit TargetWalk(core::Memory& memory) : memory(&memory) {}
    core::Memory* memory;
    std::deque<WalkThread> threads;
    std::deque<Inherited> upper; // [0]: the root, undecided
    std::vector<UpperCell> frontier, next;
    std::vector<CellTask> tasks;
};

} // namespace graft::engine
