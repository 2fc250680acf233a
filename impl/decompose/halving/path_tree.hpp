// SPDX-License-Identifier: BSD-3-Clause
// What one rank knows of an ORB after recursive halving: the cells from the root down to its own leaf.
#pragma once

#include "decompose/orb/cut_tree.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace graft::decompose {

class PathTree final : public Decomposition {
  public:
    /// path[0] is the root, each cell a child of the one before, the last one the leaf of part `own`.
    /// Invariant: rank r of the communicator given to complete() holds the path to part r.
    PathTree(int32_t parts, int32_t own, std::vector<Cell> path)
        : parts_(parts), own_(own), path_(std::move(path)) {}

    int32_t parts() const override { return parts_; }
    bool is_complete() const override { return tree_ != nullptr; }
    /// Two allgathers: every cell comes from the rank of its first part.
    void complete(comm::Communicator& comm) override;
    int32_t owner_of(double x, double y, double z, int64_t id) const override;
    geometry::Box box_of(int32_t part) const override;
    /// Empty until complete.
    const std::vector<Cell>& cells() const override;
    const std::vector<Cell>& path() const { return path_; }

  private:
    int32_t parts_, own_;
    std::vector<Cell> path_;
    std::unique_ptr<CutTree> tree_;
};

} // namespace graft::decompose
