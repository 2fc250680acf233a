// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes on the GPU: slabs, Plummer's softening, and plans that follow the particles.
#include "periodic_scene.cuh"
#include "slab_sum.hpp"

namespace {

using namespace graft::test;

Settings slab_settings(const PeriodicBox& box, Precision precision = Precision::fp64, int open_axis = 2) {
    Settings s = periodic_settings(box, Method::direct, precision);
    s.open_axis = open_axis;
    return s;
}

const PeriodicBox plane{{1, 1.3, 0.6}, {-0.4, 2, 5}, {0.3, 0, 0}};

TEST_F(Periodic, PlummersSofteningIsTheOracles) {
    Cases cases(5);
    for (const PeriodicBox& box : {cube, tilted})
        for (const bool neutral : {true, false})
            for (const double alpha : {0.0, 3.0, 9.0}) {
                if (cases.skip())
                    continue;
                const Cloud cloud = strewn_charges(box, 70, neutral);
                Settings s = periodic_settings(box);
                s.softening = Softening::plummer, s.softening_length = 0.1, s.ewald_alpha = alpha;
                Answer expected = oracle(cloud, s);
                for (size_t i = 0; i < cloud.x.size(); ++i) { // which counts the particles themselves
                    expected.potential[i] -= cloud.q[i] / 0.1;
                    expected.energy -= 0.5 * cloud.q[i] * cloud.q[i] / 0.1;
                }
                expect_like(run(s, cloud), expected, std::to_string(alpha));
            }
}

TEST_F(Periodic, PlummersSofteningIsTheCpus) {
    Cases cases(3);
    Cloud cloud = strewn_charges(tilted, test_size(2000, 250), false);
    for (size_t i = 0; i < cloud.x.size();
         ++i) // the largest one is planned as it is: the cut-offs are the same
        cloud.softening[i] = static_cast<double>(1 + i % 5) / 5 / 32;
    for (const bool each : {false, true})
        for (const bool gravity : {false, true}) {
            if (cases.skip())
                continue;
            Settings s = periodic_settings(tilted);
            s.softening = Softening::plummer, s.softening_length = 0.03, s.ewald_alpha = 11;
            if (gravity)
                s.interaction = Interaction::gravity;
            Wish wish;
            wish.softening = each;
            const Answer exact = on_cpu(s, cloud, wish);
            expect_like(run(s, cloud, wish), exact, each ? "each" : "one");
            s.precision = Precision::mixed;
            const Answer gpu = run(s, cloud, wish), cpu = on_cpu(s, cloud, wish);
            EXPECT_LT(rms_error(gpu, exact), std::max(1.5 * rms_error(cpu, exact), 2e-6)) << each;
        }
}

TEST_F(Periodic, SlabsAreTheTwoDimensionalSum) {
    Cases cases(5);
    for (const bool neutral : {true, false})
        for (const double thickness : {0.0, 0.6, 4.0}) { // a layer; flat; a column
            if (cases.skip())
                continue;
            PeriodicBox box = plane;
            box.edge[2] = thickness;
            const Cloud cloud = strewn_charges(box, 60, neutral);
            box.edge[2] = 0.1; // of no account
            const size_t n = cloud.x.size();
            Answer expected{std::vector<double>(n),
                            std::vector<double>(n),
                            std::vector<double>(n),
                            std::vector<double>(n),
                            {},
                            0};
            const graft::reference::Points points{cloud.size(), cloud.x.data(), cloud.y.data(),
                                                  cloud.z.data(), nullptr};
            graft::reference::slab_sum(
                {box.edge[0], 0}, {box.tilt[0], box.edge[1]}, points, cloud.q.data(), points, 1,
                {expected.ax.data(), expected.ay.data(), expected.az.data(), expected.potential.data()});
            const Answer r = run(slab_settings(box), cloud);
            for (size_t i = 0; i < n; ++i) {
                expected.ax[i] *= -1, expected.ay[i] *= -1, expected.az[i] *= -1;
                expected.energy += 0.5 * cloud.q[i] * expected.potential[i];
                EXPECT_NEAR(r.potential[i], expected.potential[i],
                            1e-9 * (1 + std::abs(expected.potential[i])));
            }
            EXPECT_LT(rms_error(r, expected), 1e-11) << thickness;
            EXPECT_NEAR(r.energy, expected.energy, 1e-10 * (1 + std::abs(expected.energy))) << thickness;
        }
}

TEST_F(Periodic, SlabsAreTheCpus) {
    const Cloud cloud = strewn_charges(plane, test_size(1500, 250), false),
                points = strewn_charges(plane, 200, true, 9);
    for (const int axis : {0, 1, 2}) {
        PeriodicBox box = plane;
        if (axis != 2)
            box.tilt[0] = 0;
        const Settings s = slab_settings(box, Precision::fp64, axis);
        const Answer exact = on_cpu(s, cloud, {});
        expect_like(run(s, cloud), exact, "axis " + std::to_string(axis));
        const Settings mixed = slab_settings(box, Precision::mixed, axis);
        EXPECT_LT(rms_error(run(mixed, cloud), exact),
                  std::max(1.5 * rms_error(on_cpu(mixed, cloud, {}), exact), 2e-6))
            << axis;
        Wish at;
        at.points = &points;
        EXPECT_LT(rms_error(run(s, cloud, at), on_cpu(s, cloud, at)), 2e-12) << axis;
        Wish some;
        some.sums = false;
        for (int64_t i = 0; i < cloud.size(); ++i)
            some.active.push_back(i % 9 == 0);
        EXPECT_LT(worst(run(s, cloud, some).ax, on_cpu(s, cloud, some).ax), 1e-11) << axis;
    }
    Settings s = slab_settings(plane);
    s.softening = Softening::plummer, s.softening_length = 0.05;
    EXPECT_THROW(run(s, cloud), graft::core::Error);
    s.softening = Softening::spline;
    s.softening_length = 8; // what acts across the vacuum must not be softened
    const Cloud few = strewn_charges(plane, 60, false);
    EXPECT_LT(rms_error(run(s, few), on_cpu(s, few, {})), 1e-4);
}

/// A slab that grows, drifts and shrinks: the same as an engine that knows nothing; memory and waits only
/// where the plan changes.
TEST_F(Periodic, SlabsAreFollowed) {
    const Settings s = slab_settings(plane);
    for (const auto& [stretch, shift] : {std::pair{1.0, 0.0}, {1.5, 0.0}, {3.0, 9.0}, {0.2, -50.0}}) {
        Cloud cloud = strewn_charges(plane, 300, false);
        for (double& z : cloud.z)
            z = z * stretch + shift;
        Engine fresh;
        const Answer expected = fresh.run(s, cloud, {}, Layout::soa64, MemorySpace::device);
        EXPECT_LT(rms_error(run(s, cloud), expected), 2e-12) << stretch; // the old plan or a new one
        const Answer settled = run(s, cloud);
        EXPECT_LT(rms_error(settled, expected), 2e-12) << stretch;
        const int64_t repeats = engine().report.repeats;
        const Answer again = run(s, cloud);
        EXPECT_EQ(again.ax, settled.ax) << stretch;
        EXPECT_EQ(engine().report.repeats, repeats);
    }
}

/// Long softening lengths are not kept once the particles have short ones.
TEST_F(Periodic, SofteningLengthsAreFollowed) {
    for (const Softening kind : {Softening::spline, Softening::plummer}) {
        Settings s = periodic_settings(cube);
        s.softening = kind;
        Wish wish;
        wish.softening = true;
        Cloud cloud = strewn_charges(cube, test_size(2000, 250), false), longer = cloud;
        for (double& length : cloud.softening)
            length *= 0.1;
        for (double& length : longer.softening)
            length = 0.3;
        Engine fresh, one;
        const auto step = [&](Engine& engine, const Cloud& particles) {
            return engine.run(s, particles, wish, Layout::soa64, MemorySpace::device);
        };
        const Answer expected = step(fresh, cloud);
        (void)step(one, longer);
        (void)step(one, cloud); // as planned for the long ones
        EXPECT_EQ(step(one, cloud).ax, expected.ax);
        EXPECT_EQ(one.report.repeats, 1); // the first computation's
        (void)step(one, longer);
        EXPECT_EQ(one.report.repeats, 2);
    }
}

/// What is measured on the way costs no wait and no memory either.
TEST_F(Periodic, SteadyStateOfSlabsAndLengthsTakesNothing) {
    const Cloud cloud = strewn_charges(plane, test_size(3000, 300));
    for (int kind = 0; kind < 3; ++kind) { // a slab; spline and Plummer lengths
        Settings s = kind == 0 ? slab_settings(plane, Precision::mixed)
                               : periodic_settings(plane, Method::direct, Precision::mixed);
        Wish wish;
        wish.softening = kind > 0;
        if (kind > 0)
            s.softening = kind == 1 ? Softening::spline : Softening::plummer;
        Call call(cloud, wish, Layout::soa64, MemorySpace::device);
        Engine fresh;
        DeviceReport first;
        Answer before;
        for (int k = 0; k < 4; ++k) {
            fresh.begin(s, call);
            const DeviceReport report = fresh.end();
            const Answer now = call.answer();
            if (k > 0) {
                EXPECT_EQ(report.allocations, first.allocations) << kind << k;
                EXPECT_EQ(report.waits, first.waits + 1) << kind << k;
                EXPECT_EQ(report.repeats, 1) << kind << k; // the first one knew nothing
                EXPECT_EQ(report.graph, 1) << kind << k;
                EXPECT_EQ(now.ax, before.ax) << kind << k;
            }
            first = report, before = now;
        }
        std::printf("kind %d: %lld launches, %.1f us\n", kind, static_cast<long long>(first.launches),
                    1e6 * first.time_s.total);
    }
}

} // namespace
