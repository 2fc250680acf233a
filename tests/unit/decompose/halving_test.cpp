// SPDX-License-Identifier: BSD-3-Clause
// Recursive halving against a full sort of every cell and against the level-synchronous strategy.
#include "sets_on_ranks.hpp"

using namespace sets;

namespace {

constexpr int rank_counts[] = {1, 2, 3, 4, 5, 7, 8, 13, 16};

/// Small thresholds, so that small sets go through every phase.
Options halving(int ranks, int64_t threshold_a = 0, int64_t threshold_b = 8) {
    Options options;
    options.strategy = Strategy::halving;
    options.parts = ranks;
    options.threshold_a = threshold_a;
    options.threshold_b = threshold_b;
    return options;
}

void expect_oracle(const oracle::Set& set, const Options& options, const Borders& border, const char* what) {
    const oracle::Tree tree(set, options.dimension, options.parts, options.cap);
    const Outcome outcome = run_on(set, options, border);
    EXPECT_EQ(outcome.owner, tree.owner) << what << ", ranks " << options.parts;
    EXPECT_EQ(outcome.found, tree.owner) << what << ", owner_of, ranks " << options.parts;
}

} // namespace

TEST(Halving, OwnersMatchTheOracle) {
    for (const Kind kind :
         {Kind::uniform, Kind::clustered, Kind::lattice, Kind::one_place, Kind::two_places, Kind::line})
        for (const int ranks : rank_counts)
            for (const int64_t b : {0, 8})
                for (const bool ids : {false, true}) {
                    oracle::Set set = make(kind, 400, 3, ids);
                    expect_oracle(set, halving(ranks, 0, b), even(set.size(), ranks), "count");
                    add_costs(set, 4, 2);
                    expect_oracle(set, halving(ranks, 0, b), even(set.size(), ranks), "cost");
                }
}

TEST(Halving, EveryThresholdGivesTheSameOwners) {
    oracle::Set set = make(Kind::lattice, 700, 5, true);
    add_costs(set, 6, 3);
    for (const int64_t a : {0, 50, 200, 100000})
        for (const int64_t b : {0, 1, 30, 100000})
            for (const int bins : {0, 2, 5, 64, 1000}) {
                Options options = halving(7, a, b);
                options.bins = bins;
                expect_oracle(set, options, even(set.size(), 7), "thresholds");
            }
}

TEST(Halving, AnySpreadOfTheInput) {
    for (const Kind kind : {Kind::uniform, Kind::lattice})
        for (const int ranks : {2, 3, 5, 8, 13}) {
            oracle::Set set = make(kind, 600, 7, true);
            add_costs(set, 8, 2);
            expect_oracle(set, halving(ranks), all_on(set.size(), ranks, 0), "all on the first");
            expect_oracle(set, halving(ranks), all_on(set.size(), ranks, ranks - 1), "all on the last");
            for (uint32_t seed = 0; seed < 4; ++seed)
                expect_oracle(set, halving(ranks), uneven(set.size(), ranks, seed), "uneven");
        }
}

TEST(Halving, DegenerateSets) {
    for (const int ranks : {1, 2, 3, 8, 13}) {
        for (const int64_t n : {0, 1, 2, 3, 7, 12, 13, 14})
            for (const Kind kind : {Kind::uniform, Kind::one_place})
                for (const int64_t a : {0, 1000})
                    expect_oracle(make(kind, n, 9), halving(ranks, a), even(n, ranks), "few points");
        oracle::Set wide = make(Kind::uniform, 300, 10);
        add_costs(wide, 11, 12);
        expect_oracle(wide, halving(ranks), even(300, ranks), "12 decades");
        oracle::Set super = make(Kind::clustered, 300, 12);
        super.cost.assign(300, 1);
        super.cost[17] = 100000;
        expect_oracle(super, halving(ranks), even(300, ranks), "one super-object");
        oracle::Set zero = make(Kind::uniform, 300, 12);
        zero.cost.assign(300, 0);
        expect_oracle(zero, halving(ranks), even(300, ranks), "all costs zero");
        zero.cost[5] = 1;
        expect_oracle(zero, halving(ranks), even(300, ranks), "all costs zero but one");
    }
}

