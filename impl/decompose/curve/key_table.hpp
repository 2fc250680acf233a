// SPDX-License-Identifier: BSD-3-Clause
// A finished prefix partition: where on the curve each part begins, and the tight box of its points.
#pragma once

#include "decompose/curve/curve_frame.hpp"

#include <cstdint>
#include <vector>

namespace graft::decompose {

/// The first point of a part that one rank knows of.
struct Splitter {
    uint64_t key;
    int64_t id;
    int64_t part;
};

/// Points of one rank in one part.
struct PartBox {
    int64_t part;
    double lower[3], upper[3];
};

class KeyTable final : public Decomposition {
  public:
    /// splitters: of this rank's stretch of the curve, ascending. Over ranks, in rank order, they ascend,
    /// too; a part may appear on several ranks, its first place then counts.
    /// points: how many of this rank add_points() may bring.
    KeyTable(const CurveFrame& frame, int32_t parts, std::vector<Splitter> splitters, int64_t points);
    /// Notes the boxes of this rank's points, once, before complete(). Allocates nothing.
    void add_points(const Points& points, const int32_t* owner) noexcept;

    int32_t parts() const override { return parts_; }
    bool is_complete() const override { return complete_; }
    /// Two allgathers of the splitters, one reduction of the boxes.
    void complete(comm::Communicator& comm) override;
    int32_t owner_of(double x, double y, double z, int64_t id) const override;
    /// Of a part without points: empty.
    geometry::Box box_of(int32_t part) const override;
    const std::vector<Cell>& cells() const override;

  private:
    CurveFrame frame_;
    int32_t parts_;
    bool complete_ = false;
    std::vector<Splitter> splitters_;       // complete: one per part that has points
    std::vector<PartBox> boxes_;            // of this rank's points, ascending by part
    std::vector<int64_t> order_;            // room to sort points
    std::vector<geometry::Box> part_boxes_; // complete
};

} // namespace graft::decompose
