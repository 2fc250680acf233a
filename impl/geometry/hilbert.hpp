// SPDX-License-Identifier: BSD-3-Clause
// Hilbert keys of points in a cube or square, from their Morton keys.
//
// The same cells as Morton keys (geometry/morton.hpp: 63 bits in 3-D, 62 in 2-D, one digit of `dimension`
// bits a level), visited in another order: a key's first digits still name one octree (quadtree) cell, and
// cells that follow one another at any level share a face. The digits are walked from the top
// through a table of states, (entry corner, direction) of the curve in a cell. Source: C. Hamilton, Compact
// Hilbert Indices, Dalhousie University CS-2006-07 (2006), algorithms 1 and 2.
#pragma once

#include "geometry/morton.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace graft::geometry {

namespace hilbert_detail {

/// What a digit becomes, and the curve's state inside the cell that it names.
struct Step {
    uint8_t digit = 0, state = 0;
};

template <int dimension>
struct Tables {
    static constexpr int digits = 1 << dimension;
    static constexpr int states = digits * dimension; // state = entry * dimension + direction
    std::array<std::array<Step, digits>, states> from_morton{};
};

constexpr uint32_t rotate_left(uint32_t v, int by, int bits) {
    by %= bits;
    return ((v << by) | (v >> (bits - by))) & ((1u << bits) - 1);
}
constexpr uint32_t gray(uint32_t v) {
    return v ^ v >> 1;
}
/// Corner where the curve enters child number w, in the frame of a curve from corner 0 along axis 0.
constexpr uint32_t entry(uint32_t w) {
    return w == 0 ? 0 : gray((w - 1) & ~1u);
}
/// Axis along which it then runs through that child.
constexpr int direction(uint32_t w, int bits) {
    return w == 0 ? 0 : std::countr_one((w & 1) == 0 ? w - 1 : w) % bits;
}

template <int dimension>
constexpr Tables<dimension> make_tables() {
    Tables<dimension> tables;
    for (int state = 0; state < Tables<dimension>::states; ++state) {
        const uint32_t from = static_cast<uint32_t>(state / dimension);
        const int along = state % dimension;
        for (uint32_t w = 0; w < Tables<dimension>::digits; ++w) {
            const uint32_t corner = rotate_left(gray(w), along + 1, dimension) ^ from;
            const uint32_t next_from = from ^ rotate_left(entry(w), along + 1, dimension);
            const int next_along = (along + direction(w, dimension) + 1) % dimension;
            tables.from_morton[static_cast<size_t>(state)][corner] = {
                static_cast<uint8_t>(w), static_cast<uint8_t>(static_cast<int>(next_from) * dimension + next_along)};
        }
    }
    return tables;
}

template <int dimension>
inline constexpr Tables<dimension> tables = make_tables<dimension>();

template <int dimension, typename Table>
inline uint64_t walk(const Table& table, uint64_t key) {
    constexpr uint64_t mask = (uint64_t{1} << dimension) - 1;
    uint64_t result = 0;
    size_t state = 0;
    for (int shift = dimension * (key_levels(dimension) - 1); shift >= 0; shift -= dimension) {
        const Step step = table[state][key >> shift & mask];
        result = result << dimension | step.digit;
        state = step.state;
    }
    return result;
}

} // namespace hilbert_detail

/// Place on the Hilbert curve of the cell with this Morton key. About 21 (3-D) or 31 (2-D) table look-ups.
inline uint64_t hilbert_from_morton(uint64_t key, int dimension) {
    return dimension == 3 ? hilbert_detail::walk<3>(hilbert_detail::tables<3>.from_morton, key)
                          : hilbert_detail::walk<2>(hilbert_detail::tables<2>.from_morton, key);
}

} // namespace graft::geometry
