// SPDX-License-Identifier: BSD-3-Clause
// layout: auto: what is chosen, under a cap, after learning, after a trial; and the serial baseline.
#include "study/bench/bench_near.hpp"
#include "core/median.hpp"
#include "near/choice/choose.hpp"
#include "near/choice/contenders.hpp"
#include "near/mutual.hpp"

#include "core/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace graft::near {
namespace {

study::BenchCase case_of(int64_t n, double density, int32_t dimension) {
    study::BenchGrid grid;
    grid.points = n;
    grid.density = density;
    grid.dimension = dimension;
    return study::make_case(grid);
}

Sums sums_of(int32_t dimension) {
    Sums sums;
    sums.dimension = dimension;
    sums.kernel.kernel = dimension == 2 ? Kernel::logarithm : Kernel::laplace;
    return sums;
}

/// Those, too, that no measured structure was fastest in.
ChoiceOptions every_layout() {
    ChoiceOptions options;
    options.every = true;
    return options;
}

TEST(NearChoose, LeastPredictedTimeWins) {
    const study::BenchCase one = case_of(5000, 8, 3);
    const Shape shape = shape_of(one.structure(), sums_of(3));
    ChoiceOptions options = every_layout();
    for (const double executes : {1.0, 10.0, 1e6}) {
        options.expected_executes = executes;
        const Choice choice = choose(shape, {}, options);
        for (const Candidate& other : choice.candidates) {
            EXPECT_LE(choice.chosen().time_s, other.time_s);
            EXPECT_NEAR(other.time_s, other.predicted.per_execution_s(executes), 1e-12 + 1e-9 * other.time_s);
        }
        EXPECT_FALSE(choice.tried);
    }
}

TEST(NearChoose, ACollectionPaidOnceMayWinWithManyExecutions) {
    const study::BenchCase one = case_of(5000, 30, 2);
    const Shape shape = shape_of(one.structure(), sums_of(2));
    ChoiceOptions options;
    Learned learned; // pretend: records collect slowly and sum ten times faster
    learned.collection.fill(1), learned.execution.fill(1);
    const auto group = static_cast<size_t>(Layout::replicated_group);
    learned.collection[group] = 20, learned.execution[group] = 0.1;
    EXPECT_NE(choose(shape, {}, options, learned).layout, Layout::replicated_group);
    options.expected_executes = 1e6;
    EXPECT_EQ(choose(shape, {}, options, learned).layout, Layout::replicated_group);
}

/// A shape of which `group` needs `bytes`, or somewhat more.
Shape shape_with_group_bytes(double bytes) {
    const study::BenchCase one = case_of(500, 8, 3);
    Shape shape = shape_of(one.structure(), sums_of(3));
    while (bytes_of(Layout::replicated_group, shape) < bytes)
        for (int64_t Shape::*field : {&Shape::targets, &Shape::sources, &Shape::boxes, &Shape::pairs,
                                      &Shape::gathered, &Shape::group_slots, &Shape::lane_targets})
            shape.*field *= 2;
    return shape;
}

/// What is chosen where every layout takes a second for an execution but `group`, which takes group_s.
Layout choice_with_group(const Shape& shape, NearBackend backend, double group_s) {
    ChoiceOptions options;
    options.way.backend = backend;
    options.expected_executes = 1e9;
    const Choice untaught = choose(shape, {}, options);
    Learned learned;
    learned.collection.fill(1);
    for (size_t k = 0; k < layouts; ++k)
        learned.execution[k] = (k == static_cast<size_t>(Layout::replicated_group) ? group_s : 1) /
                               untaught.candidates[k].predicted.execution_s();
    return choose(shape, {}, options, learned).layout;
}

TEST(NearChoose, MemoryFromTheDriverOfAGpuHasToBeWorthFivePercent) {
    constexpr double kept = 64 * 1048576.0; // of a block that the library keeps
    const Shape large = shape_with_group_bytes(kept), small = shape_with_group_bytes(kept / 64);
    ASSERT_GT(bytes_of(Layout::replicated_group, large), kept);
    ASSERT_LE(bytes_of(Layout::replicated_group, small), kept);
    ASSERT_LE(bytes_of(Layout::ranges, large), kept) << "then nothing would be better than group";
    using near::NearBackend;
    EXPECT_NE(choice_with_group(large, NearBackend::cuda, 0.96), Layout::replicated_group);
    EXPECT_EQ(choice_with_group(large, NearBackend::cuda, 0.94), Layout::replicated_group);
    EXPECT_EQ(choice_with_group(small, NearBackend::cuda, 0.99), Layout::replicated_group);
    EXPECT_EQ(choice_with_group(large, NearBackend::cpu, 0.99), Layout::replicated_group);
}

/// What boxes leave each other counts in the bytes of tiled, and against a deck's cap by half of it.
TEST(NearChoose, SumsOfPairsOnceAreBytesOfTiled) {
    Shape shape;
    shape.targets = shape.sources = int64_t{1} << 20, shape.boxes = 1 << 14, shape.dimension = 3;
    shape.neighbours = 27 * shape.boxes, shape.gathered = 27 * shape.targets,
    shape.pairs = 64 * shape.gathered;
    shape.most_targets = 64, shape.most_sources = 27 * 64;
    shape.same = true, shape.components = 1, shape.precision = Precision::fp32;
    const auto bytes = [&](bool once, double most_bytes) {
        ChoiceOptions options;
        options.way.backend = NearBackend::cuda;
        options.way.pairs_once = once, options.way.most_bytes = most_bytes;
        const Choice choice = choose(shape, {}, options);
        return choice.candidates[static_cast<size_t>(Layout::tiled)].predicted.bytes;
    };
    const double sums = 16. * (26 / 2 + 1) * (1 << 20); // of later boxes' sources, and own ones
    const double more = bytes(true, 0) - bytes(false, 0);
    EXPECT_GT(more, sums);
    EXPECT_LT(more, 1.1 * sums) << "with their lists";
    EXPECT_EQ(bytes_of_pairs_once(shape, static_cast<int64_t>(2.1 * more)), more);
    EXPECT_EQ(bytes_of_pairs_once(shape, static_cast<int64_t>(1.9 * more)), 0);
}

TEST(NearChoose, CapLeavesOutAndChunks) {
    const study::BenchCase one = case_of(20000, 8, 3);
    const Shape shape = shape_of(one.structure(), sums_of(3));
    ChoiceOptions options = every_layout();
    options.way.most_bytes = 0.5 * bytes_of(Layout::replicated, shape);
    const Choice half = choose(shape, {}, options);
    const Candidate& records = half.candidates[static_cast<size_t>(Layout::replicated)];
    EXPECT_TRUE(records.possible);
    EXPECT_TRUE(records.predicted.chunked);
    options.way.most_bytes = 1;
    options.way.threads = 3;
    try {
        choose(shape, {}, options);
        FAIL();
    } catch (const core::Error& error) { // what it wants is enough, and no less
        const std::string text = error.what(), before = "expected at least ";
        const double wanted = std::stod(text.substr(text.find(before) + before.size()));
        options.way.most_bytes = wanted;
        choose(shape, {}, options);
        options.way.most_bytes = wanted - 1;
        EXPECT_THROW(choose(shape, {}, options), core::Error);
    }
}

TEST(NearChoose, WhatNeverWinsIsNeitherPredictedNorTriedUnlessNothingElseFits) {
    const study::BenchCase one = case_of(20000, 8, 3);
    const Shape shape = shape_of(one.structure(), sums_of(3));
    const auto at = [](Layout layout) { return static_cast<size_t>(layout); };
    ChoiceOptions options, every = every_layout();
    options.expected_executes = every.expected_executes = 1e6;
    Learned learned; // whatever was seen of them
    learned.execution.fill(1), learned.execution[at(Layout::indexed)] = 1e-3;
    const Choice choice = choose(shape, {}, options, learned);
    for (const Candidate& candidate : choice.candidates) {
        EXPECT_EQ(candidate.possible, !seldom_wins(candidate.layout));
        EXPECT_EQ(candidate.time_s == 0, seldom_wins(candidate.layout));
    }
    for (const Candidate* candidate : contenders(choice))
        EXPECT_FALSE(seldom_wins(candidate->layout));
    EXPECT_TRUE(seldom_wins(choose(shape, {}, every, learned).layout));
    options.asked.fill(false), options.asked[at(Layout::indexed)] = true;
    EXPECT_EQ(choose(shape, {}, options).layout, Layout::indexed);
}

TEST(NearChoose, LearningCorrectsTheChosenAndTheOthersAlike) {
    const study::BenchCase one = case_of(5000, 8, 3);
    const Shape shape = shape_of(one.structure(), sums_of(3));
    const Choice before = choose(shape, {}, every_layout());
    Learned learned;
    Times slow; // the machine is three times slower than predicted
    slow.collection_s = 3 * before.chosen().predicted.collection_s;
    slow.kernel_s = 3 * before.chosen().predicted.execution_s();
    learn(learned, before.chosen(), slow);
    const Choice after = choose(shape, {}, every_layout(), learned);
    EXPECT_EQ(after.layout, before.layout) << "a slow machine is slow for all layouts";
    for (size_t k = 0; k < layouts; ++k)
        EXPECT_NEAR(after.candidates[k].execution_s / before.candidates[k].execution_s, 3, 1e-9);
    // Only this layout is slow: told beside another that is as predicted.
    const size_t other = before.layout == Layout::tiled ? static_cast<size_t>(Layout::ranges)
                                                        : static_cast<size_t>(Layout::tiled);
    Times right;
    right.collection_s = before.candidates[other].predicted.collection_s;
    right.kernel_s = before.candidates[other].predicted.execution_s();
    learn(learned, before.candidates[other], right);
    EXPECT_NE(choose(shape, {}, every_layout(), learned).layout, before.layout);
}

TEST(NearChoose, WithAndWithoutPaddingALayoutIsLearnedAboutAndTriedOnce) {
    const study::BenchCase one = case_of(5000, 8, 3);
    const Shape shape = shape_of(one.structure(), sums_of(3));
    const Choice before = choose(shape, {}, every_layout());
    const auto at = [](Layout layout) { return static_cast<size_t>(layout); };
    Learned learned; // others are quick: their mean is not to hide that records are slow
    learned.execution[at(Layout::tiled)] = learned.execution[at(Layout::ranges)] = 0.1;
    learned.execution[at(Layout::replicated_group)] = 5;
    const Choice after = choose(shape, {}, every_layout(), learned);
    const auto ratio = [&](Layout layout) {
        return after.candidates[at(layout)].execution_s / before.candidates[at(layout)].execution_s;
    };
    EXPECT_NEAR(ratio(Layout::replicated_group_padded), 5, 1e-9);
    EXPECT_NEAR(ratio(Layout::replicated), std::cbrt(0.1 * 0.1 * 5), 1e-9) << "nobody knows it";
    Choice close = before;
    for (Candidate& candidate : close.candidates)
        candidate.time_s = 1, candidate.predicted.error = 0.5;
    close.candidates[at(Layout::replicated_group_padded)].time_s = 0.9;
    close.candidates[at(Layout::replicated_group)].time_s = 0.95;
    close.candidates[at(Layout::tiled)].time_s = close.candidates[at(Layout::ranges)].time_s = 0.97;
    close.layout = Layout::replicated_group_padded;
    std::vector<Layout> tried;
    for (const Candidate* candidate : contenders(close))
        tried.push_back(candidate->layout);
    std::sort(tried.begin(), tried.end());
    EXPECT_EQ(tried, (std::vector<Layout>{Layout::ranges, Layout::tiled, Layout::replicated_group_padded}));
}

TEST(NearChoose, LearningForgetsByHalves) {
    const study::BenchCase one = case_of(500, 8, 2);
    const Choice choice = choose(shape_of(one.structure(), sums_of(2)), {}, {});
    Learned learned;
    Times times;
    const auto chosen = static_cast<size_t>(choice.layout);
    times.kernel_s = 4 * choice.chosen().predicted.execution_s();
    learn(learned, choice.chosen(), times);
    EXPECT_NEAR(learned.execution[chosen], 4, 1e-9);
    times.kernel_s /= 4;
    learn(learned, choice.chosen(), times);
    EXPECT_NEAR(learned.execution[chosen], 2, 1e-9);
    learn(learned, choice.chosen(), {}); // nothing measured: nothing learned
    EXPECT_NEAR(learned.execution[chosen], 2, 1e-9);
}

template <typename T>
void expect_trial(int32_t dimension, int32_t outputs) {
    const study::BenchCase one = case_of(4000, 12, dimension);
    Sums sums = sums_of(dimension);
    sums.precision = sizeof(T) == 4 ? Precision::fp32 : Precision::fp64;
    sums.outputs = outputs;
    ChoiceOptions options;
    options.way.threads = 1;
    options.expected_executes = 1000;
    const std::vector<T> x(one.x.begin(), one.x.end()), y(one.y.begin(), one.y.end()),
        z(one.z.begin(), one.z.end());
    const Coordinates<T> points{x.data(), y.data(), dimension == 3 ? z.data() : nullptr};
    core::Memory memory;
    Learned learned;
    const Structure structure = one.structure();
    const Choice choice = choose_tried<T>(structure, sums, points, points, {}, options, memory, learned);
    EXPECT_TRUE(choice.tried) << "built-in numbers are not trusted";
    EXPECT_TRUE(choice.chosen().tried);
    EXPECT_GT(learned.execution[static_cast<size_t>(choice.layout)], 0);
    EXPECT_LT(choice.trial_s, 5) << "bounded; the machine may be busy";
    EXPECT_EQ(memory.bytes_held(), 0);
    options.expected_executes = 1; // too short a job
    learned = {};
    EXPECT_FALSE(choose_tried<T>(structure, sums, points, points, {}, options, memory, learned).tried);
}

TEST(NearChoose, TrialDecidesWhereTheModelCannot) {
    expect_trial<double>(2, potential);
    expect_trial<double>(3, potential | gradient);
    expect_trial<float>(3, gradient);
}

TEST(NearChoose, ATrialTellsDifferencesBeyondItsNoiseOnly) {
    const auto faster = [](std::vector<double> logarithms) { return trial_ratio(logarithms).faster(); };
    EXPECT_TRUE(faster({-0.2, -0.21, -0.19, -0.2, -0.2}));
    EXPECT_TRUE(faster({-0.2, -0.21, -0.19, 0.9, -0.2})) << "one disturbed round";
    EXPECT_FALSE(faster({-0.2, 0.3, -0.5, 0.4, -0.1})) << "scatter";
    EXPECT_FALSE(faster({0.2, 0.21, 0.19, 0.2, 0.2})) << "slower";
    EXPECT_FALSE(faster({-0.01, -0.01, -0.01})) << "less than a sample can tell";
    EXPECT_FALSE(faster({}));
    EXPECT_NEAR(trial_ratio(std::vector<double>{1, 2, 3, 4, 5}).middle, 3, 1e-12);
    EXPECT_NEAR(trial_ratio(std::vector<double>{1, 2, 3, 4, 5}).error, 1.4826 * 1.2533 / std::sqrt(5.0),
                1e-12);
}

TEST(NearChoose, WorthOfATrialIsTheExpectedLossOfNotKnowing) {
    EXPECT_NEAR(worth_of_trial(0, 1), 0.39894, 1e-5); // 1 / sqrt(2 pi)
    EXPECT_NEAR(worth_of_trial(1, 1), 0.08332, 1e-5); // tables of the unit normal loss
    EXPECT_NEAR(worth_of_trial(0.2, 0.1), 0.1 * 0.008491, 1e-7);
    EXPECT_EQ(worth_of_trial(0.1, 0), 0) << "a model without error needs no trial";
}

/// The built-in numbers, but with one layout's times multiplied.
model::Machine machine_with(Layout layout, double factor) {
    model::Machine machine;
    machine.near = near::near_defaults();
    for (model::NearLayoutCosts& one : machine.near.layouts) {
        one.error = 0.6;
        if (one.layout != static_cast<double>(layout))
            continue;
        for (model::NearPhase* phase : {&one.collection, &one.charges, &one.kernel, &one.scatter})
            for (double model::NearPhase::*field :
                 {&model::NearPhase::call_s, &model::NearPhase::neighbour_s, &model::NearPhase::target_s,
                  &model::NearPhase::run_s, &model::NearPhase::entry, &model::NearPhase::cache_s,
                  &model::NearPhase::memory_s, &model::NearPhase::random})
                phase->*field *= factor;
    }
    return machine;
}

TEST(NearChoose, ATrialOverrulesAModelThatIsFarOff) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the trial is right: under a sanitizer other layouts are fast";
#endif
    const study::BenchCase one = case_of(20000, 12, 3); // the paper's records are many times slower than tiles
    const Coordinates<double> points{one.x.data(), one.y.data(), one.z.data()};
    ChoiceOptions options = every_layout();
    options.expected_executes = 1000;
    core::Memory memory;
    const Structure structure = one.structure();
    const Shape shape = shape_of(structure, sums_of(3));
    const Choice honest = choose(shape, machine_with(Layout::replicated, 1), options);
    const double slower =
        honest.candidates[static_cast<size_t>(Layout::replicated)].time_s / honest.chosen().time_s;
    ASSERT_GT(slower, 3);
    const model::Machine machine = machine_with(Layout::replicated, 0.8 / slower);
    const auto is_slow = [](Layout layout) { // packed: the same numbers
        return layout == Layout::replicated || layout == Layout::replicated_packed;
    };
    ASSERT_TRUE(is_slow(choose(shape, machine, options).layout));
    Learned learned;
    const Choice choice =
        choose_tried<double>(structure, sums_of(3), points, points, machine, options, memory, learned);
    EXPECT_TRUE(choice.tried);
    EXPECT_FALSE(is_slow(choice.layout));
}

