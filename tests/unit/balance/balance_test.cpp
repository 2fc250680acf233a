// SPDX-License-Identifier: BSD-3-Clause
// The balancer as a host uses it: all kinds, decisions, splitting, errors that reach every rank.
#include "run_balance.hpp"

#include "balance/migrate.hpp"

namespace graft::balance {
namespace {

using test::all_kinds;
using test::balance_cloud;
using test::Cloud;
using test::on_ranks;
using test::Rank;

Settings settings_of(Kind kind, double tolerance = 1.02) {
    Settings settings;
    settings.kind = kind;
    settings.tolerance = tolerance;
    return settings;
}

int64_t moved(const std::vector<int32_t>& from, const std::vector<int32_t>& to) {
    int64_t count = 0;
    for (size_t i = 0; i < from.size(); ++i)
        count += from[i] != to[i] ? 1 : 0;
    return count;
}

TEST(Balancer, EveryKindEvensOutAndMeasuresRight) {
    const Cloud cloud = test::uniform_cloud(4000, 0.05, 10, 1);
    for (const int size : {1, 2, 3, 5, 8})
        for (const Kind kind : all_kinds) {
            const std::vector<int32_t> homes = test::random_owners(cloud.size(), 1 + size / 3, 3);
            const auto [report, owner] = balance_cloud(cloud, homes, size, settings_of(kind));
            EXPECT_EQ(report.decision, size == 1 ? Decision::balanced : Decision::taken) << report.reason;
            EXPECT_NEAR(report.before.imbalance_work, test::max_over_mean(cloud, homes, size), 1e-9);
            EXPECT_NEAR(report.after.imbalance_work, test::max_over_mean(cloud, owner, size), 1e-9);
            EXPECT_LT(report.after.imbalance_work, 1.03) << size << " ranks, kind " << static_cast<int>(kind);
            EXPECT_EQ(report.items_moved, moved(homes, owner));
            EXPECT_EQ(report.bytes_moved, 32 * report.items_moved);
        }
}

TEST(Balancer, CentralAndDistributedAgree) {
    const Cloud cloud = test::uniform_cloud(3000, 0.05, 10, 2);
    for (const int size : {2, 5, 8}) {
        const std::vector<int32_t> homes = test::random_owners(cloud.size(), 1 + size / 3, 3);
        const auto owner = [&](Kind kind) {
            return balance_cloud(cloud, homes, size, settings_of(kind)).owner;
        };
        EXPECT_EQ(owner(Kind::orb_central), owner(Kind::orb_distributed));
        EXPECT_EQ(owner(Kind::prefix_central), owner(Kind::prefix_distributed));
    }
}

TEST(Balancer, AfterMigrationAllIsBalancedAndDomainsAreThere) {
    const Cloud cloud = test::uniform_cloud(3000, 0.05, 10, 4);
    const std::vector<int32_t> homes = test::random_owners(cloud.size(), 2, 3);
    on_ranks(4, [&](Rank& rank) {
        Cloud own = cloud.share(homes, rank.rank());
        Balancer balancer(rank.memory);
        core::Buffer<int32_t> owner(rank.memory);
        Report report;
        const Settings settings = settings_of(Kind::orb_distributed);
        EXPECT_EQ(balancer.domains(), nullptr);
        balancer.run(rank.comm, rank.executor, settings, {own.points(), nullptr}, 32, 0, nullptr, owner,
                     report);
        ASSERT_EQ(report.decision, Decision::taken);
        ASSERT_NE(balancer.domains(), nullptr);
        EXPECT_EQ(balancer.domains()->parts(), 4);
        Cloud next;
        Migration migration(rank.memory);
        migration.plan(rank.comm, rank.executor, owner.data(), owner.size());
        const int64_t n = migration.count_after();
        for (int64_t i = 0; i < n; ++i)
            next.add(0, 0, 0, 0, 0);
        std::vector<particles::ArrayView> from, to;
        const auto field = [&](auto& a, auto& b, particles::ElementType type) {
            from.push_back({reinterpret_cast<char*>(a.data()), type, 1, owner.size(), 8, 8});
            to.push_back({reinterpret_cast<char*>(b.data()), type, 1, n, 8, 8});
        };
        field(own.x, next.x, particles::ElementType::f64), field(own.y, next.y, particles::ElementType::f64);
        field(own.z, next.z, particles::ElementType::f64),
            field(own.cost, next.cost, particles::ElementType::f64);
        field(own.id, next.id, particles::ElementType::i64);
        migration.forward(rank.comm, rank.executor, 5, from.data(), to.data());
        balancer.run(rank.comm, rank.executor, settings, {next.points(), nullptr}, 32, 0, nullptr, owner,
                     report);
        EXPECT_EQ(report.decision, Decision::balanced) << report.reason;
        EXPECT_EQ(report.items_moved, 0);
        for (const int32_t to_rank : owner)
            EXPECT_EQ(to_rank, rank.rank());
    });
}

TEST(Balancer, MixGoesFromCountToCost) {
    Cloud cloud = test::uniform_cloud(4000, 0, 1, 6);
    for (size_t i = 0; i < cloud.size(); ++i)
        cloud.cost[i] = cloud.x[i] < 0.3 ? 20 : 1;
    const std::vector<int32_t> homes(cloud.size(), 0);
    double last_work = 1e9, last_count = 0;
    for (const double mix : {0.0, 0.5, 1.0}) {
        Settings settings = settings_of(Kind::orb_distributed);
        settings.decompose.mix = mix;
        const Report report = balance_cloud(cloud, homes, 4, settings).report;
        EXPECT_LT(report.after.imbalance_weight, 1.02);
        EXPECT_LT(report.after.imbalance_work, last_work);
        EXPECT_GT(report.after.imbalance_count, last_count);
        last_work = report.after.imbalance_work;
        last_count = report.after.imbalance_count;
    }
    EXPECT_LT(last_work, 1.02);
}

/// Five objects in a row whose best cut is worse than what the ranks have.
struct Row {
    Cloud cloud;
    std::vector<int32_t> homes{0, 1, 0, 1, 1};
    Row() {
        const double loads[5] = {3.3, 2, 3.1, 2, 2};
        for (int i = 0; i < 5; ++i)
            cloud.add(i, 0, 0, loads[i], i);
    }
};

TEST(Balancer, AWorsePartitionKeepsTheOldOwnersUnlessForced) {
    const Row row;
    for (const Kind kind : {Kind::orb_central, Kind::orb_distributed}) {
        Settings settings = settings_of(kind, 1.01);
        const auto kept = balance_cloud(row.cloud, row.homes, 2, settings);
        EXPECT_EQ(kept.report.decision, Decision::kept_old) << kept.report.reason;
        EXPECT_EQ(kept.owner, row.homes);
        EXPECT_EQ(kept.report.items_moved, 0);
        EXPECT_EQ(kept.report.after.imbalance_work, kept.report.before.imbalance_work);
        settings.force = true;
        const auto forced = balance_cloud(row.cloud, row.homes, 2, settings);
        EXPECT_EQ(forced.report.decision, Decision::taken);
        EXPECT_NE(forced.owner, row.homes);
        EXPECT_GT(forced.report.after.imbalance_work, forced.report.before.imbalance_work);
    }
}

TEST(Balancer, MovingMustBeWorthIt) {
    const Cloud cloud = test::uniform_cloud(2000, 0.05, 10, 8);
    std::vector<int32_t> homes = test::random_owners(cloud.size(), 2, 3);
    Settings settings = settings_of(Kind::orb_distributed);
    settings.steps = 10;
    settings.bandwidth_bytes_per_s = 1e6;
    // at least 1000 items of 32 bytes leave one of the ranks: 8 ms or more at a megabyte a second
    const auto cheap = balance_cloud(cloud, homes, 4, settings, 1e-5);
    EXPECT_EQ(cheap.report.decision, Decision::not_worth_it) << cheap.report.reason;
    EXPECT_EQ(cheap.owner, homes);
    const auto dear = balance_cloud(cloud, homes, 4, settings, 1);
    EXPECT_EQ(dear.report.decision, Decision::taken) << dear.report.reason;
    const Report& report = dear.report;
    EXPECT_NEAR(report.gain_s, 10 * (1 - report.after.imbalance_work / report.before.imbalance_work), 1e-9);
    int64_t leaving[4] = {};
    for (size_t i = 0; i < homes.size(); ++i)
        leaving[homes[i]] += homes[i] != dear.owner[i] ? 32 : 0;
    EXPECT_NEAR(report.move_s, static_cast<double>(*std::max_element(leaving, leaving + 4)) / 1e6, 1e-12);
}

TEST(Balancer, ObjectsHaveBytesOfTheirOwn) {
    const Cloud cloud = test::uniform_cloud(300, 0, 1, 8);
    on_ranks(3, [&](Rank& rank) {
        const Cloud own = rank.rank() == 0 ? cloud : Cloud();
        std::vector<double> bytes;
        for (const int64_t id : own.id)
            bytes.push_back(1000 + static_cast<double>(id));
        Balancer balancer(rank.memory);
        core::Buffer<int32_t> owner(rank.memory);
        Report report;
        balancer.run(rank.comm, rank.executor, settings_of(Kind::orb_distributed),
                     {own.points(), bytes.data()}, 7, 0, nullptr, owner, report);
        EXPECT_EQ(report.decision, Decision::taken);
        double leaving = 0;
        for (size_t i = 0; i < own.size(); ++i)
            leaving += owner[static_cast<int64_t>(i)] != rank.rank() ? bytes[i] : 0;
        EXPECT_EQ(static_cast<double>(report.bytes_moved), rank.comm.sum(leaving));
        EXPECT_GT(report.bytes_moved, 100 * 1000);
    });
}

TEST(Balancer, TheLastCostIsRememberedAndForgotten) {
    const Cloud cloud = test::uniform_cloud(2000, 0.05, 10, 8);
    const std::vector<int32_t> homes = test::random_owners(cloud.size(), 2, 3);
    on_ranks(4, [&](Rank& rank) {
        const Cloud own = cloud.share(homes, rank.rank());
        Balancer balancer(rank.memory);
        core::Buffer<int32_t> owner(rank.memory);
        Settings settings = settings_of(Kind::orb_distributed);
        settings.bandwidth_bytes_per_s = 100; // a migration takes minutes
        Report report;
        const auto run = [&](double step_s) {
            balancer.run(rank.comm, rank.executor, settings, {own.points(), nullptr}, 32, step_s, nullptr,
                         owner, report);
            return report.decision;
        };
        EXPECT_EQ(run(1e-3), Decision::not_worth_it);
        EXPECT_GT(report.strategy_s, 0); // tried
        EXPECT_EQ(run(1e-3), Decision::not_worth_it);
        EXPECT_EQ(report.strategy_s, 0); // not even tried
        settings.bandwidth_bytes_per_s = 1e12;
        EXPECT_EQ(run(0), Decision::taken); // unknown step time: the tolerance alone decides
        EXPECT_EQ(run(1e3), Decision::taken);
    });
}

TEST(Balancer, SuperObjectsMeetTheHostsCallback) {
    Cloud cloud = test::uniform_cloud(400, 0, 1, 9);
    double sum = std::accumulate(cloud.cost.begin(), cloud.cost.end(), 0.0);
    cloud.cost[37] += sum;
    sum *= 2;
    const double heavy = cloud.cost[37], mean = (sum) / 4;
    const std::vector<int32_t> homes = test::random_owners(cloud.size(), 4, 3);
    std::atomic<int> calls{0};
    const SplitObject split = [&](int64_t object, double load, double mean_load) {
        ++calls;
        EXPECT_GE(object, 0);
        EXPECT_DOUBLE_EQ(load, heavy);
        EXPECT_NEAR(mean_load, mean, 1e-9 * mean);
        return 3;
    };
    const auto result = balance_cloud(cloud, homes, 4, settings_of(Kind::orb_distributed), 0, split);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(result.report.super_objects, 1);
    EXPECT_EQ(result.report.pieces, 3);
    EXPECT_NEAR(result.report.heaviest, heavy / mean, 1e-9);
    EXPECT_GE(result.report.after.imbalance_work, result.report.heaviest * (1 - 1e-12));
    const SplitObject cannot = [](int64_t, double, double) { return 1; };
    EXPECT_EQ(balance_cloud(cloud, homes, 4, settings_of(Kind::orb_distributed), 0, cannot).report.pieces, 0);
    EXPECT_EQ(balance_cloud(cloud, homes, 4, settings_of(Kind::orb_distributed)).report.super_objects, 1);
}

TEST(Balancer, FuzzyIsNeverWorse) {
    double plain = 0, fuzzy = 0;
    for (unsigned seed = 0; seed < 6; ++seed) {
        const Cloud cloud = test::uniform_cloud(160, 0.05, 12, seed);
        const std::vector<int32_t> homes = test::random_owners(cloud.size(), 8, seed);
        Settings settings = settings_of(Kind::orb_distributed, 1);
        settings.force = true;
        const Report without = balance_cloud(cloud, homes, 8, settings).report;
        settings.fuzzy = true;
        settings.super = 4;
        const auto [with, owner] = balance_cloud(cloud, homes, 8, settings);
        EXPECT_LE(with.after.imbalance_work, without.after.imbalance_work * (1 + 1e-12));
        EXPECT_NEAR(with.after.imbalance_work, test::max_over_mean(cloud, owner, 8), 1e-9);
        EXPECT_EQ(without.swapped, 0);
        plain += without.after.imbalance_work - 1, fuzzy += with.after.imbalance_work - 1;
    }
    EXPECT_LT(fuzzy, 0.6 * plain);
}

TEST(Balancer, BadInputOnOneRankIsTheSameErrorOnAll) {
    const auto expect_error = [](core::Status expected, const char* part, const auto& spoil) {
        on_ranks(3, [&](Rank& rank) {
            Cloud own = test::uniform_cloud(100, 0, 1, static_cast<unsigned>(rank.rank()));
            for (int64_t& id : own.id)
                id += 1000 * rank.rank();
            Settings settings = settings_of(Kind::orb_distributed);
            double step_s = 0;
            if (rank.rank() == 1)
                spoil(own, settings, step_s);
            Balancer balancer(rank.memory);
            core::Buffer<int32_t> owner(rank.memory);
            Report report;
            const auto [status, text] = test::error_of([&] {
                balancer.run(rank.comm, rank.executor, settings, {own.points(), nullptr}, 32, step_s, nullptr,
                             owner, report);
            });
            EXPECT_EQ(status, expected) << text;
            EXPECT_NE(text.find("rank 1"), std::string::npos) << text;
            EXPECT_NE(text.find(part), std::string::npos) << text;
            EXPECT_EQ(rank.comm.poison(), "");
        });
    };
    expect_error(core::Status::value, "item 5", [](Cloud& c, Settings&, double&) { c.cost[5] = -1; });
    expect_error(core::Status::value, "item 6",
                 [](Cloud& c, Settings&, double&) { c.cost[6] = std::nan(""); });
    expect_error(core::Status::argument, "tolerance",
                 [](Cloud&, Settings& s, double&) { s.tolerance = 0.9; });
    expect_error(core::Status::argument, "mix", [](Cloud&, Settings& s, double&) { s.decompose.mix = 2; });
    expect_error(core::Status::argument, "step", [](Cloud&, Settings&, double& step) { step = -1; });
    expect_error(core::Status::argument, "fuzzy", [](Cloud&, Settings& s, double&) {
        s.kind = Kind::prefix_central;
        s.fuzzy = true;
    });
}

TEST(Balancer, ACallbackThatThrowsIsAnErrorOnAllRanks) {
    Cloud cloud = test::uniform_cloud(50, 0, 1, 1);
    cloud.cost[0] = 1e4;
    const std::vector<int32_t> homes = test::random_owners(cloud.size(), 3, 1);
    on_ranks(3, [&](Rank& rank) {
        const Cloud own = cloud.share(homes, rank.rank());
        Balancer balancer(rank.memory);
        core::Buffer<int32_t> owner(rank.memory);
        Report report;
        const SplitObject split = [](int64_t, double, double) -> int32_t {
            throw core::Error(core::Status::value, "the host cannot split it");
        };
        const auto [status, text] = test::error_of([&] {
            balancer.run(rank.comm, rank.executor, settings_of(Kind::orb_central), {own.points(), nullptr},
                         32, 0, split, owner, report);
        });
        EXPECT_EQ(status, core::Status::value);
        EXPECT_NE(text.find("the host cannot split it"), std::string::npos) << text;
    });
}

} // namespace
} // namespace graft::balance
