// SPDX-License-Identifier: BSD-3-Clause
// An ORB that one rank has made for all: the tree stands on rank 0 until somebody asks for it everywhere.
#pragma once

#include "decompose/orb/cut_tree.hpp"

#include <memory>
#include <vector>

namespace graft::decompose {

class CentralTree final : public Decomposition {
  public:
    /// cells: as of CutTree on rank 0, empty elsewhere.
    CentralTree(int32_t parts, std::vector<Cell> cells) : parts_(parts), cells_(std::move(cells)) {}
    /// This rank's part, -1: none, and its box.
    void set_own(int32_t part, const geometry::Box& box) noexcept {
        own_ = part;
        box_ = box;
    }

    int32_t parts() const override { return parts_; }
    bool is_complete() const override { return tree_ != nullptr; }
    /// One broadcast of the root cell and the cuts, 24 bytes a part.
    void complete(comm::Communicator& comm) override;
    int32_t owner_of(double x, double y, double z, int64_t id) const override;
    geometry::Box box_of(int32_t part) const override;
    /// Empty until complete.
    const std::vector<Cell>& cells() const override;

  private:
    int32_t parts_, own_ = -1;
    geometry::Box box_;
    std::vector<Cell> cells_; // rank 0, until complete
    std::unique_ptr<CutTree> tree_;
};

} // namespace graft::decompose
