// SPDX-License-Identifier: BSD-3-Clause
// Targets that the frame of their group is too coarse for: close pairs in wide groups, heaps and clumps
// beside far ones, frames made small by a far source. Against the CPU's kernels in double over the same
// lists.
#include "evaluate_fixture.cuh"

using namespace graft;
using forces::DevicePrecision;
using forces::Softening;
using test::Particles;
using test::Scene;
using test::SceneOptions;
using test::Sums;

namespace {

constexpr DevicePrecision singles[] = {DevicePrecision::fp32, DevicePrecision::mixed};

/// Plummer's sphere; every eighth particle has a companion 1e-7 to 1e-12 away.
Particles binaries(int64_t n, uint64_t seed = 21) {
    Particles p = test::plummer_sphere(n, false, seed);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (size_t i = 0; i < static_cast<size_t>(n); i += 8) {
        const double apart = std::pow(10, -7 - static_cast<double>(i / 8 % 6));
        p.add(p.x[i] + apart * normal(random), p.y[i] + apart * normal(random),
              p.z[i] + apart * normal(random), p.charge[i]);
    }
    return p;
}

class Coarse : public test::Evaluations {
  protected:
    /// For each target whether its nearest source at another place is closer than 2^-14 of its group.
    static std::vector<bool> close_targets(const Scene& scene) {
        std::vector<bool> close(static_cast<size_t>(scene.targets.count()), false);
        for (const lists::Group& group : scene.targets.groups())
            for (int64_t k = group.first; k < group.first + group.count; ++k) {
                double nearest = HUGE_VAL;
                for (int64_t j = 0; j < scene.tree.particle_count(); ++j) {
                    const double d = std::hypot(scene.tree.x[j] - scene.targets.x()[k],
                                                scene.tree.y[j] - scene.targets.y()[k],
                                                scene.tree.z[j] - scene.targets.z()[k]);
                    nearest = d > 0 ? std::min(nearest, d) : nearest;
                }
                close[static_cast<size_t>(k)] = nearest < 0x1p-14 * group.target.box.longest_edge();
            }
        return close;
    }

