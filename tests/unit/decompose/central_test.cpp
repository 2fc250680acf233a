// SPDX-License-Identifier: BSD-3-Clause
// The central strategy against the oracle, its domains, and failures on one rank.
#include "sets_on_ranks.hpp"

using namespace sets;

namespace {

Options central(int32_t parts) {
    Options options;
    options.strategy = Strategy::central;
    options.parts = parts;
    return options;
}

} // namespace

TEST(Central, OwnersMatchTheOracle) {
    for (const Kind kind : {Kind::uniform, Kind::lattice, Kind::one_place})
        for (const int ranks : {1, 2, 3, 5, 8, 13})
            for (const int32_t parts : {1, ranks, 7}) {
                oracle::Set set = make(kind, 500, 3, ranks % 2 == 0);
                add_costs(set, 4, 3);
                const oracle::Tree tree(set, 3, parts);
                const Outcome outcome = run_on(set, central(parts), uneven(500, ranks, 5));
                EXPECT_EQ(outcome.owner, tree.owner) << "ranks " << ranks << " parts " << parts;
                EXPECT_EQ(outcome.found, tree.owner);
            }
}

TEST(Central, SameCellsAndBoxesAsTheLevelStrategy) {
    oracle::Set set = make(Kind::lattice, 600, 6);
    add_costs(set, 7, 1);
    Options options = central(6);
    const Outcome mine = run_on(set, options, even(600, 6));
    options.strategy = Strategy::level;
    const Outcome level = run_on(set, options, even(600, 6));
    ASSERT_EQ(mine.cells.size(), level.cells.size());
    for (size_t k = 1; k < mine.cells.size(); ++k)
        EXPECT_TRUE(same_cell(mine.cells[k], level.cells[k])) << "cell " << k;
    for (size_t r = 0; r < 6; ++r) {
        EXPECT_TRUE(std::equal(mine.boxes[r].lower, mine.boxes[r].lower + 3, level.boxes[r].lower));
        EXPECT_TRUE(std::equal(mine.boxes[r].upper, mine.boxes[r].upper + 3, level.boxes[r].upper));
    }
    EXPECT_EQ(mine.statistics[3].imbalance_weight, level.statistics[3].imbalance_weight);
}

TEST(Central, TwoDimensionsAndNoPoints) {
    oracle::Set set = make(Kind::uniform, 300, 8);
    set.z.clear();
    Options options = central(4);
    options.dimension = 2;
    EXPECT_EQ(run_on(set, options, even(300, 4)).owner, oracle::Tree(set, 2, 4).owner);
    EXPECT_TRUE(run_on(oracle::Set{}, central(3), even(0, 3)).owner.empty());
}
