// SPDX-License-Identifier: BSD-3-Clause
// See key_table.hpp.
#include "decompose/curve/key_table.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <numeric>

namespace graft::decompose {
namespace {

void include(PartBox& box, const Points& points, int64_t i) {
    const double x[3] = {points.x[i], points.y[i], points.z != nullptr ? points.z[i] : 0.0};
    for (int a = 0; a < 3; ++a) {
        box.lower[a] = std::min(box.lower[a], x[a]);
        box.upper[a] = std::max(box.upper[a], x[a]);
    }
}

PartBox no_box(int64_t part) {
    PartBox box{part, {}, {}};
    const geometry::Box none;
    std::copy_n(none.lower, 3, box.lower);
    std::copy_n(none.upper, 3, box.upper);
    return box;
}

/// Of all ranks, in rank order.
std::vector<Splitter> gather(comm::Communicator& comm, const std::vector<Splitter>& mine) {
    const int64_t bytes = static_cast<int64_t>(mine.size() * sizeof(Splitter));
    std::vector<int64_t> sizes, offsets;
    std::vector<Splitter> all;
    comm.together([&] {
        sizes.resize(static_cast<size_t>(comm.size()));
        offsets.resize(sizes.size());
    });
    comm.allgather(&bytes, 1, sizes.data());
    comm.together([&] {
        std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), int64_t{0});
        all.resize(static_cast<size_t>(offsets.back() + sizes.back()) / sizeof(Splitter));
    });
    comm.allgatherv_bytes(mine.data(), bytes, all.data(), sizes.data(), offsets.data());
    return all;
}

} // namespace

KeyTable::KeyTable(const CurveFrame& frame, int32_t parts, std::vector<Splitter> splitters, int64_t points)
    : frame_(frame), parts_(parts), splitters_(std::move(splitters)) {
    boxes_.reserve(static_cast<size_t>(std::min<int64_t>(points, parts)));
    order_.reserve(static_cast<size_t>(parts <= points ? 0 : points));
}

void KeyTable::add_points(const Points& points, const int32_t* owner) noexcept {
    if (parts_ <= points.n) {
        for (int32_t p = 0; p < parts_; ++p)
            boxes_.push_back(no_box(p));
        for (int64_t i = 0; i < points.n; ++i)
            include(boxes_[static_cast<size_t>(owner[i])], points, i);
        boxes_.erase(std::remove_if(boxes_.begin(), boxes_.end(),
                                    [](const PartBox& box) { return !(box.lower[0] <= box.upper[0]); }),
                     boxes_.end());
        return;
    }
    order_.resize(static_cast<size_t>(points.n));
    std::iota(order_.begin(), order_.end(), int64_t{0});
    std::sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) { return owner[a] < owner[b]; });
    for (const int64_t i : order_) {
        if (boxes_.empty() || boxes_.back().part != owner[i])
            boxes_.push_back(no_box(owner[i]));
        include(boxes_.back(), points, i);
    }
    order_ = {};
}

void KeyTable::complete(comm::Communicator& comm) {
    if (complete_)
        return;
    std::vector<Splitter> all = gather(comm, splitters_);
    std::vector<double> least; // lower corners, negated upper ones
    comm.together([&] {
        all.erase(std::unique(all.begin(), all.end(),
                              [](const Splitter& a, const Splitter& b) { return a.part == b.part; }),
                  all.end());
        least.assign(6 * static_cast<size_t>(parts_), std::numeric_limits<double>::infinity());
        for (const PartBox& box : boxes_)
            for (size_t a = 0; a < 3; ++a) {
                least[6 * static_cast<size_t>(box.part) + a] = box.lower[a];
                least[6 * static_cast<size_t>(box.part) + 3 + a] = -box.upper[a];
            }
        part_boxes_.resize(static_cast<size_t>(parts_));
    });
    comm.allreduce(least.data(), static_cast<int64_t>(least.size()), comm::Operation::min);
    for (size_t p = 0; p < part_boxes_.size(); ++p)
        for (size_t a = 0; a < 3; ++a) {
            part_boxes_[p].lower[a] = least[6 * p + a];
            part_boxes_[p].upper[a] = -least[6 * p + 3 + a];
        }
    splitters_ = std::move(all);
    boxes_.clear();
    complete_ = true;
}

int32_t KeyTable::owner_of(double x, double y, double z, int64_t id) const {
    if (!complete_)
        core::fail(core::Status::call_order,
                   "owner_of: each rank knows only some borders of the parts; call complete() first");
    const uint64_t key = frame_.key(x, y, z);
    const auto behind = std::upper_bound(
        splitters_.begin(), splitters_.end(), key, [&](uint64_t k, const Splitter& splitter) {
            return k < splitter.key || (k == splitter.key && id < splitter.id);
        });
    if (splitters_.empty())
        return 0;
    return static_cast<int32_t>(behind == splitters_.begin() ? splitters_.front().part : behind[-1].part);
}

geometry::Box KeyTable::box_of(int32_t part) const {
    check_part(part, parts_);
    if (!complete_)
        core::fail(core::Status::call_order,
                   "box_of: the points of a part lie on several ranks; call complete() first");
    return part_boxes_[static_cast<size_t>(part)];
}

const std::vector<Cell>& KeyTable::cells() const {
    static const std::vector<Cell> none;
    return none;
}

} // namespace graft::decompose
