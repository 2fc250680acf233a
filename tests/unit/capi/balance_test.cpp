// SPDX-License-Identifier: BSD-3-Clause
// balance and balance_objects through the ABI: where the costs come from, what is decided, what is refused.
#include "ranks.hpp"
#include "text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <string>

using namespace graft;
using namespace graft::test;

namespace {

constexpr int size = 4;

capi::Options balanced_by(balance::CostSource cost, balance::Kind kind = balance::Kind::orb_distributed) {
    capi::Options o = options(settings::Method::tree);
    o.balance.cost = cost;
    o.balance.kind = kind;
    return o;
}

/// Owners and the struct that asks for them.
struct Owners {
    explicit Owners(size_t n) : owner(n, -1), view(array_of(owner)) {
        ask.struct_size = sizeof ask;
        ask.owner = &view;
    }
    Owners(const Owners&) = delete;
    Owners& operator=(const Owners&) = delete;
    std::vector<int32_t> owner;
    graft_array view;
    graft_balancing ask{};
};

std::string words(graft_context* context, const char* key) {
    std::string text;
    EXPECT_EQ(capi::query_text(context, key, support::append, &text), GRAFT_OK) << capi::last_error();
    return text;
}

double number(graft_context* context, const char* key) {
    double value = -1;
    EXPECT_EQ(capi::query(context, key, &value), GRAFT_OK) << capi::last_error();
    return value;
}

/// Costs of all ranks' particles, summed by new owner.
class Ledger {
  public:
    void add(const std::vector<int32_t>& owner, const std::vector<double>& cost) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (size_t i = 0; i < owner.size(); ++i)
            work_.at(static_cast<size_t>(owner[i])) += cost.empty() ? 1 : cost[i];
    }
    double imbalance() const {
        return *std::max_element(work_.begin(), work_.end()) * size /
               std::accumulate(work_.begin(), work_.end(), 0.0);
    }

  private:
    std::mutex mutex_;
    std::vector<double> work_ = std::vector<double>(size);
};

} // namespace

TEST(Balance, GivenCostsAreEvenedOutByEveryKind) {
    const Bodies all = plummer(2000);
    for (const auto kind : {balance::Kind::orb_central, balance::Kind::orb_distributed,
                         balance::Kind::prefix_central, balance::Kind::prefix_distributed}) {
        Ledger ledger;
        on_contexts(size, balanced_by(balance::CostSource::given, kind), [&](int rank, graft_context* context) {
            const Bodies mine = share_of(all, rank, size);
            Field field(mine.size());
            Call call(mine, field);
            const std::vector<double> cost(mine.size(), rank == 0 ? 10.0 : 1.0);
            const graft_array cost_view = array_of(cost);
            call.particles.cost = &cost_view;
            std::vector<int32_t> id(mine.size());
            std::iota(id.begin(), id.end(), 500 * rank);
            const graft_array id_view = array_of(id);
            call.particles.id =
                &id_view; // or owner_of could not tell on which side of a cut a particle on it is
            Owners owners(mine.size());
            ASSERT_EQ(capi::balance(context, &call.particles, &owners.ask), GRAFT_OK) << capi::last_error();
            EXPECT_EQ(words(context, "balance.decision"), "taken");
            EXPECT_NEAR(number(context, "balance.before.imbalance_work"), 10 * size / 13.0, 1e-9);
            EXPECT_LT(number(context, "balance.after.imbalance_work"), 1.03);
            EXPECT_GT(number(context, "balance.items_moved"), 0);
            EXPECT_GT(words(context, "balance.reason").size(), 10u);
            ledger.add(owners.owner, cost);
            std::vector<int32_t> found(mine.size(), -1);
            const graft_array found_view = array_of(found);
            EXPECT_EQ(capi::owner_of(context, &call.particles, &found_view), GRAFT_OK) << capi::last_error();
            EXPECT_EQ(found, owners.owner) << "owner_of speaks of the domains just taken";
        });
        EXPECT_LT(ledger.imbalance(), 1.03) << "kind " << static_cast<int>(kind);
    }
}

