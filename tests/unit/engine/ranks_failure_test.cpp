// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong on one rank goes wrong on all: the same status everywhere, nobody waits, outputs stay
// untouched.
#include "backend/gpu_library.hpp"
#include "faulty_comm.hpp"
#include "ranks_scene.hpp"

#include <atomic>
#include <cstdlib>
#include <functional>

namespace graft::engine {
namespace {

using namespace testing;
using core::Error;
using core::Status;

constexpr double untouched = -77;

/// One of the ways to compute that differ in what they say to other ranks.
struct Way {
    const char* name;
    settings::Method method = settings::Method::tree;
    settings::TreeScope scope = settings::TreeScope::local;
    settings::Exchange exchange = settings::Exchange::push;
};

constexpr Way ways[] = {{"push"},
                        {"fetch", settings::Method::tree, settings::TreeScope::local, settings::Exchange::fetch},
                        {"global", settings::Method::tree, settings::TreeScope::global},
                        {"direct", settings::Method::direct},
                        {"reference", settings::Method::reference}};

settings::Settings settings_of(const Way& way) {
    settings::Settings settings;
    settings.method = way.method;
    settings.tree_scope = way.scope;
    settings.exchange = way.exchange;
    settings.leaf = 6;
    settings.group = 10;
    settings.threads = 1;
    return settings;
}

/// One rank's solver, particles and outputs.
struct Host {
    Cloud own;
    std::vector<double> out[4], energy = {untouched};
    Solver solver;

