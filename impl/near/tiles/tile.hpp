// SPDX-License-Identifier: BSD-3-Clause
// The inner loops of the vector layouts: some targets against runs of sources, compiled once per instruction
// set. Which loop fits is asked once per layout; the layouts differ only in where the arrays come from.
//
// rows: a target's place is broadcast, a vector holds sources, lanes are added up at the end. columns: a
// vector holds targets, and source j of lane l is at [j lanes + l] (replicated_interleaved).
// Sources are read a whole vector at a time: arrays need a vector's worth of finite numbers behind their end.
#pragma once

#include "near/near_pair.hpp"

namespace graft::near {

/// Source slots [begin, begin + count); columns: rows of lanes.
struct Run {
    int32_t begin = 0, count = 0;
};

/// Charges that one pass over the pairs serves.
constexpr int32_t group_components = 4;
/// Doubles that the sums of one component take: potential, gradient (three also in two dimensions).
constexpr int32_t sums_per_component = 4;

/// Made for every box, so nothing but `self` has a value before it is filled in: clearing 184 bytes took 5 %
/// of the time of boxes with two points.
template <typename V>
struct Tile {
    const V *source[3], *source_low[3]; // low: the part of a double that a float leaves (mixed only)
    const V *target[3], *target_low[3];
    const V* charge[group_components];
    int64_t targets; // columns: padded to lanes
    const Run* runs;
    int64_t run_count;
    int64_t self = 0, self_end = 0; // the targets' own sources: slot of target 0, one past the last; or none
    double* sums;                   // added to: [target][stride], component c at 4 c
    int64_t stride;
};

struct Variant {
    Form form = Form::laplace;
    int32_t dimension = 3, components = 1; // see group_of
    bool value = true, slope = false;
    bool columns = false;
};

/// Charges of the loop that serves `left` or, where no loop is so wide, a part of them. It may be more than
/// `left` (costly forms are made for 1 and 4): the rest of Tile::charge is then anything finite, and its sums
/// are to be dropped.
constexpr int32_t group_of(Form form, int32_t left) {
    if (form == Form::laplace || form == Form::softened)
        return left >= 4 ? 4 : left >= 2 ? 2 : 1;
    return left >= 3 ? 4 : form == Form::helmholtz ? 2 : left >= 2 ? 4 : 1;
}

/// `components` filled up to whole groups.
constexpr int32_t grouped(Form form, int32_t components) {
    int32_t all = 0;
    while (all < components)
        all += group_of(form, components - all);
    return all;
}

template <typename V>
using TileFunction = void (*)(const Constants<V>&, const Tile<V>&);

/// For the instruction set in use now. `low`: V is float and the low parts are given.
template <typename V>
TileFunction<V> tile_function(const Variant& variant, bool low);

/// Lanes of a vector of V on the instruction set in use now.
template <typename V>
int64_t tile_lanes();

} // namespace graft::near
