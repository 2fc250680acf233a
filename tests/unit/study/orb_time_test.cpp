// SPDX-License-Identifier: BSD-3-Clause
// The model put right: against counting by hand, and against what rehmann2022 measured.
#include "study/papers/orb_rounds.hpp"

#include "core/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace graft::model {
namespace {

Machine simple() {
    Machine m;
    m.cpu.cores = 2, m.cpu.read_bandwidth_bytes_per_s = 100, m.cpu.copy_bandwidth_bytes_per_s = 50;
    m.gpu.count = 1, m.gpu.read_bandwidth_bytes_per_s = 1000, m.gpu.copy_bandwidth_bytes_per_s = 800;
    m.link.bandwidth_bytes_per_s = 10;
    return m;
}

const study::OrbStep& step(const study::OrbPrediction& prediction, const std::string& name) {
    return *std::find_if(prediction.steps.begin(), prediction.steps.end(),
                         [&](const study::OrbStep& one) { return one.name == name; });
}

TEST(OrbTime, BytesByHand) { // 1,024 particles, 4 leaves = 2 levels, 3 iterations each
    study::OrbRun run{1024, 4, 3};
    const study::OrbPrediction cpu = study::orb_cpu(run, simple());
    EXPECT_DOUBLE_EQ(step(cpu, "count").bytes, 2 * 3 * 4 * 1024);
    EXPECT_DOUBLE_EQ(step(cpu, "count").seconds, 2 * 3 * 4 * 1024 / 100.);
    EXPECT_DOUBLE_EQ(step(cpu, "axis").seconds, 2 * 8 * 1024 / 50.);
    EXPECT_DOUBLE_EQ(step(cpu, "partition").seconds, 2 * 24 * 1024 / 50.);
    EXPECT_DOUBLE_EQ(cpu.total_s() - cpu.total_without_s("partition"), step(cpu, "partition").seconds);
    const study::OrbPrediction counting = study::orb_gpu_count(run, simple());
    EXPECT_DOUBLE_EQ(step(counting, "send").bytes, 2 * 4 * 1024);
    EXPECT_DOUBLE_EQ(step(counting, "count").seconds,
                     2 * 3 * 4 * 1024 / 1000. + 3 * (1 + 2) * 4 / 10.); // a block a cell at least
    EXPECT_DOUBLE_EQ(step(counting, "count").launches, 6);
    const study::OrbPrediction all = study::orb_gpu(run, simple(), false);
    EXPECT_DOUBLE_EQ(step(all, "send").bytes, 12 * 1024);
    EXPECT_DOUBLE_EQ(step(all, "partition").seconds, 2 * 48 * 1024 / 800.);
}

TEST(OrbTime, ColumnsAndBlocksOfTheGpu) {
    Machine m = simple();
    m.gpu.orb_passes.axis_bytes_per_s = 400, m.gpu.orb_passes.block_s = 7;
    const study::OrbPrediction p = study::orb_gpu({40960, 8, 5}, m, true); // 3 levels, 10 blocks
    EXPECT_DOUBLE_EQ(step(p, "axis").seconds, 3 * 8 * 40960 / 400.);
    EXPECT_DOUBLE_EQ(step(p, "blocks").seconds, 3 * 10 * 7);
}

TEST(OrbTime, LaunchesWaitsAndResults) {
    Machine m = simple();
    m.gpu.launch_s = 1, m.gpu.kernel_s = 2, m.gpu.wait_s = 10;
    const study::OrbRun run{40960, 8, 5}; // 15 passes; 10 blocks, 40 bytes of results
    const study::OrbStep level = step(study::orb_gpu(run, m, true), "count");
    EXPECT_DOUBLE_EQ(level.launches, 15);
    EXPECT_DOUBLE_EQ(level.seconds, 15 * 4 * 40960 / 1000. + 15 + 15 * (10 + 40 / 10.));
    m.cpu.core_read_bandwidth_bytes_per_s = 20;
    EXPECT_DOUBLE_EQ(step(study::orb_gpu(run, m, true), "count").seconds, level.seconds + 15 * 40 / 20.);
    const study::OrbStep cell = step(study::orb_gpu(run, m, true, study::OrbCounting::cell), "count");
    EXPECT_DOUBLE_EQ(cell.launches, 5 * 7); // 1 + 2 + 4 cells
    EXPECT_DOUBLE_EQ(cell.seconds, level.seconds + 15 * 40 / 20. - 15 + 35 * 2);
}

TEST(OrbTime, MeasuredPassesAndKernelsOfCells) {
    Machine m = simple();
    m.gpu.launch_s = 1, m.gpu.kernel_s = 2, m.gpu.wait_s = 10;
    m.gpu.orb_passes.pass_s = 5, m.gpu.orb_passes.pass_block_s = 0.5, m.gpu.orb_passes.pass_cell_s = 0.25;
    m.gpu.orb_passes.count_left_bytes_per_s = 900, m.gpu.orb_passes.count_level_bytes_per_s = 800,
    m.gpu.orb_passes.count_cell_bytes_per_s = 700;
    m.gpu.orb_passes.cell_kernel_s = 3, m.gpu.orb_passes.axis_round_s = 4, m.gpu.orb_passes.partition_round_s = 6;
    const study::OrbRun run{40960, 8, 5}; // 15 passes of 10 blocks; 7 cells
    const double bytes = 15 * 4 * 40960., passes_s = 15 * (5 + 10 * 0.5) + 5 * 7 * 0.25;
    EXPECT_DOUBLE_EQ(step(study::orb_gpu(run, m, true), "count").seconds, bytes / 900 + passes_s);
    EXPECT_DOUBLE_EQ(step(study::orb_gpu(run, m, true, study::OrbCounting::level), "count").seconds,
                     bytes / 800 + passes_s);
    const study::OrbPrediction cell = study::orb_gpu(run, m, true, study::OrbCounting::cell);
    EXPECT_DOUBLE_EQ(step(cell, "count").seconds, bytes / 700 + passes_s + 5 * 7 * 3);
    // Cells of 40,960 points are 10 blocks of 16 rounds, of 20,480 5, of 10,240 2, the last one of 24 rounds.
    EXPECT_DOUBLE_EQ(study::orb_rounds_of_cells(run), 16 + 2 * 16 + 4 * 24);
    EXPECT_DOUBLE_EQ(step(cell, "axis").seconds, 3 * 8 * 40960 / 800. + 7 * 1 + 144 * 4);
    EXPECT_DOUBLE_EQ(step(cell, "partition").seconds, 3 * 48 * 40960 / 800. + 7 * 1 + 144 * 6);
    EXPECT_EQ(cell.variant, "gpu-resident-kernel-per-cell");
    EXPECT_DOUBLE_EQ(step(study::orb_gpu(run, m, true), "axis").seconds, 3 * 8 * 40960 / 800. + 3 * 1);
}

TEST(OrbTime, PartitionOfFewLargeCells) {
    Machine m = simple();
    m.gpu.orb_passes.partition_bytes_per_s = 600, m.gpu.orb_passes.partition_few_bytes_per_s = 500;
    const double n = 0x1p24; // cells of 2^24, 2^23, 2^22 points
    EXPECT_DOUBLE_EQ(step(study::orb_gpu({n, 8, 5}, m, true), "partition").seconds, 48 * n * (2 / 500. + 1 / 600.));
}

TEST(OrbTime, IterationsOfEvenlySpreadParticles) {
    EXPECT_NEAR(study::orb_iterations({1024, 2}), 9.83, 0.01);     // exact: 10 bits, less one, and the gap
    EXPECT_NEAR(study::orb_iterations({1024, 4}), 9.33, 0.01);     // 9.83, 8.83
    EXPECT_DOUBLE_EQ(study::orb_iterations({1024, 2, 0, 512}), 1); // the first guess is near enough
    EXPECT_DOUBLE_EQ(study::orb_iterations({0x1p40, 2}), 24);      // all bits of a coordinate
    EXPECT_DOUBLE_EQ(study::orb_iterations({1024, 2, 7}), 7);      // measured
    EXPECT_DOUBLE_EQ(study::orb_iterations({1024, 1}), 0);
    EXPECT_NEAR(study::orb_iterations({0x1p30, 4096, 0, 5}), 20, 0.1); // his 20
}

// An H200, uniform points in [0, 1), d = 4096 (counted: kernels of the kernel-per-cell variant over cells).
TEST(OrbTime, IterationsAsCountedOnAGpu) {
    EXPECT_NEAR(study::orb_iterations({0x1p30, 4096}) / 22.05, 1, 0.05);
    EXPECT_NEAR(study::orb_iterations({1e8, 4096}) / 20.1, 1, 0.05);
}

TEST(OrbTime, SlowPartitionOfTheCoresCounts) {
    Machine m = simple();
    m.cpu.core_partition_records_per_s = 1;
    EXPECT_DOUBLE_EQ(step(study::orb_cpu({1024, 2, 1}, m), "partition").seconds, 1024 / 2.);
    m.cpu.core_partition_records_per_s = 1e9;
    EXPECT_DOUBLE_EQ(step(study::orb_cpu({1024, 2, 1}, m), "partition").seconds, 24 * 1024 / 50.);
}

// Section 7: 6.84 s without the partition at N = 2^30, d = 4096, about 20 iterations. With the 283 GB/s that
// his kernel reached (2^27 x 4 B in 1.9 ms) and PCIe 3 x16 one way (15.75 GB/s, not the 32 GB/s of both
// ways).
TEST(OrbTime, RehmannsMeasurement) {
    Machine m;
    m.cpu.read_bandwidth_bytes_per_s = 68e9;
    m.gpu.count = 1, m.gpu.read_bandwidth_bytes_per_s = 732e9;
    m.gpu.orb_passes.count_left_bytes_per_s = 0x1p27 * 4 / 1.9e-3;
    m.link.bandwidth_bytes_per_s = 15.75e9;
    const study::OrbPrediction p = study::orb_gpu_count({0x1p30, 4096, 20}, m);
    EXPECT_NEAR((step(p, "send").seconds + step(p, "count").seconds) / 6.84, 1, 0.02);
}

TEST(OrbTime, OnlyWhatTheMachineAllows) {
    Machine m = simple();
    EXPECT_EQ(study::orb_predictions({}, m).size(), 7u);
    m.link.bandwidth_bytes_per_s = 0;
    EXPECT_EQ(study::orb_predictions({}, m).size(), 5u);
    m.gpu.count = 0;
    EXPECT_EQ(study::orb_predictions({}, m).size(), 1u);
    EXPECT_THROW(study::orb_predictions({0, 4}, m), core::Error);
    EXPECT_THROW(study::orb_predictions({10, 0}, m), core::Error);
    EXPECT_THROW(study::orb_predictions({10, 4, 0, -1}, m), core::Error);
}

TEST(OrbRounds, LevelsAreSharedOutAsTheDeviceDoes) {
    using List = std::vector<int>;
    EXPECT_EQ(study::orb_round_levels(1, 4), List());
    EXPECT_EQ(study::orb_round_levels(2, 4), List({1}));
    EXPECT_EQ(study::orb_round_levels(4096, 4), List({4, 4, 4}));
    EXPECT_EQ(study::orb_round_levels(4096, 3), List({3, 3, 3, 3}));
    EXPECT_EQ(study::orb_round_levels(32, 4), List({3, 2}));
    EXPECT_THROW(study::orb_round_levels(4, 0), core::Error);
}

TEST(OrbRounds, BytesByHand) { // 2^30 particles, 4,096 leaves: 3 rounds of 4 levels
    const study::OrbRun run{0x1p30, 4096};
    const study::OrbPrediction p = study::orb_gpu_rounds(run, simple());
    EXPECT_DOUBLE_EQ(step(p, "box").bytes, 12 * 0x1p30);
    EXPECT_DOUBLE_EQ(step(p, "count").bytes, 3 * (4 + 8 + 12 + 12) * 0x1p30);
    EXPECT_DOUBLE_EQ(step(p, "move").bytes, (28 + 32 + 32) * 0x1p30);
    EXPECT_DOUBLE_EQ(step(p, "count").seconds, 108 * 0x1p30 / 1000);
    EXPECT_DOUBLE_EQ(step(p, "move").seconds, 92 * 0x1p30 / 800);
    Machine m = simple();
    m.gpu.orb.count_bytes_per_s = 500, m.gpu.orb.move_bytes_per_s = 400, m.gpu.orb.level_s = 3;
    m.gpu.orb.point_s = 0.5, m.gpu.orb.cell_s = 7;
    EXPECT_DOUBLE_EQ(study::orb_gpu_rounds(run, m).total_s(),
                     0x1p30 * (12 / 1000. + 108 / 500. + 92 / 400. + 12 * 0.5) + 12 * 3 + 4095 * 7);
}

} // namespace
} // namespace graft::model
