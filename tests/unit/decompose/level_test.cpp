// SPDX-License-Identifier: BSD-3-Clause
// The level-synchronous ORB against a full sort of every cell, for all finders, one rank and many.
#include "orb_oracle.hpp"

#include "thread_ranks.hpp"
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

namespace {

/// Owners against the oracle on several ranks and threads, with every finder.
void expect_oracle(const oracle::Set& set, Options options, const std::string& what) {
    const oracle::Tree tree(set, options.dimension, options.parts, options.cap);
    for (const CutFinder finder : finders) {
        options.finder = finder;
        const std::string name = what + ", finder " + std::to_string(static_cast<int>(finder)) + ", parts " +
                                 std::to_string(options.parts) + ", ranks ";
        EXPECT_EQ(run(set, options, 1, 2).owner, tree.owner) << name << 1;
        EXPECT_EQ(run(set, options, 3).owner, tree.owner) << name << 3;
        const int64_t n = set.size();
        EXPECT_EQ(run_on(set, options, {0, 0, 0, n, n}, 1).owner, tree.owner) << name << "all on one of 4";
    }
}

void scale(oracle::Set& set, double factor, double shift = 0) {
    for (std::vector<double>* axis : {&set.x, &set.y, &set.z})
        for (double& c : *axis)
            c = c * factor + shift;
}

} // namespace

/// Cells of several blocks, which threads share, before cells that go to one thread each.
TEST(Level, BlocksOfLargeCells) {
    for (const Kind kind : {Kind::plummer, Kind::lattice})
        for (const bool weighted : {false, true}) {
            oracle::Set set = make_set(kind, 600000, 16);
            for (int64_t i = 0; weighted && i < set.size(); ++i)
                set.cost.push_back(static_cast<double>(i * 7919 % 1009));
            const oracle::Tree tree(set, 3, 5);
            for (const CutFinder finder : finders) {
                EXPECT_EQ(run(set, options_of(5, finder), 1, 2).owner, tree.owner)
                    << "finder " << static_cast<int>(finder);
                EXPECT_EQ(run(set, options_of(5, finder), 2, 2).owner, tree.owner)
                    << "finder " << static_cast<int>(finder) << ", two ranks";
            }
        }
}

TEST(Level, FewPoints) {
    for (const int64_t n : {0, 1, 2, 3, 7, 69, 70, 71})
        for (const int32_t parts : {1, 2, 3, 8, 70})
            for (const Kind kind : {Kind::uniform, Kind::heaps})
                expect_oracle(make_set(kind, n, 3), options_of(parts, finders[0]),
                              std::to_string(n) + " points");
}

TEST(Level, Coincident) {
    oracle::Set set = make_set(Kind::uniform, 5000, 3, true);
    for (std::vector<double>* axis : {&set.x, &set.y, &set.z})
        axis->assign(5000, 0.3);
    for (const int32_t parts : {2, 7, 64})
        expect_oracle(set, options_of(parts, finders[0]), "all at one place, with ids");
    for (size_t i = 0; i < 2500; ++i)
        set.x[2 * i] = 0.1, set.z[i] = i % 2 == 0 ? 0.0 : -0.0;
    for (const int32_t parts : {2, 7, 64})
        expect_oracle(set, options_of(parts, finders[0]), "heaps, with ids");
    set.id.clear();
    expect_oracle(set, options_of(13, finders[0]), "heaps, without ids");
}

TEST(Level, Coordinates) {
    for (const double factor : {1e300, 1.7e308, 1e-300, 1e-310, 3e-322}) {
        oracle::Set set = make_set(Kind::uniform, 700, 4);
        scale(set, factor);
        expect_oracle(set, options_of(21, finders[0]), "factor " + std::to_string(factor));
    }
    // Clusters far smaller than the domain over 2^32: keys tell nothing, coordinates do.
    oracle::Set set = make_set(Kind::plummer, 3000, 5);
    scale(set, 1e-9, 1);
    set.x[17] = 1e6, set.y[400] = -1e7;
    expect_oracle(set, options_of(37, finders[0]), "clusters and outliers");
    oracle::Set zeros = make_set(Kind::lattice, 500, 6);
    for (size_t i = 0; i < 500; i += 3)
        zeros.x[i] = i % 2 == 0 ? -0.0 : 0.0;
    expect_oracle(zeros, options_of(19, finders[0]), "both zeros");
}

