// SPDX-License-Identifier: BSD-3-Clause
// N_leaf, N_group and liu2022's blocks on a GPU (a stand-in, see fake/): who chooses them, and that forces
// stay right while they are tried.
#include "fake/force_gpu.hpp"

#include "bodies.hpp"
#include "fake_library.hpp"
#include "study/bench/bench_force.hpp"

#include <gtest/gtest.h>

#include <set>

namespace graft::engine {
namespace {

fake::Control& control() {
    return test::fake_control<fake::Control>(GRAFT_FAKE_CUDA);
}

using support::Bodies;

constexpr int32_t pairs_1d = 3, tiles_2d = 4; // study.kernel

struct Case {
    settings::Settings settings;
    core::Memory memory;
    std::unique_ptr<Solver> solver;

    explicit Case(TreeSizesBy by, int32_t kernel = 0, bool leaf_given = false, bool group_given = false) {
        settings.backend = settings::Backend::cuda, settings.precision = settings::Precision::fp64, settings.accuracy = 1e-4;
        settings.tuned = leaf_given || group_given;
        settings.device.kernel = kernel;
        control().used.clear();
        control().forces_s = nullptr;
        remake(by, leaf_given, group_given);
    }
    void remake(TreeSizesBy by, bool leaf_given = false, bool group_given = false) {
        solver = std::make_unique<Solver>(settings, memory);
        solver->set_tree_sizes(by, leaf_given, group_given);
    }
    const TreeTuning::Told& compute(Bodies& bodies) {
        bodies.compute(*solver);
        return solver->tuning().told();
    }
};

TEST(DeviceTreeSizes, FixedIsTheDevicesOwnChoiceAndIsTold) {
    control().own = {32, 128, 0, 0};
    Bodies bodies(500);
    Case run(TreeSizesBy::fixed);
    const TreeTuning::Told& told = run.compute(bodies);
    EXPECT_EQ(told.sizes.leaf, 32);
    EXPECT_EQ(told.sizes.group, 128);
    EXPECT_EQ(told.by, "fixed");
    control().own = {64, 64, 0, 0};
}

TEST(DeviceTreeSizes, ATrialKeepsTheFasterAndForcesStayRight) {
    Bodies bodies(3000), exact(3000);
    Case reference(TreeSizesBy::fixed);
    reference.settings.backend = settings::Backend::cpu, reference.settings.method = settings::Method::reference;
    reference.remake(TreeSizesBy::fixed);
    reference.compute(exact);

    Case run(TreeSizesBy::trial);
    control().forces_s = [](const fake::Sizes& s, int call) {
        return (s.leaf == 64 && s.group == 64 ? 1.0 : 0.5 + 0.001 * s.leaf + 0.0001 * s.group) +
               0.001 * (call % 3);
    };
    std::set<int> tried;
    for (int call = 0; call < 22; ++call) {
        const TreeTuning::Told& told = run.compute(bodies);
        EXPECT_LT(bodies.errors_against(exact).back(), 5e-3) << call;
        EXPECT_EQ(told.sizes.leaf, control().used.back().leaf); // what is told is what was used
        EXPECT_EQ(told.sizes.group, control().used.back().group);
        EXPECT_EQ(told.predicted.total_s() > 0, call > 0);
        tried.insert(1000 * told.sizes.leaf + told.sizes.group);
    }
    EXPECT_EQ(control().used.front().leaf, 64); // begins with the device's own
    EXPECT_GE(tried.size(), 2u);
    const TreeTuning::Told told = run.compute(bodies);
    EXPECT_EQ(told.by.substr(0, 9), "by trial:") << told.by;
    EXPECT_NE(told.by.find("faster than leaf 64, group 64"), std::string::npos) << told.by;
    EXPECT_NE(1000 * told.sizes.leaf + told.sizes.group, 64064);
}

TEST(DeviceTreeSizes, NothingIsTriedWhereThereIsNoRoom) {
    Bodies bodies(3000);
    const auto told_by = [&](int64_t bytes_free, int64_t limit) {
        Case run(TreeSizesBy::trial);
        control().bytes_free = bytes_free;
        run.settings.device.memory_limit = limit;
        run.remake(TreeSizesBy::trial);
        for (int call = 0; call < 4; ++call)
            run.compute(bodies);
        control().bytes_free = int64_t{1} << 37;
        return run.solver->tuning().told().by;
    };
    const std::string alone = "fixed: there is no memory for others";
    EXPECT_EQ(told_by(1 << 20, 0), alone);
    EXPECT_EQ(told_by(int64_t{1} << 37, 1 << 20), alone);
    EXPECT_EQ(told_by(int64_t{1} << 37, 0).substr(0, 6), "trial ");
}

TEST(DeviceTreeSizes, BlocksOfThePapersKernelsAreTriedToo) {
    for (const int32_t kernel : {pairs_1d, tiles_2d}) {
        Bodies bodies(3000);
        Case run(TreeSizesBy::trial, kernel, true, true); // leaf and group are the user's
        run.settings.leaf = run.settings.group = 32;
        run.settings.device.block_x = 0;
        run.remake(TreeSizesBy::trial, true, true);
        control().forces_s = [](const fake::Sizes& s, int) {
            return s.block_x == 256 || s.block_x == 16 ? 1 : 0.8;
        };
        for (int call = 0; call < 23; ++call) {
            run.compute(bodies);
            EXPECT_EQ(control().used.back().leaf, 32);
            EXPECT_EQ(control().used.back().group, 32);
            EXPECT_GT(control().used.back().block_x, 0);
            EXPECT_EQ(control().used.back().block_y > 0, kernel == tiles_2d);
            EXPECT_LE(control().used.back().block_x * std::max(1, control().used.back().block_y), 1024);
        }
        EXPECT_EQ(control().used.front().block_x, kernel == pairs_1d ? 256 : 16); // begins with his optimum
        const TreeTuning::Told told = run.compute(bodies);
        EXPECT_EQ(told.by.substr(0, 9), "by trial:") << told.by;
        EXPECT_NE(told.sizes.block.x, kernel == pairs_1d ? 256 : 16);
        EXPECT_EQ(told.sizes.block.x, control().used.back().block_x);
    }
}

TEST(DeviceTreeSizes, AMeasurementPredictsWithTheMachineThatItIsGiven) {
    control().forces_s = nullptr;
    const auto predicted = [](const std::optional<model::Machine>& machine) {
        study::ForceBench bench;
        bench.settings.backend = settings::Backend::cuda, bench.settings.device.kernel = tiles_2d;
        bench.n = 3000, bench.warm_up = 1, bench.repeats = 1;
        bench.sizes = TreeSizesBy::model;
        bench.machine = machine;
        const TreeTuning::Told told = study::bench_force(bench).sizes;
        return told.predicted.forces_s / told.predicted.total_s();
    };
    model::Machine slow;
    slow.gpu.multiprocessors = 1, slow.gpu.clock_hz = 1e8;
    EXPECT_GT(predicted(slow), predicted({}));
}

TEST(DeviceTreeSizes, WhatIsGivenStays) {
    Bodies bodies(2000);
    Case run(TreeSizesBy::trial, tiles_2d, true, true);
    run.settings.leaf = 16, run.settings.group = 64;
    run.settings.device.block_x = 8, run.settings.device.block_y = 16;
    run.remake(TreeSizesBy::trial, true, true);
    for (int call = 0; call < 3; ++call) {
        EXPECT_EQ(run.compute(bodies).by, "fixed");
        const fake::Sizes& used = control().used.back();
        EXPECT_EQ(used.leaf, 16);
        EXPECT_EQ(used.group, 64);
        EXPECT_EQ(used.block_x, 8);
        EXPECT_EQ(used.block_y, 16);
    }
    run.settings.device.block_y = 0; // BY is free
    run.remake(TreeSizesBy::model, true, true);
    for (int call = 0; call < 3; ++call)
        run.compute(bodies);
    EXPECT_EQ(control().used.back().block_x, 8);
}

TEST(DeviceTreeSizes, WhereTheyStayItSaysWhy) {
    Bodies bodies(1000);
    const auto told_of = [&](const auto& change) {
        Case run(TreeSizesBy::trial);
        change(run.settings);
        run.remake(TreeSizesBy::trial);
        run.compute(bodies);
        return run.compute(bodies).by;
    };
    EXPECT_EQ(told_of([](settings::Settings& s) { s.tree_type = tree::TreeType::orb; }),
              "fixed: the host builds the tree");
    EXPECT_EQ(told_of([](settings::Settings& s) { s.device.reuse = 4, s.device.skin = 0.1; }), "fixed: lists are kept");
    EXPECT_EQ(told_of([](settings::Settings& s) { s.device.kernel = 2; }), "fixed: study.kernel block has no model");
    EXPECT_EQ(told_of([](settings::Settings&) {}).substr(0, 6), "trial ");
}

TEST(DeviceTreeSizes, AnotherPlaceBeginsAgain) {
    Bodies bodies(3000);
    Case run(TreeSizesBy::model);
    run.compute(bodies), run.compute(bodies);
    EXPECT_GT(run.solver->tuning().told().predicted.total_s(), 0);
    run.solver->change_settings().backend = settings::Backend::cpu;
    EXPECT_EQ(run.compute(bodies).by, "fixed: this evaluation is the first, whose counts the model needs");
    EXPECT_EQ(run.solver->tuning().told().sizes, (model::TreeSizes{64, 128, {}}));
    run.compute(bodies);
    run.solver->change_settings().backend = settings::Backend::cuda;
    EXPECT_EQ(run.compute(bodies).by, "fixed: this evaluation is the first, whose counts the model needs");
}

} // namespace
} // namespace graft::engine
