// SPDX-License-Identifier: BSD-3-Clause
// Morton (Z-order) keys of points in a cube or square.
//
// 3-D: 21 bits per axis, 63-bit keys, octree; 2-D: 31 bits per axis, 62-bit keys, quadtree. The highest bit
// of each group of `dimension` bits belongs to z (3-D) or y (2-D). Two points share the key prefix of a cell
// exactly when both lie in it, so cells are ranges of the sorted keys.
#pragma once

#include "core/host_device.hpp"
#include "geometry/box.hpp"

#include <bit>
#include <cstdint>

namespace graft::geometry {

/// Levels below the root that a key of this dimension (2 or 3) can tell apart.
GRAFT_HD constexpr int key_levels(int dimension) {
    return dimension == 3 ? 21 : 31;
}

/// The low 21 bits of v, two zero bits between neighbours.
GRAFT_HD constexpr uint64_t spread3(uint64_t v) {
    v &= 0x1fffff;
    v = (v | v << 32) & 0x001f00000000ffff;
    v = (v | v << 16) & 0x001f0000ff0000ff;
    v = (v | v << 8) & 0x100f00f00f00f00f;
    v = (v | v << 4) & 0x10c30c30c30c30c3;
    v = (v | v << 2) & 0x1249249249249249;
    return v;
}

/// The low 31 bits of v, one zero bit between neighbours.
GRAFT_HD constexpr uint64_t spread2(uint64_t v) {
    v &= 0x7fffffff;
    v = (v | v << 16) & 0x0000ffff0000ffff;
    v = (v | v << 8) & 0x00ff00ff00ff00ff;
    v = (v | v << 4) & 0x0f0f0f0f0f0f0f0f;
    v = (v | v << 2) & 0x3333333333333333;
    v = (v | v << 1) & 0x5555555555555555;
    return v;
}

GRAFT_HD inline int leading_zeros(uint64_t value) {
#ifdef __CUDA_ARCH__
    return __clzll(static_cast<long long>(value));
#else
    return std::countl_zero(value);
#endif
}

/// Level (0 = root) of the smallest cell that holds both keys; key_levels(dimension) when they are equal.
GRAFT_HD inline int common_level(uint64_t a, uint64_t b, int dimension) {
    const int used = dimension * key_levels(dimension);
    const int equal_bits = leading_zeros(a ^ b) - (64 - used);
    return (equal_bits < used ? equal_bits : used) / dimension;
}

/// Keys in a cell of this level.
GRAFT_HD constexpr uint64_t cell_keys(int level, int dimension) {
    return uint64_t{1} << (key_levels(dimension) - level) * dimension;
}

/// First key of the cell of this level that holds the key.
GRAFT_HD constexpr uint64_t cell_begin(uint64_t key, int level, int dimension) {
    return key & ~(cell_keys(level, dimension) - 1);
}

/// Does the cell of this level that holds the key lie inside the keys [begin, end)?
GRAFT_HD constexpr bool cell_within(uint64_t key, int level, int dimension, uint64_t begin, uint64_t end) {
    const uint64_t first = cell_begin(key, level, dimension);
    return first >= begin && first < end && end - first >= cell_keys(level, dimension);
}

/// A cube (square) and the keys of points in it.
class KeyFrame {
  public:
    /// edge > 0 and large enough that 2^31 / edge is finite; points outside get the key of the nearest cell.
    GRAFT_HD KeyFrame(const double* lower, double edge, int dimension)
        : lower_{lower[0], lower[1], lower[2]}, dimension_(dimension),
          limit_((int64_t{1} << key_levels(dimension)) - 1),
          cells_per_length_(static_cast<double>(int64_t{1} << key_levels(dimension)) / edge) {}

    GRAFT_HD uint64_t key(double x, double y, double z) const {
        if (dimension_ == 3)
            return spread3(cell(x, 0)) | spread3(cell(y, 1)) << 1 | spread3(cell(z, 2)) << 2;
        return spread2(cell(x, 0)) | spread2(cell(y, 1)) << 1;
    }

  private:
    GRAFT_HD uint64_t cell(double coordinate, int axis) const {
        const double scaled = (coordinate - lower_[axis]) * cells_per_length_;
        const double limit = static_cast<double>(limit_);
        return static_cast<uint64_t>(
            static_cast<int64_t>(scaled < 0.0 ? 0.0 : (limit < scaled ? limit : scaled)));
    }

    double lower_[3];
    int dimension_;
    int64_t limit_;
    double cells_per_length_;
};

} // namespace graft::geometry
