// SPDX-License-Identifier: BSD-3-Clause
// Forces over ranks with GPUs, in process: threads as ranks, each on GPU rank % count, through the Solver and
// the built libgraft_cuda. Against one rank on a GPU, the CPU over the same ranks, and all pairs.
#include "../../unit/engine/ranks_scene.hpp"

#include "library_fixture.hpp"
#include "small.hpp"

#include <cstdio>
#include <cstdlib>
#include <limits>

namespace {

using namespace graft;
using namespace graft::engine;
using namespace graft::settings;
using namespace graft::engine::testing;
using graft::test::small_inputs;
using graft::test::test_size;

class GpuRanks : public graft::test::LibraryTest {};

Settings on_gpu(MacType mac = MacType::error) {
    Settings s;
    s.mac = mac, s.theta = mac == MacType::error ? 1.0 : 0.6;
    s.accuracy = 1e-3, s.leaf = 32, s.group = 64;
    s.backend = Backend::cuda;
    return s;
}

Settings on_cpu(Settings s) {
    s.backend = Backend::cpu;
    s.local = Local::off; // as for so few targets on GPUs
    return s;
}

Results exact(const Cloud& cloud, const Settings& like, const Choice& choice = {}) {
    Settings s = on_cpu(like);
    s.method = Method::direct, s.precision = Precision::fp64;
    Choice one = choice;
    one.threads = 0;
    if (choice.points != nullptr)
        one.point_owners = all_on(*choice.points, 0);
    return compute_over(1, cloud, all_on(cloud, 0), s, one);
}

/// p50 and p99 of both, in one line. Of few particles the one in a hundred differs more.
bool as_good(const char* what, int ranks, const std::vector<double>& several, const std::vector<double>& one,
             double room) {
    room *= small_inputs() ? 1.3 : 1;
    const double p50 = percentile(several, 0.5), p99 = percentile(several, 0.99);
    const double one_p50 = percentile(one, 0.5), one_p99 = percentile(one, 0.99);
    std::printf("    %-28s %d ranks: p50 %.3e (one %.3e), p99 %.3e (one %.3e), largest %.3e (%.3e)\n", what,
                ranks, p50, one_p50, p99, one_p99, largest(several), largest(one));
    return p50 <= room * one_p50 && p99 <= room * one_p99;
}

TEST_F(GpuRanks, PercentilesAreThoseOfOneRank) {
    graft::test::Cases cases(4);
    const Cloud cloud = make_cloud(test_size(20000, 3000));
    for (MacType mac : {MacType::error, MacType::box, MacType::edge}) {
        if (small_inputs() && mac != MacType::error)
            break;
        const Settings s = on_gpu(mac);
        const Results reference = exact(cloud, s);
        const std::vector<double> one = errors(compute_over(1, cloud, all_on(cloud, 0), s), reference);
        for (int ranks : {2, 3, 4}) {
            if (cases.skip())
                continue;
            EXPECT_TRUE(as_good("bisection", ranks,
                                errors(compute_over(ranks, cloud, bisection(cloud, ranks), s), reference),
                                one, 1.1));
            EXPECT_TRUE(as_good("slabs", ranks,
                                errors(compute_over(ranks, cloud, slabs(cloud, ranks), s), reference), one,
                                1.1));
        }
        EXPECT_TRUE(as_good("scattered", 3, errors(compute_over(3, cloud, scattered(cloud, 3), s), reference),
                            one, 1.2));
    }
}

/// Far cells as polynomials of groups, over own trees and those of others: fewer cells meet targets, and the
/// error is that of one rank; charges of both signs on one rank are no polynomials there. The same bits every
/// time.
TEST_F(GpuRanks, FarCellsBecomePolynomials) {
    const Cloud cloud = make_cloud(test_size(40000, 3000), 6);
    Settings s = on_gpu();
    s.precision = Precision::fp32, s.local = Local::on;
    Settings plain = s;
    plain.local = Local::off;
    const Results whole = exact(cloud, s);
    const std::vector<double> one = errors(compute_over(1, cloud, all_on(cloud, 0), s), whole);
    for (int ranks : {2, 3, 4}) {
        if (small_inputs() && ranks != 3)
            continue;
        const Owners owners = bisection(cloud, ranks);
        const Results with = compute_over(ranks, cloud, owners, s);
        const Results without = compute_over(ranks, cloud, owners, plain);
        EXPECT_TRUE(as_good("polynomials", ranks, errors(with, whole), one, 1.1));
        EXPECT_TRUE(as_good("not", ranks, errors(with, whole), errors(without, whole), 1.05));
        for (size_t r = 0; r < with.reports.size(); ++r) {
            EXPECT_EQ(with.reports[r].local, "on");
            EXPECT_GT(with.reports[r].far_cells, 0);
            EXPECT_EQ(without.reports[r].far_cells, 0);
            EXPECT_LT(with.reports[r].cells, (small_inputs() ? 1 : 0.6) * without.reports[r].cells);
        }
        const Results again = compute_over(ranks, cloud, owners, s);
        EXPECT_EQ(again.ax, with.ax);
        EXPECT_EQ(again.potential, with.potential);
    }
    Cloud mixed = cloud; // rank 0's are of both signs, the others' of one
    const Owners owners = bisection(cloud, 3);
    for (size_t i = 0; i < owners.size(); ++i)
        mixed.q[i] *= owners[i] == 0 && i % 3 == 0 ? -1 : 1;
    const Results reference = exact(mixed, s);
    EXPECT_TRUE(as_good("both signs", 3, errors(compute_over(3, mixed, owners, s), reference),
                        errors(compute_over(3, mixed, owners, plain), reference), 1.05));
}

/// The same trees, pieces and groups, so nearly the same lists; the top tree of the CPU may accept what
/// stands as two roots here.
TEST_F(GpuRanks, AsTheCpuOverTheSameRanks) {
    graft::test::Cases cases(5);
    const Cloud cloud = make_cloud(test_size(12000, 800), 2, true);
    for (MacType mac : {MacType::box, MacType::error})
        for (int order : {0, 2, 4})
            for (bool softening : {false, true}) {
                if (cases.skip())
                    continue;
                Settings s = on_gpu(mac);
                s.order = order, s.precision = Precision::fp64;
                s.softening = softening ? Softening::plummer : Softening::none;
                Choice choice;
                choice.softening = softening;
                const Owners owners = bisection(cloud, 3);
                const Results gpu = compute_over(3, cloud, owners, s, choice);
                const Results cpu = compute_over(3, cloud, owners, on_cpu(s), choice);
                const std::vector<double> difference = errors(gpu, cpu);
                const std::vector<double> error = errors(cpu, exact(cloud, s, choice));
                std::printf(
                    "    mac %d order %d softening %d: p50 %.2e p99 %.2e of difference; error p99 %.2e; "
                    "virial %.3e, energy %.12g (cpu %.12g)\n",
                    static_cast<int>(mac), order, softening, percentile(difference, 0.5),
                    percentile(difference, 0.99), percentile(error, 0.99),
                    std::abs(gpu.virial[0] - cpu.virial[0]) / std::abs(cpu.virial[0]), gpu.energy,
                    cpu.energy);
                EXPECT_LE(percentile(difference, 0.99), 0.3 * percentile(error, 0.99));
                EXPECT_NEAR(gpu.energy, cpu.energy, 1e-4 * std::abs(cpu.energy));
                EXPECT_EQ(gpu.energies[0], gpu.energies[2]);
                EXPECT_STREQ(gpu.reports[1].backend, "gpu");
                EXPECT_GT(gpu.reports[1].ranks.nodes, 0);
            }
}

/// A length far above the system's: potential * length counts the sources that reached a target.
TEST_F(GpuRanks, UnitChargesAreCountedExactly) {
    graft::test::Cases cases(7);
    for (int64_t n : {int64_t{3}, int64_t{200}, test_size(9001, 501)}) {
        Cloud cloud = make_cloud(n, 7);
        std::fill(cloud.q.begin(), cloud.q.end(), 1.0);
        for (MacType mac : {MacType::edge, MacType::box, MacType::error})
            for (int ranks : {2, 3, 4}) {
                if (cases.skip())
                    continue;
                Settings s = on_gpu(mac);
                s.theta = 0.8, s.accuracy = 0.01 * 1e27, s.precision = Precision::fp64, s.order = 1, s.leaf = 8;
                s.group = 32;
                s.softening = Softening::plummer, s.softening_length = 1e9; // fields are r / length^3
                const Results r = compute_over(ranks, cloud, scattered(cloud, ranks), s);
                for (double value : r.potential)
                    ASSERT_NEAR(-value * 1e9, static_cast<double>(n - 1), 1e-3) << n << " over " << ranks;
            }
    }
}

TEST_F(GpuRanks, EmptyRanksPointsSubsetsAndTwoDimensions) {
    const Cloud cloud = make_cloud(test_size(6000, 2000), 3);
    const double room = small_inputs() ? 2 : 1;
    Settings s = on_gpu();
    s.precision = Precision::fp64;
    const Results one = compute_over(1, cloud, all_on(cloud, 0), s);
    EXPECT_LE(largest(errors(compute_over(3, cloud, all_on(cloud, 1), s), one)), 1e-9) << "all on rank 1";
    EXPECT_EQ(compute_over(2, Cloud{}, {}, s).ax.size(), 0u);

    const Cloud points = make_cube(500, 4);
    Choice at;
    at.points = &points, at.point_owners = all_on(points, 2); // where there is no particle
    Owners owners = slabs(cloud, 2);
    EXPECT_LE(percentile(errors(compute_over(3, cloud, owners, s, at), exact(cloud, s, at)), 0.99),
              5e-3 * room);

    Choice some;
    for (int64_t i = 0; i < cloud.size(); ++i)
        some.active.push_back(owners[static_cast<size_t>(i)] == 0 && i % 3 == 0); // rank 1 wants nothing
    const Results partly = compute_over(2, cloud, owners, s, some), whole = exact(cloud, s);
    std::vector<double> list;
    for (size_t i = 0; i < partly.ax.size(); ++i) {
        if (some.active[i] != 0)
            list.push_back(std::abs(partly.ax[i] - whole.ax[i]) / size_of(whole, i));
        else
            EXPECT_EQ(partly.ax[i], 0);
    }
    EXPECT_LE(percentile(list, 0.99), 3e-3 * room);

    Cloud flat = cloud;
    std::fill(flat.z.begin(), flat.z.end(), 0.0);
    s.dimension = 2;
    const Results disc = exact(flat, s);
    const std::vector<double> alone = errors(compute_over(1, flat, all_on(flat, 0), s), disc);
    EXPECT_TRUE(
        as_good("two dimensions", 4, errors(compute_over(4, flat, bisection(flat, 4), s), disc), alone, 1.2));
}

TEST_F(GpuRanks, SplinesHeapsHistoryAndRepeats) {
    Cloud cloud = make_cloud(test_size(8000, 2500), 5);
    for (size_t i = 0; i < 900; ++i)
        cloud.x[i] = 0.5, cloud.y[i] = 0.25, cloud.z[i] = 0.125; // heaps on all ranks
    Settings s = on_gpu();
    s.softening = Softening::spline, s.softening_length = 0.02;
    for (bool lengths : {false, true}) {
        Choice choice;
        choice.softening = lengths;
        const Results whole = exact(cloud, s, choice);
        const std::vector<double> alone = errors(compute_over(1, cloud, all_on(cloud, 0), s, choice), whole);
        EXPECT_TRUE(as_good(
            "spline", 3, errors(compute_over(3, cloud, scattered(cloud, 3), s, choice), whole), alone, 1.2));
    }
    Settings history = on_gpu();
    history.mac_history = true, history.softening = Softening::plummer, history.softening_length = 0.01;
    Choice three;
    three.calls = 3;
    const Results whole = exact(cloud, history);
    EXPECT_TRUE(as_good("history", 2,
                        errors(compute_over(2, cloud, bisection(cloud, 2), history, three), whole),
                        errors(compute_over(1, cloud, all_on(cloud, 0), history, three), whole), 1.1));
    Settings tight = on_gpu(); // lists in batches
    tight.device.list_limit = test_size(1 << 16, 1 << 13);
    const Results all = compute_over(2, cloud, bisection(cloud, 2), on_gpu());
    const Results batches = compute_over(2, cloud, bisection(cloud, 2), tight);
    EXPECT_LE(largest(errors(batches, all)), 1e-5);
    EXPECT_GT(batches.reports[0].device.batches, 1);
}

/// The error of the first body's acceleration, in units of the accuracy asked.
double error_of_first(const Cloud& cloud, int ranks, const Settings& s, Choice choice) {
    choice.potential = choice.virial = false;
    const Results got = compute_over(ranks, cloud, bisection(cloud, ranks), s, choice);
    choice.active.assign(cloud.x.size(), 0), choice.active[0] = 1;
    return errors(got, exact(cloud, s, choice))[0] / s.accuracy;
}

/// Where one target is heavier than all others of its group, the field there is its own, which it does not feel.
TEST_F(GpuRanks, AHeavyBodyFeelsTheOthers) {
    const int64_t n = test_size(20000, 2000);
    graft::test::Cases cases(7);
    for (const double mass : {0.1, 1e6})
        for (const unsigned seed : {1u, 2u, 3u})
            for (const int64_t every : {int64_t{1}, int64_t{2}, n})
                for (const int ranks : {1, 3})
                    for (const auto type : {graft::tree::TreeType::octree, graft::tree::TreeType::orb})
                        for (const int group : {2, 64}) { // 2: so many groups that a warp has four
                            if ((ranks > 1 && type == graft::tree::TreeType::orb) || cases.skip())
                                continue; // CPUs alone build ORB trees over ranks
                            Choice choice;
                            for (int64_t i = 0; i < n && every > 1; ++i)
                                choice.active.push_back(static_cast<char>(i % every == 0));
                            Settings s = on_gpu();
                            s.tree_type = type, s.group = group, s.precision = Precision::fp64;
                            const Cloud cloud = graft::test::with_heavy_body(make_cloud(n, seed), mass);
                            EXPECT_LT(error_of_first(cloud, ranks, s, choice), 4)
                                << mass << " seed " << seed << " every " << every << " ranks " << ranks << " tree "
                                << int(type) << " group " << group;
                        }
}

/// Two at one place do not feel each other.
TEST_F(GpuRanks, TwoHeavyBodiesAtOnePlaceFeelTheOthers) {
    graft::test::Cases cases(11);
    for (const int64_t n : {2000, 8000})
        for (unsigned seed = 1; seed <= 8; ++seed)
            for (const int ranks : {1, 3})
                for (const auto type : {graft::tree::TreeType::octree, graft::tree::TreeType::orb})
                    for (const int group : {16, 64}) {
                        if ((ranks > 1 && type == graft::tree::TreeType::orb) || cases.skip())
                            continue;
                        Cloud cloud = graft::test::with_heavy_body(make_cloud(n, seed), 1e3);
                        cloud.x[5] = cloud.x[0], cloud.y[5] = cloud.y[0], cloud.z[5] = cloud.z[0], cloud.q[5] = cloud.q[0];
                        Settings s = on_gpu();
                        s.tree_type = type, s.group = group, s.precision = Precision::fp64;
                        EXPECT_LT(error_of_first(cloud, ranks, s, {}), 5)
                            << n << " seed " << seed << " ranks " << ranks << " tree " << int(type) << " group " << group;
                    }
}

/// conserve_momentum: of all charged particles on all ranks; else the field stays as it is.
TEST_F(GpuRanks, ForcesAddUpToZero) {
    Cloud cloud = make_cloud(test_size(20000, 2000), 8);
    for (size_t i = 0; i < cloud.q.size(); ++i)
        cloud.q[i] *= i % 50 == 0 ? 0 : i % 3 == 0 ? -1 : 1;
    for (const int ranks : {1, 2, 3})
        for (const bool some : {false, true})
            for (const Method method : {Method::tree, Method::direct}) {
                if (method == Method::direct && ranks > 1)
                    continue; // a CPU's
                Choice choice;
                choice.active.assign(some ? cloud.q.size() : 0, 1);
                for (size_t i = 0; i < choice.active.size(); i += 50)
                    choice.active[i] = 0; // those without charge
                Settings s = on_gpu();
                s.method = method, s.accuracy = 1e-2, s.precision = Precision::mixed;
                const Owners owners = bisection(cloud, ranks);
                const Results without = compute_over(ranks, cloud, owners, s, choice);
                s.conserve_momentum = true;
                const Results with = compute_over(ranks, cloud, owners, s, choice);
                EXPECT_LT(net_force(cloud, with), 3e-15) << ranks << " ranks, method " << int(method);
                EXPECT_GT(net_force(cloud, without), 1e-10) << "there was nothing to take off";
                EXPECT_LT(percentile(errors(with, without), 0.9), 5e-2);
                EXPECT_NEAR(with.energy, without.energy, 1e-12 * std::abs(without.energy));
                EXPECT_NEAR(with.virial[0], without.virial[0], 0.1 * std::abs(without.virial[0]));
                choice.active.assign(cloud.q.size(), 1), choice.active[1] = 0;
                const Results left = compute_over(ranks, cloud, owners, s, choice);
                s.conserve_momentum = false;
                EXPECT_EQ(left.ax, compute_over(ranks, cloud, owners, s, choice).ax) << ranks << " ranks";
            }
}

/// Which one rank alone does not see.
TEST_F(GpuRanks, ChargesThatDifferByMoreThanSinglePrecisionHolds) {
    for (const double mass : {1e36, 1e60, 1e200})
        for (const Softening softening : {Softening::none, Softening::spline})
            for (const int ranks : {1, 2, 3}) {
                Cloud cloud = make_cloud(2000, 7);
                cloud.q[0] = mass;
                Settings s = on_gpu();
                s.precision = Precision::mixed;
                s.softening = softening, s.softening_length = softening == Softening::none ? 0 : 0.02;
                EXPECT_LT(error_of_first(cloud, ranks, s, {}), 4) << mass << ", softening " << int(softening) << ", " << ranks;
            }
}

/// auto: a GPU of its own for each rank, and enough particles; the CPU else. The answer is one of all ranks.
TEST_F(GpuRanks, AutoTakesAGpuForEachRank) {
    int32_t devices = 0;
    backend::DeviceError error;
    ASSERT_EQ(backend::require_cuda().device_count(&devices, &error), 0) << error.message;
    const Cloud cloud = make_cloud(10000);
    const auto backend_of = [&](int ranks, const Settings& s, const Cloud& of) {
        const Results r = compute_over(ranks, of, bisection(of, ranks), s);
        for (const Report& report : r.reports)
            EXPECT_STREQ(report.backend, r.reports[0].backend);
        return std::string(r.reports[0].backend);
    };
    Settings s = on_gpu();
    s.backend = Backend::auto_;
    EXPECT_EQ(backend_of(2, s, cloud), devices >= 2 ? "gpu" : "cpu") << devices << " devices";
    EXPECT_EQ(backend_of(devices + 1, s, cloud), "cpu") << "two ranks share a GPU";
    EXPECT_EQ(backend_of(2, s, make_cloud(3000)), "cpu") << "too few particles";
    s.exchange = Exchange::fetch;
    EXPECT_EQ(backend_of(2, s, cloud), "cpu") << "fetch is for CPUs";
    s = on_gpu();
    EXPECT_EQ(backend_of(devices + 1, s, make_cloud(test_size(10000, 1500))), "gpu")
        << "cuda asks for shared GPUs";
}

TEST_F(GpuRanks, WhatFailsOnOneRankFailsOnAll) {
    std::vector<std::string> messages(3);
    std::vector<double> touched(3);
    graft::test::run_ranks(3, [&](comm::Communicator& comm) {
        const auto r = static_cast<size_t>(comm.rank());
        Cloud own = make_cloud(test_size(4000, 1300), static_cast<unsigned>(r));
        core::Memory memory;
        Solver solver(on_gpu(), memory);
        solver.set_communicator(&comm);
        ParticleInput input;
        input.n = own.size();
        input.position[0] = view(own.x), input.position[1] = view(own.y), input.position[2] = view(own.z);
        input.charge = view(own.q);
        std::vector<double> a[3];
        Outputs outputs;
        for (int c = 0; c < 3; ++c) {
            a[c].assign(own.x.size(), -7);
            outputs.acceleration[c] = view(a[c]);
        }
        solver.compute(input, outputs);
        EXPECT_NE(a[0][5], -7);
        a[0][5] = -7;
        const double good = own.x[1234];
        if (comm.rank() == 1)
            own.x[1234] = std::numeric_limits<double>::quiet_NaN();
        try {
            solver.compute(input, outputs);
        } catch (const core::Error& error) {
            messages[r] = std::to_string(static_cast<int>(error.status())) + error.what();
        }
        touched[r] = a[0][5];
        own.x[1234] = good;
        solver.compute(input, outputs);
        EXPECT_NE(a[0][5], -7);
        Settings unlike = on_gpu();
        unlike.theta = comm.rank() == 2 ? 0.5 : 0.6;
        solver.change_settings() = unlike;
        EXPECT_THROW(solver.compute(input, outputs), core::Error);
        Settings global = on_gpu();
        global.tree_scope = TreeScope::global;
        solver.change_settings() = global;
        EXPECT_THROW(solver.compute(input, outputs), core::Error);
        solver.change_settings() = on_gpu();
        solver.compute(input, outputs);
        std::vector<double> work(own.x.size());
        solver.work_of_particles(work.data());
        double sum = 0;
        for (double value : work)
            sum += value;
        const double expected = solver.report().pairs + 3 * solver.report().cells; // order 2: 3 pairs
        EXPECT_NEAR(sum, expected, 0.02 * expected);
    });
    EXPECT_EQ(messages[0], messages[1]);
    EXPECT_EQ(messages[2], messages[1]);
    EXPECT_NE(messages[1].find("1234"), std::string::npos) << messages[1];
    EXPECT_EQ(touched, std::vector<double>(3, -7));
}

/// Sums that single precision cannot hold, in host memory: known to all ranks before any of them writes.
TEST_F(GpuRanks, AddedResultsThatOverflowOnOneRankAreWrittenByNone) {
    std::vector<std::string> messages(3);
    graft::test::run_ranks(3, [&](comm::Communicator& comm) {
        const auto r = static_cast<size_t>(comm.rank());
        Cloud own = make_cloud(test_size(4000, 1300), static_cast<unsigned>(r));
        core::Memory memory;
        Settings settings = on_gpu();
        settings.constant = 1e30;
        Solver solver(settings, memory);
        solver.set_communicator(&comm);
        ParticleInput input;
        input.n = own.size();
        input.position[0] = view(own.x), input.position[1] = view(own.y), input.position[2] = view(own.z);
        input.charge = view(own.q);
        std::vector<float> a(3 * own.x.size());
        Outputs outputs;
        for (int c = 0; c < 3; ++c)
            outputs.acceleration[c] = {reinterpret_cast<char*>(a.data() + c), particles::ElementType::f32, 1, own.size(), 12, 4};
        solver.compute(input, outputs);
        if (comm.rank() == 1)
            a[33] = std::copysign(std::numeric_limits<float>::max(), a[33]);
        const std::vector<float> before = a;
        for (particles::ArrayView& array : outputs.acceleration)
            array.add = true;
        try {
            solver.compute(input, outputs);
        } catch (const core::Error& error) {
            messages[r] = std::to_string(static_cast<int>(error.status())) + error.what();
        }
        EXPECT_EQ(a, before) << "rank " << comm.rank();
        a[33] = 0;
        solver.compute(input, outputs);
        EXPECT_NE(a, before);
    });
    EXPECT_NE(messages[1].find("item 11"), std::string::npos) << messages[1];
    EXPECT_EQ(messages[0], messages[1]);
    EXPECT_EQ(messages[2], messages[1]);
}

} // namespace
