// SPDX-License-Identifier: BSD-3-Clause
// Which objects two parts swap so that their weights come closer: a pure function, the same on both sides.
#pragma once

#include "geometry/box.hpp"

#include <cstdint>
#include <vector>

namespace graft::balance {

/// An object that may change sides. Ordered by key: id where the host gives ids, else home and index.
struct Candidate {
    double weight = 0;
    double place[3] = {0, 0, 0};
    int64_t id = 0;
    int32_t home = 0, index = 0; // where the object lives
    int32_t plain = 0;           // the part it had after the plain ORB
    int32_t is_super = 0;
};
bool key_less(const Candidate& a, const Candidate& b);

/// One of the two parts.
struct SwapPart {
    double weight = 0;
    int64_t items = 0;
    geometry::Box box;                 // tight, of the plain part
    std::vector<Candidate> candidates; // sorted by key
};

struct SwapLimits {
    double mean = 0; // weight of a part: differences far below it are not worth a swap
    int64_t cap = 0; // most items of a side; 0: none
    /// A heavier side of at most this weight is left alone: locality is worth more.
    double enough = 0;
};
/// No swap leaves a side with more candidates, so messages are bounded.
inline constexpr int64_t most_candidates = 256;

/// Indices into the candidates of both sides that change over, ascending.
struct Swap {
    std::vector<int32_t> to_right, to_left;
    bool empty() const { return to_right.empty() && to_left.empty(); }
};

/// Distance from a place to a box over the box's longest edge (over 1 for a point).
double relative_distance(const double (&place)[3], const geometry::Box& box);

/// The swap after which the heavier side weighs least: one super-object of the heavier side, or none, goes
/// over; small objects near the other side's box go with it or come back for it. Empty when nothing helps by
/// more than 1/1000 of the mean. May throw std::bad_alloc.
Swap choose_swap(const SwapPart& left, const SwapPart& right, const SwapLimits& limits);
/// Carries it out on both.
void apply_swap(const Swap& swap, SwapPart& left, SwapPart& right);

} // namespace graft::balance
