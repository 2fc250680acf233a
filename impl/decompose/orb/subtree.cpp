// SPDX-License-Identifier: BSD-3-Clause
// See subtree.hpp.
#include "decompose/orb/subtree.hpp"

#include "backend/step_count.hpp"

#include <algorithm>

namespace graft::decompose {

void SubtreeSolver::solve(const Item* items, int64_t n, const Cell& cell, Wide weight, int dimension,
                          int64_t cap, int32_t* part, Split* splits) {
    items_ = items;
    count_max_ = 0;
    weight_max_ = 0;
    dimension_ = dimension;
    cap_ = cap;
    for (int64_t i = 0; i < n; ++i)
        order_[i].item = static_cast<int32_t>(i);
    solve_cell(0, n, cell, weight, part, splits);
}

void SubtreeSolver::solve_cell(int64_t begin, int64_t end, const Cell& cell, Wide weight, int32_t* part,
                               Split* splits) {
    if (cell.parts == 1) {
        count_max_ = std::max(count_max_, end - begin);
        weight_max_ = std::max(weight_max_, weight);
        for (int64_t i = begin; i < end; ++i)
            part[order_[i].item] = cell.first_part;
        return;
    }
    const int axis = cut_axis(cell, dimension_);
    backend::count_work(3 * (end - begin)); // selection by halves visits every item about so often
    int64_t left = 0;
    Wide weight_left = 0;
    Cut chosen = middle_cut(cell, axis);
    if (end > begin) {
        for (int64_t i = begin; i < end; ++i)
            order_[i].x = items_[order_[i].item].x[axis] + 0.0;
        chosen = cut(order_.data() + begin, end - begin, CutGoal(end - begin, weight, cell.parts, cap_), left,
                     weight_left);
    }
    splits[0] = {chosen.x, chosen.tie, axis};
    Cell parent = cell, lower{}, upper{};
    cut_cell(parent, axis, chosen, lower, upper);
    solve_cell(begin, begin + left, lower, weight_left, part, splits + 1);
    solve_cell(begin + left, end, upper, weight - weight_left, part, splits + lower.parts);
}

/// Selects around the crossing point by halves, then walks; leaves the entries partitioned.
Cut SubtreeSolver::cut(Entry* entries, int64_t n, const CutGoal& goal, int64_t& left,
                       Wide& weight_left) const {
    constexpr int64_t few = 16;
    const auto in_order = [this](const Entry& a, const Entry& b) { return before(a, b); };
    const auto weight_of = [&](int64_t i) { return items_[entries[i].item].weight; };
    int64_t low = 0, high = n; // the crossing point is in [low, high)
    Wide below = 0;            // weight of [0, low)
    while (high - low > few) {
        const int64_t middle = low + (high - low) / 2;
        std::nth_element(entries + low, entries + middle, entries + high, in_order);
        Wide weight = below;
        for (int64_t i = low; i < middle; ++i)
            weight += weight_of(i);
        if (goal.past(middle, weight)) {
            high = middle;
        } else {
            low = middle;
            below = weight;
        }
    }
    std::sort(entries + low, entries + high, in_order);
    int64_t crossing = low;
    while (crossing + 1 < high && !goal.past(crossing + 1, below + weight_of(crossing)))
        below += weight_of(crossing++);
    const Wide with = below + weight_of(crossing);
    const Entry at = entries[crossing];
    if (goal.takes(crossing + 1, below, with)) {
        left = crossing + 1;
        weight_left = with;
        const Entry* next = crossing + 1 < high ? entries + crossing + 1
                                                : std::min_element(entries + high, entries + n, in_order);
        if (next == entries + n || next->x != at.x)
            return cut_after({at.x, items_[at.item].id});
        return cut_before({next->x, items_[next->item].id}, true);
    }
    left = crossing;
    weight_left = below;
    const bool heap_split =
        std::any_of(entries, entries + crossing, [&](const Entry& e) { return e.x == at.x; });
    return cut_before({at.x, items_[at.item].id}, heap_split);
}

void follow_splits(const Cell& cell, const Split* splits, int32_t part, Cell& top, std::vector<Cell>& path) {
    top = cell;
    Cell* here = &top;
    while (here->parts > 1) {
        Cell lower{}, upper{};
        cut_cell(*here, static_cast<int>(splits->axis), {splits->x, splits->tie}, lower, upper);
        const bool right = part >= upper.first_part;
        splits += right ? lower.parts : 1;
        path.push_back(right ? upper : lower);
        here = &path.back();
    }
}

} // namespace graft::decompose