TEST(Level, TwoDimensions) {
    oracle::Set set = make_set(Kind::plummer, 900, 7);
    set.z.clear();
    Options options = options_of(23, finders[0]);
    options.dimension = 2;
    expect_oracle(set, options, "2-D");
}

TEST(Level, Weights) {
    std::mt19937_64 random(9);
    const auto with = [&](auto&& cost) {
        oracle::Set set = make_set(Kind::plummer, 800, 8);
        for (int64_t i = 0; i < set.size(); ++i)
            set.cost.push_back(cost(i));
        return set;
    };
    for (const int32_t parts : {2, 9, 64}) {
        const Options options = options_of(parts, finders[0]);
        expect_oracle(
            with([&](int64_t) { return std::floor(std::pow(10.0, 12 * (random() % 1000) / 1000.0)); }),
            options, "12 orders of magnitude");
        expect_oracle(with([](int64_t i) { return i == 300 ? 1e6 : 1.0; }), options, "a super-object");
        expect_oracle(with([](int64_t) { return 0.0; }), options, "all zero");
        expect_oracle(with([](int64_t i) { return i == 5 ? 3.0 : 0.0; }), options, "all zero but one");
        expect_oracle(with([](int64_t i) { return i % 7 == 0 ? 1.0 : 0.0; }), options, "many zeros");
    }
}

TEST(Level, CapIsHeld) {
    oracle::Set set = make_set(Kind::plummer, 1000, 10);
    for (int64_t i = 0; i < set.size(); ++i)
        set.cost.push_back(i % 50 == 0 ? 1000 : 1);
    for (const int32_t parts : {2, 7, 30})
        for (const int64_t more : {0, 1, 20}) {
            Options options = options_of(parts, finders[0]);
            options.cap = (1000 + parts - 1) / parts + more;
            expect_oracle(set, options, "cap " + std::to_string(options.cap));
            options.finder = CutFinder::sampled;
            std::vector<int64_t> count(static_cast<size_t>(parts), 0);
            for (const int32_t owner : run(set, options).owner)
                ++count[static_cast<size_t>(owner)];
            EXPECT_LE(*std::max_element(count.begin(), count.end()), options.cap);
        }
}

TEST(Level, MixOfCountAndCost) {
    oracle::Set set = make_set(Kind::uniform, 4000, 11);
    for (int64_t i = 0; i < set.size(); ++i)
        set.cost.push_back(set.x[static_cast<size_t>(i)] > 0 ? 10 : 1);
    double last_count = 1e9, last_weight = 0;
    for (const double mix : {1.0, 0.5, 0.0}) {
        Options options = options_of(8, CutFinder::sampled);
        options.mix = mix;
        const Outcome outcome = run(set, options);
        std::vector<double> count(8, 0), cost(8, 0);
        for (size_t i = 0; i < set.x.size(); ++i) {
            const auto owner = static_cast<size_t>(outcome.owner[i]);
            count[owner] += 1;
            cost[owner] += set.cost[i];
        }
        const double most_count = *std::max_element(count.begin(), count.end());
        const double most_cost = *std::max_element(cost.begin(), cost.end());
        EXPECT_LT(most_count, last_count); // memory gets better balanced
        EXPECT_GT(most_cost, last_weight); // and work worse
        last_count = most_count, last_weight = most_cost;
        EXPECT_LT(outcome.statistics.imbalance_weight, 1.02);
    }
    EXPECT_EQ(last_count, 500);
}

TEST(Level, OrderOfThePointsDoesNotMatter) {
    const oracle::Set set = make_set(Kind::lattice, 900, 12, true);
    oracle::Set shuffled = set;
    std::vector<size_t> order(900);
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937(5));
    for (size_t i = 0; i < 900; ++i) {
        shuffled.x[i] = set.x[order[i]], shuffled.y[i] = set.y[order[i]], shuffled.z[i] = set.z[order[i]];
        shuffled.id[i] = set.id[order[i]];
    }
    for (const CutFinder finder : finders)
        for (const int ranks : {1, 4}) {
            const Outcome a = run(set, options_of(33, finder)),
                          b = run(shuffled, options_of(33, finder), ranks);
            for (size_t i = 0; i < 900; ++i)
                ASSERT_EQ(b.owner[i], a.owner[order[i]]);
            for (size_t k = 1; k < a.cells.size(); ++k) {
                EXPECT_EQ(a.cells[k].cut, b.cells[k].cut);
                EXPECT_EQ(a.cells[k].tie, b.cells[k].tie);
            }
        }
}

