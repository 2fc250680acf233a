// SPDX-License-Identifier: BSD-3-Clause
// Who chooses N_leaf and N_group: the turns of a trial with times as the test makes them, and a real solver
// whose forces stay right all the while.
#include "engine/gpu/tight_memory.hpp"
#include "engine/report.hpp"
#include "engine/solver.hpp"

#include "bodies.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace graft::engine {
namespace {

constexpr int64_t many = 100000;

/// What an evaluation would report; seconds of its forces by the sizes and the call.
struct Scene {
    TreeTuning tuning;
    settings::Settings settings;
    Report report;
    int call = 0;
    std::function<double(int leaf, int group, int call)> seconds = [](int, int, int) { return 1.0; };

    explicit Scene(TreeSizesBy by, bool leaf_given = false, bool group_given = false) {
        tuning.set(by, leaf_given, group_given);
    }
    bool on_gpu = false;
    std::set<int> too_large; // leaves for which there is no memory
    int64_t room_bytes = 0;

    /// The sizes that one evaluation had.
    model::TreeSizes evaluate(int64_t n = many, bool whole = true, const char* why_not = "") {
        settings::Settings now = settings;
        tuning.before(now, n, whole, why_not, on_gpu);
        const model::TreeSizes sizes{now.leaf, now.group};
        if (too_large.count(sizes.leaf) > 0) {
            tuning.no_memory();
            return sizes;
        }
        model::TreeCounts known;
        known.sizes = {64, 128};
        known.targets = static_cast<double>(n), known.groups = known.targets / 86,
        known.leaves = known.targets / 18;
        known.pairs = 30000 * known.targets, known.cells = 227 * known.targets;
        known.far_cells = 540 * known.groups;
        const model::TreeCounts counts = model::counts_at(known, sizes);
        report.groups = std::llround(counts.groups), report.leaves = std::llround(counts.leaves);
        report.pairs = counts.pairs, report.cells = counts.cells, report.far_cells = counts.far_cells;
        report.time_s = {};
        report.time_s.forces = seconds(sizes.leaf, sizes.group, call++);
        tuning.after(report, sizes.leaf, sizes.group, room_bytes);
        return sizes;
    }
};

TEST(TreeTuning, FixedSizesStay) {
    Scene scene(TreeSizesBy::fixed);
    for (int k = 0; k < 3; ++k)
        EXPECT_EQ(scene.evaluate(), (model::TreeSizes{64, 128}));
    EXPECT_EQ(scene.tuning.told().by, "fixed");
    Scene given(TreeSizesBy::trial, true, true); // the user's are the user's
    for (int k = 0; k < 3; ++k)
        EXPECT_EQ(given.evaluate(), (model::TreeSizes{64, 128}));
}

TEST(TreeTuning, TheModelSpeaksAfterTheFirstEvaluationWhateverTheClockSays) {
    model::TreeSizes chosen[2];
    for (const int slow : {0, 1}) {
        Scene scene(TreeSizesBy::model);
        scene.seconds = [slow](int, int, int call) { return slow == 0 ? 1.0 : 1.0 + call; };
        EXPECT_EQ(scene.evaluate(), (model::TreeSizes{64, 128}));
        EXPECT_EQ(scene.tuning.told().predicted.total_s(), 0);
        chosen[slow] = scene.evaluate();
        EXPECT_GT(scene.tuning.told().predicted.forces_s, 0);
        EXPECT_EQ(scene.tuning.told().by, "by the model");
        EXPECT_EQ(scene.evaluate(), chosen[slow]);
    }
    EXPECT_EQ(chosen[0], chosen[1]);
    EXPECT_NE(chosen[0], (model::TreeSizes{64, 128})); // this problem likes smaller leaves
}

TEST(TreeTuning, ATrialKeepsTheFasterAndSaysSo) {
    Scene scene(TreeSizesBy::trial);
    model::TreeSizes fast{0, 0};
    std::set<int> seen;
    scene.seconds = [&](int leaf, int group, int call) {
        if (fast.leaf == 0 && (leaf != 64 || group != 128))
            fast = {leaf, group}; // whoever comes first beside the start
        return (leaf == fast.leaf && group == fast.group ? 0.7 : 1.0) + 0.01 * (call % 3);
    };
    int calls = 0;
    for (; calls < 30 && scene.tuning.told().by.find("faster than") == std::string::npos; ++calls) {
        const model::TreeSizes sizes = scene.evaluate();
        seen.insert(1000 * sizes.leaf + sizes.group);
        if (calls > 1 && calls < 5) {
            EXPECT_EQ(scene.tuning.told().by.substr(0, 6), "trial ") << calls;
        }
    }
    EXPECT_LE(calls, 22);
    EXPECT_GE(seen.size(), 2u);
    EXPECT_EQ(scene.tuning.told().by.substr(0, 9), "by trial:") << scene.tuning.told().by;
    EXPECT_EQ(scene.evaluate(), fast);
    EXPECT_EQ(scene.evaluate(many, false), fast);                     // block steps use what is known
    EXPECT_EQ(scene.evaluate(2 * many), (model::TreeSizes{64, 128})); // another problem: from the start
    EXPECT_EQ(scene.tuning.told().by, "fixed: this evaluation is the first, whose counts the model needs");
}

TEST(TreeTuning, ScatterIsNoReasonToChange) {
    Scene scene(TreeSizesBy::trial);
    scene.seconds = [](int leaf, int, int call) { // others a little faster, but all scatter by half
        const uint32_t mixed = static_cast<uint32_t>(call) * 2654435761u;
        return (leaf == 64 ? 1.0 : 0.95) + 0.5 * (mixed >> 16) / 65536.0;
    };
    for (int k = 0; k < 30; ++k)
        scene.evaluate();
    EXPECT_EQ(scene.evaluate(), (model::TreeSizes{64, 128})) << scene.tuning.told().by;
    EXPECT_EQ(scene.tuning.told().by.substr(0, 13), "kept by trial");
}

TEST(TreeTuning, WhereItDoesNotApplyItSaysWhy) {
    Scene scene(TreeSizesBy::trial);
    EXPECT_EQ(scene.evaluate(many, true, "several ranks"), (model::TreeSizes{64, 128}));
    EXPECT_EQ(scene.tuning.told().by, "fixed: several ranks");
    EXPECT_EQ(scene.evaluate(many, false), (model::TreeSizes{64, 128})); // points before anything else
}

TEST(TreeTuning, PointsInAnotherPlaceChangeNothing) {
    Scene scene(TreeSizesBy::model);
    scene.evaluate();
    const model::TreeSizes chosen = scene.evaluate();
    ASSERT_NE(chosen, (model::TreeSizes{64, 128}));
    for (int k = 0; k < 3; ++k) {
        scene.on_gpu = true;
        EXPECT_EQ(scene.evaluate(many, false), (model::TreeSizes{64, 128}));
        EXPECT_EQ(scene.tuning.told().by, "fixed: no evaluation of all particles came before, here");
        scene.on_gpu = false;
        EXPECT_EQ(scene.evaluate(), chosen);
        EXPECT_EQ(scene.tuning.told().by, "by the model");
    }
    // A whole one there, even where nothing is to be chosen: what was known is of the other place.
    scene.on_gpu = true;
    scene.evaluate(many, true, "lists are kept");
    scene.on_gpu = false;
    EXPECT_EQ(scene.evaluate(), (model::TreeSizes{64, 128}));
}

TEST(TreeTuning, SizesThatNeedMoreThanThereIsAreNotTried) {
    const auto bytes_of = [](const model::TreeSizes& sizes) {
        return footprint_bytes(footprint_shape(many, sizes.leaf, sizes.group, 2, false, true));
    };
    for (const TreeSizesBy by : {TreeSizesBy::model, TreeSizesBy::trial}) {
        std::map<int64_t, model::TreeSizes> tried; // by what they need
        Scene scene(by);
        for (int k = 0; k < 25; ++k) {
            const model::TreeSizes sizes = scene.evaluate();
            tried[bytes_of(sizes)] = sizes;
        }
        const auto [most_bytes, largest] = *tried.rbegin();
        ASSERT_NE(largest, (model::TreeSizes{64, 128})); // the start's need is not looked at
        for (const int64_t missing : {0, 1}) {
            Scene poor(by);
            poor.room_bytes = most_bytes - missing;
            bool seen = false;
            for (int k = 0; k < 25; ++k)
                seen = poor.evaluate() == largest || seen;
            EXPECT_EQ(seen, missing == 0);
        }
        Scene none(by);
        none.room_bytes = 1;
        for (int k = 0; k < 25; ++k)
            EXPECT_EQ(none.evaluate(), (model::TreeSizes{64, 128}));
        EXPECT_EQ(none.tuning.told().by, "fixed: there is no memory for others");
    }
}

TEST(TreeTuning, SizesWithoutMemoryAreNotTakenAgain) {
    for (const TreeSizesBy by : {TreeSizesBy::model, TreeSizesBy::trial}) {
        Scene scene(by);
        scene.seconds = [](int leaf, int, int) { return leaf == 64 ? 1.0 : 0.5; };
        scene.evaluate();
        std::set<int> leaves;
        for (int k = 0; k < 25; ++k)
            leaves.insert(scene.evaluate().leaf);
        ASSERT_NE(leaves, std::set<int>{64});
        for (const int large : leaves) {
            if (large == 64)
                continue;
            Scene poor(by);
            poor.seconds = scene.seconds;
            poor.too_large = {large};
            poor.evaluate();
            int failed = 0;
            for (int k = 0; k < 40; ++k)
                failed += poor.evaluate().leaf == large ? 1 : 0;
            EXPECT_GE(failed, 1);
            EXPECT_LE(failed, 3) << "once for every size with this leaf"; // contenders beside the start
            EXPECT_NE(poor.evaluate().leaf, large) << poor.tuning.told().by;
        }
        Scene none(by);
        none.too_large = {16, 32, 128, 256};
        for (int k = 0; k < 40; ++k)
            none.evaluate();
        EXPECT_NE(none.tuning.told().by, "") << none.tuning.told().by;
        EXPECT_EQ(none.evaluate().leaf, 64);
    }
}

TEST(TreeTuning, ForcesStayRightWhileSizesAreTried) {
    support::Bodies bodies(3000, study::Cloud::uniform), exact = bodies;
    settings::Settings settings;
    settings.precision = settings::Precision::fp64, settings.accuracy = 1e-4, settings.threads = 1;
    core::Memory memory;
    settings::Settings reference = settings;
    reference.method = settings::Method::reference;
    Solver judge(reference, memory);
    exact.compute(judge);
    Solver solver(settings, memory);
    solver.set_tree_sizes(TreeSizesBy::trial, false, false);
    std::set<int> groups;
    for (int call = 0; call < 16; ++call) {
        bodies.compute(solver);
        EXPECT_LT(bodies.errors_against(exact).back(), 5e-3) << call;
        const TreeTuning::Told& told = solver.tuning().told();
        groups.insert(1000 * told.sizes.leaf + told.sizes.group);
        EXPECT_EQ(told.predicted.total_s() > 0, call > 0);
        EXPECT_NE(told.by, "");
    }
    EXPECT_GE(groups.size(), 2u) << "nothing was tried";
}

} // namespace
} // namespace graft::engine
