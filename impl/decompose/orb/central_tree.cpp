// SPDX-License-Identifier: BSD-3-Clause
// See central_tree.hpp.
#include "decompose/orb/central_tree.hpp"

#include "core/error.hpp"
#include "decompose/orb/subtree.hpp"

namespace graft::decompose {

void CentralTree::complete(comm::Communicator& comm) {
    if (tree_ != nullptr)
        return;
    const size_t parts = static_cast<size_t>(parts_);
    std::vector<Split> cuts;
    Cell root{};
    comm.together([&] {
        cuts.resize(parts);
        for (size_t k = 1; comm.rank() == 0 && k < parts; ++k)
            cuts[k] = {cells_[k].cut, cells_[k].tie, cells_[k].axis};
        if (comm.rank() == 0)
            root = cells_[1];
        else
            cells_.resize(2 * parts);
    });
    comm.broadcast(&root, 1, 0);
    comm.broadcast(cuts.data(), static_cast<int64_t>(cuts.size()), 0);
    comm.together([&] {
        cells_[1] = root;
        for (size_t k = 1; k < parts; ++k)
            cut_cell(cells_[k], static_cast<int>(cuts[k].axis), {cuts[k].x, cuts[k].tie}, cells_[2 * k],
                     cells_[2 * k + 1]);
        tree_ = std::make_unique<CutTree>(parts_, std::move(cells_));
    });
}

int32_t CentralTree::owner_of(double x, double y, double z, int64_t id) const {
    if (tree_ == nullptr)
        core::fail(core::Status::call_order,
                   "owner_of: only rank 0 has the domains after a central partition; call complete() first");
    return tree_->owner_of(x, y, z, id);
}

geometry::Box CentralTree::box_of(int32_t part) const {
    if (tree_ != nullptr)
        return tree_->box_of(part);
    if (part != own_)
        core::fail(core::Status::call_order,
                   "box_of: part %d is not this rank's own, and only rank 0 has the domains after a central "
                   "partition; call complete() first",
                   part);
    return box_;
}

const std::vector<Cell>& CentralTree::cells() const {
    static const std::vector<Cell> none;
    return tree_ != nullptr ? tree_->cells() : none;
}

} // namespace graft::decompose
