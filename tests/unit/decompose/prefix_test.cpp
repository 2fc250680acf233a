// SPDX-License-Identifier: BSD-3-Clause
// Prefix partitions of all strategies against a full sort and the written rule, caps against greedy filling.
#include "sets_on_ranks.hpp"

#include "geometry/hilbert.hpp"

using namespace sets;

namespace {

constexpr Strategy strategies[] = {Strategy::central, Strategy::halving, Strategy::level};
constexpr int rank_counts[] = {1, 2, 3, 5, 8, 13, 16};

struct PrefixOracle {
    std::vector<uint64_t> key;
    std::vector<size_t> order;
    std::vector<int32_t> owner;

    PrefixOracle(const oracle::Set& set, const Options& options) : owner(set.x.size(), -1) {
        const size_t n = set.x.size();
        double low[3] = {1e300, 1e300, 1e300}, high[3] = {-1e300, -1e300, -1e300}, edge = 0;
        for (size_t i = 0; i < n; ++i)
            for (int a = 0; a < 3; ++a) {
                low[a] = std::min(low[a], set.at(a, static_cast<int64_t>(i)));
                high[a] = std::max(high[a], set.at(a, static_cast<int64_t>(i)));
            }
        for (int a = 0; a < options.dimension; ++a)
            edge = std::max(edge, high[a] - low[a]);
        const geometry::KeyFrame frame(low, edge > 0 ? edge : 1e-290, options.dimension);
        for (size_t i = 0; i < n; ++i) {
            const uint64_t morton = frame.key(set.x[i], set.y[i], set.z.empty() ? 0 : set.z[i]);
            key.push_back(options.curve == Curve::hilbert
                              ? geometry::hilbert_from_morton(morton, options.dimension)
                              : morton);
            order.push_back(i);
        }
        std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            return key[a] != key[b] ? key[a] < key[b] : set.id.empty() ? a < b : set.id[a] < set.id[b];
        });
        assign(set, options);
    }

    void assign(const oracle::Set& set, const Options& options) {
        oracle::Sum total = 0, before = 0;
        for (const double c : set.cost)
            total += static_cast<int64_t>(c);
        const bool count = total == 0;
        if (count)
            total = set.size();
        const auto n = static_cast<int64_t>(order.size());
        // begin[p]: the first place whose point has its middle at or behind p total / parts.
        std::vector<int64_t> begin(static_cast<size_t>(options.parts) + 1, n);
        int64_t part = 0;
        for (int64_t k = 0; k < n; ++k) {
            const oracle::Sum w = count ? 1 : static_cast<int64_t>(set.cost[order[static_cast<size_t>(k)]]);
            const oracle::Sum middle = (2 * before + w) * options.parts;
            while (part < options.parts && 2 * part * total <= middle)
                begin[static_cast<size_t>(part++)] = k;
            before += w;
        }
        for (int64_t p = 0; options.cap > 0 && p < options.parts; ++p) { // greedy, one after the other
            auto& b = begin[static_cast<size_t>(p)];
            b = std::max(b, n - options.cap * (options.parts - p));
            b = p == 0 ? 0 : std::min(b, begin[static_cast<size_t>(p) - 1] + options.cap);
        }
        for (int64_t k = 0, p = 0; k < n; ++k) {
            while (p + 1 < options.parts && begin[static_cast<size_t>(p) + 1] <= k)
                ++p;
            owner[order[static_cast<size_t>(k)]] = static_cast<int32_t>(p);
        }
    }
};

Options prefix(Strategy strategy, int32_t parts, Curve curve = Curve::hilbert) {
    Options options;
    options.shape = Shape::prefix;
    options.strategy = strategy;
    options.parts = parts;
    options.curve = curve;
    options.threshold_b = 8;
    return options;
}

void expect_oracle(const oracle::Set& set, const Options& options, const Borders& border, const char* what) {
    const PrefixOracle oracle(set, options);
    const Outcome outcome = run_on(set, options, border);
    EXPECT_EQ(outcome.owner, oracle.owner) << what << ", strategy " << static_cast<int>(options.strategy)
                                           << ", ranks " << border.size() - 1 << ", parts " << options.parts;
    EXPECT_EQ(outcome.found, oracle.owner) << what << ", owner_of";
    double weight_max = 0, total = 0;
    std::vector<double> weight(static_cast<size_t>(options.parts), 0);
    for (int64_t i = 0; i < set.size(); ++i) {
        const auto s = static_cast<size_t>(i);
        const double w = set.cost.empty() ? 1 : set.cost[s];
        total += w;
        weight[static_cast<size_t>(oracle.owner[s])] += w;
    }
    for (const double w : weight)
        weight_max = std::max(weight_max, w);
    if (total > 0) {
        EXPECT_NEAR(outcome.statistics.back().imbalance_weight, weight_max * options.parts / total, 1e-9)
            << what;
    }
}

} // namespace

TEST(Prefix, OwnersMatchTheOracle) {
    for (const Strategy strategy : strategies)
        for (const Kind kind : {Kind::uniform, Kind::clustered, Kind::lattice, Kind::one_place})
            for (const int ranks : rank_counts)
                for (const int32_t parts : {ranks, 1, 6}) {
                    oracle::Set set = make(kind, 400, 3, parts == 6);
                    const Curve curve = ranks % 2 == 0 ? Curve::hilbert : Curve::morton;
                    expect_oracle(set, prefix(strategy, parts, curve), even(400, ranks), "count");
                    add_costs(set, 4, 2);
                    expect_oracle(set, prefix(strategy, parts, curve), uneven(400, ranks, 5), "cost");
                }
}

