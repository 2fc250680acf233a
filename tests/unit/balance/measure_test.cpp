// SPDX-License-Identifier: BSD-3-Clause
// Measures against their definitions, worked out from all objects at once.
#include "balance/loads.hpp"

#include "cloud.hpp"
#include "ranks.hpp"

namespace graft::balance {
namespace {

using test::Cloud;
using test::on_ranks;
using test::Rank;

/// What the loads are for all ranks, from the whole cloud.
struct Truth {
    std::vector<double> work, count;
    std::vector<geometry::Box> box;
    Truth(const Cloud& cloud, const std::vector<int32_t>& owner, int size)
        : work(static_cast<size_t>(size)), count(static_cast<size_t>(size)), box(static_cast<size_t>(size)) {
        for (size_t i = 0; i < cloud.size(); ++i) {
            const size_t r = static_cast<size_t>(owner[i]);
            work[r] += cloud.cost[i];
            count[r] += 1;
            box[r].include(cloud.x[i], cloud.y[i], cloud.z[i]);
        }
    }
    static double imbalance(const std::vector<double>& of) {
        const double sum = std::accumulate(of.begin(), of.end(), 0.0);
        return *std::max_element(of.begin(), of.end()) * static_cast<double>(of.size()) / sum;
    }
    double surface() const {
        double sum = 0, boxes = 0;
        for (const geometry::Box& b : box) {
            const double v = b.empty() ? 0 : b.edge(0) * b.edge(1) * b.edge(2);
            if (v > 0) {
                const double s = 2 * (b.edge(0) * b.edge(1) + b.edge(1) * b.edge(2) + b.edge(2) * b.edge(0));
                sum += s / (6 * std::cbrt(v) * std::cbrt(v));
                boxes += 1;
            }
        }
        return boxes > 0 ? sum / boxes : 1;
    }
    bool meet(size_t a, size_t b) const {
        if (box[a].empty() || box[b].empty())
            return false;
        for (int k = 0; k < 3; ++k) {
            const double margin = box[a].edge(k) / std::cbrt(count[a]) + box[b].edge(k) / std::cbrt(count[b]);
            if (box[a].lower[k] - box[b].upper[k] > margin || box[b].lower[k] - box[a].upper[k] > margin)
                return false;
        }
        return true;
    }
    double neighbours() const {
        double pairs = 0;
        for (size_t a = 0; a < box.size(); ++a)
            for (size_t b = 0; b < box.size(); ++b)
                pairs += a != b && meet(a, b) ? 1 : 0;
        return pairs / static_cast<double>(box.size());
    }
};

Scale scale_of(int size, const Cloud& cloud, double mix) {
    Scale scale(*std::max_element(cloud.cost.begin(), cloud.cost.end()), mix, size, 3);
    double work = 0;
    for (const double cost : cloud.cost)
        work += scale.work_of(cost);
    scale.set_sums(work, static_cast<int64_t>(cloud.size()));
    return scale;
}

void compare(const Measures& measures, const Truth& truth, double mix) {
    EXPECT_NEAR(measures.imbalance_work, Truth::imbalance(truth.work), 1e-9);
    EXPECT_NEAR(measures.imbalance_count, Truth::imbalance(truth.count), 1e-9);
    EXPECT_NEAR(measures.surface, truth.surface(), 1e-9);
    EXPECT_NEAR(measures.neighbours, truth.neighbours(), 1e-9);
    EXPECT_NEAR(measures.work_max, *std::max_element(truth.work.begin(), truth.work.end()),
                1e-9 * measures.work_max);
    const double sum = std::accumulate(truth.work.begin(), truth.work.end(), 0.0);
    const double items = std::accumulate(truth.count.begin(), truth.count.end(), 0.0);
    EXPECT_NEAR(measures.work_mean, sum / static_cast<double>(truth.work.size()), 1e-9 * measures.work_mean);
    double weight = 0;
    for (size_t r = 0; r < truth.work.size(); ++r)
        weight = std::max(weight, (1 - mix) * truth.count[r] / items + mix * truth.work[r] / sum);
    EXPECT_NEAR(measures.imbalance_weight, weight * static_cast<double>(truth.work.size()), 1e-9);
}

TEST(Measure, EqualsBruteForceBeforeAndAfter) {
    for (const int size : {1, 2, 3, 8})
        for (const double mix : {0.0, 0.3, 1.0}) {
            const Cloud cloud = test::uniform_cloud(3000, 0.1, 50, static_cast<unsigned>(size));
            const std::vector<int32_t> old_owner = test::random_owners(cloud.size(), size, 7);
            const std::vector<int32_t> new_owner = test::plain_orb(cloud, size);
            const Truth before(cloud, old_owner, size), after(cloud, new_owner, size);
            on_ranks(size, [&](Rank& rank) {
                const Cloud own = cloud.share(old_owner, rank.rank());
                const Scale scale = scale_of(size, cloud, mix);
                core::Buffer<Load> scratch(rank.memory);
                const Load load = local_load(rank.executor, own.points(), scale, scratch);
                compare(measure(rank.comm, load, scale, true), before, mix);
                std::vector<int32_t> owner;
                for (const int64_t id : own.id)
                    owner.push_back(new_owner[static_cast<size_t>(id)]);
                const Load future =
                    future_load(rank.comm, rank.executor, own.points(), scale, owner.data(), scratch);
                compare(measure(rank.comm, future, scale, true), after, mix);
            });
        }
}

TEST(Measure, NothingAnywhere) {
    on_ranks(3, [](Rank& rank) {
        const Scale scale(0, 1, 3, 3);
        core::Buffer<Load> scratch(rank.memory);
        const Load load = local_load(rank.executor, {}, scale, scratch);
        const Measures measures = measure(rank.comm, load, scale, true);
        EXPECT_EQ(measures.imbalance_work, 1);
        EXPECT_EQ(measures.imbalance_count, 1);
        EXPECT_EQ(measures.imbalance_weight, 1);
        EXPECT_EQ(measures.neighbours, 0);
        EXPECT_EQ(measures.surface, 1);
    });
}

TEST(Measure, AGridOfRanksHasTheNeighboursOfAGrid) {
    // 64 ranks of 4 x 4 x 4 cells: inner ones have 26 neighbours, corners 7; the mean is (10^3 - 64) / 64
    on_ranks(64, [](Rank& rank) {
        Load load;
        const int r = rank.rank(), cell[3] = {r % 4, r / 4 % 4, r / 16};
        load.items = 1000;
        load.work = 1;
        load.box.include(cell[0] + 0.01, cell[1] + 0.01, cell[2] + 0.01);
        load.box.include(cell[0] + 0.99, cell[1] + 0.99, cell[2] + 0.99);
        Scale scale(1, 1, 64, 3);
        scale.set_sums(64, 64000);
        const Measures measures = measure(rank.comm, load, scale, true);
        EXPECT_NEAR(measures.neighbours, (1000.0 - 64) / 64, 1e-12);
        EXPECT_NEAR(measures.surface, 1, 1e-12);
    });
}

TEST(Measure, NeighboursAreWithinAMeanSpacing) {
    // 1000 items in a unit cube: a tenth on each side
    for (const auto& [gap, neighbours] : {std::pair{0.19, 1.0}, {0.21, 0.0}})
        on_ranks(2, [gap = gap, neighbours = neighbours](Rank& rank) {
            Load load;
            load.items = 1000;
            load.box.include((1 + gap) * rank.rank(), 0, 0);
            load.box.include((1 + gap) * rank.rank() + 1, 1, 1);
            Scale scale(1, 1, 2, 3);
            scale.set_sums(0, 2000);
            EXPECT_EQ(measure(rank.comm, load, scale, true).neighbours, neighbours);
        });
}

TEST(Measure, MoreRanksThanSamples) {
    // 100 ranks in a row: the mean of 2 * 99 / 100 neighbours, from samples of 64
    on_ranks(100, [](Rank& rank) {
        Load load;
        load.items = 1000000;
        load.box.include(rank.rank(), 0, 0);
        load.box.include(rank.rank() + 1, 1, 1);
        Scale scale(1, 1, 100, 3);
        scale.set_sums(100, 100000000);
        EXPECT_NEAR(measure(rank.comm, load, scale, true).neighbours, 1.98, 0.02);
    });
}

TEST(Measure, BadCostsAreNamed) {
    core::Memory memory;
    const backend::Executor executor{memory, 1};
    core::Buffer<double> scratch(memory);
    for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) {
        Cloud cloud = test::uniform_cloud(50000, 0, 1, 1);
        cloud.cost[41234] = bad;
        const auto [status, text] = test::error_of([&] { largest_cost(executor, cloud.points(), scratch); });
        EXPECT_EQ(status, core::Status::value);
        EXPECT_NE(text.find("41234"), std::string::npos) << text;
    }
}

} // namespace
} // namespace graft::balance