    Host(const Cloud& cloud, const Way& way, comm::Communicator& comm, core::Memory& memory)
        : solver(settings_of(way), memory) {
        const Owners owners = slabs(cloud, comm.size());
        for (size_t i = 0; i < owners.size(); ++i)
            if (owners[i] == comm.rank()) {
                own.x.push_back(cloud.x[i]), own.y.push_back(cloud.y[i]), own.z.push_back(cloud.z[i]);
                own.q.push_back(cloud.q[i]), own.softening.push_back(0);
            }
        for (std::vector<double>& values : out)
            values.assign(own.x.size(), untouched);
        solver.set_communicator(&comm);
    }
    Status compute() {
        ParticleInput input;
        input.n = own.size();
        input.position[0] = view(own.x), input.position[1] = view(own.y), input.position[2] = view(own.z);
        input.charge = view(own.q);
        Outputs outputs;
        for (int a = 0; a < 3; ++a)
            outputs.acceleration[a] = view(out[a]);
        outputs.potential = view(out[3]);
        outputs.energy = view(energy);
        try {
            solver.compute(input, outputs);
        } catch (const Error& error) {
            text = error.what();
            return error.status();
        }
        return Status::ok;
    }
    bool is_untouched() const {
        for (const std::vector<double>& values : out)
            if (std::any_of(values.begin(), values.end(), [](double v) { return v != untouched; }))
                return false;
        return energy[0] == untouched;
    }
    std::string text;
};

class Failures : public ::testing::TestWithParam<Way> {};

TEST_P(Failures, BadInputOnOneRank) {
    const Cloud cloud = make_cloud(90);
    for (int bad = 0; bad < 3; ++bad)
        comm::run_ranks(3, [&](comm::Communicator& comm) {
            core::Memory memory;
            Host host(cloud, GetParam(), comm, memory);
            if (comm.rank() == bad)
                host.own.y[2] = NAN;
            EXPECT_EQ(host.compute(), Status::value);
            EXPECT_TRUE(host.is_untouched());
            EXPECT_NE(host.text.find("rank " + std::to_string(bad)), std::string::npos) << host.text;
            if (comm.rank() == bad)
                host.own.y[2] = 0;
            EXPECT_EQ(host.compute(), Status::ok) << host.text; // the communicator is as good as before
        });
}

TEST_P(Failures, SettingsThatDiffer) {
    const Cloud cloud = make_cloud(60);
    comm::run_ranks(2, [&](comm::Communicator& comm) {
        core::Memory memory;
        Host host(cloud, GetParam(), comm, memory);
        host.solver.change_settings().theta = comm.rank() == 0 ? 0.5 : 0.6;
        EXPECT_EQ(host.compute(), Status::argument);
        EXPECT_TRUE(host.is_untouched());
    });
}

/// Where to compute is agreed on before the settings are: what one rank could only do on its CPU must not
/// part the ranks.
TEST_P(Failures, SettingsOfWhichOneRefusesTheGpuDiffer) {
    const Cloud cloud = make_cloud(60);
    const std::function<void(settings::Settings&)> of_rank_0[] = {
        [](settings::Settings& s) { s.method = settings::Method::direct; },
        [](settings::Settings& s) { s.tree_scope = settings::TreeScope::global; },
        [](settings::Settings& s) { s.open_axis = 2; },
    };
    for (const auto& change : of_rank_0)
        comm::run_ranks(2, [&](comm::Communicator& comm) {
            core::Memory memory;
            Host host(cloud, GetParam(), comm, memory);
            settings::Settings& settings = host.solver.change_settings();
            settings.backend = settings::Backend::auto_, settings.method = settings::Method::tree;
            settings.tree_scope = settings::TreeScope::local, settings.open_axis = -1;
            if (comm.rank() == 0)
                change(settings);
            EXPECT_EQ(host.compute(), Status::argument) << host.text;
            EXPECT_NE(host.text.find("differ"), std::string::npos) << host.text;
            EXPECT_TRUE(host.is_untouched());
        });
}

/// With GPUs: tests/unit/engine_gpu/ranks_beside_gpus_test.cpp.
TEST(RankCalls, AGpuThatOneRankAsksForAndDoesNotHave) {
    std::string why;
    if (backend::find_cuda(&why) != nullptr)
        GTEST_SKIP() << "there is a device";
    const Cloud cloud = make_cloud(60);
    comm::run_ranks(3, [&](comm::Communicator& comm) {
        core::Memory memory;
        Host host(cloud, ways[0], comm, memory);
        if (comm.rank() == 1)
            host.solver.change_settings().backend = settings::Backend::cuda;
        EXPECT_EQ(host.compute(), Status::device) << host.text;
        EXPECT_NE(host.text.find("rank 1"), std::string::npos) << host.text;
        EXPECT_NE(host.text.find(why), std::string::npos) << host.text;
        EXPECT_TRUE(host.is_untouched());
        host.solver.change_settings().backend = settings::Backend::cpu;
        EXPECT_EQ(host.compute(), Status::ok) << host.text;
    });
}

/// Refuses the n-th allocation.
struct Refusing {
    int64_t left = INT64_MAX, count = 0;
    core::Allocator allocator() {
        return {this,
                [](void* user, int64_t bytes, int64_t alignment) -> void* {
                    Refusing& me = *static_cast<Refusing*>(user);
                    ++me.count;
                    return --me.left < 0 ? nullptr
                                         : std::aligned_alloc(static_cast<size_t>(alignment),
                                                              static_cast<size_t>((bytes + alignment - 1) /
                                                                                  alignment * alignment));
                },
                [](void*, void* pointer, int64_t) { std::free(pointer); }};
    }
};

TEST_P(Failures, AnyAllocationOnOneRank) {
    const Cloud cloud = make_cloud(150);
    bool all_seen = false;
    for (int64_t refused = 0; !all_seen; ++refused) {
        std::atomic<int> failed{0};
        comm::run_ranks(3, [&](comm::Communicator& comm) {
            Refusing refusing;
            if (comm.rank() == 1)
                refusing.left = refused;
            core::Memory memory(refusing.allocator());
            Host host(cloud, GetParam(), comm, memory);
            const Status status = host.compute();
            if (status != Status::ok) {
                ++failed;
                ASSERT_EQ(status, Status::memory) << host.text << ", allocation " << refused;
                ASSERT_TRUE(host.is_untouched());
                refusing.left = INT64_MAX;
                ASSERT_EQ(host.compute(), Status::ok) << host.text;
            }
        });
        ASSERT_TRUE(failed == 0 || failed == 3) << refused;
        all_seen = failed == 0;
    }
}

TEST_P(Failures, AnyCallOfTheCommunicatorOnAnyRank) {
    const Cloud cloud = make_cloud(60);
    const int ranks = 3;
    std::vector<Status> statuses(ranks);
    std::vector<char> untouched_on(ranks);
    test::sweep_faults(
        ranks,
        [&](graft_comm_v1* table) {
            comm::Communicator comm(table);
            core::Memory memory;
            Host host(cloud, GetParam(), comm, memory);
            statuses[static_cast<size_t>(comm.rank())] = host.compute();
            untouched_on[static_cast<size_t>(comm.rank())] = host.is_untouched();
        },
        [&](const test::FaultyRun&, int rank, int64_t at, test::FaultTime, bool) {
            for (int r = 0; r < ranks; ++r) {
                const auto k = static_cast<size_t>(r);
                ASSERT_EQ(statuses[k], statuses[0]) << "rank " << rank << ", call " << at;
                ASSERT_EQ(untouched_on[k] != 0, statuses[k] != Status::ok);
                ASSERT_TRUE(statuses[k] == Status::ok || statuses[k] == Status::communication);
            }
        });
}

INSTANTIATE_TEST_SUITE_P(Of, Failures, ::testing::ValuesIn(ways),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RankCalls, ComputeAndFieldAtDoNotMeet) {
    const Cloud cloud = make_cloud(40);
    comm::run_ranks(2, [&](comm::Communicator& comm) {
        core::Memory memory;
        Host host(cloud, ways[0], comm, memory);
        ParticleInput input;
        input.n = host.own.size();
        input.position[0] = view(host.own.x), input.position[1] = view(host.own.y),
        input.position[2] = view(host.own.z);
        input.charge = view(host.own.q);
        Outputs outputs;
        outputs.potential = view(host.out[3]);
        try {
            comm.rank() == 0 ? host.solver.compute(input, outputs)
                             : host.solver.field_at(input, input, outputs);
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::call_order) << error.what();
        }
        EXPECT_TRUE(host.is_untouched());
    });
}

} // namespace
} // namespace graft::engine
