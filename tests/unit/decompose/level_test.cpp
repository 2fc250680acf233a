// The level-synchronous ORB against a full sort of every cell, for all finders, one rank and many.
#include "orb_oracle.hpp"

#include "comm/threads.hpp"
#include "core/error.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

using namespace graft;
using namespace graft::decompose;

namespace {

struct Outcome {
    std::vector<int32_t> owner;
    std::vector<Cell> cells;
    Statistics statistics;
};

/// This rank's share [begin, end) of a set.
Points share_of(const oracle::Set& set, int64_t begin, int64_t end) {
    Points points;
    points.n = end - begin;
    points.x = set.x.data() + begin;
    points.y = set.y.data() + begin;
    points.z = set.z.empty() ? nullptr : set.z.data() + begin;
    points.cost = set.cost.empty() ? nullptr : set.cost.data() + begin;
    points.id = set.id.empty() ? nullptr : set.id.data() + begin;
    return points;
}

/// border[r] ... border[r + 1] are the points of rank r.
Outcome run_on(const oracle::Set& set, const Options& options, const std::vector<int64_t>& border,
               int threads) {
    Outcome outcome;
    outcome.owner.assign(set.x.size(), -1);
    const auto body = [&](comm::Communicator& comm) {
        core::Memory memory;
        const backend::Executor executor{memory, threads};
        Decomposer decomposer(memory);
        Result result(memory);
        const auto r = static_cast<size_t>(comm.rank());
        const Points points = share_of(set, border[r], border[r + 1]);
        decomposer.run(comm, executor, options, points, true, result);
        ASSERT_EQ(result.owner.size(), points.n);
        ASSERT_EQ(result.permutation.size(), points.n);
        ASSERT_EQ(result.part_offset.size(), options.parts + 1);
        std::vector<bool> seen(static_cast<size_t>(points.n), false);
        for (int32_t part = 0; part < options.parts; ++part)
            for (int64_t i = result.part_offset[part]; i < result.part_offset[part + 1]; ++i) {
                const int32_t at = result.permutation[i];
                ASSERT_FALSE(seen[static_cast<size_t>(at)]);
                seen[static_cast<size_t>(at)] = true;
                ASSERT_EQ(result.owner[at], part);
            }
        for (int64_t i = 0; i < points.n; ++i) {
            ASSERT_TRUE(seen[static_cast<size_t>(i)]);
            outcome.owner[static_cast<size_t>(border[r] + i)] = result.owner[i];
        }
        if (comm.rank() == 0) {
            outcome.cells = result.domains->cells();
            outcome.statistics = result.statistics;
        }
    };
    if (border.size() == 2) {
        comm::Communicator alone;
        body(alone);
    } else {
        comm::run_ranks(static_cast<int>(border.size()) - 1, body);
    }
    return outcome;
}

Outcome run(const oracle::Set& set, const Options& options, int ranks = 1, int threads = 1) {
    std::vector<int64_t> border;
    for (int r = 0; r <= ranks; ++r)
        border.push_back(set.size() * r / ranks);
    return run_on(set, options, border, threads);
}

enum class Kind { uniform, plummer, lattice, heaps, flat, line };

oracle::Set make_set(Kind kind, int64_t n, uint32_t seed, bool with_ids = false) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> unit(-1, 1);
    oracle::Set set;
    for (int64_t i = 0; i < n; ++i) {
        double p[3] = {unit(random), unit(random), unit(random)};
        if (kind == Kind::plummer) {
            const double m = 0.5 * (1 + p[0]) * 0.9999, r = 1 / std::sqrt(std::pow(m, -2.0 / 3) - 1);
            const double phi = 3.14159265358979 * p[2], s = std::sqrt(1 - p[1] * p[1]);
            p[0] = r * s * std::cos(phi), p[2] = r * p[1], p[1] = r * s * std::sin(phi);
        }
        for (double& c : p) {
            if (kind == Kind::lattice)
                c = std::round(4 * c) / 4;
            if (kind == Kind::heaps)
                c = c > -0.4 ? 0.25 : -c;
        }
        set.x.push_back(p[0]);
        set.y.push_back(kind == Kind::line ? 0.5 : p[1]);
        set.z.push_back(kind == Kind::flat || kind == Kind::line ? -0.5 : p[2]);
        if (with_ids)
            set.id.push_back(i * 7919 % 1000003 - 500000);
    }
    return set;
}

Options options_of(int32_t parts, CutFinder finder) {
    Options options;
    options.parts = parts;
    options.finder = finder;
    return options;
}

constexpr CutFinder finders[] = {CutFinder::bisection, CutFinder::histogram, CutFinder::sampled};

} // namespace

TEST(Level, OwnersMatchTheOracle) {
    for (const Kind kind :
         {Kind::uniform, Kind::plummer, Kind::lattice, Kind::heaps, Kind::flat, Kind::line}) {
        const oracle::Set set = make_set(kind, 600, 5);
        for (int32_t parts = 1; parts <= 70; parts += parts < 9 ? 1 : 7) {
            const oracle::Tree tree(set, 3, parts);
            for (const CutFinder finder : finders)
                EXPECT_EQ(run(set, options_of(parts, finder)).owner, tree.owner)
                    << "kind " << static_cast<int>(kind) << " parts " << parts << " finder "
                    << static_cast<int>(finder);
        }
    }
}

TEST(Level, AnyNumberOfRanks) {
    for (const Kind kind : {Kind::plummer, Kind::heaps}) {
        const oracle::Set set = make_set(kind, 900, 6, true);
        for (const int32_t parts : {1, 2, 3, 8, 13, 64}) {
            const oracle::Tree tree(set, 3, parts);
            for (const CutFinder finder : finders)
                for (const int ranks : {2, 3, 4, 8})
                    EXPECT_EQ(run(set, options_of(parts, finder), ranks).owner, tree.owner)
                        << "kind " << static_cast<int>(kind) << " parts " << parts << " finder "
                        << static_cast<int>(finder) << " ranks " << ranks;
        }
    }
}

TEST(Level, ManyPointsManyLeaves) {
    oracle::Set set = make_set(Kind::plummer, 200000, 7);
    for (const bool weighted : {false, true}) {
        std::mt19937_64 random(8);
        for (int64_t i = 0; weighted && i < set.size(); ++i)
            set.cost.push_back(static_cast<double>(random() % 1000));
        for (const int32_t parts : {5, 64, 1000}) {
            const oracle::Tree tree(set, 3, parts);
            for (const CutFinder finder : finders)
                for (const int threads : {1, 2})
                    EXPECT_EQ(run(set, options_of(parts, finder), 1, threads).owner, tree.owner)
                        << "parts " << parts << " finder " << static_cast<int>(finder);
            EXPECT_EQ(run(set, options_of(parts, CutFinder::sampled), 3).owner, tree.owner);
            EXPECT_EQ(run(set, options_of(parts, CutFinder::histogram), 3).owner, tree.owner);
        }
    }
}
