// SPDX-License-Identifier: BSD-3-Clause
// The finished ORB: a heap of cells with their cuts.
#pragma once

#include "decompose/orb/cell_rule.hpp"

#include <vector>

namespace graft::decompose {

/// Cell 1 of a tree of `parts`: the box, not cut yet. An empty box becomes the origin.
Cell root_cell(const geometry::Box& box, int32_t parts);

/// Complete from the start.
class CutTree final : public Decomposition {
  public:
    /// cells[1 ... 2 parts - 1]; cells[0] is unused.
    CutTree(int32_t parts, std::vector<Cell> cells) : parts_(parts), cells_(std::move(cells)) {}

    int32_t parts() const override { return parts_; }
    bool is_complete() const override { return true; }
    void complete(comm::Communicator&) override {}
    int32_t owner_of(double x, double y, double z, int64_t id) const override;
    geometry::Box box_of(int32_t part) const override;
    const std::vector<Cell>& cells() const override { return cells_; }

  private:
    int32_t parts_;
    std::vector<Cell> cells_;
};

} // namespace graft::decompose
