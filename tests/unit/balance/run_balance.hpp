// SPDX-License-Identifier: BSD-3-Clause
// Test support: one balancing of a cloud whose objects live where `homes` says, and what came of it.
#pragma once

#include "cloud.hpp"
#include "ranks.hpp"

namespace graft::test {

struct Balanced {
    balance::Report report;     // of rank 0
    std::vector<int32_t> owner; // by place in the cloud
};

/// Ids are places in the cloud. All ranks must report the same.
inline Balanced balance_cloud(const Cloud& cloud, const std::vector<int32_t>& homes, int size,
                              const balance::Settings& settings, double step_s = 0,
                              const balance::SplitObject& split = nullptr, double bytes_per_item = 32) {
    Balanced result;
    result.owner.assign(cloud.size(), -1);
    std::vector<balance::Report> reports(static_cast<size_t>(size));
    on_ranks(size, [&](Rank& rank) {
        const Cloud own = cloud.share(homes, rank.rank());
        balance::Balancer balancer(rank.memory);
        core::Buffer<int32_t> owner(rank.memory);
        balance::Report& report = reports[static_cast<size_t>(rank.rank())];
        balancer.run(rank.comm, rank.executor, settings, {own.points(), nullptr}, bytes_per_item, step_s,
                     split, owner, report);
        ASSERT_EQ(owner.size(), static_cast<int64_t>(own.size()));
        for (size_t i = 0; i < own.size(); ++i)
            result.owner[static_cast<size_t>(own.id[i])] = owner[static_cast<int64_t>(i)];
    });
    for (const balance::Report& report : reports) {
        EXPECT_EQ(report.decision, reports[0].decision);
        EXPECT_EQ(report.reason, reports[0].reason);
        EXPECT_EQ(report.after.imbalance_weight, reports[0].after.imbalance_weight);
        EXPECT_EQ(report.items_moved, reports[0].items_moved);
        EXPECT_EQ(report.cost_s, reports[0].cost_s);
    }
    for (const int32_t owner : result.owner)
        EXPECT_TRUE(owner >= 0 && owner < size) << owner;
    result.report = reports[0];
    return result;
}

inline constexpr balance::Kind all_kinds[] = {balance::Kind::orb_central, balance::Kind::orb_distributed,
                                              balance::Kind::prefix_central,
                                              balance::Kind::prefix_distributed};

} // namespace graft::test
