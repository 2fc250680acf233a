// SPDX-License-Identifier: BSD-3-Clause
// See target_cells.hpp.
#include "lists/target_cells.hpp"

#include <algorithm>

namespace graft::lists {

void cells_of_groups(const core::Buffer<Group>& groups, core::Buffer<TargetCell>& cells) {
    cells.resize(groups.size());
    for (int64_t g = 0; g < groups.size(); ++g)
        cells[g] = {groups[g].target, groups[g].first, groups[g].count, static_cast<int32_t>(g + 1), static_cast<int32_t>(g)};
}

void bound_cells(const core::Buffer<Group>& groups, core::Buffer<TargetCell>& cells) {
    for (int64_t i = cells.size() - 1; i >= 0; --i) { // children first
        TargetCell& cell = cells[i];
        if (cell.group >= 0) {
            cell.target = groups[cell.group].target;
            cell.first = groups[cell.group].first;
            cell.count = groups[cell.group].count;
            continue;
        }
        cell.target = cells[i + 1].target;
        cell.first = cells[i + 1].first;
        cell.count = 0;
        for (int32_t child = static_cast<int32_t>(i) + 1; child < cell.next; child = cells[child].next) {
            const Target& below = cells[child].target;
            cell.target.box.include(below.box);
            cell.target.factor = std::max(cell.target.factor, below.factor);
            cell.target.softening = std::max(cell.target.softening, below.softening);
            cell.count += cells[child].count;
        }
    }
}

} // namespace graft::lists
