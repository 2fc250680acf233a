// SPDX-License-Identifier: BSD-3-Clause
// Every call of every rank fails in turn, before and after the underlying call: all ranks end alike, none
// hangs, and what the host gave is untouched unless all succeeded.
#include "cloud.hpp"
#include "faulty_comm.hpp"
#include "ranks.hpp"

#include "balance/balance.hpp"
#include "balance/migrate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace graft::balance {
namespace {

using test::Cloud;
using test::FaultTime;
using test::FaultyRun;

constexpr int size = 3;

/// What one rank saw of a run.
struct Seen {
    core::Status status = core::Status::ok;
    bool untouched = true, right = true;
};

template <typename Body>
core::Status entry(comm::Communicator& comm, const Body& body) {
    try {
        comm.guarded(body);
    } catch (const core::Error& error) {
        return error.status();
    }
    return core::Status::ok;
}

/// Plans, moves there and back.
Seen migrate(comm::Communicator& comm) {
    core::Memory memory;
    const backend::Executor executor{memory, 1};
    const int64_t n = 40;
    std::vector<int32_t> owner(n);
    std::vector<double> x(n);
    for (int64_t i = 0; i < n; ++i) {
        owner[static_cast<size_t>(i)] = static_cast<int32_t>((i * i + comm.rank()) % size);
        x[static_cast<size_t>(i)] = static_cast<double>(100 * comm.rank() + i);
    }
    Migration migration(memory, 64); // several messages a peer
    std::vector<double> arrived, returned(n, -1.0);
    const auto view = [](std::vector<double>& v) {
        return particles::ArrayView{reinterpret_cast<char*>(v.data()),
                                    particles::ElementType::f64,
                                    1,
                                    static_cast<int64_t>(v.size()),
                                    8,
                                    8};
    };
    Seen seen;
    const auto untouched = [](const std::vector<double>& v) {
        return std::all_of(v.begin(), v.end(), [](double value) { return value == -1; });
    };
    seen.status = entry(comm, [&] {
        migration.plan(comm, executor, owner.data(), n);
        arrived.assign(static_cast<size_t>(migration.count_after()), -1.0);
        const particles::ArrayView from = view(x), to = view(arrived);
        migration.forward(comm, executor, 1, &from, &to);
    });
    if (seen.status != core::Status::ok) {
        seen.untouched = untouched(arrived);
        return seen;
    }
    seen.right = !untouched(arrived);
    seen.status = entry(comm, [&] {
        const particles::ArrayView from = view(arrived), to = view(returned);
        migration.back(comm, executor, 1, &from, &to);
    });
    seen.untouched = seen.status == core::Status::ok || untouched(returned);
    seen.right = seen.right && (seen.status != core::Status::ok || returned == x);
    return seen;
}

Seen balance_once(comm::Communicator& comm, Kind kind, bool fuzzy) {
    core::Memory memory;
    const backend::Executor executor{memory, 1};
    const Cloud cloud = test::uniform_cloud(30, 0.2, 10, static_cast<unsigned>(comm.rank()));
    decompose::Points points = cloud.points();
    points.id = nullptr;
    Settings settings;
    settings.kind = kind;
    settings.fuzzy = fuzzy;
    settings.super = 3;
    settings.force = true;
    Balancer balancer(memory);
    core::Buffer<int32_t> owner(memory);
    Report report;
    Seen seen;
    seen.status = entry(comm, [&] {
        balancer.run(comm, executor, settings, {points, nullptr}, 8, 1e-3, nullptr, owner, report);
        comm.conclude();
    });
    if (seen.status == core::Status::ok)
        for (const int32_t to : owner)
            seen.right = seen.right && to >= 0 && to < size;
    return seen;
}

void sweep(const std::function<Seen(comm::Communicator&)>& body) {
    std::vector<Seen> seen(size);
    const auto start = std::chrono::steady_clock::now();
    int runs = 0;
    test::sweep_faults(
        size,
        [&](graft_comm_v1* table) {
            comm::Communicator comm(table);
            seen[static_cast<size_t>(comm.rank())] = body(comm);
        },
        [&](const FaultyRun& run, int rank, int64_t at, FaultTime time, bool) {
            ++runs;
            const std::string where = run.faults[static_cast<size_t>(rank)]->names.back() + ", call " +
                                      std::to_string(at) + " of rank " + std::to_string(rank) +
                                      (time == FaultTime::before ? " before" : " after");
            for (const Seen& one : seen) {
                ASSERT_EQ(one.status, seen[0].status) << where;
                ASSERT_TRUE(one.status == core::Status::ok || one.status == core::Status::communication)
                    << where;
                ASSERT_TRUE(one.untouched) << where;
                ASSERT_TRUE(one.right) << where;
            }
        });
    EXPECT_GT(runs, 100);
    EXPECT_LT(std::chrono::steady_clock::now() - start,
              std::chrono::seconds(60)); // nobody waited for a deadline
}

/// Ends with the number of allocations that rank 2 needs.
void refuse_every_allocation(Kind kind, bool fuzzy) {
    std::atomic<int> completed = 0; // ranks are threads
    for (int64_t allowed = 0; allowed < 400 && completed == 0; ++allowed)
        comm::run_ranks(size, [&](comm::Communicator& comm) {
            test::Refusing refusing{comm.rank() == 2 ? allowed : INT64_MAX};
            core::Memory memory(refusing.allocator());
            const backend::Executor executor{memory, 1};
            const Cloud cloud = test::uniform_cloud(60, 0.2, 10, static_cast<unsigned>(comm.rank()));
            decompose::Points points = cloud.points();
            points.id = nullptr;
            Settings settings;
            settings.kind = kind;
            settings.fuzzy = fuzzy;
            settings.force = true;
            const auto [status, text] = test::error_of([&] {
                Balancer balancer(memory);
                core::Buffer<int32_t> owner(memory);
                Report report;
                balancer.run(comm, executor, settings, {points, nullptr}, 8, 0, nullptr, owner, report);
            });
            EXPECT_TRUE(status == core::Status::ok || status == core::Status::memory) << text;
            EXPECT_EQ(comm.poison(), "");
            EXPECT_EQ(comm.max(static_cast<int32_t>(status)), static_cast<int32_t>(status)) << text;
            completed += status == core::Status::ok && comm.rank() == 0 ? 1 : 0;
        });
    EXPECT_EQ(completed, 1);
}

TEST(Faults, RefusedAllocationOnOneRankIsAnErrorOnAll) {
    for (const Kind kind : {Kind::orb_central, Kind::orb_distributed, Kind::prefix_distributed})
        refuse_every_allocation(kind, false);
    refuse_every_allocation(Kind::orb_distributed, true);
}

TEST(Faults, Migration) {
    sweep(migrate);
}

TEST(Faults, Balancing) {
    for (const Kind kind : {Kind::orb_central, Kind::orb_distributed, Kind::prefix_distributed})
        sweep([=](comm::Communicator& comm) { return balance_once(comm, kind, false); });
}

TEST(Faults, FuzzyBalancing) {
    sweep([](comm::Communicator& comm) { return balance_once(comm, Kind::orb_distributed, true); });
}

} // namespace
} // namespace graft::balance