TEST(NearBench, CaseHasEveryPointOnceAndSymmetricLists) {
    for (const int32_t dimension : {2, 3}) {
        const study::BenchCase one = case_of(777, 3, dimension);
        std::vector<int> seen(777);
        for (const int64_t i : one.index)
            ++seen[static_cast<size_t>(i)];
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 777);
        int64_t selves = 0;
        const auto boxes = static_cast<int64_t>(one.offset.size()) - 1;
        for (int64_t b = 0; b < boxes; ++b)
            for (int64_t k = one.neighbour_offset[static_cast<size_t>(b)];
                 k < one.neighbour_offset[static_cast<size_t>(b) + 1]; ++k)
                selves += one.neighbour[static_cast<size_t>(k)] == b;
        EXPECT_EQ(selves, boxes);
        const auto side = std::llround(dimension == 2 ? std::sqrt(boxes) : std::cbrt(boxes));
        EXPECT_EQ(static_cast<int64_t>(one.neighbour.size()),
                  std::llround(std::pow(3 * side - 2, dimension))); // 1-D: 3 side - 2, and its products
    }
}

TEST(NearBench, ShapeIsTheSameForAnyThreads) {
    const study::BenchCase one = case_of(9000, 2, 2); // several blocks of boxes
    const Shape alone = shape_of(one.structure(), sums_of(2));
    const auto counts = [](const Shape& s) {
        return std::vector<double>{static_cast<double>(s.pairs),
                                   static_cast<double>(s.largest),
                                   static_cast<double>(s.most_sources),
                                   static_cast<double>(s.most_targets),
                                   static_cast<double>(s.gathered),
                                   static_cast<double>(s.group_slots),
                                   static_cast<double>(s.lane_targets),
                                   static_cast<double>(s.runs),
                                   s.warp_pairs,
                                   s.lane_pairs,
                                   s.row_slots};
    };
    const Structure structure = one.structure();
    int64_t pairs = 0, gathered = 0;
    for (int64_t b = 0; b < structure.target_boxes(); ++b)
        for (int64_t k = structure.neighbour_offset[b]; k < structure.neighbour_offset[b + 1]; ++k) {
            const int32_t other = structure.neighbour[k];
            const int64_t sources = structure.source_offset[other + 1] - structure.source_offset[other];
            gathered += sources;
            pairs += sources * (structure.target_offset[b + 1] - structure.target_offset[b]);
        }
    EXPECT_EQ(alone.pairs, pairs);
    EXPECT_EQ(alone.gathered, gathered);
    EXPECT_GT(alone.runs, structure.target_boxes());
    for (const int32_t threads : {2, 3, 8})
        EXPECT_EQ(counts(shape_of(one.structure(), sums_of(2), threads)), counts(alone)) << threads;
}

TEST(NearBench, TimesOfEveryLayoutAndTheSerialLoop) {
    const study::BenchCase one = case_of(600, 5, 2);
    const auto times = study::bench_layouts({Layout::indexed, Layout::ranges, Layout::replicated, Layout::tiled},
                                     one, sums_of(2), {}, 2);
    for (const study::BenchTimes& t : times) {
        ASSERT_EQ(t.second.size(), 2u);
        EXPECT_GT(core::median(t.once_s), 0);
        EXPECT_GT(t.second[0].kernel_s, 0);
        EXPECT_EQ(t.chunks, 1);
    }
    EXPECT_GT(study::bench_serial_s(one, sums_of(2), 1), 0);
    EXPECT_EQ(core::median({}), 0);
    EXPECT_EQ(core::median({3, 1, 2}), 2);
    EXPECT_EQ(core::median({4, 1, 2, 3}), 2.5);
}

} // namespace
} // namespace graft::near