TEST(Balance, InteractionsAndTimeNeedAComputeWithTheseParticles) {
    const Bodies all = plummer(4000, 3);
    for (const auto cost : {balance::CostSource::interactions, balance::CostSource::time})
        on_contexts(size, balanced_by(cost), [&](int rank, graft_context* context) {
            // Uneven on purpose: rank 0 has half of all particles.
            const size_t begin = rank == 0 ? 0 : 2000 + 666 * static_cast<size_t>(rank - 1);
            const size_t end = rank == 0 ? 2000 : rank == size - 1 ? 4000 : begin + 666;
            Bodies mine;
            for (size_t i = begin; i < end; ++i)
                mine.add(all.x[i], all.y[i], all.z[i], all.q[i]);
            Field field(mine.size());
            Call call(mine, field);
            Owners owners(mine.size());
            owners.ask.step_s = 10; // slow enough for balancing to be worth it
            EXPECT_EQ(capi::balance(context, &call.particles, &owners.ask), GRAFT_ERROR_CALL_ORDER);
            EXPECT_EQ(owners.owner, std::vector<int32_t>(mine.size(), -1));
            ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
            ASSERT_EQ(capi::balance(context, &call.particles, &owners.ask), GRAFT_OK) << capi::last_error();
            EXPECT_EQ(words(context, "balance.decision"), "taken") << words(context, "balance.reason");
            // Times of ranks that share cores even out on a loaded machine.
            EXPECT_GT(number(context, "balance.before.imbalance_work"), cost == balance::CostSource::time ? 1.05 : 1.2);
            EXPECT_LT(number(context, "balance.after.imbalance_work"), 1.05);
            // Another number of particles on one rank: no longer those of the last compute.
            graft_particles fewer = call.particles;
            graft_array short_arrays[4];
            for (int a = 0; a < 4; ++a) {
                short_arrays[a] = call.arrays[a];
                short_arrays[a].n -= rank == 2 ? 1 : 0;
            }
            fewer.n -= rank == 2 ? 1 : 0;
            for (int a = 0; a < 3; ++a)
                fewer.position[a] = &short_arrays[a];
            fewer.charge = &short_arrays[3];
            owners.view.n = fewer.n;
            EXPECT_EQ(capi::balance(context, &fewer, &owners.ask), GRAFT_ERROR_CALL_ORDER);
            EXPECT_EQ(std::string(capi::last_error()).substr(0, 7), "rank 2:") << capi::last_error();
        });
}

TEST(Balance, WithinToleranceNothingIsDoneUnlessForced) {
    const Bodies all = plummer(1000);
    for (int force : {0, 1}) {
        capi::Options o = balanced_by(balance::CostSource::count);
        o.balance.force = force;
        on_contexts(size, o, [&](int rank, graft_context* context) {
            const Bodies mine = share_of(all, rank, size);
            Field field(mine.size());
            Call call(mine, field);
            Owners owners(mine.size());
            ASSERT_EQ(capi::balance(context, &call.particles, &owners.ask), GRAFT_OK) << capi::last_error();
            EXPECT_EQ(words(context, "balance.decision"), force ? "taken" : "balanced");
            EXPECT_EQ(owners.owner == std::vector<int32_t>(mine.size(), rank), !force);
        });
    }
}

