// SPDX-License-Identifier: BSD-3-Clause
// Point sets, their spread over in-process ranks, and one call of the decomposer on all of them.
#pragma once

#include "orb_oracle.hpp"

#include "thread_ranks.hpp"
#include "core/error.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sets {

using namespace graft;
using namespace graft::decompose;

enum class Kind { uniform, clustered, lattice, one_place, two_places, line };

inline oracle::Set make(Kind kind, int64_t n, uint32_t seed, bool with_ids = false) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> unit(-1, 1);
    oracle::Set set;
    for (int64_t i = 0; i < n; ++i) {
        double p[3] = {unit(random), unit(random), unit(random)};
        for (int a = 0; a < 3; ++a) {
            if (kind == Kind::clustered)
                p[a] = p[a] * p[a] * p[a] * p[a] * p[a] * p[a] * p[a];
            if (kind == Kind::lattice)
                p[a] = std::round(3 * p[a]) / 4;
            if (kind == Kind::one_place)
                p[a] = 0.7;
            if (kind == Kind::two_places)
                p[a] = i % 3 == 0 ? -1e-300 : 5.0;
            if (kind == Kind::line && a != 1)
                p[a] = -2;
        }
        set.x.push_back(p[0]);
        set.y.push_back(p[1]);
        set.z.push_back(p[2]);
        if (with_ids) // distinct, in no order, some negative
            set.id.push_back((i * 7919 % 1000003) * (i % 2 == 0 ? 1 : -1) + (i % 2));
    }
    return set;
}

/// The first n points of rank r are [border[r], border[r + 1]) of the set.
using Borders = std::vector<int64_t>;

inline Borders even(int64_t n, int ranks) {
    Borders border;
    for (int r = 0; r <= ranks; ++r)
        border.push_back(n * r / ranks);
    return border;
}
inline Borders all_on(int64_t n, int ranks, int rank) {
    Borders border(static_cast<size_t>(ranks) + 1, 0);
    for (int r = rank + 1; r <= ranks; ++r)
        border[static_cast<size_t>(r)] = n;
    return border;
}
/// Some ranks get nothing, some much.
inline Borders uneven(int64_t n, int ranks, uint32_t seed) {
    std::mt19937 random(seed);
    Borders border{0, n};
    for (int r = 1; r < ranks; ++r)
        border.push_back(random() % 3 == 0 ? border.back() : static_cast<int64_t>(random() % (n + 1)));
    std::sort(border.begin(), border.end());
    return border;
}

inline Points share_of(const oracle::Set& set, int64_t begin, int64_t end) {
    Points points;
    points.n = end - begin;
    points.x = set.x.data() + begin;
    points.y = set.y.data() + begin;
    points.z = set.z.empty() ? nullptr : set.z.data() + begin;
    points.cost = set.cost.empty() ? nullptr : set.cost.data() + begin;
    points.id = set.id.empty() ? nullptr : set.id.data() + begin;
    return points;
}

struct Outcome {
    std::vector<int32_t> owner;
    std::vector<Cell> cells;            // rank 0's, after complete()
    std::vector<Statistics> statistics; // of every rank
    std::vector<int64_t> bytes_peak;    // of every rank's memory
    std::vector<int32_t> found;         // owner_of every point with its id, asked on rank 0 after complete()
    std::vector<geometry::Box> boxes;   // of every rank's own part, before complete()
};

inline Outcome run_on(const oracle::Set& set, const Options& options, const Borders& border) {
    const int ranks = static_cast<int>(border.size()) - 1;
    Outcome outcome;
    outcome.owner.assign(set.x.size(), -1);
    outcome.statistics.resize(static_cast<size_t>(ranks));
    outcome.bytes_peak.resize(static_cast<size_t>(ranks));
    outcome.boxes.resize(static_cast<size_t>(ranks));
    comm::run_ranks(ranks, [&](comm::Communicator& comm) {
        core::Memory memory;
        const backend::Executor executor{memory, 1};
        Decomposer decomposer(memory);
        Result result(memory);
        const auto r = static_cast<size_t>(comm.rank());
        const Points points = share_of(set, border[r], border[r + 1]);
        decomposer.run(comm, executor, options, points, false, result);
        ASSERT_EQ(result.owner.size(), points.n);
        for (int64_t i = 0; i < points.n; ++i)
            outcome.owner[static_cast<size_t>(border[r] + i)] = result.owner[i];
        outcome.statistics[r] = result.statistics;
        outcome.bytes_peak[r] = memory.bytes_peak();
        if (options.parts == ranks && options.shape == Shape::orb)
            outcome.boxes[r] = result.domains->box_of(comm.rank());
        result.domains->complete(comm);
        if (comm.rank() == 0) {
            outcome.cells = result.domains->cells();
            for (int64_t i = 0; i < set.size(); ++i) {
                const auto s = static_cast<size_t>(i);
                const auto home = std::upper_bound(border.begin(), border.end(), i) - border.begin() - 1;
                const int64_t id = set.id.empty() ? (static_cast<int64_t>(home) << 32) + i -
                                                        border[static_cast<size_t>(home)]
                                                  : set.id[s];
                outcome.found.push_back(
                    result.domains->owner_of(set.x[s], set.y[s], set.z.empty() ? 0 : set.z[s], id));
            }
        }
    });
    return outcome;
}

inline void add_costs(oracle::Set& set, uint32_t seed, int decades) {
    std::mt19937_64 random(seed);
    for (int64_t i = 0; i < set.size(); ++i)
        set.cost.push_back(std::floor(std::pow(10.0, static_cast<double>(random() % 1001) / 1000 * decades)));
}

inline bool same_cell(const Cell& a, const Cell& b) {
    return std::equal(a.lower, a.lower + 3, b.lower) && std::equal(a.upper, a.upper + 3, b.upper) &&
           a.cut == b.cut && a.tie == b.tie && a.axis == b.axis && a.parts == b.parts &&
           a.first_part == b.first_part;
}

} // namespace sets
