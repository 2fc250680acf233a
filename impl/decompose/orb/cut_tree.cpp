// SPDX-License-Identifier: BSD-3-Clause
// The heap of cells, see cut_tree.hpp.
#include "decompose/orb/cut_tree.hpp"

#include "decompose/orb/left_filled.hpp"
#include "geometry/box.hpp"

namespace graft::decompose {

Cell root_cell(const geometry::Box& box, int32_t parts) {
    Cell cell{};
    for (int axis = 0; axis < 3 && !box.empty(); ++axis) {
        cell.lower[axis] = box.lower[axis] + 0.0;
        cell.upper[axis] = box.upper[axis] + 0.0;
    }
    cell.tie = lowest_id;
    cell.axis = -1;
    cell.parts = parts;
    return cell;
}

int32_t CutTree::owner_of(double x, double y, double z, int64_t id) const {
    const Cell& root = cells_[1];
    const double point[3] = {geometry::between(x, root.lower[0], root.upper[0]),
                             geometry::between(y, root.lower[1], root.upper[1]),
                             geometry::between(z, root.lower[2], root.upper[2])};
    size_t k = 1;
    while (cells_[k].axis >= 0) {
        const Cell& cell = cells_[k];
        k = 2 * k + (is_left({cell.cut, cell.tie}, point[cell.axis], id) ? 0 : 1);
    }
    return cells_[k].first_part;
}

geometry::Box CutTree::box_of(int32_t part) const {
    check_part(part, parts_);
    const Cell& cell = cells_[static_cast<size_t>(cell_of_leaf(part, parts_))];
    geometry::Box box;
    std::copy_n(cell.lower, 3, box.lower);
    std::copy_n(cell.upper, 3, box.upper);
    return box;
}

} // namespace graft::decompose
