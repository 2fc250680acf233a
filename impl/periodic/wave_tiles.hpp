// SPDX-License-Identifier: BSD-3-Clause
// Wave vectors in tiles of 4 x 8 x 8, which is how a GPU sums over them; ewald_waves.hpp says what is summed.
//
// A tile holds the rows (i, j) of i = first ... first + 3, j = first ... first + 7, and of each the values
// k = first ... first + 7, a value standing for +k and -k. Tiles without a vector up to the largest are left
// out, but for the first one: it holds k = 0, whose structure factor is the net charge. What a vector weighs
// is computed where it is used, so that a box that changes at each step costs no tables.
#pragma once

#include "geometry/lattice.hpp"

#include <cstdint>
#include <vector>

namespace graft::periodic {

struct WaveTile {
    static constexpr int i_count = 4, j_count = 8, k_count = 8;
    static constexpr int rows = i_count * j_count, values = rows * k_count;
    int32_t i, j, k; // the first of each
};

/// 4 pi / (V k^2) exp(-k^2 / 4 alpha^2) of the vector 2 pi (i, j, k), doubled, for i, j, k of the half space;
/// 0 for k = 0 and beyond the largest.
GRAFT_HD inline double wave_weight(const geometry::Lattice& lattice, double alpha, double largest, int i,
                                   int j, int k) {
    constexpr double pi = 3.14159265358979323846;
    const geometry::Vec3 g = lattice.reciprocal(i, j, k);
    const double square = 4 * pi * pi * (g.x * g.x + g.y * g.y + g.z * g.z);
    if (!(square > 0) || square > largest * largest)
        return 0;
    return 2 * 4 * pi / (lattice.volume() * square) * std::exp(-square / (4 * alpha * alpha));
}
/// Whether (i, j, k), k >= 0, is in the half space, and whether (i, j, -k) is beside it.
GRAFT_HD inline bool has_plus(int i, int j, int k) {
    return i > 0 || j > 0 || (j == 0 && k > 0);
}
GRAFT_HD inline bool has_minus(int i, int j, int k) {
    return k > 0 && (i > 0 || j > 0);
}

/// The tiles in fixed order. Throws std::bad_alloc.
std::vector<WaveTile> wave_tiles(const geometry::Lattice& lattice, double largest);

} // namespace graft::periodic
