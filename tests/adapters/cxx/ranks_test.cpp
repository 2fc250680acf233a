// SPDX-License-Identifier: BSD-3-Clause
// The C++ header over many ranks: communicators, domains, migration. Threads are the ranks.
#include <graft/graft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <thread>

namespace {

constexpr int ranks = 3;

const graft::Library& library() {
    static const graft::Library loaded = graft::Library::load();
    return loaded;
}

void on_ranks(const std::function<void(const graft::Communicator&)>& body) {
    const std::vector<graft::Communicator> comms = graft::Communicator::threads(library(), ranks);
    std::vector<std::thread> threads;
    for (const graft::Communicator& comm : comms)
        threads.emplace_back([&body, &comm] { body(comm); });
    for (std::thread& thread : threads)
        thread.join();
}

struct Cloud {
    std::vector<double> x, y, z;
    std::vector<int64_t> id;
    std::vector<float> cost;
    Cloud(int rank, std::size_t n) : x(n), y(n), z(n), id(n), cost(n, 1.0F) {
        for (std::size_t i = 0; i < n; ++i) {
            id[i] = static_cast<int64_t>(i) * ranks + rank;
            const double k = static_cast<double>(id[i]);
            x[i] = std::sin(1.7 * k), y[i] = std::cos(2.3 * k), z[i] = std::sin(0.9 * k + 1);
        }
    }
    graft::Particles particles() { return graft::Particles().positions(x, y, z).ids(id).costs(cost); }
};

TEST(CxxRanks, DomainsAndMigration) {
    on_ranks([](const graft::Communicator& comm) {
        graft::Context context(graft::Options(library()).set("decompose.tolerance", 0));
        context.set_communicator(comm);
        EXPECT_EQ(comm.size(), ranks);
        Cloud c(comm.rank(), 200);
        std::vector<int32_t> owner(200, -1), order(200, -1);
        std::vector<int64_t> offset(ranks + 1, -1);
        std::vector<double> box(6 * ranks);
        context.decompose(c.particles(),
                          graft::Decomposition().owners(owner).order(order, offset).boxes(box));
        EXPECT_EQ(context.query("decompose.imbalance_count"), 1);
        EXPECT_EQ(offset.back(), 200);
        for (int part = 0; part < ranks; ++part)
            for (int64_t k = offset[static_cast<std::size_t>(part)];
                 k < offset[static_cast<std::size_t>(part) + 1]; ++k)
                EXPECT_EQ(owner[static_cast<std::size_t>(order[static_cast<std::size_t>(k)])], part);
        std::vector<int32_t> found(200, -1);
        context.owner_of(c.particles(), found);
        EXPECT_EQ(found, owner);

        const auto n = static_cast<std::size_t>(context.migrate_plan(owner));
        EXPECT_EQ(n, 200u);
        std::vector<double> x(n);
        std::vector<int64_t> id(n);
        context.migrate({graft::view(c.x), graft::view(c.id)}, {graft::view(x), graft::view(id)});
        const double* mine = box.data() + 6 * comm.rank();
        for (std::size_t i = 0; i < n; ++i) {
            EXPECT_EQ(x[i], std::sin(1.7 * static_cast<double>(id[i])));
            EXPECT_TRUE(x[i] >= mine[0] && x[i] <= mine[3]);
        }
        std::vector<int64_t> home(200, -1);
        context.migrate_back({graft::view(id)}, {graft::view(home)});
        EXPECT_EQ(home, c.id);
        EXPECT_THROW(context.migrate({graft::view(id)}, {}), graft::Error);
    });
}

TEST(CxxRanks, BalanceOfParticlesAndObjects) {
    on_ranks([](const graft::Communicator& comm) {
        graft::Context context(graft::Options(library()).set("balance.cost", "given"));
        context.set_communicator(comm);
        Cloud c(comm.rank(), 100);
        if (comm.rank() == 2)
            c.cost.assign(100, 9.0F);
        std::vector<int64_t> owner(100, -1);
        EXPECT_EQ(context.balance(c.particles(), owner), "taken") << context.query_text("balance.reason");
        EXPECT_LT(context.query("balance.after.imbalance_work"), 1.1);
        std::vector<double> load(100, comm.rank() == 0 ? 3.0 : 1.0);
        if (comm.rank() == 1)
            load[7] = 1000;
        int calls = 0;
        graft::Objects objects;
        objects.centres(c.x, c.y, c.z).loads(load).ids(c.id).owners(owner);
        objects.split([&calls](int64_t object, double weight, double mean) {
            EXPECT_EQ(object, 7);
            EXPECT_GT(weight, mean);
            return ++calls > 0 ? 4 : 1;
        });
        context.balance_objects(objects);
        EXPECT_EQ(calls, comm.rank() == 1 ? 1 : 0);
        EXPECT_EQ(context.query("balance.pieces"), 4);
        objects.split([](int64_t, double, double) -> int32_t { throw std::runtime_error("no"); });
        if (comm.rank() == 1)
            EXPECT_THROW(context.balance_objects(objects), std::runtime_error);
        else
            EXPECT_NO_THROW(context.balance_objects(objects)) << "the exception is the host's own";
    });
}

TEST(CxxRanks, AFailureIsThrownOnAllRanks) {
    on_ranks([](const graft::Communicator& comm) {
        graft::Context context{graft::Options(library())};
        context.set_communicator(comm);
        Cloud c(comm.rank(), 10);
        if (comm.rank() == 1)
            c.cost[3] = -1;
        std::vector<int32_t> owner(10, -1);
        try {
            context.decompose(c.particles(), graft::Decomposition().owners(owner));
            FAIL() << "nothing was thrown";
        } catch (const graft::Error& error) {
            EXPECT_EQ(error.status(), GRAFT_ERROR_VALUE);
            EXPECT_EQ(std::string(error.what()).substr(0, 7), "rank 1:");
        }
        EXPECT_EQ(owner, std::vector<int32_t>(10, -1));
    });
}

TEST(CxxRanks, ForcesOverRanksAreThoseOfOne) {
    const auto options = [] { // one for each thread
        graft::Options direct(library());
        direct.set("method", "direct").set("precision", "fp64").set("comm.deadline_s", 30);
        return direct;
    };
    std::vector<double> x, y, z, ax(90), ay(90), az(90);
    for (int rank = 0; rank < ranks; ++rank) {
        const Cloud c(rank, 30);
        x.insert(x.end(), c.x.begin(), c.x.end());
        y.insert(y.end(), c.y.begin(), c.y.end());
        z.insert(z.end(), c.z.begin(), c.z.end());
    }
    graft::Context(options()).compute(graft::Particles().positions(x, y, z),
                                      graft::Results().accelerations(ax, ay, az));
    on_ranks([&](const graft::Communicator& comm) {
        graft::Context context(options());
        context.set_communicator(comm);
        Cloud c(comm.rank(), 30);
        std::vector<double> bx(30), by(30), bz(30);
        context.compute(c.particles(), graft::Results().accelerations(bx, by, bz));
        for (std::size_t i = 0; i < 30; ++i)
            EXPECT_NEAR(bx[i], ax[static_cast<std::size_t>(comm.rank()) * 30 + i], 1e-9);
    });
}

TEST(CxxRanks, CommunicatorsMoveAndEmptyOnesAreOneRank) {
    std::vector<graft::Communicator> comms = graft::Communicator::threads(library(), 1);
    graft::Communicator moved = std::move(comms[0]);
    EXPECT_EQ(moved.size(), 1);
    EXPECT_EQ(comms[0].handle(), nullptr);
    graft::Context context{graft::Options(library())};
    context.set_communicator(moved);
    context.set_communicator(graft::Communicator());
    EXPECT_THROW(graft::Communicator::threads(library(), 0), graft::Error);
}

} // namespace
