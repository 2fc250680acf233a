// SPDX-License-Identifier: BSD-3-Clause
// The near field's model against terms counted by hand, and its calibration against a machine that follows
// it.
#include "study/calibrate/near_fit.hpp"
#include "near/choice/near_time.hpp"
#include "near_problem.hpp"

#include "core/error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace graft::model {
namespace {

TEST(NearTime, TermsAreCounted) {
    near::NearTimeInput p = problem(1000, 10, 3);
    p.full_boxes = 100;
    p.layout_bytes = 1e6;
    const NearTerms indexed = near::near_terms(near::NearLayout::indexed, near::NearPhaseName::collection, p, {}, {});
    EXPECT_EQ(indexed, (NearTerms{1, 2700, 1000, 0, 27000, 0, 1e6 / 64, 0}))
        << "the arrays are touched for the first time";
    p.layout_bytes = 1e5;
    EXPECT_EQ(near::near_terms(near::NearLayout::indexed, near::NearPhaseName::collection, p, {}, {})[6], 0)
        << "the C library has had such a block before";
    p.layout_bytes = 270000 * 4 * 8.;
    const NearTerms records = near::near_terms(near::NearLayout::replicated, near::NearPhaseName::collection, p, {}, {});
    EXPECT_EQ(records[1], 27000) << "every target walks over 27 boxes";
    EXPECT_EQ(records[4], 270000) << "every pair is written";
    EXPECT_GT(records[5], 0) << "6.5 MB do not fit the second level";
    EXPECT_EQ(near::near_terms(near::NearLayout::indexed, near::NearPhaseName::charges, p, {}, {})[4], 0);
}

TEST(NearTime, SlotsOfEachLoop) {
    near::NearTimeInput p = problem(1000, 10, 3);
    p.full_boxes = 100;
    Machine machine;
    machine.near.kernels[0] = {0, 0, 2, 3, 1, 1, 10};
    const auto slots = [&](near::NearLayout layout) {
        return near::near_terms(layout, near::NearPhaseName::kernel, p, {}, machine)[4];
    };
    EXPECT_DOUBLE_EQ(slots(near::NearLayout::indexed), 10 * p.pairs);
    EXPECT_DOUBLE_EQ(slots(near::NearLayout::replicated), 10 * p.pairs);
    EXPECT_DOUBLE_EQ(slots(near::NearLayout::ranges), p.row_slots);
    EXPECT_DOUBLE_EQ(slots(near::NearLayout::replicated_interleaved), p.lane_pairs);
    EXPECT_DOUBLE_EQ(slots(near::NearLayout::tiled), p.pairs + 1000 * 3.5);
    EXPECT_DOUBLE_EQ(slots(near::NearLayout::tiled_split), p.pairs + 1000 * 7.);
}

TEST(NearTime, GapsBetweenRecordsBreakTheStreamOfTheirLines) {
    near::NearTimeInput p = problem(1e5, 10, 3);
    p.layout_bytes = 1e9; // alike: only where the records stand differs
    const auto kernel_s = [&](near::NearLayout layout) { return near::near_time(layout, p, {}, {}).kernel_s; };
    EXPECT_GT(kernel_s(near::NearLayout::replicated), 1.1 * kernel_s(near::NearLayout::replicated_packed));
    EXPECT_GT(kernel_s(near::NearLayout::replicated_group_padded), 1.1 * kernel_s(near::NearLayout::replicated_group));
    Machine machine; // of before they were measured each by itself
    bool measured = true;
    machine.near.layouts[0] = near::near_costs(near::NearLayout::replicated, p, {}, machine, &measured);
    EXPECT_EQ(near::near_time(near::NearLayout::replicated, p, {}, machine).kernel_s,
              near::near_time(near::NearLayout::replicated_packed, p, {}, machine).kernel_s);
}

/// Their own bytes, and those of the tables: an offset a box finds records that are not padded.
TEST(NearTime, WithAndWithoutPaddingOnlyBytesDifferOnAGpu) {
    struct Pair {
        near::NearLayout measured, other;
        double offset_bytes; // more, of a box
    };
    near::NearTimeInput p = problem(1e5, 10, 3);
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    for (const auto& [one, other, offset_bytes] :
         {Pair{near::NearLayout::replicated, near::NearLayout::replicated_packed, 8},
          {near::NearLayout::replicated_group, near::NearLayout::replicated_group_padded, -8}}) {
        p.layout_bytes = 1e9;
        const near::NearPrediction here = near::near_time(one, p, way, {}), there = near::near_time(other, p, way, {});
        bool known = false;
        const double byte_s = near::near_costs(one, p, way, {}, &known).collection.run_s;
        EXPECT_NEAR(there.collection_s, here.collection_s + offset_bytes * p.boxes * byte_s, 1e-15);
        EXPECT_EQ(here.execution_s(), there.execution_s());
        EXPECT_EQ(near::near_scalar(one), near::near_scalar(other));
        EXPECT_TRUE(near::near_records(other));
        p.layout_bytes = 2e9;
        EXPECT_GT(near::near_time(other, p, way, {}).collection_s, there.collection_s);
    }
    Machine machine; // that knows better
    bool measured = true;
    machine.near.layouts[0] = near::near_costs(near::NearLayout::replicated, p, {}, machine, &measured);
    EXPECT_FALSE(measured);
    machine.near.layouts[0].layout = static_cast<double>(near::NearLayout::replicated_packed);
    machine.near.layouts[0].kernel.call_s = 7; // seconds
    EXPECT_GT(near::near_time(near::NearLayout::replicated_packed, p, {}, machine).kernel_s, 7);
    EXPECT_LT(near::near_time(near::NearLayout::replicated, p, {}, machine).kernel_s, 7);
}

TEST(NearTime, NearestKernelStandsInAndIsScaled) {
    Machine machine;
    machine.near.kernels[0] = {0, 0, 2, 3, 1, 1e-9, 4e-9};
    near::NearTimeInput p = problem(1000, 10, 3);
    const double own = near::near_slot_s(p, {}, machine, false);
    EXPECT_DOUBLE_EQ(own, 1e-9);
    p.kernel = 3;
    EXPECT_GT(near::near_slot_s(p, {}, machine, false), 2e-9);
    p.kernel = 0, p.precision = 0;
    EXPECT_LT(near::near_slot_s(p, {}, machine, false), 0.6e-9) << "twice the lanes";
}

TEST(NearTime, OverTheCapEveryExecutionCollects) {
    const near::NearTimeInput p = problem(1e5, 10, 3);
    near::NearWay way;
    const near::NearPrediction whole = near::near_time(near::NearLayout::replicated, p, way, {});
    way.most_bytes = p.layout_bytes / 2;
    const near::NearPrediction chunked = near::near_time(near::NearLayout::replicated, p, way, {});
    EXPECT_FALSE(whole.chunked);
    EXPECT_TRUE(chunked.chunked);
    EXPECT_FALSE(whole.measured);
    EXPECT_NEAR(whole.per_execution_s(1e9), whole.execution_s(), 1e-9 * whole.collection_s + 1e-15);
    EXPECT_LT(chunked.per_execution_s(1e9), whole.per_execution_s(1)) << "the same memory is filled again";
    EXPECT_GT(chunked.per_execution_s(1e9), whole.execution_s() + 0.5 * whole.collection_s);
}

TEST(NearTime, SortedPointsAreFreshArrayByArray) {
    near::NearTimeInput p = problem(10000, 10, 2);
    p.runs = 4000;
    const auto fresh = [&] {
        return near::near_terms(near::NearLayout::ranges, near::NearPhaseName::collection, p, {}, {})[6];
    };
    EXPECT_EQ(fresh(), 0) << "240 kB, but no array has more than 80 kB";
    p.sources = p.targets = 20000;
    EXPECT_EQ(fresh(), 3 * 20000 * 8 / 64.) << "x, y, charges";
}

TEST(NearTime, ChunksAreWrittenAtTheSpeedOfTheirLevel) {
    Machine machine;
    machine.cpu.caches[1].bytes = 1 << 20;
    machine.cpu.arrays[0] = {1e6, 1e-9, 1e-9};
    machine.cpu.arrays[1] = {16e6, 1e-9, 2e-9};
    machine.cpu.arrays[2] = {256e6, 1e-9, 5e-9};
    near::NearTimeInput p = problem(1e4, 10, 3);
    p.layout_bytes = 1e9;
    const double lines = 1e9 / 64;
    const auto terms = [&](double cap) {
        near::NearWay way;
        way.most_bytes = cap;
        return near::near_terms(near::NearLayout::replicated, near::NearPhaseName::again, p, way, machine);
    };
    EXPECT_EQ(terms(5e5)[5], 0) << "chunks of half a megabyte stay in the second level";
    EXPECT_EQ(terms(5e5)[7], 0);
    EXPECT_NEAR(terms(16e6)[7], 2 * lines * 1e-9, 1e-12)
        << "read and written, a nanosecond longer than there";
    EXPECT_NEAR(terms(256e6)[7], 2 * lines * 4e-9, 1e-12);
    EXPECT_EQ(terms(256e6)[6], 0) << "nothing is touched for the first time";

    near::NearWay way;
    way.most_bytes = 16e6;
    const double unknown_s = near::near_time(near::NearLayout::replicated, p, way, machine).collection_s;
    machine.near.layouts[0] = {0, 2, 8, 0.1, {}, {}, {}, {}, {1e-3, 0, 0, 0, 0, 0, 0, 1}};
    EXPECT_GT(unknown_s, 0) << "files without these numbers have those of the first collection";
    EXPECT_NEAR(near::near_time(near::NearLayout::replicated, p, way, machine).collection_s, 1e-3 + 2 * lines * 1e-9,
                1e-9);
    EXPECT_EQ(near::near_time(near::NearLayout::replicated, p, {}, machine).collection_s, 0) << "whole: the first one's";
}

TEST(NearTime, ThreadsShareAllButTheCall) {
    const near::NearTimeInput p = problem(1e5, 10, 3);
    Machine machine;
    machine.cpu.cores = 4;
    near::NearWay four, eight;
    four.threads = 4, eight.threads = 8;
    const double one_s = near::near_time(near::NearLayout::tiled, p, {}, machine).kernel_s;
    EXPECT_NEAR(near::near_time(near::NearLayout::tiled, p, four, machine).kernel_s / one_s, 0.25, 0.01);
    EXPECT_EQ(near::near_time(near::NearLayout::tiled, p, eight, machine).kernel_s,
              near::near_time(near::NearLayout::tiled, p, four, machine).kernel_s);
}

TEST(NearTime, TransfersBetweenMeasuredSizes) {
    Link link;
    link.by_size[0] = {4096, 1e9, 1e9, 5e8, 5e8};
    link.by_size[1] = {1e6, 1e10, 1e10, 4e9, 4e9};
    EXPECT_DOUBLE_EQ(near::transfer_s(link, 0, false, true), 0);
    EXPECT_DOUBLE_EQ(near::transfer_s(link, 8, false, true), 4096e-9) << "latency";
    EXPECT_DOUBLE_EQ(near::transfer_s(link, 1e6, false, true), 1e-4);
    EXPECT_DOUBLE_EQ(near::transfer_s(link, 1e8, true, false), 1e8 / 4e9);
    const double middle = near::transfer_s(link, (4096 + 1e6) / 2, false, true);
    EXPECT_NEAR(middle, (4096e-9 + 1e-4) / 2, 1e-12);
    EXPECT_THROW(near::transfer_s({}, 8, false, true), core::Error);
}

TEST(NearTime, SamplesCountByTheirWeight) {
    near::NearWay way;
    way.backend = near::NearBackend::cuda;
    std::vector<study::NearSample> samples;
    for (const double n : {1e3, 1e4, 1e5})
        for (const double factor : {1., 2.}) { // the same structure took 1 and 2 ns a target
            study::NearSample s;
            s.problem = problem(n, 8, 3, 0);
            s.kernel_s = s.collection_s = s.charges_s = factor * 1e-9 * n;
            s.weight = factor == 1 ? 1 : 0.01;
            samples.push_back(s);
        }
    const NearLayoutCosts costs = study::fit_near(near::NearLayout::ranges, samples, way, {});
    const near::NearTimeInput p = problem(3e4, 8, 3, 0);
    const double kernel_s =
        near::near_sum(near::near_terms(near::NearLayout::ranges, near::NearPhaseName::kernel, p, way, {}), costs.kernel);
    EXPECT_NEAR(kernel_s / 3e-5, 1, 0.05);
}

TEST(NearTime, CalibrationFindsAMachineAgain) {
    Machine machine;
    machine.near.kernels[0] = {0, 0, 2, 3, 1, 2e-10, 3e-9};
    machine.near.kernels[1] = {0, 1, 2, 2, 1, 7e-10, 4e-9};
    const NearPhase collection{1e-6, 6e-9, 3e-9, 8e-9, 2e-9, 1e-9, 5e-9, 1},
        kernel{2e-6, 2e-9, 15e-9, 1e-9, 0.9, 3e-9, 9e-9, 1}, again{1e-6, 5e-9, 2e-9, 7e-9, 1e-9, 2e-9, 0, 1};
    for (int k = 0; k < near::near_layouts; ++k) {
        const auto layout = static_cast<near::NearLayout>(k);
        std::vector<study::NearSample> samples;
        const auto measure = [&](double n, double density, int dimension) {
            study::NearSample s;
            s.problem = problem(n, density, dimension);
            const auto terms = [&](near::NearPhaseName name) {
                return near::near_terms(layout, name, s.problem, {}, machine);
            };
            s.collection_s = near::near_sum(terms(near::NearPhaseName::collection), collection);
            s.charges_s = near::near_sum(terms(near::NearPhaseName::charges), {1e-7, 0, 0, 0, 1e-9, 2e-9, 0, 1});
            s.kernel_s = near::near_sum(terms(near::NearPhaseName::kernel), kernel);
            s.again_s = near::near_sum(terms(near::NearPhaseName::again), again);
            return s;
        };
        for (const int dimension : {2, 3})
            for (const double n : {600., 4000., 30000., 200000., 1e6})
                for (const double density : {0.6, 2.5, 9., 36.})
                    samples.push_back(measure(n, density, dimension));
        const NearLayoutCosts costs = study::fit_near(layout, samples, {}, machine);
        EXPECT_LT(costs.error, 1e-3) << k;
        study::put(machine.near, costs);
        const study::NearSample other = measure(77777, 5, 3);
        const near::NearPrediction near = near::near_time(layout, other.problem, {}, machine);
        EXPECT_TRUE(near.measured);
        EXPECT_NEAR(near.kernel_s / other.kernel_s, 1, 0.02) << k;
        EXPECT_NEAR(near.collection_s / other.collection_s, 1, 0.02) << k;
        near::NearWay chunks;
        chunks.most_bytes = other.problem.layout_bytes * 0.9999;
        EXPECT_NEAR(near::near_time(layout, other.problem, chunks, machine).collection_s / other.again_s, 1, 0.02)
            << k;
    }
    study::put(machine.near, machine.near.layouts[2]); // again: replaced, not added
    EXPECT_EQ(machine.near.layouts[near::near_layouts].number_bytes, 0);
    EXPECT_THROW(study::fit_near(near::NearLayout::tiled, {}, {}, machine), core::Error);
}

TEST(NearTime, RandomReadsAndStreamsByTheSizeOfTheArray) {
    Machine machine;
    for (size_t k = 0; k < 4; ++k) // 1, 8, 64, 512 MB: in the caches, half, beyond
        machine.cpu.arrays[k] = {1e6 * std::pow(8, static_cast<double>(k)), k < 2 ? 1e-9 : 7e-9,
                                 k < 2 ? 1e-9 : (k == 2 ? 2e-9 : 3e-9)};
    machine.cpu.caches[1].bytes = 1e9;                       // records keep their first lines
    machine.near.kernels[0] = {0, 1, 2, 2, 1, 1e-15, 1e-15}; // of no time
    const auto terms = [&](double points, double bytes) {
        near::NearTimeInput p = problem(points, 4, 2);
        p.layout_bytes = bytes;
        return near::near_terms(near::NearLayout::replicated_group, near::NearPhaseName::kernel, p, {}, machine);
    };
    EXPECT_EQ(terms(10000, 5e6)[7], 0) << "sums stay in a cache";
    EXPECT_EQ(terms(10000, 5e6)[6], 0) << "records, too";
    const double lines = terms(10000, 6e8)[6];
    EXPECT_GT(lines, 10000);
    EXPECT_NEAR(terms(10000, 64e6)[6] / lines, 0.5, 1e-4) << "half of them come from the memory";
    machine.near.kernels[0] = {0, 1, 2, 2, 1, 1e-9, 1e-9};
    EXPECT_NEAR(terms(10000, 6e8)[6] / lines, 0.13, 0.05)
        << "arithmetic goes on meanwhile: 0.4 ms, lines 0.1 ms";
    machine.cpu.caches[1].bytes = 1e6;
    EXPECT_LT(terms(10000, 6e8)[6] / lines, 0.08) << "so do waits for a record's first lines";
    EXPECT_NEAR(terms(64e6 / 8, 5e6)[7], 64e6 / 8 * 6e-9, 1e-6) << "a sum a target";
}

TEST(NearTime, SomeLinesOfEveryRecordAreWaitedFor) {
    Machine machine;
    machine.cpu.arrays[0] = {1e6, 1e-9, 1e-9}, machine.cpu.arrays[1] = {64e6, 7e-9, 3e-9};
    machine.cpu.caches[1].bytes = 1e6;
    near::NearTimeInput p = problem(10000, 4, 2); // 2500 boxes, sums in a cache
    p.lane_targets = 16000;               // 2000 vectors of 8 doubles
    p.full_boxes = 2400, p.group_slots = p.pairs;
    const auto random_s = [&](near::NearLayout layout, double bytes) {
        p.layout_bytes = bytes;
        return near::near_terms(layout, near::NearPhaseName::kernel, p, {}, machine)[7];
    };
    const double all_s = 16 * (7e-9 - 1e-9) * (1 - 8. / 64); // beyond eight times the second level
    const double lines = p.pairs * 3 * 8 / 64;               // of two coordinates and a charge
    EXPECT_EQ(random_s(near::NearLayout::replicated, 8e6), 0) << "in a cache";
    EXPECT_NEAR(random_s(near::NearLayout::replicated, 64e6), 10000 * std::sqrt(lines / 10000) * all_s, 1e-9)
        << "a record a target";
    EXPECT_NEAR(random_s(near::NearLayout::replicated_group, 64e6), 2400 * std::sqrt(lines / 2400) * all_s, 1e-9)
        << "a box";
    p.lane_pairs = 8 * p.pairs;
    EXPECT_NEAR(random_s(near::NearLayout::replicated_interleaved, 64e6),
                2000 * std::sqrt(8 * lines / 2000) * all_s, 1e-9)
        << "a vector";
    EXPECT_EQ(random_s(near::NearLayout::ranges, 64e6), 0) << "points in order, no records";
}

TEST(NearTime, RunsOfSortedPointsPassWithThePoints) {
    Machine machine;
    machine.cpu.arrays[0] = {1e6, 1e-9, 1e-9}, machine.cpu.arrays[1] = {64e6, 7e-9, 3e-9};
    machine.near.kernels[0] = {0, 1, 2, 2, 1, 1e-9, 1e-9};
    near::NearTimeInput p = problem(1e6, 0.5, 2); // 2e6 boxes, points of 24 bytes
    p.runs = 3e6;
    const auto lines = [&] {
        return near::near_terms(near::NearLayout::ranges, near::NearPhaseName::kernel, p, {}, machine)[6];
    };
    EXPECT_NEAR(lines(), (24e6 + 8 * 3e6 + 8 * 2e6) / 64, 1e-3) << "all from the memory";
    p.runs = 1e6;
    EXPECT_LT(lines(), (24e6 + 8 * 1e6 + 8 * 2e6) / 64) << "48 MB: some stay in a cache";
}

TEST(NearTime, RecordsBeyondTheSamplesStreamAtTheBandwidth) {
    Machine machine;
    machine.cpu.core_copy_bandwidth_bytes_per_s = 16e9; // 4 ns a line
    std::vector<study::NearSample> samples;
    for (const double n : {600., 4000., 30000.})
        for (const double density : {0.6, 2.5, 9.}) {
            study::NearSample s; // none of them leaves the caches: nothing tells what a line of the memory takes
            s.problem = problem(n, density, 2);
            s.problem.layout_bytes = 1e6;
            s.collection_s = 1e-9 * s.problem.pairs, s.charges_s = 1e-9 * s.problem.pairs;
            s.kernel_s = 1e-9 * s.problem.pairs;
            samples.push_back(s);
        }
    EXPECT_DOUBLE_EQ(study::fit_near(near::NearLayout::replicated, samples, {}, machine).kernel.memory_s, 4e-9);
    EXPECT_DOUBLE_EQ(study::fit_near(near::NearLayout::tiled, samples, {}, machine).kernel.memory_s, 0);
}

} // namespace
} // namespace graft::model
