// The heap of cells, see cut_tree.hpp.
#include "decompose/cut_tree.hpp"

#include "core/error.hpp"
#include "decompose/left_filled.hpp"

#include <algorithm>

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

int cut_axis(const Cell& cell, int dimension) {
    int axis = 0;
    // Halves: the edge of a box may be more than the largest double.
    const auto edge = [&](int a) { return 0.5 * cell.upper[a] - 0.5 * cell.lower[a]; };
    for (int a = 1; a < dimension; ++a)
        if (edge(a) > edge(axis))
            axis = a;
    return axis;
}

void cut_cell(Cell& cell, int axis, const Cut& cut, Cell& left, Cell& right) {
    cell.axis = axis;
    cell.cut = cut.x;
    cell.tie = cut.tie;
    left = right = cell;
    left.axis = right.axis = -1;
    left.cut = right.cut = 0;
    left.tie = right.tie = lowest_id;
    left.parts = static_cast<int32_t>(leaves_left(cell.parts));
    right.parts = cell.parts - left.parts;
    right.first_part = cell.first_part + left.parts;
    // A cut behind the last point of the domain is one step outside it.
    left.upper[axis] = right.lower[axis] = std::clamp(cut.x, cell.lower[axis], cell.upper[axis]);
}

Cut middle_cut(const Cell& cell, int axis) {
    return {0.5 * cell.lower[axis] + 0.5 * cell.upper[axis] + 0.0, lowest_id};
}

int32_t CutTree::owner_of(double x, double y, double z, int64_t id) const {
    const Cell& root = cells_[1];
    const double point[3] = {std::clamp(x, root.lower[0], root.upper[0]),
                             std::clamp(y, root.lower[1], root.upper[1]),
                             std::clamp(z, root.lower[2], root.upper[2])};
    size_t k = 1;
    while (cells_[k].axis >= 0) {
        const Cell& cell = cells_[k];
        k = 2 * k + (is_left({cell.cut, cell.tie}, point[cell.axis], id) ? 0 : 1);
    }
    return cells_[k].first_part;
}

geometry::Box CutTree::box_of(int32_t part) const {
    if (part < 0 || part >= parts_)
        core::fail(core::Status::argument, "box_of: part %d; expected 0 ... %d", part, parts_ - 1);
    const Cell& cell = cells_[static_cast<size_t>(cell_of_leaf(part, parts_))];
    geometry::Box box;
    std::copy_n(cell.lower, 3, box.lower);
    std::copy_n(cell.upper, 3, box.upper);
    return box;
}

} // namespace graft::decompose