TEST(Level, CellsTileTheDomainAndKnowTheirPoints) {
    const oracle::Set set = make_set(Kind::heaps, 3000, 13, true);
    const int32_t parts = 45;
    core::Memory memory;
    comm::Communicator alone;
    Decomposer decomposer(memory);
    Result result(memory);
    decomposer.run(alone, {memory, 1}, options_of(parts, CutFinder::sampled), share_of(set, 0, set.size()),
                   false, result);
    const Decomposition& domains = *result.domains;
    const std::vector<Cell>& cells = domains.cells();
    for (size_t k = 1; k < static_cast<size_t>(parts); ++k)
        for (int a = 0; a < 3; ++a) {
            const Cell &left = cells[2 * k], &right = cells[2 * k + 1];
            ASSERT_EQ(left.lower[a], cells[k].lower[a]);
            ASSERT_EQ(right.upper[a], cells[k].upper[a]);
            ASSERT_EQ(left.upper[a], a == cells[k].axis ? right.lower[a] : cells[k].upper[a]);
            ASSERT_EQ(right.lower[a], a == cells[k].axis ? left.upper[a] : cells[k].lower[a]);
        }
    for (size_t i = 0; i < set.x.size(); ++i) {
        const int32_t owner = result.owner[static_cast<int64_t>(i)];
        ASSERT_EQ(domains.owner_of(set.x[i], set.y[i], set.z[i], set.id[i]), owner);
        const geometry::Box box = domains.box_of(owner);
        ASSERT_TRUE(box.lower[0] <= set.x[i] && set.x[i] <= box.upper[0]);
        ASSERT_TRUE(box.lower[1] <= set.y[i] && set.y[i] <= box.upper[1]);
        ASSERT_TRUE(box.lower[2] <= set.z[i] && set.z[i] <= box.upper[2]);
    }
    EXPECT_EQ(domains.owner_of(1e9, 1e9, 1e9, 0), domains.owner_of(0.9999, 0.9999, 0.9999, 0));
    EXPECT_THROW(domains.box_of(parts), core::Error);
}

TEST(Level, ToleranceIsMet) {
    const oracle::Set set = make_set(Kind::plummer, 100000, 14);
    for (const CutFinder finder : finders) {
        Options options = options_of(16, finder);
        const Outcome exact = run(set, options);
        options.tolerance = 0.01;
        const Outcome loose = run(set, options);
        EXPECT_LE(loose.statistics.imbalance_count, 1 + 4 * 0.01); // one cut a level, four levels
        EXPECT_LT(exact.statistics.imbalance_count, 1.0001);
        EXPECT_LE(loose.statistics.iterations_per_cut, exact.statistics.iterations_per_cut);
        if (finder == CutFinder::bisection) {
            EXPECT_LT(loose.statistics.iterations_per_cut, exact.statistics.iterations_per_cut - 4);
        }
    }
}

TEST(Level, BadInputIsRefusedOnAllRanks) {
    const oracle::Set good = make_set(Kind::uniform, 100, 15, true);
    const auto message = [](const oracle::Set& set, const Options& options, int ranks) -> std::string {
        try {
            run(set, options, ranks);
        } catch (const core::Error& error) {
            return error.what();
        }
        return "";
    };
    const auto expect = [&](const oracle::Set& set, const Options& options, const std::string& text) {
        for (const int ranks : {1, 3})
            EXPECT_NE(message(set, options, ranks).find(text), std::string::npos)
                << message(set, options, ranks);
    };
    Options options = options_of(4, CutFinder::sampled);
    oracle::Set bad = good;
    bad.y[99] = std::nan("");
    EXPECT_NE(message(bad, options, 1).find("y[99] is nan"), std::string::npos);
    EXPECT_NE(message(bad, options, 4).find("y[24] is nan"), std::string::npos) << message(bad, options, 4);
    bad = good;
    bad.z[3] = HUGE_VAL;
    expect(bad, options, "z[3] is inf");
    bad = good;
    bad.cost.assign(100, 1);
    bad.cost[7] = -1;
    expect(bad, options, "cost[7] is -1");
    bad = good;
    bad.id.assign(100, 5);
    bad.x.assign(100, 1), bad.y.assign(100, 1), bad.z.assign(100, 1);
    expect(bad, options, "same id");
    options.cap = 24;
    expect(good, options, "cannot hold 100 points");
    options = options_of(0, CutFinder::sampled);
    expect(good, options, "parts is 0");
    options = options_of(2, CutFinder::sampled);
    options.mix = std::nan("");
    expect(good, options, "mix is nan");
}
