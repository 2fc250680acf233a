// SPDX-License-Identifier: BSD-3-Clause
// The near field's model on a GPU: terms counted by hand, times as one H200 took them, and its calibration
// against a machine that follows the model.
#include "study/calibrate/near_fit.hpp"
#include "near_problem.hpp"

#include "core/error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace graft::model {
namespace {

NearTerms gpu_terms(near::NearLayout layout, near::NearPhaseName phase, const near::NearTimeInput& p,
                    const Machine& machine = {}) {
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    return near::near_terms(layout, phase, p, way, machine);
}

TEST(NearGpu, FromItsRatesAlone) {
    Machine machine;
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    const near::NearPrediction usual = near::near_time(near::NearLayout::tiled, problem(1e6, 64, 3), way, machine);
    EXPECT_GT(usual.kernel_s, 1e6 * 64 * 27 * 10 / 30e12) << "an H200's numbers stand in";
    EXPECT_FALSE(usual.measured);
    machine.gpu.flops = 60e12, machine.gpu.flops_fp64 = 30e12;
    machine.gpu.read_bandwidth_bytes_per_s = machine.gpu.copy_bandwidth_bytes_per_s = 4e12;
    machine.gpu.launch_s = 2e-6;
    machine.link.bandwidth_bytes_per_s = 50e9;
    const near::NearPrediction near = near::near_time(near::NearLayout::tiled, problem(1e6, 64, 3, 0), way, machine);
    EXPECT_GT(near.kernel_s, 1e6 * 64 * 27 * 10 / 30e12);
    EXPECT_NEAR(near.transfer_s / (8e6 / 50e9), 1, 1e-9) << "4 bytes in and 4 out a point";
    way.host_arrays = false;
    EXPECT_EQ(near::near_time(near::NearLayout::tiled, problem(1e6, 64, 3, 0), way, machine).transfer_s, 0);
}

/// What one H200 measured: 1e5 points, 2-D in fp64 and 3-D in fp32, docs/lab/figures/data/near_gpu.jsonl.
TEST(NearGpu, TheLongestThreadCounts) {
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    const auto kernel_s = [&](near::NearLayout layout, double density) {
        near::NearTimeInput p = problem(1e5, density, 3, 0);
        p.most_targets = density + 4 * std::sqrt(density),
        p.most_sources = 27 * density + 4 * std::sqrt(27 * density);
        p.runs = 11 * p.boxes;
        return near::near_time(layout, p, way, {}).kernel_s;
    };
    EXPECT_GT(kernel_s(near::NearLayout::indexed, 290), 100 * kernel_s(near::NearLayout::tiled, 290)) << "measured: 300";
    EXPECT_LT(kernel_s(near::NearLayout::tiled, 58), 0.8 * kernel_s(near::NearLayout::ranges, 58)) << "measured: 0.5";
    EXPECT_LT(kernel_s(near::NearLayout::ranges, 2), kernel_s(near::NearLayout::tiled, 2));
}

/// As 1e6 points were measured, potentials alone and each side of a pair for itself, and for more.
TEST(NearGpu, RatesOfManyPoints) {
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    const auto rate = [&](near::NearLayout layout, double n, double density) {
        near::NearTimeInput p = problem(n, density, 3, 0);
        p.most_targets = density + 5 * std::sqrt(density);
        p.most_sources = 27 * density + 5 * std::sqrt(27 * density);
        p.runs = 11 * p.boxes;
        p.layout_bytes = layout == near::NearLayout::replicated ? 16 * p.pairs : 0;
        return p.pairs / near::near_time(layout, p, way, {}).kernel_s;
    };
    EXPECT_NEAR(rate(near::NearLayout::tiled, 1e6, 64) / 2.03e12, 1, 0.2);
    EXPECT_NEAR(rate(near::NearLayout::tiled, 1e8, 64) / 2.03e12, 1, 0.2);
    EXPECT_NEAR(rate(near::NearLayout::ranges, 1e6, 64) / 1.17e12, 1, 0.2);
    EXPECT_GT(rate(near::NearLayout::tiled, 1e7, 64), 5 * rate(near::NearLayout::replicated, 1e7, 64));
}

/// Of minutes in which making any plan took twice as long: what a layout takes longer is what counts.
TEST(NearGpu, WhatDriftsForAllLayoutsIsNoLayouts) {
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    std::vector<study::NearSample> samples, of_ranges;
    for (const double n : {1e3, 1e4, 1e5, 1e6}) {
        study::NearSample s;
        s.problem = problem(n, 8, 3, 0);
        s.kernel_s = 1e-5;
        const double drift = n < 5e4 ? 2 : 1;
        s.plain_s = drift * (1e-3 + 5e-8 * s.problem.boxes);
        s.collection_s = s.plain_s + 1e-4 + 2e-8 * s.problem.boxes;
        samples.push_back(s);
        s.collection_s = s.plain_s, s.problem.layout_bytes = 40 * s.problem.boxes;
        of_ranges.push_back(s);
    }
    std::vector<std::vector<study::NearSample>> all(near::near_layouts);
    all[1] = of_ranges;
    study::NearSharedPhases common = study::fit_near_common(all, way, {});
    EXPECT_EQ(common.collection.entry, 0) << "bytes of ranges would count for records";
    EXPECT_GT(common.collection.call_s, 1e-3) << "between the minutes";
    common.collection = {1e-3, 0, 0, 5e-8 / (24 + 8 * 4), 0, 0, 0, 0};
    const NearLayoutCosts costs = study::fit_near(near::NearLayout::tiled, samples, way, {}, &common);
    for (const study::NearSample& s : samples) {
        const double predicted_s = near::near_sum(
            near::near_terms(near::NearLayout::tiled, near::NearPhaseName::collection, s.problem, way, {}), costs.collection);
        EXPECT_NEAR(predicted_s / (1.1e-3 + 7e-8 * s.problem.boxes), 1, 1e-3) << s.problem.targets;
    }
}

/// A thread's steps are its kernel's: as many slots, another latency.
TEST(NearGpu, StepsAreOfTheirKernel) {
    Machine machine;
    machine.near.kernels[0] = {1, 0, 2, 3, 1, 1e-12, 1e-7};
    machine.near.kernels[1] = {1, 1, 2, 2, 1, 1e-12, 4e-7};
    NearLayoutCosts costs;
    costs.backend = 1, costs.layout = 1, costs.number_bytes = 8;
    costs.kernel.neighbour_s = 1, costs.scatter.call_s = 1e-5;
    study::put(machine.near, costs);
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    const auto kernel_s = [&](int dimension) {
        near::NearTimeInput p = problem(1000, 100, dimension);
        p.most_sources = 900;
        return near::near_time(near::NearLayout::ranges, p, way, machine).kernel_s;
    };
    constexpr double lanes = 32; // that share so few targets
    EXPECT_DOUBLE_EQ(kernel_s(3), 900 / lanes * 1e-7);
    EXPECT_DOUBLE_EQ(kernel_s(2), 900 / lanes * 4e-7);
    machine.near.kernels[0].scalar_s = 0; // of an older file, whose layouts count steps in slots
    EXPECT_DOUBLE_EQ(kernel_s(3), 900 / lanes * 1e-12);
}

/// Each layout beside its kernels takes the same: what a layout's samples say of it is noise.
TEST(NearGpu, CallsAndWaitsAreAllLayouts) {
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    std::vector<std::vector<study::NearSample>> all(near::near_layouts);
    for (const double n : {1e3, 1e4, 1e5, 1e6})
        for (const size_t layout : {1, 4}) {
            study::NearSample s;
            s.problem = problem(n, 8, 3, 0);
            s.collection_s = s.plain_s = s.kernel_s = 1e-9 * n;
            s.charges_s = (layout == 4 ? 2e-11 : 1e-12) * s.problem.gathered;
            s.scatter_s = (layout == 4 ? 4e-5 : 2e-5) + 1e-9 * n;
            all[layout].push_back(s);
        }
    const study::NearSharedPhases common = study::fit_near_common(all, way, {});
    EXPECT_GT(common.scatter.call_s, 2e-5);
    EXPECT_LT(common.scatter.call_s, 4e-5);
    for (const int layout : {1, 4}) {
        const auto& own = all[static_cast<size_t>(layout)];
        const NearLayoutCosts costs = study::fit_near(static_cast<near::NearLayout>(layout), own, way, {}, &common);
        EXPECT_EQ(costs.scatter, common.scatter);
        Machine machine;
        study::put(machine.near, costs);
        const near::NearPrediction found = near::near_time(static_cast<near::NearLayout>(layout), own[1].problem, way, machine);
        EXPECT_NEAR(found.charges_s / own[1].charges_s, 1, 0.05) << layout;
    }
}

/// The walk over the neighbours goes by pieces of 1,024 boxes; a thread takes one after the other.
TEST(NearGpu, APlanWaitsForTheThreadThatEndsLast) {
    Machine machine;
    machine.cpu.cores = 8;
    const auto met = [&](near::NearLayout layout, double boxes, double density) {
        return gpu_terms(layout, near::NearPhaseName::collection, problem(density * boxes, density, 2), machine)[1];
    };
    constexpr double a_box = 9 + 12; // its neighbours, and what it takes itself
    EXPECT_NEAR(met(near::NearLayout::ranges, 500, 100), 500 * a_box, 1);
    EXPECT_NEAR(met(near::NearLayout::ranges, 8 * 1024, 100), 1024 * a_box, 1) << "a piece each";
    EXPECT_NEAR(met(near::NearLayout::ranges, 9 * 1024, 100), 2 * 1024 * a_box, 1) << "one thread has two";
    EXPECT_NEAR(met(near::NearLayout::ranges, 500, 1) / met(near::NearLayout::indexed, 500, 1), 1 - std::exp(-1.0), 1e-6)
        << "boxes without targets are left out where no copies are made for them";
}

/// Lanes of a warp share a target's sources, the more the fewer targets there are.
TEST(NearGpu, RangesWaitForTheLongestLane) {
    const auto chain = [](double targets, double density) {
        near::NearTimeInput p = problem(targets, density, 2);
        p.most_sources = 100;
        return gpu_terms(near::NearLayout::ranges, near::NearPhaseName::kernel, p)[1] /
               gpu_terms(near::NearLayout::replicated, near::NearPhaseName::kernel, p)[1];
    };
    EXPECT_NEAR(chain(1e3, 4), 1 / 32., 1e-9);
    EXPECT_NEAR(chain(1e4, 4), 1 / 16., 1e-9);
    EXPECT_NEAR(chain(1e6, 4), 1 / 2., 1e-9);
    EXPECT_NEAR(chain(1e5, 64), 1 / 8., 1e-9) << "with many sources more lanes than are busy at once";
}

TEST(NearGpu, APlanCountsTablesAndUnits) {
    const auto terms = [](near::NearLayout layout, double boxes) {
        return gpu_terms(layout, near::NearPhaseName::collection, problem(boxes * 100, 100, 3));
    };
    EXPECT_NEAR(terms(near::NearLayout::ranges, 1000)[3], 1000 * (24 + 4 * 8), 1);
    EXPECT_NEAR(terms(near::NearLayout::ranges, 2e6)[3], 2 * 2e6 * (24 + 4 * 8), 10)
        << "64 MB of runs are the system's";
    EXPECT_NEAR(terms(near::NearLayout::tiled, 1000)[4], 1000, 1e-6) << "units are made for each box with targets";
    EXPECT_NEAR(terms(near::NearLayout::replicated_packed, 1000)[3] - terms(near::NearLayout::replicated, 1000)[3],
                8 * 1000, 1e-6)
        << "where the records of each box begin";
    near::NearTimeInput sparse = problem(1000, 0.5, 3);
    EXPECT_NEAR(gpu_terms(near::NearLayout::tiled, near::NearPhaseName::collection, sparse)[4],
                2000 * (1 - std::exp(-0.5)), 1e-6);
}

TEST(NearGpu, NumbersOfAnOlderFileStandBack) {
    Machine machine;
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    const near::NearTimeInput p = problem(1e4, 8, 3, 0);
    NearLayoutCosts costs;
    costs.backend = 1, costs.layout = 1, costs.number_bytes = 4, costs.collection.run_s = 1;
    study::put(machine.near, costs);
    const near::NearPrediction older = near::near_time(near::NearLayout::ranges, p, way, machine);
    EXPECT_FALSE(older.measured);
    EXPECT_EQ(older.collection_s, near::near_time(near::NearLayout::ranges, p, way, {}).collection_s);
    costs.scatter.call_s = 3e-5;
    study::put(machine.near, costs);
    EXPECT_TRUE(near::near_time(near::NearLayout::ranges, p, way, machine).measured);
}

/// At 8 points a box the emptiest neighbourhoods fall below what blocks of threads take (tile_shapes.hpp), and
/// their warps, which read source by source, end last.
TEST(NearGpu, FewWarpsBesideBlocksAreLate) {
    const auto direct = [](double density) {
        return gpu_terms(near::NearLayout::tiled, near::NearPhaseName::kernel, problem(1e5, density, 3, 0))[1];
    };
    EXPECT_GT(direct(4), 0) << "warps alone";
    EXPECT_GT(direct(6.5), 0);
    EXPECT_EQ(direct(8), 0) << "nearly all small boxes would take blocks: then all do";
    EXPECT_EQ(direct(16), 0) << "blocks alone";
}

/// Kernels of one H200, billions of pairs a second: the rates of docs/lab/gpu/near_pairs_once.md, and, in
/// nanoseconds, four potentials of another run.
TEST(NearGpu, PairsOfBoxesOnceAsMeasured) {
    struct Case {
        double density, boxes_an_axis;
        int outputs;
        double rate, kernel_ns;
    };
    constexpr Case cases[] = {{64, 32, 3, 1914, 0},       {64, 32, 2, 2116, 0},   {64, 32, 1, 3221, 0},
                              {64, 16, 3, 1409, 0},       {64, 16, 2, 1475, 0},   {64, 16, 1, 2255, 0},
                              {32, 32, 3, 1519, 0},       {32, 32, 2, 1647, 0},   {32, 32, 1, 2223, 0},
                              {32, 16, 3, 1033, 0},       {32, 16, 2, 1091, 0},   {32, 16, 1, 1446, 0},
                              {128, 16, 3, 1654, 0},      {128, 16, 2, 1890, 0},  {128, 16, 1, 3087, 0},
                              {33.57, 31, 1, 0, 380512},  {64, 25, 1, 0, 522624}, {125, 20, 1, 0, 918240},
                              {244.14, 16, 1, 0, 1655940}};
    near::NearWay once, each;
    once.backend = each.backend = near::NearBackend::cuda, once.pairs_once = true;
    for (const Case& one : cases) {
        const double boxes = std::pow(one.boxes_an_axis, 3);
        near::NearTimeInput p = problem(boxes * one.density, one.density, 3, 0);
        p.neighbours = std::pow(3 * one.boxes_an_axis - 2, 3); // fewer at the rim
        p.gathered = p.neighbours * one.density, p.pairs = p.gathered * one.density;
        p.most_sources = 27 * one.density, p.outputs = one.outputs;
        const double measured_s = one.rate > 0 ? p.pairs / one.rate * 1e-9 : one.kernel_ns * 1e-9;
        EXPECT_NEAR(near::near_time(near::NearLayout::tiled, p, once, {}).kernel_s / measured_s, 1, 0.1)
            << one.density << " a box, outputs " << one.outputs;
        if (one.kernel_ns > 0 && one.density > 60) {
            EXPECT_GT(near::near_time(near::NearLayout::tiled, p, each, {}).kernel_s, 1.3 * measured_s);
        }
    }
}

TEST(NearGpu, PairsOfBoxesOnceAreTiledsAndOfAGpu) {
    near::NearTimeInput p = problem(1e6, 64, 3, 0);
    p.most_sources = 27 * 64;
    near::NearWay once, each;
    once.pairs_once = true;
    for (const near::NearBackend backend : {near::NearBackend::cpu, near::NearBackend::cuda}) {
        once.backend = each.backend = backend;
        for (int k = 0; k < near::near_layouts; ++k) {
            const near::NearPrediction a = near::near_time(near::NearLayout{k}, p, once, {}),
                                 b = near::near_time(near::NearLayout{k}, p, each, {});
            const bool other = backend == near::NearBackend::cuda && near::NearLayout{k} == near::NearLayout::tiled;
            EXPECT_EQ(a.kernel_s < b.kernel_s, other) << k;
            EXPECT_EQ(a.collection_s > b.collection_s, other) << k;
            EXPECT_EQ(a.charges_s, b.charges_s) << k;
        }
    }
    // 32 bytes each of half of the sources of other boxes, and of the targets.
    const NearTerms terms = near::near_terms(near::NearLayout::tiled, near::NearPhaseName::kernel, p, once, {});
    EXPECT_DOUBLE_EQ(terms[7], 32 * (0.5 * (p.gathered - p.targets) + p.targets));
    EXPECT_EQ(near::near_terms(near::NearLayout::tiled, near::NearPhaseName::collection, p, once, {})[4], p.neighbours);
}

/// A machine half as fast, with plans that take twice as long: found from four structures, and tiled without
/// it stays what it was.
TEST(NearGpu, PairsOfBoxesOnceAreCalibrated) {
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    const near::NearWay plain = way;
    way.pairs_once = true;
    const auto problem_at = [](double n, double density) {
        near::NearTimeInput p = problem(n, density, 3, 0);
        p.most_sources = 27 * density;
        return p;
    };
    std::vector<std::vector<study::NearSample>> all(near::near_forms);
    for (const auto& [n, density] : {std::pair{6e5, 34.}, {5e5, 125.}, {3e5, 60.}, {1.4e5, 34.}}) {
        study::NearSample s;
        s.problem = problem_at(n, density);
        const near::NearPrediction ranges = near::near_time(near::NearLayout::ranges, s.problem, way, {});
        const near::NearPrediction once = near::near_time(near::NearLayout::tiled, s.problem, way, {});
        s.charges_s = 1e-5, s.scatter_s = 3e-5 + 1e-9 * n;
        s.collection_s = s.plain_s = ranges.collection_s, s.kernel_s = ranges.kernel_s;
        all[static_cast<size_t>(near::NearLayout::ranges)].push_back(s);
        s.collection_s = 2 * once.collection_s, s.kernel_s = 2 * once.kernel_s;
        all[static_cast<size_t>(near::NearLayout::tiled_once)].push_back(s);
    }
    const study::NearSharedPhases common = study::fit_near_common(all, plain, {});
    const auto& own = all[static_cast<size_t>(near::NearLayout::tiled_once)];
    Machine machine;
    study::put(machine.near, study::fit_near(near::NearLayout::tiled_once, own, plain, machine, &common));
    const near::NearTimeInput p = problem_at(1e6, 64);
    const near::NearPrediction found = near::near_time(near::NearLayout::tiled, p, way, machine);
    const near::NearPrediction built_in = near::near_time(near::NearLayout::tiled, p, way, {});
    EXPECT_TRUE(found.measured);
    EXPECT_NEAR(found.kernel_s / built_in.kernel_s, 2, 0.05);
    EXPECT_NEAR(found.collection_s / built_in.collection_s, 2, 0.1);
    EXPECT_FALSE(near::near_time(near::NearLayout::tiled, p, plain, machine).measured);

    std::vector<study::NearSample> hidden = own; // bytes that no sample shows pass at the bandwidth all the same
    machine.gpu.read_bandwidth_bytes_per_s = 4e12;
    for (study::NearSample& s : hidden)
        s.kernel_s =
            1e-5 + near::near_terms(near::NearLayout::tiled_once, near::NearPhaseName::kernel, s.problem, plain, {})[4];
    EXPECT_EQ(study::fit_near(near::NearLayout::tiled_once, hidden, plain, machine, &common).kernel.random, 1 / 4e12);
}

/// Seconds of the kernels that bring charges into records, by events of one H200: 1e6 points, 2-D, fp64,
/// the seventeenth run of docs/lab/gpu/near.md.
TEST(NearGpu, ChargesAsMeasured) {
    struct Case {
        double density, replicated_s, interleaved_s, group_s;
    };
    constexpr Case cases[] = {
        {1, 439e-6, 245e-6, 590e-6}, {4, 691e-6, 592e-6, 282e-6}, {8, 1202e-6, 906e-6, 255e-6}};
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    for (const Case& one : cases) {
        near::NearTimeInput p = problem(1e6, one.density, 2);
        p.full_boxes = p.boxes * -std::expm1(-one.density);
        p.pairs = 9 * 1e6 * one.density + 1e6, p.runs = 4.3 * p.full_boxes;
        p.most_sources = 9 * one.density + 5 * std::sqrt(9 * one.density);
        const auto ratio = [&](near::NearLayout layout, double measured_s) {
            return near::near_time(layout, p, way, {}).charges_s / measured_s;
        };
        EXPECT_NEAR(ratio(near::NearLayout::replicated, one.replicated_s), 1, 0.25) << one.density;
        EXPECT_NEAR(ratio(near::NearLayout::replicated_interleaved, one.interleaved_s), 1, 0.25) << one.density;
        EXPECT_NEAR(ratio(near::NearLayout::replicated_group, one.group_s), 1, 0.25) << one.density;
    }
}

TEST(NearGpu, MemoryThatTheLibraryDoesNotKeepIsTakenAnew) {
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    near::NearTimeInput p = problem(1000, 10, 3);
    p.layout_bytes = 6e7;
    Machine machine;
    const auto terms = [&] {
        return near::near_terms(near::NearLayout::replicated, near::NearPhaseName::collection, p, way, machine);
    };
    EXPECT_EQ(terms()[6] + terms()[7], 0);
    p.layout_bytes = 6.4e8;
    EXPECT_EQ(terms()[6], 1e7);
    EXPECT_EQ(terms()[7], 1);
    machine.gpu.memory_bytes = 128 * 6.4e8; // a larger GPU, of whose memory more is kept
    EXPECT_EQ(terms()[6] + terms()[7], 0);

    std::vector<study::NearSample> samples; // which do not show what the driver takes
    for (const double n : {1e3, 1e4, 1e5}) {
        study::NearSample s;
        s.problem = problem(n, 8, 3, 0);
        s.kernel_s = s.collection_s = s.charges_s = 1e-9 * n;
        samples.push_back(s);
    }
    bool measured = true;
    const NearPhase built_in =
        near::near_costs(near::NearLayout::replicated, samples[0].problem, way, {}, &measured).collection;
    EXPECT_FALSE(measured);
    const NearPhase found = study::fit_near(near::NearLayout::replicated, samples, way, machine).collection;
    EXPECT_GT(built_in.random, 0);
    EXPECT_EQ(found.random, built_in.random);
    EXPECT_EQ(found.memory_s, built_in.memory_s);
}

/// The same layout steps through other kernels in two and in three dimensions; collection is the host's.
TEST(NearGpu, KernelsAreFittedByDimension) {
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    Machine machine;
    std::vector<study::NearSample> samples;
    const auto kernel_s = [](const near::NearTimeInput& p) {
        return (p.dimension == 2 ? 1e-9 : 4e-9) * p.targets;
    };
    for (const int32_t dimension : {2, 3})
        for (const double n : {1e3, 1e4, 1e5})
            for (const double density : {0.5, 4., 32.}) {
                study::NearSample s;
                s.problem = problem(n, density, dimension, 0);
                s.kernel_s = kernel_s(s.problem), s.collection_s = s.charges_s = s.scatter_s = 2e-9 * n;
                samples.push_back(s);
            }
    const auto error = [&](int32_t dimension) {
        const near::NearTimeInput p = problem(3e4, 8, dimension, 0);
        return std::abs(near::near_time(near::NearLayout::ranges, p, way, machine).kernel_s / kernel_s(p) - 1);
    };
    study::put(machine.near,
        study::fit_near(near::NearLayout::ranges, samples, way, machine)); // as files of older versions have it
    EXPECT_GT(error(2) + error(3), 0.5);
    for (const int32_t dimension : {2, 3})
        study::put(machine.near, study::fit_near(near::NearLayout::ranges, samples, way, machine, nullptr, dimension));
    EXPECT_LT(error(2), 0.01);
    EXPECT_LT(error(3), 0.01);
    EXPECT_EQ(machine.near.layouts[0].dimension, 0);
    EXPECT_EQ(machine.near.layouts[2].dimension, 3);
    EXPECT_EQ(machine.near.layouts[1].collection, machine.near.layouts[2].collection);
    EXPECT_EQ(machine.near.layouts[3].number_bytes, 0);
    const std::span<const study::NearSample> flat(samples.data(), samples.size() / 2);
    EXPECT_EQ(study::fit_near(near::NearLayout::ranges, flat, way, machine, nullptr, 3).dimension, 0) << "none of three";
}

} // namespace
} // namespace graft::model
