// SPDX-License-Identifier: BSD-3-Clause
// Checks of the options that make boxes, and the arithmetic of keys.
#include "near/box_frame.hpp"

#include <cmath>

namespace graft::near {

using core::fail;
using core::Status;

namespace {

constexpr double most_cells = 4611686018427387904.0; // 2^62: keys are 64 bits
constexpr double least_edge = 1e-290;                // below, keys per length are not finite

void check_options(const BoxOptions& o) {
    check_dimension(o.dimension);
    const int32_t levels = geometry::key_levels(o.dimension);
    if (o.kind != Boxes::grid && o.height == 0 && o.most < 1)
        fail(Status::argument, "near field: boxes of at most %lld points; expected 1 or more",
             static_cast<long long>(o.most));
    if (o.kind == Boxes::level && (o.height < 0 || o.height > levels + 1))
        fail(Status::argument, "near field: height is %d; expected 1 to %d levels, or 0 to have it found",
             o.height, levels + 1);
    if (o.kind == Boxes::level && o.height == 0 && (o.least_height < 1 || o.least_height > levels + 1))
        fail(Status::argument, "near field: least height is %d; expected 1 to %d levels", o.least_height,
             levels + 1);
    if (o.kind == Boxes::grid && !o.has_box)
        fail(Status::argument, "near field: a grid needs its box; expected lower < upper along each axis");
    double all = 1;
    for (int a = 0; a < o.dimension && o.has_box; ++a) {
        if (!std::isfinite(o.lower[a]) || !std::isfinite(o.upper[a]) || !(o.lower[a] < o.upper[a]))
            fail(Status::argument,
                 "near field: the box's axis %d goes from %g to %g; expected finite numbers, lower < upper",
                 a, o.lower[a], o.upper[a]);
        if (o.kind == Boxes::grid && o.cells[a] < 1)
            fail(Status::argument, "near field: %d cells along axis %d; expected 1 or more", o.cells[a], a);
        all *= o.cells[a];
    }
    if (o.kind == Boxes::grid && all > most_cells)
        fail(Status::unsupported, "near field: a grid of %g cells; expected at most 2^62", all);
}

geometry::Box bounds(const backend::Executor&, const Points& points, int dimension) {
    geometry::Box box;
    for (int64_t i = 0; i < points.n; ++i)
        box.include(points.x[i], points.y[i], dimension == 3 ? points.z[i] : 0);
    return box;
}

/// Every second, every third bit: the inverse of spread2 and spread3.
int64_t gather_bits(uint64_t key, int dimension) {
    int64_t value = 0;
    for (int bit = 0; bit < geometry::key_levels(dimension); ++bit)
        value |= static_cast<int64_t>(key >> (bit * dimension) & 1) << bit;
    return value;
}

} // namespace

void check_dimension(int32_t dimension) {
    if (dimension != 2 && dimension != 3)
        fail(Status::argument, "near field: dimension is %d; expected 2 or 3", dimension);
}

BoxFrame::BoxFrame(const backend::Executor& executor, const BoxOptions& options, const Points& targets,
                   const Points* sources)
    : grid_(options.kind == Boxes::grid), dimension_(options.dimension) {
    check_options(options);
    geometry::Box box;
    if (options.has_box) {
        box.include(options.lower[0], options.lower[1], dimension_ == 3 ? options.lower[2] : 0);
        box.include(options.upper[0], options.upper[1], dimension_ == 3 ? options.upper[2] : 0);
    } else {
        box = bounds(executor, targets, dimension_);
        if (sources != nullptr)
            box.include(bounds(executor, *sources, dimension_));
    }
    if (box.empty())
        box.include(0, 0, 0);
    edge_ = std::max(box.longest_edge(), 0.0) < least_edge ? 1.0 : box.longest_edge();
    for (int a = 0; a < dimension_; ++a) {
        lower_[a] = box.lower[a];
        upper_[a] = box.upper[a];
        if (!grid_ && options.has_box)
            upper_[a] = box.lower[a] + edge_;
        cells_[a] = grid_ ? options.cells[a] : 1;
    }
}

double BoxFrame::cells(int32_t level) const {
    if (grid_)
        return static_cast<double>(cells_[0]) * static_cast<double>(cells_[1]) *
               static_cast<double>(cells_[2]);
    return std::ldexp(1.0, dimension_ * level);
}

uint64_t BoxFrame::grid_key(const double (&p)[3]) const {
    uint64_t key = 0;
    for (int a = dimension_ - 1; a >= 0; --a) {
        const double cells = static_cast<double>(cells_[a]);
        const double at = (p[a] - lower_[a]) / (upper_[a] - lower_[a]) * cells;
        const double cell = at >= 0 ? std::min(at, cells - 1) : 0; // what holds() refuses also ends somewhere
        key = key * static_cast<uint64_t>(cells_[a]) + static_cast<uint64_t>(cell);
    }
    return key;
}

void BoxFrame::place(const Cell& cell, int64_t (&at)[3], int64_t (&count)[3]) const {
    uint64_t rest = cell.begin;
    for (int a = 0; a < 3; ++a) {
        const bool used = a < dimension_;
        if (grid_) {
            count[a] = cells_[a];
            at[a] = static_cast<int64_t>(rest % static_cast<uint64_t>(cells_[a]));
            rest /= static_cast<uint64_t>(cells_[a]);
        } else {
            count[a] = used ? int64_t{1} << cell.level : 1;
            at[a] = used ? gather_bits(cell.begin >> a, dimension_) >> (levels() - cell.level) : 0;
        }
    }
}

uint64_t BoxFrame::first_key(const int64_t (&at)[3], int32_t level) const {
    const auto whole = [&](int a) { return static_cast<uint64_t>(at[a]); };
    if (grid_)
        return (whole(2) * static_cast<uint64_t>(cells_[1]) + whole(1)) * static_cast<uint64_t>(cells_[0]) +
               whole(0);
    const int shift = levels() - level;
    if (dimension_ == 3)
        return geometry::spread3(whole(0) << shift) | geometry::spread3(whole(1) << shift) << 1 |
               geometry::spread3(whole(2) << shift) << 2;
    return geometry::spread2(whole(0) << shift) | geometry::spread2(whole(1) << shift) << 1;
}

} // namespace graft::near
