// SPDX-License-Identifier: BSD-3-Clause
// See path_tree.hpp.
#include "decompose/halving/path_tree.hpp"

#include "core/error.hpp"

#include <algorithm>

namespace graft::decompose {
namespace {

/// A cell with its place in the heap.
struct Placed {
    int64_t index;
    Cell cell;
};

} // namespace

void PathTree::complete(comm::Communicator& comm) {
    if (tree_ != nullptr)
        return;
    std::vector<Placed> mine;
    std::vector<int64_t> bytes, offset;
    comm.together([&] {
        if (comm.size() != parts_)
            core::fail(
                core::Status::argument,
                "complete: %d ranks for a partition into %d parts; expected the communicator that made it",
                comm.size(), parts_);
        int64_t index = 1;
        for (size_t k = 0; k < path_.size(); ++k) {
            if (k > 0)
                index = 2 * index + (path_[k].first_part > path_[k - 1].first_part ? 1 : 0);
            if (path_[k].first_part == own_)
                mine.push_back({index, path_[k]});
        }
        bytes.resize(static_cast<size_t>(parts_));
        offset.resize(static_cast<size_t>(parts_));
    });
    const int64_t my_bytes = static_cast<int64_t>(mine.size() * sizeof(Placed));
    comm.allgather(&my_bytes, 1, bytes.data());
    std::vector<Placed> all;
    std::vector<Cell> cells;
    comm.together([&] {
        int64_t end = 0;
        for (size_t r = 0; r < bytes.size(); ++r)
            offset[r] = std::exchange(end, end + bytes[r]);
        all.resize(static_cast<size_t>(end) / sizeof(Placed));
        cells.resize(2 * static_cast<size_t>(parts_));
        tree_.reset();
    });
    comm.allgatherv_bytes(mine.data(), my_bytes, all.data(), bytes.data(), offset.data());
    comm.together([&] {
        for (const Placed& placed : all)
            cells[static_cast<size_t>(placed.index)] = placed.cell;
        tree_ = std::make_unique<CutTree>(parts_, std::move(cells));
    });
}

int32_t PathTree::owner_of(double x, double y, double z, int64_t id) const {
    if (tree_ == nullptr)
        core::fail(core::Status::call_order,
                   "owner_of: this rank knows only its own part after halving; call complete() first");
    return tree_->owner_of(x, y, z, id);
}

geometry::Box PathTree::box_of(int32_t part) const {
    if (tree_ != nullptr)
        return tree_->box_of(part);
    if (part != own_)
        core::fail(
            core::Status::call_order,
            "box_of: part %d; this rank knows only its own part %d after halving; call complete() first",
            part, own_);
    geometry::Box box;
    std::copy_n(path_.back().lower, 3, box.lower);
    std::copy_n(path_.back().upper, 3, box.upper);
    return box;
}

const std::vector<Cell>& PathTree::cells() const {
    static const std::vector<Cell> none;
    return tree_ != nullptr ? tree_->cells() : none;
}

} // namespace graft::decompose
