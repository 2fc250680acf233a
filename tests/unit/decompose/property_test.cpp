// SPDX-License-Identifier: BSD-3-Clause
// Random cases of everything at once: any set, any spread over ranks, any parts, cap, finder and strategy
// gives the oracle's owners, and every point is found again by its place and id.
#include "sets_on_ranks.hpp"

using namespace sets;

namespace {

struct Case {
    oracle::Set set;
    Options options;
    Borders border;
    std::string text;
};

Case make_case(uint32_t seed) {
    std::mt19937 random(seed);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint32_t>(n)); };
    const auto kind = static_cast<Kind>(below(6));
    const int64_t n = below(4) == 0 ? below(20) : below(700);
    const bool with_ids = below(2) == 0;
    Case c{make(kind, n, seed, with_ids), {}, {}, ""};
    Options& o = c.options;
    const int ranks = static_cast<int>(below(7)) + 1;
    o.strategy = static_cast<Strategy>(below(3));
    o.finder = static_cast<CutFinder>(below(3));
    o.parts =
        o.strategy == Strategy::halving ? ranks : static_cast<int32_t>(below(below(2) == 0 ? 8 : 150)) + 1;
    o.bins = static_cast<int>(below(3) * below(40));
    if (below(4) == 0) {
        o.dimension = 2;
        c.set.z.clear();
    }
    if (below(2) == 0)
        add_costs(c.set, seed + 1, static_cast<int>(below(13)));
    if (below(5) == 0)
        std::fill(c.set.cost.begin(), c.set.cost.end(), 0.0);
    if (below(3) == 0)
        o.cap = (n + o.parts - 1) / o.parts + below(5) + 1;
    c.border = below(3) == 0 ? all_on(n, ranks, static_cast<int>(below(ranks))) : uneven(n, ranks, seed);
    c.text = "seed " + std::to_string(seed) + ": n " + std::to_string(n) + " parts " +
             std::to_string(o.parts) + " ranks " + std::to_string(ranks) + " kind " +
             std::to_string(static_cast<int>(kind)) + " strategy " +
             std::to_string(static_cast<int>(o.strategy)) + " finder " +
             std::to_string(static_cast<int>(o.finder)) + " cap " + std::to_string(o.cap);
    return c;
}

} // namespace

TEST(Property, AnyCaseMatchesTheOracle) {
    for (uint32_t seed = 1; seed <= 1200; ++seed) {
        const Case c = make_case(seed);
        const oracle::Tree tree(c.set, c.options.dimension, c.options.parts, c.options.cap);
        const Outcome outcome = run_on(c.set, c.options, c.border);
        ASSERT_EQ(outcome.owner, tree.owner) << c.text;
        ASSERT_EQ(outcome.found, tree.owner) << c.text << ", owner_of";
        std::vector<int64_t> count(static_cast<size_t>(c.options.parts), 0);
        for (const int32_t owner : outcome.owner)
            ++count[static_cast<size_t>(owner)];
        const auto [least, most] = std::minmax_element(count.begin(), count.end());
        ASSERT_TRUE(c.options.cap == 0 || *most <= c.options.cap) << c.text;
        ASSERT_TRUE(c.set.size() >= c.options.parts ? *least >= 1 : *most <= 1) << c.text;
        const size_t cells = 2 * static_cast<size_t>(c.options.parts);
        ASSERT_EQ(outcome.cells.size(), cells) << c.text;
        for (size_t k = 1; k < cells / 2; ++k)
            for (int a = 0; a < 3; ++a) { // children share the parent's box along the cut
                const bool cut = a == outcome.cells[k].axis;
                ASSERT_EQ(outcome.cells[2 * k].lower[a], outcome.cells[k].lower[a]) << c.text;
                ASSERT_EQ(outcome.cells[2 * k + 1].upper[a], outcome.cells[k].upper[a]) << c.text;
                ASSERT_EQ(outcome.cells[2 * k].upper[a],
                          cut ? outcome.cells[2 * k + 1].lower[a] : outcome.cells[k].upper[a])
                    << c.text;
            }
    }
}