TEST(Balance, ObjectsAndTheirSplitting) {
    struct Splits {
        int rank = 0, calls = 0;
        int64_t object = -1;
        double load = 0;
    };
    on_contexts(size, balanced_by(balance::CostSource::interactions), [&](int rank, graft_context* context) {
        // 16 patches a rank in a row of cells; one of rank 1 weighs as much as all others together.
        std::vector<double> centre(3 * 16), load(16, 1.0), bytes(16, 1e3);
        std::vector<int32_t> owner(16, -1);
        for (size_t i = 0; i < 16; ++i)
            centre[3 * i] = static_cast<double>(i) + 16 * rank;
        if (rank == 1)
            load[5] = 63;
        const graft_array centres = array_of(centre.data(), GRAFT_F64, 16, 3), loads = array_of(load),
                          sizes = array_of(bytes), owners = array_of(owner);
        Splits splits{rank};
        graft_objects objects{};
        objects.struct_size = sizeof objects;
        objects.n = 16;
        objects.position[0] = &centres;
        objects.load = &loads;
        objects.bytes = &sizes;
        objects.owner = &owners;
        objects.split_user = &splits;
        objects.split = [](void* user, int64_t object, double weight, double mean) -> int32_t {
            auto& s = *static_cast<Splits*>(user);
            ++s.calls, s.object = object, s.load = weight;
            return static_cast<int32_t>(weight / mean) + 1;
        };
        ASSERT_EQ(capi::balance_objects(context, &objects), GRAFT_OK) << capi::last_error();
        EXPECT_EQ(splits.calls, rank == 1 ? 1 : 0);
        if (rank == 1) {
            EXPECT_EQ(splits.object, 5);
            EXPECT_EQ(splits.load, 63);
        }
        EXPECT_EQ(number(context, "balance.super_objects"), 1);
        EXPECT_EQ(number(context, "balance.pieces"), 2 + 1) << "63 of a mean of 31.5";
        EXPECT_GT(number(context, "balance.before.imbalance_work"),
                  number(context, "balance.after.imbalance_work"));
        for (int32_t to : owner)
            EXPECT_TRUE(to >= 0 && to < size);
    });
}

TEST(Balance, BadInputOnOneRankIsEveryRanksFailure) {
    const Bodies all = plummer(400);
    for (int bad : {0, 3})
        on_contexts(size, balanced_by(balance::CostSource::given), [&](int rank, graft_context* context) {
            const bool guilty = rank == bad;
            const Bodies mine = share_of(all, rank, size);
            Field field(mine.size());
            Call call(mine, field);
            std::vector<double> cost(mine.size(), rank == 0 ? 3.0 : 1.0);
            const graft_array cost_view = array_of(cost);
            call.particles.cost = &cost_view;
            Owners owners(mine.size());
            const auto expect = [&](int32_t expected, const char* text) {
                const graft_particles* p = &call.particles;
                EXPECT_EQ(capi::balance(context, p, &owners.ask), expected) << capi::last_error();
                EXPECT_NE(std::string(capi::last_error()).find(text), std::string::npos)
                    << capi::last_error();
                EXPECT_EQ(std::string(capi::last_error()).substr(0, 7), "rank " + std::to_string(bad) + ":");
            };
            EXPECT_EQ(capi::balance(context, guilty ? nullptr : &call.particles, &owners.ask),
                      GRAFT_ERROR_ARGUMENT);
            EXPECT_EQ(capi::balance(context, &call.particles, guilty ? nullptr : &owners.ask),
                      GRAFT_ERROR_ARGUMENT);
            EXPECT_EQ(capi::balance_objects(context, nullptr), GRAFT_ERROR_ARGUMENT);
            owners.ask.owner = guilty ? nullptr : &owners.view;
            expect(GRAFT_ERROR_ARGUMENT, "balancing.owner is NULL");
            owners.ask.owner = &owners.view;
            owners.ask.step_s = guilty ? NAN : 1;
            expect(GRAFT_ERROR_ARGUMENT, "step_s");
            owners.ask.step_s = 0;
            owners.ask.bytes_per_item = guilty ? -1 : 1;
            expect(GRAFT_ERROR_ARGUMENT, "bytes_per_item");
            owners.ask.bytes_per_item = 0;
            call.particles.cost = guilty ? nullptr : &cost_view;
            expect(GRAFT_ERROR_ARGUMENT, "particles.cost is NULL");
            call.particles.cost = &cost_view;
            cost[2] = guilty ? INFINITY : 1;
            expect(GRAFT_ERROR_VALUE, "cost");
            cost[2] = 1;
            EXPECT_EQ(owners.owner, std::vector<int32_t>(mine.size(), -1));
            EXPECT_EQ(capi::balance(context, &call.particles, &owners.ask), GRAFT_OK) << capi::last_error();
        });
}