TEST(Prefix, PointsAlreadyInOrderStayWhereTheyAre) {
    oracle::Set set = make(Kind::lattice, 600, 6), sorted;
    const PrefixOracle order(set, prefix(Strategy::central, 1));
    for (const size_t i : order.order)
        sorted.x.push_back(set.x[i]), sorted.y.push_back(set.y[i]), sorted.z.push_back(set.z[i]);
    for (int64_t i = 0; i < 600; ++i)
        sorted.id.push_back(i);
    for (const int ranks : {2, 5, 8}) {
        const Options options = prefix(Strategy::halving, ranks);
        expect_oracle(sorted, options, even(600, ranks), "in order");
        expect_oracle(sorted, options, uneven(600, ranks, 7), "in order");
        const auto messages = [&](const oracle::Set& points) {
            return run_on(points, options, even(600, ranks)).statistics[0].bytes;
        };
        EXPECT_LT(messages(sorted), 2000); // no point has travelled
        EXPECT_GT(messages(set), 3000);
    }
}

TEST(Prefix, DegenerateSets) {
    for (const Strategy strategy : strategies)
        for (const int ranks : {1, 3, 8}) {
            for (const int64_t n : {0, 1, 2, 7, 9}) {
                expect_oracle(make(Kind::uniform, n, 9), prefix(strategy, ranks), even(n, ranks), "few");
                expect_oracle(make(Kind::one_place, n, 9), prefix(strategy, 5), all_on(n, ranks, ranks - 1),
                              "few");
            }
            oracle::Set wide = make(Kind::uniform, 300, 10);
            add_costs(wide, 11, 12);
            expect_oracle(wide, prefix(strategy, 8), all_on(300, ranks, 0), "12 decades");
            oracle::Set super = make(Kind::clustered, 300, 12);
            super.cost.assign(300, 1);
            super.cost[17] = 100000;
            expect_oracle(super, prefix(strategy, 16), even(300, ranks), "one super-object");
            super.cost.assign(300, 0);
            expect_oracle(super, prefix(strategy, 16), even(300, ranks), "all costs zero");
            super.cost[3] = super.cost[200] = 1;
            expect_oracle(super, prefix(strategy, 16), even(300, ranks), "all costs zero but two");
        }
    oracle::Set flat = make(Kind::uniform, 300, 13);
    flat.z.clear();
    for (const Strategy strategy : strategies) {
        Options options = prefix(strategy, 7);
        options.dimension = 2;
        expect_oracle(flat, options, even(300, 3), "2-D");
    }
}

TEST(Prefix, CapIsHeld) {
    oracle::Set set = make(Kind::uniform, 500, 14, true);
    add_costs(set, 15, 6);
    for (const Strategy strategy : strategies)
        for (const int ranks : {1, 2, 5, 8})
            for (const int32_t parts : {3, 8, 20})
                for (const int64_t slack : {0, 1, 10, 100}) {
                    Options options = prefix(strategy, parts);
                    options.cap = (500 + parts - 1) / parts + slack;
                    expect_oracle(set, options, even(500, ranks), "cap");
                    const PrefixOracle oracle(set, options);
                    std::vector<int64_t> count(static_cast<size_t>(parts), 0);
                    for (const int32_t owner : oracle.owner)
                        ++count[static_cast<size_t>(owner)];
                    EXPECT_LE(*std::max_element(count.begin(), count.end()), options.cap);
                }
}

TEST(Prefix, PartsWithinOnePointOfTheMean) {
    oracle::Set set = make(Kind::clustered, 3000, 16);
    add_costs(set, 17, 3);
    const double heaviest = *std::max_element(set.cost.begin(), set.cost.end());
    const double total = std::accumulate(set.cost.begin(), set.cost.end(), 0.0);
    for (const int32_t parts : {2, 7, 64}) {
        const Outcome outcome = run_on(set, prefix(Strategy::halving, parts), even(3000, 4));
        std::vector<double> weight(static_cast<size_t>(parts), 0);
        for (size_t i = 0; i < set.x.size(); ++i)
            weight[static_cast<size_t>(outcome.owner[i])] += set.cost[i];
        for (const double w : weight)
            EXPECT_LE(std::fabs(w - total / parts), heaviest);
    }
}

TEST(Prefix, APointWithoutIdIsFoundInItsOwnPart) {
    const oracle::Set set = make(Kind::uniform, 300, 17); // distinct keys
    for (const Strategy strategy : strategies)
        for (const int ranks : {1, 3, 8})
            for (const int32_t parts : {2, 3, 8, 50}) {
                const Borders border = even(300, ranks);
                comm::run_ranks(ranks, [&](comm::Communicator& comm) {
                    core::Memory memory;
                    Decomposer decomposer(memory);
                    Result result(memory);
                    const auto r = static_cast<size_t>(comm.rank());
                    const Points points = share_of(set, border[r], border[r + 1]);
                    decomposer.run(comm, backend::Executor{memory, 1}, prefix(strategy, parts), points, false,
                                   result);
                    result.domains->complete(comm);
                    for (int64_t i = 0; i < points.n; ++i)
                        EXPECT_EQ(result.domains->owner_of(points.x[i], points.y[i], points.z[i], -1),
                                  result.owner[i])
                            << "strategy " << static_cast<int>(strategy) << ", ranks " << ranks << ", parts "
                            << parts;
                });
            }
}
