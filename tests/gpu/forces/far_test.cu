// SPDX-License-Identifier: BSD-3-Clause
// Far cells as polynomials on the device: the split is the CPU's, entry by entry, and so are the sums.
#include "device_fixture.cuh"
#include "evaluate_scene.hpp"
#include "forces/m2l/m2l_gpu.cuh"
#include "lists/far_cells_gpu.cuh"

#include <cstring>

using namespace graft;
using forces::DevicePrecision;
using forces::Softening;
using test::Particles;
using test::Scene;
using test::SceneOptions;
using test::Sums;

namespace {

SceneOptions local_options(int group = 32, double error = 3e-3) {
    SceneOptions o;
    o.group = group, o.local_error = error;
    return o;
}

class Far : public test::DeviceTest {
  protected:
    struct Result {
        Sums sums{0};
        double pairs = 0, cells = 0, far_cells = 0;
    };

    Result run(const Scene& scene, DevicePrecision precision, bool potential = true, bool local = true) {
        test::DeviceScene on(*memory);
        on.upload(*queue, scene);
        forces::DeviceEvaluator evaluator(*memory);
        forces::DeviceField field(*memory);
        forces::DeviceEvaluation how;
        how.pairs = scene.variant(potential);
        how.softening_length = scene.options.length, how.precision = precision;
        how.order = scene.options.order, how.group = scene.options.group, how.leaf = scene.options.leaf;
        how.local = local;
        const int64_t n = scene.targets.count();
        field.resize(n, potential);
        for (int attempt = 0; attempt < 3; ++attempt) {
            queue->clear_status();
            for (auto* values : {&field.ax, &field.ay, &field.az, &field.potential})
                if (!values->empty())
                    GRAFT_CUDA(cudaMemsetAsync(values->data(), 0xff, static_cast<size_t>(values->size()) * 8,
                                               queue->stream()));
            evaluator.hold_cells(how, on.tree);
            evaluator.evaluate(*queue, how, on.tree, on.moments, on.targets, on.lists, field);
            const backend::DeviceStatus words = status();
            if (words.stop == backend::go)
                break;
            evaluator.reserve(words.tasks_needed, words.slots_needed);
        }
        Result result;
        result.sums.ax = get(field.ax.data(), n), result.sums.ay = get(field.ay.data(), n);
        result.sums.az = get(field.az.data(), n);
        result.sums.potential = get(field.potential.data(), field.potential.size());
        const backend::DeviceStatus& words = queue->fetched_status();
        result.pairs = words.pairs, result.cells = words.cells,
        result.far_cells = static_cast<double>(words.spare[forces::far_cells_word]);
        return result;
    }