TEST(Halving, CapIsHeld) {
    oracle::Set set = make(Kind::uniform, 500, 13);
    add_costs(set, 14, 6);
    for (const int ranks : {2, 5, 8}) {
        Options options = halving(ranks);
        options.cap = (set.size() + ranks - 1) / ranks + 3;
        expect_oracle(set, options, even(set.size(), ranks), "cap");
        const Outcome outcome = run_on(set, options, even(set.size(), ranks));
        std::vector<int64_t> count(static_cast<size_t>(ranks), 0);
        for (const int32_t owner : outcome.owner)
            ++count[static_cast<size_t>(owner)];
        EXPECT_LE(*std::max_element(count.begin(), count.end()), options.cap);
    }
}

TEST(Halving, TwoDimensions) {
    oracle::Set set = make(Kind::uniform, 500, 15);
    set.z.clear();
    Options options = halving(6);
    options.dimension = 2;
    expect_oracle(set, options, even(500, 6), "2-D");
}

TEST(Halving, SameCellsAsTheLevelStrategy) {
    for (const Kind kind : {Kind::uniform, Kind::lattice, Kind::two_places})
        for (const int64_t a : {0, 120})
            for (const int ranks : {2, 5, 8, 13}) {
                oracle::Set set = make(kind, 800, 16, true);
                add_costs(set, 17, 4);
                Options options = halving(ranks, a);
                const Outcome mine = run_on(set, options, even(set.size(), ranks));
                options.strategy = Strategy::level;
                const Outcome level = run_on(set, options, uneven(set.size(), ranks, 5));
                EXPECT_EQ(mine.owner, level.owner);
                ASSERT_EQ(mine.cells.size(), level.cells.size());
                for (size_t k = 1; k < mine.cells.size(); ++k)
                    EXPECT_TRUE(same_cell(mine.cells[k], level.cells[k])) << "cell " << k << " of " << ranks;
                for (int part = 0; part < ranks; ++part) {
                    const Cell& leaf = mine.cells[static_cast<size_t>(cell_of_leaf(part, ranks))];
                    const geometry::Box& box = mine.boxes[static_cast<size_t>(part)];
                    EXPECT_TRUE(std::equal(box.lower, box.lower + 3, leaf.lower));
                    EXPECT_TRUE(std::equal(box.upper, box.upper + 3, leaf.upper));
                }
                EXPECT_DOUBLE_EQ(mine.statistics[0].imbalance_weight, level.statistics[0].imbalance_weight);
                EXPECT_DOUBLE_EQ(mine.statistics[0].imbalance_count, level.statistics[0].imbalance_count);
            }
}

TEST(Halving, OrderOfThePointsDoesNotMatter) {
    oracle::Set set = make(Kind::lattice, 500, 18, true);
    std::vector<size_t> order(500);
    std::iota(order.begin(), order.end(), size_t{0});
    std::mt19937 random(19);
    std::shuffle(order.begin(), order.end(), random);
    oracle::Set shuffled;
    for (const size_t i : order) {
        shuffled.x.push_back(set.x[i]), shuffled.y.push_back(set.y[i]), shuffled.z.push_back(set.z[i]);
        shuffled.id.push_back(set.id[i]);
    }
    const Outcome a = run_on(set, halving(8), even(500, 8));
    const Outcome b = run_on(shuffled, halving(8), uneven(500, 8, 20));
    for (size_t k = 0; k < order.size(); ++k)
        EXPECT_EQ(b.owner[k], a.owner[order[k]]);
}

TEST(Halving, ToleranceIsMet) {
    oracle::Set set = make(Kind::clustered, 4000, 21);
    add_costs(set, 22, 1);
    double total = 0;
    for (const double c : set.cost)
        total += c;
    for (const int ranks : {2, 8, 13}) {
        Options exact = halving(ranks), loose = exact;
        loose.tolerance = 0.05;
        const Outcome a = run_on(set, exact, even(set.size(), ranks));
        const Outcome b = run_on(set, loose, even(set.size(), ranks));
        // Each of the cuts above a part adds at most the tolerance to its weight.
        std::vector<double> weight(static_cast<size_t>(ranks), 0);
        for (size_t i = 0; i < b.owner.size(); ++i)
            weight[static_cast<size_t>(b.owner[i])] += set.cost[i];
        for (const double w : weight)
            EXPECT_NEAR(w, total / ranks, 4 * 0.05 * total / ranks);
        EXPECT_EQ(b.found, b.owner);
        EXPECT_LT(b.statistics[0].iterations_per_cut, a.statistics[0].iterations_per_cut + 1e-9);
    }
}
