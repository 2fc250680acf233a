// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes on the GPU: the oracle's Ewald sum, Madelung constants, and the CPU's solver.
#include "crystals.hpp"
#include "periodic/ewald_waves.hpp"
#include "periodic/wave_tiles.hpp"
#include "library_fixture.hpp"
#include "periodic_scene.cuh"

namespace {

using namespace graft::test;

TEST_F(Periodic, MadelungConstants) {
    Cases cases(4);
    for (const Crystal& c : crystals)
        for (const int repeats : {1, 3, 6}) {
            if (cases.skip())
                continue;
            Cloud cloud;
            for (int cell = 0; cell < repeats * repeats * repeats; ++cell)
                for (const auto& ion : c.ions)
                    add(cloud, ion[0] + cell % repeats, ion[1] + cell / repeats % repeats,
                        ion[2] + cell / repeats / repeats, ion[3]);
            const double edge = repeats;
            const Answer r = run(periodic_settings({{edge, edge, edge}}), cloud);
            const double madelung = -2 * r.energy / static_cast<double>(cloud.size()) * c.nearest;
            EXPECT_NEAR(madelung / c.madelung, 1, 1e-11) << c.name << " " << repeats;
            for (size_t i = 0; i < r.ax.size(); ++i)
                EXPECT_LT(std::hypot(r.ax[i], r.ay[i], r.az[i]), 1e-9) << c.name << " " << i;
        }
}

TEST_F(Periodic, ForcesPotentialsEnergyAndVirialAreTheOracles) {
    Cases cases(5);
    for (const bool neutral : {true, false})
        for (const PeriodicBox& box : {cube, brick, tilted})
            for (const int n : {1, 50, 203}) {
                if ((neutral && n == 1) || cases.skip())
                    continue;
                const Cloud cloud = strewn_charges(box, n, neutral);
                const Settings s = periodic_settings(box);
                const Answer r = run(s, cloud), expected = oracle(cloud, s);
                const std::string what = std::to_string(n) + (neutral ? " neutral" : " positive");
                if (n > 1) {
                    EXPECT_LT(rms_error(r, expected), 2e-12) << what;
                }
                EXPECT_LT(worst(r.potential, expected.potential), 1e-11) << what;
                EXPECT_NEAR(r.energy, expected.energy, 1e-11 * n) << what;
                EXPECT_LT(worst(r.virial, expected.virial), 1e-11) << what;
            }
}

TEST_F(Periodic, EqualsTheCpuInEveryPrecision) {
    Cases cases(3);
    for (const PeriodicBox& box : {brick, tilted})
        for (const int64_t n : {int64_t{65}, test_size(3000, 300)})
            for (Method method : {Method::direct, Method::tree}) {
                if (cases.skip())
                    continue;
                const Cloud cloud = strewn_charges(box, n, n != 65);
                const Settings full = periodic_settings(box, method);
                const Answer exact = on_cpu(full, cloud, {});
                const std::string what =
                    std::to_string(n) + " method " + std::to_string(static_cast<int>(method));
                expect_like(run(full, cloud), exact, what);
                for (Precision precision : {Precision::fp32, Precision::mixed}) { // as near the exact sum
                    const Settings s = periodic_settings(box, method, precision);
                    const Answer gpu = run(s, cloud), cpu = on_cpu(s, cloud, {});
                    EXPECT_LT(rms_error(gpu, exact), std::max(1.5 * rms_error(cpu, exact), 2e-6)) << what;
                    EXPECT_LT(worst(gpu.potential, exact.potential),
                              2 * worst(cpu.potential, exact.potential) + 2e-6)
                        << what;
                    EXPECT_LT(worst(gpu.virial, exact.virial), 2 * worst(cpu.virial, exact.virial) + 1e-5)
                        << what;
                    EXPECT_NEAR(gpu.energy, exact.energy, 2 * std::abs(cpu.energy - exact.energy) + 1e-6 * n);
                }
            }
}

TEST_F(Periodic, AnyAccuracyAndSplitting) {
    const Cloud cloud = strewn_charges(cube, test_size(400, 60));
    Settings s = periodic_settings(cube);
    const Answer expected = oracle(cloud, s);
    for (const double alpha : {2.0, 6.0, 14.0}) { // one image to many; few waves to many tiles
        s.ewald_alpha = alpha;
        EXPECT_LT(rms_error(run(s, cloud), expected), 2e-12) << alpha;
    }
    s.ewald_alpha = 0;
    for (const double accuracy : {1e-3, 1e-5, 1e-8}) {
        s.ewald_accuracy = accuracy;
        const double error = rms_error(run(s, cloud), expected);
        EXPECT_LT(error, accuracy);
        EXPECT_GT(error, accuracy * 1e-3); // or the splitting has not been asked for
    }
    s.precision = Precision::fp32;
    for (const double accuracy : {1e-3, 1e-5}) {
        s.ewald_accuracy = accuracy;
        EXPECT_LT(rms_error(run(s, cloud), expected), 1.5 * accuracy);
    }
}

TEST_F(Periodic, Softened) {
    const Cloud cloud = strewn_charges(tilted, test_size(700, 150), false);
    for (Precision precision : {Precision::mixed, Precision::fp64})
        for (const bool each : {false, true}) {
            Settings s = periodic_settings(tilted, Method::direct, precision);
            s.interaction = Interaction::gravity;
            s.softening = Softening::spline, s.softening_length = 0.05;
            Wish wish;
            wish.softening = each;
            const Answer gpu = run(s, cloud, wish), cpu = on_cpu(s, cloud, wish);
            const std::string what = each ? "each" : "one";
            if (precision == Precision::fp64)
                expect_like(gpu, cpu, what);
            else
                EXPECT_LT(rms_error(gpu, cpu), 1e-5) << what;
        }
}

/// As on the CPU: EnergyAndVirialOfMassesAreBetterThanForces.
TEST_F(Periodic, EnergyAndVirialOfMassesAreBetterThanForces) {
    const Cloud cloud = strewn_charges(tilted, 3000, false);
    for (const double length : {0.0, 0.02, 0.15}) {
        Settings s = periodic_settings(tilted);
        s.softening = length > 0 ? graft::settings::Softening::plummer : graft::settings::Softening::none;
        s.softening_length = length;
        const Answer expected = run(s, cloud);
        for (const double accuracy : {1e-2, 1e-3, 1e-4}) {
            s.ewald_accuracy = accuracy;
            const Answer r = run(s, cloud);
            EXPECT_NEAR(r.energy / expected.energy, 1, 0.15 * accuracy) << length;
            for (size_t c = 0; c < 6; ++c)
                EXPECT_NEAR(r.virial[c], expected.virial[c], accuracy * std::abs(expected.energy)) << length << " " << c;
        }
    }
}

TEST_F(Periodic, AMeshIsTheSumOverWaves) {
    Cases cases(4);
    for (const PeriodicBox& box : {brick, tilted})
        for (const bool neutral : {true, false}) {
            const Cloud cloud = strewn_charges(box, test_size(3000, 300), neutral);
            const Answer expected = run(periodic_settings(box), cloud);
            for (const Precision precision : {Precision::mixed, Precision::fp64})
                for (const double accuracy : {1e-2, 1e-3, 1e-5, 1e-7}) {
                    if (cases.skip() || (precision != Precision::fp64 && accuracy < 1e-5))
                        continue;
                    Settings s = periodic_settings(box, Method::tree, precision);
                    s.long_range = graft::settings::LongRange::mesh, s.ewald_accuracy = accuracy;
                    const Answer r = run(s, cloud), again = run(s, cloud);
                    const std::string what = std::to_string(accuracy) + (neutral ? " neutral" : " positive");
                    const double rounding = precision == Precision::fp64 ? 0 : 5e-6, limit = accuracy + rounding;
                    EXPECT_LT(rms_error(r, expected), limit) << what;
                    EXPECT_LT(worst(r.potential, expected.potential), 10 * limit) << what;
                    EXPECT_NEAR(r.energy / expected.energy, 1, accuracy + 8 * rounding) << what; // of which most cancels
                    for (int c = 0; c < 6; ++c)
                        EXPECT_NEAR(r.virial[static_cast<size_t>(c)], expected.virial[static_cast<size_t>(c)],
                                    20 * limit * std::abs(expected.energy))
                            << what;
                    EXPECT_EQ(r.ax, again.ax) << what;
                    EXPECT_EQ(r.virial, again.virial) << what;
                }
        }
}

TEST_F(Periodic, AMeshOfASlabAndAtPoints) {
    const Cloud cloud = strewn_charges(cube, test_size(2000, 300), false), points = strewn_charges(cube, 333, true, 9);
    Settings s = periodic_settings(cube, Method::tree);
    s.open_axis = 2;
    Settings mesh = s;
    mesh.long_range = graft::settings::LongRange::mesh, mesh.ewald_accuracy = 1e-5;
    EXPECT_LT(rms_error(run(mesh, cloud), run(s, cloud)), 1e-5);
    s.open_axis = mesh.open_axis = -1;
    Wish wish;
    wish.sums = false;
    wish.points = &points;
    EXPECT_LT(worst(run(mesh, cloud, wish).ax, run(s, cloud, wish).ax), 1e-4);
}

TEST_F(Periodic, SomeTargetsAndPoints) {
    const Cloud cloud = strewn_charges(brick, test_size(1500, 250)),
                points = strewn_charges(brick, test_size(333, 67), true, 9);
    const Settings s = periodic_settings(brick);
    Wish wish;
    wish.sums = false;
    for (int64_t i = 0; i < cloud.size(); ++i)
        wish.active.push_back(i % 9 == 0);
    for (MemorySpace space : {MemorySpace::host, MemorySpace::device}) {
        const Answer gpu = run(s, cloud, wish, space), cpu = on_cpu(s, cloud, wish);
        EXPECT_LT(worst(gpu.ax, cpu.ax), 1e-11);
        EXPECT_LT(worst(gpu.potential, cpu.potential), 1e-11);
    }
    Wish at;
    at.points = &points;
    EXPECT_LT(rms_error(run(s, cloud, at), on_cpu(s, cloud, at)), 2e-12);
    EXPECT_LT(worst(run(s, cloud, at).potential, on_cpu(s, cloud, at).potential), 1e-11);
    wish.sums = true;
    EXPECT_THROW(run(s, cloud, wish), graft::core::Error); // no virial of some
}

/// The same bits, and once warm no memory and no wait but the last; small ones as one graph.
/// Charges in the unit box, then pairs that are close: anywhere; in the corner that coordinates are relative to, where
/// double knows places much better; across a face, an edge and a corner.
Cloud with_close_pairs(int64_t n, size_t& first) {
    Cloud cloud = random_charges(cube, n);
    first = cloud.x.size();
    const auto add_pair = [&](double x, double y, double z, double dx, double dy, double dz) {
        add(cloud, x, y, z, 1), add(cloud, x + dx, y + dy, z + dz, -1);
    };
    add_pair(0.3, 0.6, 0.2, 3e-8, 0, -1e-8);
    add_pair(0.6, 0.3, 0.7, 0x1p-45, 0x1p-46, 0);
    add_pair(1e-17, 0.25, 2e-17, 3e-17, 0, 1e-17);
    add_pair(0x1p-43, 0.5, 0.125, 1 - 0x1p-42, 0, 0);
    add_pair(0.75, 0x1p-44, 1 - 0x1p-44, 0, 1 - 0x1p-43, 0x1p-43 - 1);
    add_pair(1 - 0x1p-44, 1 - 0x1p-43, 0x1p-43, 0x1p-43 - 1, 0x1p-42 - 1, 1 - 0x1p-42);
    return cloud;
}

TEST_F(Periodic, ClosePairsInSinglePrecision) {
    for (const int64_t n : {int64_t{1}, test_size(1501, 301)}) {
        size_t first = 0;
        const Cloud cloud = with_close_pairs(n, first);
        Cloud points;
        for (size_t i = first; i < cloud.x.size(); i += 2)
            add(points, cloud.x[i] + 0x1p-48, cloud.y[i], cloud.z[i], 1);
        Wish some, at;
        some.active.assign(cloud.x.size(), 0), some.sums = at.sums = false;
        std::fill(some.active.begin() + static_cast<std::ptrdiff_t>(first), some.active.end(), 1);
        at.points = &points;
        const Settings full = periodic_settings(cube);
        const Answer exact = on_cpu(full, cloud, {}), exact_at = on_cpu(full, cloud, at);
        for (const Precision precision : {Precision::fp32, Precision::mixed}) {
            const Settings s = periodic_settings(cube, Method::tree, precision);
            const Answer all = run(s, cloud, {}), chosen = run(s, cloud, some), there = run(s, cloud, at);
            const auto check = [&](const Answer& found, const Answer& right, size_t i, const char* what) {
                const double size = std::hypot(right.ax[i], right.ay[i], right.az[i]);
                EXPECT_NEAR(found.ax[i], right.ax[i], 1e-6 * size) << what << " " << i << ", precision " << int(precision);
                EXPECT_NEAR(found.az[i], right.az[i], 1e-6 * size) << what << " " << i << ", precision " << int(precision);
            };
            for (size_t i = first; i < cloud.x.size(); ++i)
                check(all, exact, i, "all"), check(chosen, exact, i, "some");
            for (size_t i = 0; i < points.x.size(); ++i)
                check(there, exact_at, i, "points");
        }
    }
}

/// The pairs of one call in double, the next one in single precision again: the bits of an engine that never met them.
TEST_F(Periodic, ClosePairsLeaveNothingBehind) {
    size_t first = 0;
    const Cloud close = with_close_pairs(test_size(700, 150), first), calm = strewn_charges(cube, test_size(700, 150));
    const Settings s = periodic_settings(cube, Method::direct, Precision::mixed);
    const Answer before = run(s, calm);
    for (int round = 0; round < 3; ++round) {
        const int64_t repeats = engine().report.repeats;
        (void)run(s, close);
        EXPECT_GT(engine().report.repeats, repeats) << round;
        EXPECT_EQ(run(s, calm).ax, before.ax) << round;
    }
}

/// Pairs that single precision cannot tell apart, one at a time; two charges at one place do nothing to each other.
TEST_F(Periodic, EachClosePairIsTold) {
    const Cloud calm = strewn_charges(cube, test_size(700, 150));
    const Settings s = periodic_settings(cube, Method::direct, Precision::mixed);
    const auto repeats_with = [&](double dx, double dy, double dz) {
        Cloud cloud = calm;
        add(cloud, 0.3, 0.6, 0x1p-60, 1), add(cloud, 0.3 + dx, 0.6 + dy, 0x1p-60 + dz, -1);
        const int64_t before = engine().report.repeats;
        (void)run(s, cloud);
        return engine().report.repeats - before;
    };
    EXPECT_EQ(repeats_with(0, 0, 0), 0);
    EXPECT_EQ(repeats_with(0x1p-40, 0, 0), 1);
    EXPECT_EQ(repeats_with(0, 0x1p-53, 0), 1); // the last bit
    EXPECT_EQ(repeats_with(0, 0, 0x1p-112), 1);
    PeriodicBox about = cube; // where double knows places best
    for (double& lower : about.lower)
        lower = -0.5;
    const Settings s_about = periodic_settings(about, Method::direct, Precision::mixed);
    const Cloud calm_about = strewn_charges(about, test_size(700, 150));
    const auto repeats_about_zero = [&](double x, double y, double other_x, double other_y) {
        Cloud cloud = calm_about;
        add(cloud, x, y, 0.3, 1), add(cloud, other_x, other_y, 0.3, -1);
        const int64_t before = engine().report.repeats;
        (void)run(s_about, cloud);
        return engine().report.repeats - before;
    };
    EXPECT_EQ(repeats_about_zero(1e-18, 1e-18, -1e-18, -1e-18), 1);
    EXPECT_EQ(repeats_about_zero(1e-18, -3e-19, -1e-18, 3e-19), 1);
    EXPECT_EQ(repeats_about_zero(0.0, 0.25, -0.0, 0.25), 0);
}

TEST_F(Periodic, SteadyStateTakesNothing) {
    const Cloud cloud = strewn_charges(tilted, test_size(3000, 300));
    for (Precision precision : {Precision::mixed, Precision::fp64}) {
        const Settings s = periodic_settings(tilted, Method::direct, precision);
        Call call(cloud, {}, Layout::soa64, MemorySpace::device);
        Answer before;
        DeviceReport first;
        for (int k = 0; k < 5; ++k) {
            engine().begin(s, call);
            const DeviceReport report = engine().end();
            const Answer now = call.answer();
            if (k > 0) {
                EXPECT_EQ(report.allocations, first.allocations) << k;
                EXPECT_EQ(report.waits, first.waits + 1) << k;
                EXPECT_EQ(now.ax, before.ax) << k;
                EXPECT_EQ(now.virial, before.virial) << k;
            }
            EXPECT_EQ(report.graph, k > 0 ? 1 : 0) << k;
            before = now, first = report;
        }
        std::printf("precision %d: %lld launches, %.1f us\n", static_cast<int>(precision),
                    static_cast<long long>(first.launches), 1e6 * first.time_s.total);
    }
}

/// As hosts come to it: the solver chooses the GPU for both methods, also by itself.
TEST_F(Periodic, TheSolverTakesTheGpu) {
    name_cuda_library();
    const Cloud cloud = strewn_charges(brick, test_size(2500, 400));
    const Settings full = periodic_settings(brick);
    const Answer cpu = on_cpu(full, cloud, {});
    for (const auto backend : {graft::settings::Backend::cuda, graft::settings::Backend::auto_})
        for (Method method : {Method::direct, Method::tree}) {
            if (small_inputs() && backend == graft::settings::Backend::auto_)
                continue; // takes the CPU for so few
            Settings s = periodic_settings(brick, method);
            s.backend = backend;
            graft::core::Memory memory;
            graft::engine::Solver solver(s, memory);
            Call call(cloud, {}, Layout::aos64, MemorySpace::host);
            solver.compute(call.input, call.outputs);
            expect_like(call.answer(), cpu, "method " + std::to_string(static_cast<int>(method)));
            EXPECT_EQ(solver.report().backend, "gpu");
            std::vector<double> work(cloud.x.size());
            solver.work_of_particles(work.data());
            EXPECT_EQ(work.front(), work.back());
        }
}

/// Nothing is kept of a box that has changed.
TEST_F(Periodic, TheBoxMayChange) {
    Settings s = periodic_settings(cube);
    for (const double edge : {1.0, 1.01, 0.6, 3.0}) {
        for (int a = 0; a < 3; ++a)
            s.box_upper[a] = edge;
        const Cloud cloud = strewn_charges({{edge, edge, edge}}, test_size(300, 60));
        for (int k = 0; k < 2; ++k)
            EXPECT_LT(rms_error(run(s, cloud), oracle(cloud, s)), 2e-12) << edge;
    }
}

TEST(PeriodicTiles, HoldEveryVectorOnce) {
    for (const PeriodicBox& box : {cube, brick, tilted})
        for (const double largest : {0.0, 5.0, 60.0, 130.0}) {
            graft::geometry::Lattice lattice;
            for (int a = 0; a < 3; ++a)
                lattice.lower[a] = box.lower[a], lattice.edge[a] = box.edge[a];
            lattice.xy = box.tilt[0], lattice.xz = box.tilt[1], lattice.yz = box.tilt[2];
            const graft::periodic::Waves waves(lattice, 5, largest);
            int64_t vectors = 0;
            double sum = 0, expected = 0;
            for (const graft::periodic::WaveTile& tile : graft::periodic::wave_tiles(lattice, largest))
                for (int v = 0; v < graft::periodic::WaveTile::values; ++v) {
                    const int i = tile.i + v / 64, j = tile.j + v / 8 % 8, k = tile.k + v % 8;
                    const double plus = graft::periodic::has_plus(i, j, k)
                                            ? graft::periodic::wave_weight(lattice, 5, largest, i, j, k)
                                            : 0;
                    const double minus = graft::periodic::has_minus(i, j, k)
                                             ? graft::periodic::wave_weight(lattice, 5, largest, i, j, -k)
                                             : 0;
                    vectors += (plus != 0) + (minus != 0);
                    sum += plus + minus;
                }
            for (int64_t value = 0; value < waves.value_count(); ++value)
                expected += waves.plus(value) + waves.minus(value);
            EXPECT_EQ(vectors, waves.vector_count()) << largest;
            EXPECT_NEAR(sum, expected, 1e-12 * expected);
        }
}

} // namespace
