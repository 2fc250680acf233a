// SPDX-License-Identifier: BSD-3-Clause
// The geometry of boxes: keys of points, cells as ranges of keys, and the cells around a cell.
//
// A grid's key is its cell's number, x fastest; a tree's is the Morton key at full depth, so that a cell of
// any level is a range of keys.
#pragma once

#include "geometry/morton.hpp"
#include "near/boxes.hpp"

namespace graft::near {

struct Cell {
    uint64_t begin; // its first key
    int32_t level;  // 0: the root, or a cell of a grid
};

/// Error(argument): neither 2 nor 3.
void check_dimension(int32_t dimension);

class BoxFrame {
  public:
    /// Throws Error(argument) for options that make no boxes.
    BoxFrame(const backend::Executor& executor, const BoxOptions& options, const Points& targets,
             const Points* sources);

    int32_t dimension() const { return dimension_; }
    bool holds(const double (&p)[3]) const {
        for (int a = 0; a < dimension_; ++a)
            if (!(p[a] >= lower_[a] && p[a] <= upper_[a]))
                return false;
        return true;
    }
    uint64_t key(const double (&p)[3]) const {
        return grid_ ? grid_key(p) : geometry::KeyFrame(lower_, edge_, dimension_).key(p[0], p[1], p[2]);
    }
    int32_t levels() const { return geometry::key_levels(dimension_); }
    /// Keys in a cell.
    uint64_t width(int32_t level) const { return grid_ ? 1 : geometry::cell_keys(level, dimension_); }
    /// Cells of a level.
    double cells(int32_t level) const;

    /// body(first key) for the cells of the same size that touch this one, itself included.
    template <typename Body>
    void for_neighbours(const Cell& cell, Body&& body) const {
        int64_t at[3], count[3];
        place(cell, at, count);
        const int64_t z_reach = dimension_ == 3 ? 1 : 0;
        for (int64_t z = -z_reach; z <= z_reach; ++z)
            for (int64_t y = -1; y <= 1; ++y)
                for (int64_t x = -1; x <= 1; ++x) {
                    const int64_t there[3] = {at[0] + x, at[1] + y, at[2] + z};
                    if (inside(there, count))
                        body(first_key(there, cell.level));
                }
    }

  private:
    static bool inside(const int64_t (&at)[3], const int64_t (&count)[3]) {
        return at[0] >= 0 && at[0] < count[0] && at[1] >= 0 && at[1] < count[1] && at[2] >= 0 &&
               at[2] < count[2];
    }
    uint64_t grid_key(const double (&p)[3]) const;
    void place(const Cell& cell, int64_t (&at)[3], int64_t (&count)[3]) const;
    uint64_t first_key(const int64_t (&at)[3], int32_t level) const;

    bool grid_;
    int32_t dimension_;
    double lower_[3] = {0, 0, 0}, upper_[3] = {0, 0, 0};
    double edge_ = 1;
    int64_t cells_[3] = {1, 1, 1};
};

} // namespace graft::near
