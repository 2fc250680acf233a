// SPDX-License-Identifier: BSD-3-Clause
// P2P and M2P from lists on the device against the CPU's kernels in double over the same lists.
#include "evaluate_fixture.cuh"

#include <cstring>

using namespace graft;
using forces::DevicePrecision;
using forces::Softening;
using test::Particles;
using test::Scene;
using test::SceneOptions;
using test::Sums;

namespace {

using Evaluate = test::Evaluations;

constexpr DevicePrecision precisions[] = {DevicePrecision::fp32, DevicePrecision::mixed,
                                          DevicePrecision::fp64};

TEST_F(Evaluate, EverySofteningOrderAndPrecision) {
    graft::test::Cases cases(7);
    for (const bool own_lengths : {false, true}) {
        Particles p = test::plummer_sphere(test::test_size(3000, 1000));
        if (own_lengths)
            test::give_softening(p, 0.05);
        for (const Softening softening : {Softening::none, Softening::plummer, Softening::spline})
            for (int order = 0; order <= 4; ++order) {
                if (cases.skip())
                    continue;
                SceneOptions o;
                o.softening = softening, o.order = order, o.length = softening == Softening::none ? 0 : 0.05;
                const Scene scene(p, o);
                for (const DevicePrecision precision : precisions)
                    for (const bool potential : {false, true}) {
                        SCOPED_TRACE(std::string("softening ") + std::to_string(static_cast<int>(softening)) +
                                     " own " + std::to_string(own_lengths) + " order " +
                                     std::to_string(order) + " precision " +
                                     std::to_string(static_cast<int>(precision)) + " potential " +
                                     std::to_string(potential));
                        compare(scene, precision, potential);
                    }
            }
    }
}

TEST_F(Evaluate, ChargesOfBothSigns) {
    const Particles p = test::plummer_sphere(2000, true);
    for (const DevicePrecision precision : precisions)
        for (const Softening softening : {Softening::none, Softening::plummer}) {
            SceneOptions o;
            o.softening = softening, o.length = softening == Softening::none ? 0 : 0.1;
            compare(Scene(p, o), precision);
        }
}

TEST_F(Evaluate, NegativeAndVanishingCharges) {
    Particles p = test::plummer_sphere(1500);
    for (size_t i = 0; i < p.charge.size(); ++i)
        p.charge[i] = i % 5 == 0 ? 0.0 : -p.charge[i];
    for (const DevicePrecision precision : precisions)
        compare(Scene(p, SceneOptions{}), precision);
    for (double& q : p.charge)
        q = 0;
    const Result none = run(Scene(p, SceneOptions{}), DevicePrecision::fp32);
    for (size_t i = 0; i < none.sums.ax.size(); ++i)
        ASSERT_EQ(none.sums.ax[i], 0) << i;
}

TEST_F(Evaluate, MassesOverTwelveDecades) {
    Particles p = test::plummer_sphere(2000);
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> uniform(-12, 0);
    double total = 0;
    for (double& q : p.charge)
        q = std::pow(10.0, uniform(random)), total += q;
    for (double& q : p.charge)
        q /= total;
    for (const Softening softening : {Softening::none, Softening::plummer}) {
        SceneOptions o;
        o.softening = softening, o.length = softening == Softening::none ? 0 : 1e-3;
        for (const DevicePrecision precision : precisions)
            compare(Scene(p, o), precision);
    }
}

TEST_F(Evaluate, SmallNumbersOfParticlesAndTargets) {
    graft::test::Cases cases(5);
    for (int64_t n : {1, 2, 3, 5, 31, 33, 100})
        for (int group : {1, 2, 7, 64}) {
            if (cases.skip())
                continue;
            SceneOptions o;
            o.leaf = 3, o.group = group;
            const Scene scene(test::plummer_sphere(n), o);
            SCOPED_TRACE(std::to_string(n) + " particles, groups of " + std::to_string(group));
            for (const DevicePrecision precision : precisions)
                compare(scene, precision);
        }
}

TEST_F(Evaluate,
       EveryGroupSize) { // parts of 4 ... 32 lanes, 1 ... 8 targets a lane, several blocks of targets
    int turn = 0;
    for (int group : {4, 9, 16, 17, 40, 64, 65, 128, 200, 256, 300, 700}) {
        SceneOptions o;
        o.group = group, o.leaf = 8, o.theta = 0.9;
        const Scene scene(test::plummer_sphere(test::test_size(3000, 1500)), o);
        SCOPED_TRACE("groups of " + std::to_string(group));
        ++turn;
        for (const DevicePrecision precision : precisions)
            if (!test::small_inputs() || precision == precisions[turn % 3])
                compare(scene, precision);
    }
}

TEST_F(Evaluate, LeavesOfOneParticle) { // more entries begin in a tile of sources than are read ahead
    Particles p = test::plummer_sphere(test::test_size(2000, 700));
    for (int i = 0; i < 60; ++i) // and heaps of two among them
        p.add(p.x[static_cast<size_t>(3 * i)], p.y[static_cast<size_t>(3 * i)],
              p.z[static_cast<size_t>(3 * i)], 1e-3);
    for (int leaf : {1, 2})
        for (int group : {8, 64, 128}) {
            SceneOptions o;
            o.leaf = leaf, o.group = group, o.theta = 0.4;
            SCOPED_TRACE("leaves of " + std::to_string(leaf) + ", groups of " + std::to_string(group));
            const Scene scene(p, o);
            for (const DevicePrecision precision : precisions)
                compare(scene, precision);
        }
}

TEST_F(Evaluate, HeapsOfEqualPoints) {
    Particles p = test::plummer_sphere(1000);
    const auto heap = static_cast<int>(test::test_size(3000, 900));
    for (int i = 0; i < heap; ++i)
        p.add(0.1, 0.2, -0.3, 1e-4);
    for (const Softening softening : {Softening::none, Softening::plummer, Softening::spline}) {
        SceneOptions o;
        o.softening = softening, o.length = softening == Softening::none ? 0 : 0.1;
        const Scene scene(p, o);
        for (const DevicePrecision precision : precisions)
            compare(scene, precision);
    }
    Particles all;
    for (int i = 0; i < 500; ++i)
        all.add(1e5, -3, 7, 0.002);
    for (const DevicePrecision precision : precisions) {
        const Result result = run(Scene(all, SceneOptions{}), precision);
        for (size_t i = 0; i < 500; ++i) {
            ASSERT_EQ(result.sums.ax[i], 0);
            ASSERT_EQ(result.sums.potential[i], 0);
        }
    }
}

TEST_F(Evaluate, EqualPointsWithLengthsOfTheirOwn) {
    Particles p = test::plummer_sphere(300);
    for (int i = 0; i < 400; ++i)
        p.add(0.1, 0.2, -0.3, 1e-3);
    test::give_softening(p, 0.1);
    for (const Softening softening : {Softening::plummer, Softening::spline}) {
        SceneOptions o;
        o.softening = softening;
        for (const DevicePrecision precision : precisions)
            compare(Scene(p, o), precision);
    }
}

TEST_F(Evaluate, FarFromTheOriginAndInAnyUnits) {
    for (const double unit : {1e-20, 1.0, 1e20, 1e-140})
        for (const double offset : {0.0, 1e6}) {
            Particles p = test::plummer_sphere(test::test_size(1000, 400));
            for (std::vector<double>* axis : {&p.x, &p.y, &p.z})
                for (double& value : *axis)
                    value = (value + offset) * unit;
            SCOPED_TRACE("unit " + std::to_string(std::log10(unit)) + " offset " + std::to_string(offset));
            for (const DevicePrecision precision : precisions) {
                if (precision == DevicePrecision::fp64 && offset > 0)
                    continue; // places relative to the origin: both are right to the bits of the input only
                compare(Scene(p, SceneOptions{}), precision);
            }
        }
}

TEST_F(Evaluate, TightPairsFarFromTheRest) { // the furthest source is 1e9 times the group's size away
    Particles p = test::plummer_sphere(1000);
    for (int i = 0; i < 3; ++i) {
        p.add(100.0 * (i + 1), 0, 0, 1e-9);
        p.add(100.0 * (i + 1) + 1e-7, 0, 0, 1e-9);
    }
    for (const DevicePrecision precision : {DevicePrecision::fp32, DevicePrecision::mixed})
        compare(Scene(p, SceneOptions{}), precision);
}

TEST_F(Evaluate, TwoDimensionsAndClusters) {
    Particles disc = test::plummer_sphere(test::test_size(3000, 1000));
    std::fill(disc.z.begin(), disc.z.end(), 0.0);
    SceneOptions flat;
    flat.dimension = 2;
    Particles clusters = test::plummer_sphere(1000);
    for (size_t i = 0; i < 1000; ++i)
        clusters.add(50 + 1e-3 * clusters.x[i], 1e-3 * clusters.y[i], 1e-3 * clusters.z[i],
                     clusters.charge[i]);
    for (const DevicePrecision precision : precisions) {
        compare(Scene(disc, flat), precision);
        compare(Scene(clusters, SceneOptions{}), precision);
    }
}

TEST_F(Evaluate, ActiveTargetsAndPoints) {
    const Particles p = test::plummer_sphere(test::test_size(3000, 1500)),
                    at = test::plummer_sphere(777, false, 9);
    SceneOptions some, points;
    some.active_step = 7;
    points.points = &at;
    for (const DevicePrecision precision : precisions) {
        compare(Scene(p, some), precision);
        compare(Scene(p, points), precision);
    }
}

TEST_F(Evaluate, SameBitsEveryRun) {
    const Scene scene(test::plummer_sphere(test::test_size(20000, 2000)), SceneOptions{});
    for (const DevicePrecision precision : precisions) {
        const Result first = run(scene, precision);
        for (int k = 0; k < test::test_size(3, 1); ++k) {
            const Result again = run(scene, precision);
            EXPECT_EQ(first.sums.ax, again.sums.ax);
            EXPECT_EQ(first.sums.potential, again.sums.potential);
        }
    }
}

TEST_F(Evaluate, AddsToTheField) {
    const Scene scene(test::plummer_sphere(1000), SceneOptions{});
    test::DeviceScene on(*memory);
    on.upload(*queue, scene);
    forces::DeviceEvaluator evaluator(*memory);
    forces::DeviceField field(*memory);
    forces::DeviceEvaluation how = how_for(scene, DevicePrecision::mixed, true);
    evaluate(how, on, evaluator, field, 1000);
    const Result once = fetch(field);
    how.add = true;
    evaluate(how, on, evaluator, field, 1000);
    const Result twice = fetch(field);
    for (size_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(twice.sums.ax[i], 2 * once.sums.ax[i]);
        ASSERT_EQ(twice.sums.potential[i], 2 * once.sums.potential[i]);
    }
}

TEST_F(Evaluate, BatchesGiveTheSameBits) {
    const int64_t n = test::test_size(5000, 2000);
    Scene scene(test::plummer_sphere(n), SceneOptions{});
    const Result whole = run(scene, DevicePrecision::mixed);
    test::DeviceScene on(*memory);
    on.upload(*queue, scene);
    forces::DeviceEvaluator evaluator(*memory);
    forces::DeviceField field(*memory);
    field.resize(n, true);
    queue->clear_status();
    constexpr int batches = 3;
    for (int b = 0; b < batches; ++b) {
        const int64_t groups = scene.targets.group_count();
        scene.build_lists(lists::batch_begin(groups, b, batches), lists::batch_begin(groups, b + 1, batches));
        on.lists.upload(*queue, scene.lists);
        on.lists.batch = b, on.lists.batches = batches;
        evaluator.evaluate(*queue, how_for(scene, DevicePrecision::mixed, true), on.tree, on.moments,
                           on.targets, on.lists, field);
    }
    ASSERT_EQ(status().stop, backend::go);
    const Result parts = fetch(field);
    EXPECT_EQ(whole.sums.ax, parts.sums.ax);
    EXPECT_EQ(whole.sums.potential, parts.sums.potential);
    EXPECT_EQ(whole.pairs, parts.pairs);
    EXPECT_EQ(whole.cells, parts.cells);
}

TEST_F(Evaluate, TooLittleRoomIsSaidAndMended) {
    SceneOptions o;
    o.theta = 0; // every pair: lists of leaves alone
    const int64_t n = test::test_size(20000, 6000);
    const Scene scene(test::plummer_sphere(n), o);
    test::DeviceScene on(*memory);
    on.upload(*queue, scene);
    forces::DeviceEvaluator evaluator(*memory);
    forces::DeviceField field(*memory);
    forces::DeviceEvaluation how = how_for(scene, DevicePrecision::fp32, false);
    how.leaf = 1, how.group = 1; // an estimate far too small
    field.resize(n, false);
    queue->clear_status();
    evaluator.evaluate(*queue, how, on.tree, on.moments, on.targets, on.lists, field);
    const backend::DeviceStatus words = status();
    ASSERT_EQ(words.stop, backend::too_small);
    EXPECT_GT(words.slots_needed, 65536);
    evaluate(how, on, evaluator, field, n);
    const Result mended = fetch(field), expected = run(scene, DevicePrecision::fp32, false);
    EXPECT_EQ(mended.sums.ax, expected.sums.ax);
    const int64_t allocations = memory->allocations();
    const int64_t waits = queue->waits();
    evaluator.evaluate(*queue, how, on.tree, on.moments, on.targets, on.lists, field);
    EXPECT_EQ(memory->allocations(), allocations) << "a second computation allocates nothing";
    EXPECT_EQ(queue->waits(), waits);
}

TEST_F(Evaluate, NoTargets) {
    Particles none;
    SceneOptions o;
    o.points = &none;
    const Scene scene(test::plummer_sphere(100), o);
    const Result result = run(scene, DevicePrecision::fp64);
    EXPECT_EQ(result.pairs, 0);
    EXPECT_EQ(result.cells, 0);
}

} // namespace