    /// Against the CPU's kernels in double over the same lists, split alike. A polynomial in float rounds some
    /// ten times more often than a cell's own formula.
    void compare(const Scene& scene, bool potential, double factor = 4) {
        double pairs = 0, cells = 0;
        const Sums expected = scene.evaluate<double>(pairs, cells), bounds = scene.float_bounds();
        const Result result = run(scene, DevicePrecision::mixed, potential);
        EXPECT_EQ(result.pairs, pairs);
        EXPECT_EQ(result.cells, cells);
        EXPECT_GT(result.far_cells, 0);
        const test::WorstErrors worst = test::worst_errors(result.sums, expected, bounds, potential, factor);
        EXPECT_LE(worst.force, 1) << "force";
        EXPECT_LE(worst.potential, 1) << "potential";
    }
};

/// Sizes that are no multiples of anything; every source of every group is there once: unit charges.
TEST_F(Far, CutIsTheCpusAndComplete) {
    for (const int64_t n : {257, 3001, 20011})
        for (const int group : {5, 8, 33, 64, 257}) {
            SCOPED_TRACE(std::to_string(n) + " particles, groups of " + std::to_string(group));
            const Scene scene(test::plummer_sphere(n), local_options(group));
            test::DeviceScene on(*memory);
            on.upload(*queue, scene);
            lists::DeviceFarLists far(*memory);
            far.nodes.resize(on.tree.nodes.size());
            far.entries.resize(on.lists.nodes.size());
            far.near_count.resize(scene.targets.group_count() + 2);
            lists::split_far(*queue, on.tree, on.moments, on.targets, on.lists, 2, forces::local_order(2),
                             far);
            const auto entries = get(far.entries.data(), scene.lists.nodes.size());
            const auto near_count = get(far.near_count.data(), scene.targets.group_count());
            for (int64_t g = 0; g < scene.targets.group_count(); ++g) {
                const auto is_far = scene.far_from(scene.targets.groups()[g]);
                const int64_t begin = scene.lists.node_offset[g], end = scene.lists.node_offset[g + 1];
                std::vector<int32_t> near, distant, cut;
                for (int64_t e = begin; e < end; ++e)
                    (is_far(scene.lists.nodes[e]) ? distant : near).push_back(scene.lists.nodes[e]);
                ASSERT_EQ(static_cast<size_t>(near_count[static_cast<size_t>(g)]), near.size());
                near.insert(near.end(), distant.rbegin(), distant.rend());
                ASSERT_EQ(std::vector<int32_t>(entries.begin() + begin, entries.begin() + end), near);
                int64_t sources = 0;
                for (int64_t e = begin; e < end; ++e)
                    sources += scene.tree.nodes[entries[static_cast<size_t>(e)]].count;
                for (int64_t e = scene.lists.leaf_offset[g]; e < scene.lists.leaf_offset[g + 1]; ++e)
                    sources += scene.tree.nodes[scene.lists.leaves[e]].count;
                ASSERT_EQ(sources, n);
            }
        }
}

TEST_F(Far, SumsAreTheCpus) {
    graft::test::Cases cases(7);
    for (const int64_t n : {int64_t{777}, test::test_size(9001, 3001)})
        for (const Softening softening : {Softening::none, Softening::plummer, Softening::spline})
            for (const int group : {11, 32, 64})
                for (const bool potential : {false, true}) {
                    if (cases.skip())
                        continue;
                    SCOPED_TRACE(std::to_string(n) + " softening " +
                                 std::to_string(static_cast<int>(softening)) + " groups of " +
                                 std::to_string(group) + " potential " + std::to_string(potential));
                    SceneOptions o = local_options(group);
                    o.softening = softening, o.length = softening == Softening::none ? 0 : 0.05;
                    compare(Scene(test::plummer_sphere(n), o), potential);
                }
}

TEST_F(Far, NegativeChargesAndSubsetsAndPoints) {
    Particles p = test::plummer_sphere(4001);
    SceneOptions o = local_options();
    o.active_step = 3;
    compare(Scene(p, o), true);
    const Particles points = test::plummer_sphere(1003, false, 7);
    o = local_options();
    o.points = &points;
    compare(Scene(p, o), true);
    for (double& q : p.charge)
        q = -q;
    compare(Scene(p, local_options()), true);
}

/// Both signs: the fast cells do not serve, every cell meets every target.
TEST_F(Far, BothSignsHaveNoPolynomials) {
    const Particles p = test::plummer_sphere(3000, true);
    const Scene with(p, local_options()), without(p, SceneOptions{});
    const Result on = run(with, DevicePrecision::mixed),
                 off = run(without, DevicePrecision::mixed, true, false);
    EXPECT_EQ(on.far_cells, 0);
    EXPECT_EQ(on.cells, off.cells);
    for (size_t i = 0; i < on.sums.ax.size(); ++i)
        ASSERT_NEAR(on.sums.ax[i], off.sums.ax[i], 1e-4 * (std::abs(off.sums.ax[i]) + 1));
}

TEST_F(Far, OffInDoubleAndForOtherOrders) {
    const Particles p = test::plummer_sphere(2000);
    SceneOptions o = local_options();
    EXPECT_EQ(run(Scene(p, o), DevicePrecision::fp64).far_cells, 0);
    o.order = 3;
    EXPECT_EQ(run(Scene(p, o), DevicePrecision::mixed).far_cells, 0);
}

TEST_F(Far, SameBitsEveryTime) {
    const Scene scene(test::plummer_sphere(test::test_size(20000, 4000)), local_options(64));
    const Result first = run(scene, DevicePrecision::mixed);
    for (int repeat = 0; repeat < test::test_size(3, 1); ++repeat) {
        const Result again = run(scene, DevicePrecision::mixed);
        EXPECT_EQ(std::memcmp(first.sums.ax.data(), again.sums.ax.data(), 8 * first.sums.ax.size()), 0);
        EXPECT_EQ(std::memcmp(first.sums.potential.data(), again.sums.potential.data(),
                              8 * first.sums.potential.size()),
                  0);
    }
}

} // namespace
