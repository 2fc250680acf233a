// SPDX-License-Identifier: BSD-3-Clause
// See wave_tiles.hpp.
#include "periodic/wave_tiles.hpp"

namespace graft::periodic {

namespace {

/// |index| = |g . edge| <= |g| |edge|.
int most_waves(const geometry::Lattice& lattice, double largest, int axis) {
    constexpr double pi = 3.14159265358979323846;
    const geometry::Vec3 edge = lattice.shift(axis == 0, axis == 1, axis == 2);
    return static_cast<int>(largest / (2 * pi) *
                            std::sqrt(edge.x * edge.x + edge.y * edge.y + edge.z * edge.z));
}

bool has_vector(const geometry::Lattice& lattice, double largest, const WaveTile& tile) {
    for (int i = tile.i; i < tile.i + WaveTile::i_count; ++i)
        for (int j = tile.j; j < tile.j + WaveTile::j_count; ++j)
            for (int k = tile.k; k < tile.k + WaveTile::k_count; ++k)
                if ((has_plus(i, j, k) && wave_weight(lattice, 1e150, largest, i, j, k) > 0) ||
                    (has_minus(i, j, k) && wave_weight(lattice, 1e150, largest, i, j, -k) > 0))
                    return true;
    return false;
}

} // namespace

std::vector<WaveTile> wave_tiles(const geometry::Lattice& lattice, double largest) {
    const int i_most = most_waves(lattice, largest, 0), j_most = most_waves(lattice, largest, 1),
              k_most = most_waves(lattice, largest, 2);
    std::vector<WaveTile> tiles{{0, 0, 0}};
    // j = 0 begins a tile, so that the first tile has k = 0.
    const int j_first = -(j_most + WaveTile::j_count - 1) / WaveTile::j_count * WaveTile::j_count;
    for (int i = 0; i <= i_most; i += WaveTile::i_count)
        for (int j = j_first; j <= j_most; j += WaveTile::j_count)
            for (int k = 0; k <= k_most; k += WaveTile::k_count)
                if (const WaveTile tile{i, j, k};
                    (i != 0 || j != 0 || k != 0) && has_vector(lattice, largest, tile))
                    tiles.push_back(tile);
    return tiles;
}

} // namespace graft::periodic
