// SPDX-License-Identifier: BSD-3-Clause
// Ranks with a GPU (a stand-in, see fake/) and ranks without in one computation: against all pairs and against CPUs alone;
// what fails on a rank of either kind fails on all.
#include "../engine/ranks_scene.hpp"
#include "fake/force_gpu.hpp"
#include "fake_library.hpp"

#include <atomic>
#include <cmath>
#include <cstdlib>

namespace graft::engine {
namespace {

using namespace testing;
using core::Error;
using core::Status;
using settings::Backend;
using settings::MacType;

using Backends = std::vector<Backend>;
constexpr Backend cpu = Backend::cpu, gpu = Backend::cuda;

class BesideGpus : public ::testing::Test {
  protected:
    void SetUp() override { test::fake_control<fake::Control>(GRAFT_FAKE_CUDA); }
};

settings::Settings settings_of(MacType mac, double theta) {
    settings::Settings s;
    s.mac = mac, s.theta = theta;
    s.accuracy = 1e-3, s.leaf = 16, s.group = 32;
    return s;
}

Results compute_on(const Backends& backends, const Cloud& cloud, const Owners& owners,
                   const settings::Settings& s, Choice choice = {}) {
    choice.backends = backends;
    Results results = compute_over(static_cast<int>(backends.size()), cloud, owners, s, choice);
    for (size_t r = 0; r < backends.size(); ++r)
        EXPECT_STREQ(results.reports[r].backend, backends[r] == gpu ? "gpu" : "cpu");
    return results;
}

Results exact(const Cloud& cloud, settings::Settings s, Choice choice = {}) {
    s.method = settings::Method::direct, s.precision = settings::Precision::fp64;
    if (choice.points != nullptr)
        choice.point_owners = all_on(*choice.points, 0);
    return compute_over(1, cloud, all_on(cloud, 0), s, choice);
}

const Backends mixes[] = {{cpu, gpu}, {gpu, cpu, cpu}, {cpu, gpu, cpu, gpu, gpu}};

TEST_F(BesideGpus, AllPairsAsThetaGoesToZero) {
    const Cloud cloud = make_cloud(900);
    for (const MacType mac : {MacType::edge, MacType::box, MacType::error}) {
        settings::Settings s = settings_of(mac, 0);
        s.precision = settings::Precision::fp64;
        const Results whole = exact(cloud, s);
        for (const Backends& mix : mixes) {
            const auto ranks = static_cast<int>(mix.size());
            for (const Owners& owners :
                 {bisection(cloud, ranks), scattered(cloud, ranks), all_on(cloud, 1)}) {
                const Results mixed = compute_on(mix, cloud, owners, s);
                EXPECT_LT(largest(errors(mixed, whole)), 1e-12) << ranks << " ranks, MAC " << int(mac);
                EXPECT_NEAR(mixed.energy, whole.energy, 1e-12 * std::abs(whole.energy));
                for (int c = 0; c < 6; ++c)
                    EXPECT_NEAR(mixed.virial[c], whole.virial[c], 1e-11 * std::abs(whole.virial[0]));
            }
        }
    }
}

TEST_F(BesideGpus, ForcesAddUpToZero) {
    const Cloud cloud = make_cloud(3000, 8);
    for (const Backends& mix : mixes) {
        settings::Settings s = settings_of(MacType::error, 1);
        s.accuracy = 1e-2, s.conserve_momentum = true;
        const Owners owners = bisection(cloud, static_cast<int>(mix.size()));
        EXPECT_LT(net_force(cloud, compute_on(mix, cloud, owners, s)), 3e-15) << mix.size() << " ranks";
        Choice choice;
        choice.active.assign(cloud.q.size(), 1), choice.active[1] = 0;
        EXPECT_GT(net_force(cloud, compute_on(mix, cloud, owners, s, choice)), 1e-8) << mix.size() << " ranks";
    }
}

/// Charges of 1 and a length of 2^40: every interaction is the same number (tests/unit/engine/ranks_count_test.cpp).
TEST_F(BesideGpus, EveryTargetMeetsEverySourceOnce) {
    constexpr double length = 1099511627776;
    Cloud cloud = make_cloud(1500);
    std::fill(cloud.q.begin(), cloud.q.end(), 1.0);
    for (const MacType mac : {MacType::edge, MacType::box})
        for (const double theta : {0.4, 0.9})
            for (const Backends& mix : mixes) {
                settings::Settings s = settings_of(mac, theta);
                s.precision = settings::Precision::fp64, s.order = 0, s.leaf = 6, s.group = 10;
                s.softening = settings::Softening::plummer, s.softening_length = length;
                const auto ranks = static_cast<int>(mix.size());
                for (const Owners& owners : {slabs(cloud, ranks), scattered(cloud, ranks)}) {
                    const Results met = compute_on(mix, cloud, owners, s);
                    for (size_t i = 0; i < met.potential.size(); ++i)
                        ASSERT_NEAR(-met.potential[i] * length, static_cast<double>(cloud.size() - 1), 1e-6)
                            << i;
                }
            }
}

double work(const Results& results) {
    double sum = 0;
    for (const Report& report : results.reports)
        sum += report.pairs + 5 * report.cells;
    return sum;
}

TEST_F(BesideGpus, ErrorsAndWorkAreThoseOfCpusAlone) {
    const Cloud cloud = make_cloud(12000);
    for (const MacType mac : {MacType::edge, MacType::box, MacType::error})
        for (const bool history : {false, true}) {
            if (history && mac != MacType::error)
                continue;
            settings::Settings s = settings_of(mac, mac == MacType::error ? 1 : 0.7);
            s.mac_history = history;
            Choice choice;
            choice.calls = history ? 2 : 1;
            const Results whole = exact(cloud, s);
            for (const Backends& mix : mixes) {
                const auto ranks = static_cast<int>(mix.size());
                const Owners owners = bisection(cloud, ranks);
                const Results mixed = compute_on(mix, cloud, owners, s, choice);
                const Results alone = compute_on(Backends(mix.size(), cpu), cloud, owners, s, choice);
                for (const double share : {0.5, 0.9, 0.99})
                    EXPECT_LT(percentile(errors(mixed, whole), share),
                              1.1 * percentile(errors(alone, whole), share))
                        << ranks << " ranks, MAC " << int(mac) << ", share " << share;
                EXPECT_NEAR(work(mixed) / work(alone), 1, 0.1) << ranks << " ranks, MAC " << int(mac);
            }
        }
}

TEST_F(BesideGpus, SofteningHeapsSubsetsPointsAndTwoDimensions) {
    Cloud cloud = make_cloud(3000, 5);
    for (size_t i = 0; i < 300; ++i)
        cloud.x[i] = 0.5, cloud.y[i] = 0.25, cloud.z[i] = 0.125; // heaps on all ranks
    const Backends mix = {cpu, gpu, cpu};
    settings::Settings s = settings_of(MacType::error, 1);
    for (const settings::Softening kind : {settings::Softening::plummer, settings::Softening::spline})
        for (const bool lengths : {false, true}) {
            s.softening = kind, s.softening_length = 0.02;
            Choice choice;
            choice.softening = lengths;
            const Results whole = exact(cloud, s, choice);
            EXPECT_LT(percentile(errors(compute_on(mix, cloud, scattered(cloud, 3), s, choice), whole), 0.99),
                      4e-3)
                << int(kind) << lengths;
        }
    s.softening = settings::Softening::none, s.softening_length = 0, s.precision = settings::Precision::fp64;
    cloud = make_cloud(3000, 5);
    const Cloud points = make_cube(400, 4);
    for (const int owner : {0, 1, 2}) { // where there is no particle, too
        Choice at;
        at.points = &points, at.point_owners = all_on(points, owner);
        Owners owners = slabs(cloud, 2);
        EXPECT_LT(percentile(errors(compute_on(mix, cloud, owners, s, at), exact(cloud, s, at)), 0.99), 5e-3);
    }
    Choice some;
    const Owners owners = slabs(cloud, 3);
    for (size_t i = 0; i < owners.size(); ++i)
        some.active.push_back(owners[i] != 1 && i % 3 == 0);
    const Results partly = compute_on(mix, cloud, owners, s, some), whole = exact(cloud, s);
    for (size_t i = 0; i < owners.size(); ++i)
        EXPECT_NEAR(partly.ax[i], some.active[i] ? whole.ax[i] : 0,
                    some.active[i] ? 0.02 * size_of(whole, i) : 0);
    EXPECT_EQ(compute_on(mix, Cloud{}, {}, s).ax.size(), 0u);
    std::fill(cloud.z.begin(), cloud.z.end(), 0.0);
    s.dimension = 2;
    EXPECT_LT(percentile(errors(compute_on(mix, cloud, bisection(cloud, 3), s), exact(cloud, s)), 0.99),
              4e-3);
}

TEST_F(BesideGpus, TheSameBitsForAnyNumberOfThreadsAndEveryTime) {
    const Cloud cloud = make_cloud(5000);
    settings::Settings s = settings_of(MacType::error, 1);
    const Owners owners = bisection(cloud, 3);
    Choice choice;
    const Results one = compute_on({cpu, gpu, cpu}, cloud, owners, s, choice);
    choice.threads = 3, choice.calls = 2;
    const Results three = compute_on({cpu, gpu, cpu}, cloud, owners, s, choice);
    EXPECT_EQ(one.ax, three.ax);
    EXPECT_EQ(one.potential, three.potential);
    EXPECT_EQ(one.energies, three.energies);
}

/// One rank's solver, particles and outputs.
struct Host {
    static constexpr double untouched = -77;
    Cloud own;
    std::vector<double> out[3], energy = {untouched};
    Solver solver;
    std::string text;

