// SPDX-License-Identifier: BSD-3-Clause
// The search for one cell's cut over keys: what is known, what the next pass over the points shall find out,
// and what follows from its answer. The three finders differ in plan_pass only.
//
// Known at any time: the crossing point (cut_goal.hpp) has a key in [low, high]; `base` points of the cell
// have smaller keys, `inside` have keys in it. A pass looks at `first` ... `last` in bins of 2^shift keys; it
// counts the points below `first` and those of each bin; bins = 0: only those below `first` (bisection).
// Numbers are over all ranks.
#pragma once

#include "decompose/orb/cut_goal.hpp"
#include "decompose/points/point_records.hpp"
#include "decompose/points/sweep.hpp"

#include <cstdint>
#include <vector>

namespace graft::decompose {

struct Amount {
    int64_t count = 0;
    Wide weight = 0;
    Amount operator+(const Amount& b) const { return {count + b.count, weight + b.weight}; }
    Amount operator-(const Amount& b) const { return {count - b.count, weight - b.weight}; }
};

enum class Stage : int32_t {
    search = 0, // more passes
    few = 1,    // the points inside are few, or have one key: the exact stage decides
    found = 2,
};

struct Search {
    int32_t cell = 0; // heap index
    int axis = 0;
    CutGoal goal;
    Stage stage = Stage::search;
    uint32_t low = 0, high = 0;
    Amount base, inside;
    int rounds = 0, missed = 0;

    // The points looked through: all of the cell, or a list of those whose keys were inside earlier.
    int32_t first_segment = 0, segments = 0;
    bool listed = false;
    Amount span_base; // points of the cell with keys below those of the list
    int64_t span_count = 0;

    // The pass that is planned.
    uint32_t first = 0, last = 0;
    int shift = 0;
    int32_t bins = 0;
    bool collect = false; // list the points of [first, last]
    int64_t payload = 0;  // offset of (below, bins...) in the counters

    // The result.
    Cut cut;
    Amount left;
};

/// One sampled point; `share` = points (or weight) that it stands for.
struct SamplePoint {
    uint32_t key;
    float share;
};

struct FinderSettings {
    CutFinder finder = CutFinder::histogram;
    int32_t most_bins = 1024; // of one cell's pass
    int64_t few = 64;         // at most so many points inside go to the exact stage
    Wide slack = 0;
};

/// Bins of equal width over [first, last], at most most_bins (a power of two).
void set_bins(Search& search, uint32_t first, uint32_t last, int32_t most_bins);
/// Decides what the next pass looks at. sample: of the points inside, in any order, may be empty; is sorted.
void plan_pass(const FinderSettings& settings, std::vector<SamplePoint>& sample, Search& search);
/// Does this search want a sample for its next pass?
bool wants_sample(const FinderSettings& settings, const Search& search);
/// Draws the conclusion of a pass. counters: search.bins + 1 amounts, of below and of the bins.
void narrow(const FinderSettings& settings, const Amount* counters, const KeyFrame& frame, double lower,
            double upper, Search& search);

} // namespace graft::decompose