    /// Close targets to `digits` of their field, which their pairs make; others within rounding in float.
    void compare_close(const Scene& scene, DevicePrecision precision, double digits = 1e-9) {
        double pairs = 0, cells = 0;
        const Sums expected = scene.evaluate<double>(pairs, cells), bounds = scene.float_bounds();
        const std::vector<bool> close = close_targets(scene);
        const Result result = run(scene, precision);
        EXPECT_EQ(result.pairs, pairs);
        EXPECT_EQ(result.cells, cells);
        const double factor = scene.options.local_error > 0 ? 4 : 1;
        double worst_close = 0, worst = 0;
        int64_t number = 0;
        const auto raise = [](double& to, double ratio) { to = ratio <= to ? to : ratio; }; // NaN is kept
        for (size_t i = 0; i < expected.ax.size(); ++i) {
            const Sums& r = result.sums;
            const double size = std::hypot(expected.ax[i], expected.ay[i], expected.az[i]);
            const double error =
                std::hypot(r.ax[i] - expected.ax[i], r.ay[i] - expected.ay[i], r.az[i] - expected.az[i]);
            const double wrong = std::abs(r.potential[i] - expected.potential[i]);
            const double potential = std::abs(expected.potential[i]);
            number += close[i] ? 1 : 0;
            if (close[i]) {
                raise(worst_close, error == 0 ? 0 : error / (digits * size));
                raise(worst_close, wrong == 0 ? 0 : wrong / (100 * digits * potential));
            } else {
                raise(worst, error == 0 ? 0 : error / (factor * bounds.ax[i]));
                raise(worst, wrong == 0 ? 0 : wrong / (factor * (bounds.potential[i] + 1e-6 * potential)));
            }
        }
        EXPECT_LE(worst_close, 1);
        EXPECT_LE(worst, 1);
        EXPECT_GT(number, 0) << "a scene of close pairs";
    }
};

TEST_F(Coarse, ClosePairsKeepTheirDigits) {
    graft::test::Cases cases(4);
    const Particles p = binaries(test::test_size(3000, 500));
    for (const int group : {32, 64, 128, 300, 2000})
        for (const double local_error : {0.0, 3e-3})
            for (const double theta : {0.0, 0.7}) {
                if (cases.skip() || (theta == 0 && local_error > 0)) // no cells
                    continue;
                SceneOptions o;
                o.group = group, o.theta = theta, o.local_error = local_error;
                SCOPED_TRACE("groups of " + std::to_string(group) + ", local " + std::to_string(local_error) +
                             ", theta " + std::to_string(theta));
                const Scene scene(p, o);
                for (const DevicePrecision precision : singles)
                    compare_close(scene, precision);
            }
}

/// Pairs on two sides of the largest cells' faces, which belong to two groups that are far from each other in order.
/// clump: most of the others stand in one corner, so that groups elsewhere are wide and their lists long.
Particles across_faces(int64_t n, bool clump) {
    std::mt19937_64 random(31);
    std::uniform_real_distribution<double> place(-1, 1);
    Particles p;
    for (const double corner : {-1.0, 1.0})
        p.add(corner, corner, corner, 1e-3);
    for (int64_t i = 0; i < n; ++i) {
        const double size = clump && i % 8 != 0 ? 1.0 / 16 : 1, at = clump && i % 8 != 0 ? 0.5 : 0;
        p.add(at + size * place(random), at + size * place(random), at + size * place(random), 1e-3);
    }
    for (int i = 0; i < 60; ++i) {
        const double apart = std::pow(10, -7 - i % 6), side[] = {0, 0.5, -0.5};
        double x[3] = {place(random), place(random), place(random)};
        const int axis = i % 3;
        for (const double sign : {-1.0, 1.0}) {
            x[axis] = side[i / 3 % 3] + sign * apart;
            p.add(x[0], x[1], x[2], 1e-3);
        }
    }
    return p;
}

TEST_F(Coarse, PairsAcrossTheFacesOfLargeCells) {
    for (const bool clump : {false, true}) {
        const Particles p = across_faces(test::test_size(6000, 700), clump);
        for (const int group : {16, 128, 1500})
            for (const DevicePrecision precision : singles) {
                SceneOptions o;
                o.group = group;
                SCOPED_TRACE("groups of " + std::to_string(group) + ", clump " + std::to_string(clump));
                compare_close(Scene(p, o), precision);
            }
    }
}

TEST_F(Coarse, SoftenedBelowTheFramesResolution) {
    graft::test::Cases cases(3);
    for (const Softening softening : {Softening::plummer, Softening::spline})
        for (const bool own_lengths : {false, true})
            for (const double length : {1e-6, 1e-9})
                for (const DevicePrecision precision : singles) {
                    if (cases.skip())
                        continue;
                    Particles p = binaries(test::test_size(2000, 500));
                    if (own_lengths)
                        test::give_softening(p, length);
                    SceneOptions o;
                    o.softening = softening, o.length = length, o.group = 64;
                    SCOPED_TRACE("softening " + std::to_string(static_cast<int>(softening)) + " of " +
                                 std::to_string(length) + ", own " + std::to_string(own_lengths));
                    compare_close(Scene(p, o), precision, 1e-7);
                }
}

TEST_F(Coarse, HeapsBesideCloseAndFarOnes) {
    for (const double apart : {3.0, 1e9}) {
        Particles p = test::plummer_sphere(300);
        for (int i = 0; i < 90; ++i)
            p.add(0.1, 0.2, -0.3, 1e-3);
        for (int i = 1; i < 9; ++i)
            p.add(0.1, 0.2 + 1e-9 * i, -0.3, 1e-3);
        p.add(apart, 0, 0, 1e-3);
        SceneOptions o;
        o.group = 128, o.leaf = 64;
        SCOPED_TRACE("apart " + std::to_string(apart));
        for (const DevicePrecision precision : singles)
            compare_close(Scene(p, o), precision);
    }
}

TEST_F(Coarse, GroupsThatStraddleClumps) {
    for (const double apart : {1e6, 1e12, 1e28})
        for (const DevicePrecision precision : singles) {
            Particles p = test::plummer_sphere(100);
            for (size_t i = 0; i < 100; i += 2)
                p.x[i] += apart;
            SceneOptions o;
            o.group = 128, o.leaf = 64;
            SCOPED_TRACE("apart " + std::to_string(apart));
            compare_close(Scene(p, o), precision);
        }
}

/// Field at points, some upon particles: one that stands alone, its frame made small by a far source; pairs.
TEST_F(Coarse, Points) {
    Particles p = binaries(test::test_size(2000, 400));
    const Particles at = p;
    Particles alone = test::plummer_sphere(20, false, 5);
    SceneOptions o;
    o.points = &at;
    for (const DevicePrecision precision : singles)
        compare_close(Scene(p, o), precision);
    p.add(1e30, 0, 0, 1e-3);
    o.points = &alone, o.group = 1, o.theta = 0; // cells have no help
    const Scene scene(p, o);
    double pairs = 0, cells = 0;
    const Sums expected = scene.evaluate<double>(pairs, cells);
    for (const DevicePrecision precision : singles) {
        const Result result = run(scene, precision);
        for (size_t i = 0; i < 20; ++i)
            EXPECT_NEAR(result.sums.ax[i] / expected.ax[i], 1, 1e-4) << i;
    }
}

TEST_F(Coarse, SameBitsEveryRunAndAdded) {
    SceneOptions o;
    o.group = 128, o.local_error = 3e-3;
    const Scene scene(binaries(test::test_size(3000, 500)), o);
    test::DeviceScene on(*memory);
    on.upload(*queue, scene);
    forces::DeviceEvaluator evaluator(*memory);
    forces::DeviceField field(*memory);
    for (const DevicePrecision precision : singles) {
        forces::DeviceEvaluation how = how_for(scene, precision, true);
        const int64_t n = scene.targets.count();
        evaluate(how, on, evaluator, field, n);
        const Result once = fetch(field);
        const int64_t allocations = memory->allocations();
        evaluate(how, on, evaluator, field, n);
        const Result again = fetch(field);
        EXPECT_EQ(memory->allocations(), allocations);
        EXPECT_EQ(once.sums.ax, again.sums.ax);
        EXPECT_EQ(once.sums.potential, again.sums.potential);
        how.add = true;
        evaluate(how, on, evaluator, field, n);
        const Result twice = fetch(field);
        for (size_t i = 0; i < once.sums.ax.size(); ++i)
            ASSERT_NEAR(twice.sums.ax[i] / once.sums.ax[i], 2, 1e-14) << i;
    }
}

} // namespace
