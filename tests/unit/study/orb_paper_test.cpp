// SPDX-License-Identifier: BSD-3-Clause
// rehmann2022's numbers from his formulas: equations 9 to 11 and 17 to 21, and figure 15's machines in order.
#include "study/papers/orb_paper.hpp"

#include "core/error.hpp"
#include "model/roofline.hpp"

#include <gtest/gtest.h>

namespace graft::model {
namespace {

Machine piz_daint() { // his table 1
    Machine m;
    m.cpu.cores = 12, m.cpu.clock_hz = 3.8e9, m.cpu.simd_floats = 8, m.cpu.instructions_per_cycle = 2;
    m.cpu.read_bandwidth_bytes_per_s = 68e9;
    m.gpu.count = 1, m.gpu.read_bandwidth_bytes_per_s = 732e9, m.gpu.flops = 9.3e12;
    m.link.bandwidth_bytes_per_s = 32e9;
    return m;
}

void expect_close(double found, double printed) {
    EXPECT_NEAR(found / printed, 1, 1e-3) << found << " against " << printed;
}

TEST(OrbPaper, Equations17To21) {
    const study::PaperTimes t = study::paper_times({}, piz_daint());
    expect_close(t.cpu_s, 67.77406);
    expect_close(t.gpu_count_s, 10.79648);
    expect_close(t.cpu_s / t.gpu_count_s, 6.2774);
    expect_close(t.gpu_partition_s, 6.67085);
    expect_close(t.cpu_s / t.gpu_partition_s, 10.15973);
}

TEST(OrbPaper, Equations17To21ByHand) {
    const study::PaperTimes t = study::paper_times({}, piz_daint());
    EXPECT_DOUBLE_EQ(t.cpu_s, 12 * 32 * 12e9 / 68e9);
    EXPECT_DOUBLE_EQ(t.gpu_count_s, 12 * (32 * 12e9 / 732e9 + 12. / 32));
    EXPECT_DOUBLE_EQ(t.gpu_partition_s, 12 * 32 * 12e9 / 732e9 + 12. / 32);
}

TEST(OrbPaper, MachineWithoutGpuHasOnlyTheCpu) {
    Machine alps;
    alps.cpu.read_bandwidth_bytes_per_s = 2 * 204.8e9;
    const study::PaperTimes t = study::paper_times({}, alps);
    EXPECT_NEAR(t.cpu_s, 12 * 32 * 12 / 409.6, 1e-9);
    EXPECT_EQ(t.gpu_count_s, 0);
    EXPECT_EQ(t.gpu_partition_s, 0);
}

TEST(OrbPaper, GpusOfANodeWorkTogether) {
    Machine m = piz_daint();
    const double one = study::paper_times({}, m).gpu_count_s;
    m.gpu.count = 6;
    EXPECT_NEAR(study::paper_times({}, m).gpu_count_s, one / 6, 1e-12);
}

TEST(OrbPaper, LevelsAreTheCeilingOfTheLogarithm) {
    EXPECT_EQ(study::levels_of(1), 0);
    EXPECT_EQ(study::levels_of(2), 1);
    EXPECT_EQ(study::levels_of(3), 2);
    EXPECT_EQ(study::levels_of(4096), 12);
    EXPECT_EQ(study::levels_of(4097), 13);
    for (const double wrong : {0.0, -1.0, 1e300, 0.0 / 0.0})
        EXPECT_THROW(study::levels_of(wrong), core::Error) << wrong;
}

TEST(OrbPaper, MissingNumberIsNamed) {
    Machine m = piz_daint();
    m.link.bandwidth_bytes_per_s = 0;
    try {
        study::paper_times({}, m);
        FAIL();
    } catch (const core::Error& error) {
        EXPECT_EQ(error.status(), core::Status::absent);
        EXPECT_NE(std::string(error.what()).find("link.bandwidth_bytes_per_s"), std::string::npos)
            << error.what();
    }
}

TEST(Roofline, Equations9To11) {
    const Cpu cpu = piz_daint().cpu;
    EXPECT_DOUBLE_EQ(simd_flops(cpu, 2), 121.6e9);
    EXPECT_DOUBLE_EQ(simd_flops(cpu, 4), 243.2e9);
    EXPECT_DOUBLE_EQ(simd_flops(cpu, 8), 486.4e9);
    EXPECT_DOUBLE_EQ(simd_flops(cpu, 16), 972.8e9); // section 4.3.4
    Cpu measured = cpu;
    EXPECT_DOUBLE_EQ(cpu_flops(measured, 12), 729.6e9);
    measured.flops = 1.2e12;
    EXPECT_DOUBLE_EQ(cpu_flops(measured, 3), 3e11);
}

TEST(Roofline, CountLeftIsBoundByMemoryOnPizDaint) { // figures 10 and 11
    const Machine m = piz_daint();
    EXPECT_FALSE(cpu_roof(m.cpu, 1).memory_bound(count_left_operations_per_byte));
    EXPECT_TRUE(cpu_roof(m.cpu, 2).memory_bound(count_left_operations_per_byte));
    EXPECT_TRUE(gpu_roof(m.gpu).memory_bound(count_left_operations_per_byte));
    EXPECT_DOUBLE_EQ(cpu_roof(m.cpu, 8).attainable_flops(1), 68e9);
    EXPECT_DOUBLE_EQ(cpu_roof(m.cpu, 1).attainable_flops(1), 60.8e9);
    EXPECT_NEAR(gpu_roof(m.gpu).ridge_operations_per_byte(), 9300. / 732, 1e-9);
}

} // namespace
} // namespace graft::model
