// SPDX-License-Identifier: BSD-3-Clause
// What a rank holds and sends in the distributed strategies: set by its points, not by the number of ranks.
#include "sets_on_ranks.hpp"

#include "study/simulate/simulated_ranks.hpp"

using namespace sets;

namespace {

/// Sixteen points a rank, drawn by the rank itself; what the simulator and rank 0 saw.
struct Cost {
    int64_t bytes_peak = 0, bytes_sent = 0, messages = 0, collectives = 0;
};

Cost cost_of(const Options& wanted, int32_t ranks) {
    study::SimulatorOptions machine;
    machine.ranks = ranks;
    machine.gamma_s = 1e-9;
    study::Simulator simulator(machine);
    Cost cost;
    simulator.run([&](comm::Communicator& comm, core::Memory& memory) {
        const oracle::Set set = make(Kind::uniform, 16, static_cast<uint32_t>(comm.rank()) + 1);
        Options options = wanted;
        options.parts = ranks;
        const backend::Executor executor{memory, 1};
        Decomposer decomposer(memory);
        Result result(memory);
        comm.guarded([&] { decomposer.run(comm, executor, options, share_of(set, 0, 16), false, result); });
        cost.bytes_sent = std::max(cost.bytes_sent, result.statistics.bytes);
        cost.messages = std::max(cost.messages, result.statistics.messages);
        cost.collectives = std::max(cost.collectives, result.statistics.collectives);
    });
    cost.bytes_peak = simulator.report().rank_bytes_peak;
    return cost;
}

} // namespace

TEST(Bytes, NoRankHoldsMoreOnMoreRanks) {
    Options options;
    options.strategy = Strategy::halving;
    options.threshold_a = 256;
    options.threshold_b = 64;
    for (const Shape shape : {Shape::orb, Shape::prefix}) {
        options.shape = shape;
        const Cost few = cost_of(options, 64), many = cost_of(options, 1024);
        EXPECT_LT(many.bytes_peak, few.bytes_peak * 3 / 2) << few.bytes_peak << " " << many.bytes_peak;
        // Sent, 2 levels of halving against 6: bins log2 P times a level, points once. 16 times the ranks.
        EXPECT_LT(many.bytes_sent, 8 * few.bytes_sent) << few.bytes_sent << " " << many.bytes_sent;
        EXPECT_LT(many.messages, 8 * few.messages) << few.messages << " " << many.messages;
    }
    // The measure can tell: a strategy that holds all domains fails it.
    options.shape = Shape::orb;
    options.strategy = Strategy::central;
    EXPECT_GT(cost_of(options, 1024).bytes_peak, 8 * cost_of(options, 64).bytes_peak);
}

/// A host's own blocks, cut across so that pairs alone would heap all points of a half on half of its ranks
/// again and again.
TEST(Bytes, PointsStaySpreadWhateverTheirOrder) {
    constexpr int ranks = 64;
    constexpr int64_t each = 200, n = ranks * each;
    const auto peak = [&](const oracle::Set& set) {
        Options options;
        options.strategy = Strategy::halving;
        options.parts = ranks;
        options.threshold_a = 0;
        options.threshold_b = 16;
        const Outcome outcome = run_on(set, options, even(n, ranks));
        EXPECT_EQ(outcome.owner, oracle::Tree(set, 3, ranks).owner);
        return *std::max_element(outcome.bytes_peak.begin(), outcome.bytes_peak.end());
    };
    oracle::Set random = make(Kind::uniform, n, 5), blocks;
    // Rank r gets the block whose coordinates' leading bits are r's bits in Gray-like disorder.
    for (int r = 0; r < ranks; ++r)
        for (int64_t i = 0; i < each; ++i) {
            const auto s = static_cast<size_t>(r * each + i);
            const int block[3] = {(r >> 0 & 1) * 2 + (r >> 3 & 1), (r >> 1 & 1) * 2 + (r >> 4 & 1),
                                  (r >> 2 & 1) * 2 + (r >> 5 & 1)};
            blocks.x.push_back((block[0] + 0.5 + 0.5 * random.x[s]) / 4);
            blocks.y.push_back((block[1] + 0.5 + 0.5 * random.y[s]) / 4);
            blocks.z.push_back((block[2] + 0.5 + 0.5 * random.z[s]) / 4);
        }
    const int64_t even_peak = peak(random);
    EXPECT_LT(peak(blocks), 3 * even_peak) << even_peak;
}