    Host(const Cloud& cloud, Backend backend, comm::Communicator& comm, core::Memory& memory)
        : solver(settings_of(MacType::error, 1), memory) {
        const Owners owners = slabs(cloud, comm.size());
        for (size_t i = 0; i < owners.size(); ++i)
            if (owners[i] == comm.rank())
                add(own, cloud.x[i], cloud.y[i], cloud.z[i], cloud.q[i]);
        for (std::vector<double>& values : out)
            values.assign(own.x.size(), untouched);
        solver.change_settings().backend = backend, solver.change_settings().threads = 1;
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
};

const Backends three = {cpu, gpu, cpu};

/// All ranks, once more and in double, where one of them has no frames in single precision: the bits of fp64.
TEST_F(BesideGpus, AllChangeToDoubleWhereOneMust) {
    fake::Control& control = test::fake_control<fake::Control>(GRAFT_FAKE_CUDA);
    const Cloud cloud = make_cloud(900);
    for (const Backends& mix : mixes) {
        const auto ranks = static_cast<int>(mix.size());
        settings::Settings s = settings_of(MacType::error, 1);
        const Owners owners = bisection(cloud, ranks);
        const Results single = compute_on(mix, cloud, owners, s);
        control.needs_double = true;
        const Results changed = compute_on(mix, cloud, owners, s);
        control.needs_double = false;
        s.precision = settings::Precision::fp64;
        const Results wide = compute_on(mix, cloud, owners, s);
        EXPECT_EQ(changed.ax, wide.ax) << ranks;
        EXPECT_EQ(changed.potential, wide.potential) << ranks;
        EXPECT_EQ(changed.energy, wide.energy) << ranks;
        EXPECT_NE(changed.ax, single.ax) << ranks;
    }
}

/// Each way to meet leaves nothing behind for the other.
TEST_F(BesideGpus, CpusAloneAreAsBeforeAfterwards) {
    const Cloud cloud = make_cloud(600);
    comm::run_ranks(3, [&](comm::Communicator& comm) {
        core::Memory memory;
        const auto rank = static_cast<size_t>(comm.rank());
        Host fresh(cloud, cpu, comm, memory), mixed(cloud, three[rank], comm, memory),
            host(cloud, three[rank], comm, memory);
        ASSERT_EQ(fresh.compute(), Status::ok) << fresh.text;
        ASSERT_EQ(mixed.compute(), Status::ok) << mixed.text;
        for (int round = 0; round < 2; ++round) {
            host.solver.change_settings().backend = three[rank];
            ASSERT_EQ(host.compute(), Status::ok) << host.text;
            for (int a = 0; a < 3; ++a)
                EXPECT_EQ(host.out[a], mixed.out[a]) << round;
            host.solver.change_settings().backend = cpu;
            ASSERT_EQ(host.compute(), Status::ok) << host.text;
            for (int a = 0; a < 3; ++a)
                EXPECT_EQ(host.out[a], fresh.out[a]) << round;
        }
    });
}

TEST_F(BesideGpus, BadInputOnARankOfEitherKind) {
    const Cloud cloud = make_cloud(90);
    for (int bad = 0; bad < 3; ++bad)
        comm::run_ranks(3, [&](comm::Communicator& comm) {
            core::Memory memory;
            Host host(cloud, three[static_cast<size_t>(comm.rank())], comm, memory);
            if (comm.rank() == bad)
                host.own.y[2] = NAN;
            EXPECT_EQ(host.compute(), Status::value);
            EXPECT_TRUE(host.is_untouched());
            EXPECT_NE(host.text.find("rank " + std::to_string(bad)), std::string::npos) << host.text;
            if (comm.rank() == bad)
                host.own.y[2] = 0;
            EXPECT_EQ(host.compute(), Status::ok) << host.text;
        });
}

/// An acceleration of one rank, or the energy of all, that is no finite number.
TEST_F(BesideGpus, BadResultsOfARankOfEitherKind) {
    for (int bad = 0; bad < 3; ++bad)
        for (const bool of_all : {false, true}) {
            Cloud cloud = make_cloud(90);
            for (double& q : cloud.q)
                q *= of_all ? 1e80 : 1;
            comm::run_ranks(3, [&](comm::Communicator& comm) {
                core::Memory memory;
                Host host(cloud, three[static_cast<size_t>(comm.rank())], comm, memory);
                host.solver.change_settings().precision = settings::Precision::fp64;
                host.solver.change_settings().constant = of_all ? 1e200 : 1e290;
                if (comm.rank() == bad && !of_all)
                    host.own.x[2] = host.own.x[5] + 1e-12, host.own.y[2] = host.own.y[5], host.own.z[2] = host.own.z[5];
                EXPECT_EQ(host.compute(), Status::value) << host.text;
                EXPECT_TRUE(host.is_untouched());
                EXPECT_NE(host.text.find(of_all ? "results.energy: item 0 " : "results.acceleration x: item 2 "),
                          std::string::npos)
                    << host.text;
                host.solver.change_settings().constant = 1e-80;
                EXPECT_EQ(host.compute(), Status::ok) << host.text;
            });
        }
}

/// What the two kinds do not do together, and settings that differ: one error for all, with what to try.
TEST_F(BesideGpus, WhatIsRefused) {
    const struct {
        std::function<void(settings::Settings&, int rank)> change;
        Status status;
        const char* words;
    } cases[] = {
        {[](settings::Settings& s, int rank) { s.theta = rank == 0 ? 0.5 : 0.6; }, Status::argument,
         "differ"},
        {[](settings::Settings& s, int) { s.method = settings::Method::direct; }, Status::unsupported,
         "tree method only"},
        {[](settings::Settings& s, int) { s.exchange = settings::Exchange::fetch; }, Status::unsupported,
         "push"},
        {[](settings::Settings& s, int rank) {
             if (rank == 0)
                 s.exchange = settings::Exchange::fetch;
         },
         Status::unsupported, "push"},
        {[](settings::Settings& s, int rank) {
             if (rank == 2)
                 s.backend = Backend::auto_;
         },
         Status::argument, "auto on some"},
        {[](settings::Settings& s, int) {
             s.periodic = s.has_box = true;
             for (int a = 0; a < 3; ++a)
                 s.box_lower[a] = -100, s.box_upper[a] = 100;
         },
         Status::unsupported, "periodic"},
    };
    const Cloud cloud = make_cloud(60);
    for (const auto& one : cases)
        comm::run_ranks(3, [&](comm::Communicator& comm) {
            core::Memory memory;
            Host host(cloud, three[static_cast<size_t>(comm.rank())], comm, memory);
            one.change(host.solver.change_settings(), comm.rank());
            EXPECT_EQ(host.compute(), one.status) << host.text;
            EXPECT_NE(host.text.find(one.words), std::string::npos) << host.text;
            EXPECT_TRUE(host.is_untouched());
        });
}

/// A GPU's walk would have no room for them.
TEST_F(BesideGpus, ATreeOfTooManyLevels) {
    const Cloud cloud = make_cloud(600);
    comm::run_ranks(3, [&](comm::Communicator& comm) {
        core::Memory memory;
        Host host(cloud, three[static_cast<size_t>(comm.rank())], comm, memory);
        host.solver.change_settings().leaf = 1;
        for (size_t i = 0; i < host.own.x.size() && comm.rank() == 2;
             ++i) // each is alone in a cell half as large
            host.own.x[i] = host.own.y[i] = host.own.z[i] = std::ldexp(1.0, -static_cast<int>(i));
        EXPECT_EQ(host.compute(), Status::unsupported) << host.text;
        EXPECT_NE(host.text.find("levels"), std::string::npos) << host.text;
        EXPECT_TRUE(host.is_untouched());
    });
}

TEST_F(BesideGpus, AnyAllocationOnTheCpuRank) {
    struct Refusing {
        int64_t left = INT64_MAX;
        core::Allocator allocator() {
            return {this,
                    [](void* user, int64_t bytes, int64_t alignment) -> void* {
                        return --static_cast<Refusing*>(user)->left < 0
                                   ? nullptr
                                   : std::aligned_alloc(static_cast<size_t>(alignment),
                                                        static_cast<size_t>((bytes + alignment - 1) /
                                                                            alignment * alignment));
                    },
                    [](void*, void* pointer, int64_t) { std::free(pointer); }};
        }
    };
    const Cloud cloud = make_cloud(150);
    bool all_seen = false;
    for (int64_t refused = 0; !all_seen; ++refused) {
        std::atomic<int> failed{0};
        comm::run_ranks(3, [&](comm::Communicator& comm) {
            Refusing refusing;
            if (comm.rank() == 0)
                refusing.left = refused;
            core::Memory memory(refusing.allocator());
            Host host(cloud, three[static_cast<size_t>(comm.rank())], comm, memory);
            if (const Status status = host.compute(); status != Status::ok) {
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

TEST_F(BesideGpus, AnyCallOfTheCommunicatorOnAnyRank) {
    const Cloud cloud = make_cloud(60);
    const int ranks = 3;
    std::vector<Status> statuses(ranks);
    std::vector<char> untouched_on(ranks);
    test::sweep_faults(
        ranks,
        [&](graft_comm_v1* table) {
            comm::Communicator comm(table);
            core::Memory memory;
            const auto rank = static_cast<size_t>(comm.rank());
            Host host(cloud, three[rank], comm, memory);
            statuses[rank] = host.compute();
            untouched_on[rank] = host.is_untouched();
        },
        [&](const test::FaultyRun&, int rank, int64_t at, test::FaultTime, bool) {
            for (size_t k = 0; k < statuses.size(); ++k) {
                ASSERT_EQ(statuses[k], statuses[0]) << "rank " << rank << ", call " << at;
                ASSERT_EQ(untouched_on[k] != 0, statuses[k] != Status::ok);
                ASSERT_TRUE(statuses[k] == Status::ok || statuses[k] == Status::communication);
            }
        });
}

/// What balancing weighs ranks by, whoever computed beside them.
TEST_F(BesideGpus, WorkOfParticlesIsThatOfTheSums) {
    const Cloud cloud = make_cloud(800);
    comm::run_ranks(3, [&](comm::Communicator& comm) {
        core::Memory memory;
        Host host(cloud, three[static_cast<size_t>(comm.rank())], comm, memory);
        ASSERT_EQ(host.compute(), Status::ok) << host.text;
        if (comm.rank() == 1) // the stand-in does not tell
            return;
        std::vector<double> work(host.own.x.size());
        host.solver.work_of_particles(work.data());
        double sum = 0;
        for (const double one : work)
            sum += one;
        EXPECT_GE(sum, 0.999 * host.solver.report().pairs);
        EXPECT_GT(host.solver.report().ranks.particles, 0);
    });
}

} // namespace
} // namespace graft::engine
