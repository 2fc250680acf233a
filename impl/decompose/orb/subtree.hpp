// SPDX-License-Identifier: BSD-3-Clause
// Serial bisection of a few items below one cell: what the leader of a small group of ranks does.
//
// The same rule as everywhere (cut_goal.hpp), so the owners are those of the distributed strategies. The cuts
// come as a list in preorder, small enough to send: the rank of a part finds the way to its leaf in it.
#pragma once

#include "core/buffer.hpp"
#include "decompose/orb/cut_goal.hpp"
#include "decompose/orb/cut_tree.hpp"
#include "decompose/item.hpp"

#include <cstdint>
#include <vector>

namespace graft::decompose {

/// The cut of one cell; in preorder the left child's cuts follow, then the right child's.
struct Split {
    double x;
    int64_t tie;
    int64_t axis;
};

class SubtreeSolver {
  public:
    explicit SubtreeSolver(core::Memory& memory) : order_(memory, "items of a subtree") {}

    /// Room for n items; solve() then allocates nothing. Throws Error(memory).
    void reserve(int64_t n) { order_.resize(n); }
    /// part[i]: the part of item i, first_part of `cell` onwards; splits: cell.parts - 1 cuts. weight: of all
    /// items. cap: most points of a part, 0 = no cap. After reserve(n). Cost O(n log parts) on average.
    void solve(const Item* items, int64_t n, const Cell& cell, Wide weight, int dimension, int64_t cap,
               int32_t* part, Split* splits);
    /// Of the last solve: the most points and the most weight of a part.
    int64_t count_max() const { return count_max_; }
    Wide weight_max() const { return weight_max_; }

  private:
    struct Entry {
        double x;
        int32_t item;
    };
    void solve_cell(int64_t begin, int64_t end, const Cell& cell, Wide weight, int32_t* part, Split* splits);
    bool before(const Entry& a, const Entry& b) const {
        return a.x < b.x || (a.x == b.x && items_[a.item].id < items_[b.item].id);
    }
    Cut cut(Entry* entries, int64_t n, const CutGoal& goal, int64_t& left, Wide& weight_left) const;

    core::Buffer<Entry> order_;
    const Item* items_ = nullptr;
    int dimension_ = 3;
    int64_t cap_ = 0;
    int64_t count_max_ = 0;
    Wide weight_max_ = 0;
};

/// The cells from `cell` down to the leaf of `part`, `cell` not included: follows `splits`.
void follow_splits(const Cell& cell, const Split* splits, int32_t part, Cell& top, std::vector<Cell>& path);

} // namespace graft::decompose
