// SPDX-License-Identifier: BSD-3-Clause
// The hardware's rates are what a GPU of our day can have, and fit together.
#include "device_fixture.cuh"
#include "study/bench/bench_table.hpp"

namespace graft::study {
namespace {

class Rates : public test::DeviceTest {
  protected:
    backend::DeviceError error;
    void expect_fine(int32_t status) { ASSERT_EQ(status, 0) << error.message; }
};

TEST_F(Rates, FitTogether) {
    DeviceRates r;
    expect_fine(device_bench_table().rates(0, 3, &r, &error));
    EXPECT_GT(r.read_bytes_per_s, 1e10);
    EXPECT_LT(r.read_bytes_per_s, 1e14);
    EXPECT_NEAR(r.copy_bytes_per_s / r.read_bytes_per_s, 1, 0.5);
    EXPECT_GT(r.fma_fp32_per_s, r.rsqrt_per_s);
    EXPECT_GE(r.fma_fp32_per_s * 1.05, r.fma_fp64_per_s);
    EXPECT_LT(r.mix_per_s, r.fma_fp32_per_s / 12 * 1.01); // 12 of them and a root take longer than 12 of them
    EXPECT_GT(r.mix_per_s, r.fma_fp32_per_s / 12 / 2);
    EXPECT_GT(r.launch_s, 1e-7);
    EXPECT_GT(r.wait_s, r.launch_s);
    EXPECT_LT(r.wait_s, 1e-3);
}

TEST_F(Rates, TransfersGetFasterWithSize) {
    LinkRate r[16];
    int32_t count = 0;
    expect_fine(device_bench_table().link(0, 2, 16, r, &count, &error));
    ASSERT_EQ(count, 9);
    for (int i = 0; i < count; ++i) {
        EXPECT_EQ(r[i].bytes, int64_t{4096} << (2 * i));
        for (const double rate :
             {r[i].pinned_to_device, r[i].pinned_to_host, r[i].pageable_to_device, r[i].pageable_to_host}) {
            EXPECT_GT(rate, 1e6);
            EXPECT_LT(rate, 1e12);
        }
    }
    EXPECT_GT(r[count - 1].pinned_to_device, 2 * r[0].pinned_to_device);
    expect_fine(device_bench_table().link(0, 1, 2, r, &count, &error));
    EXPECT_EQ(count, 2);
}

TEST_F(Rates, NoSuchDeviceIsAStatus) {
    DeviceRates r;
    EXPECT_EQ(device_bench_table().rates(1000, 1, &r, &error), static_cast<int32_t>(core::Status::device));
    EXPECT_NE(std::string(error.message).find("cudaSetDevice"), std::string::npos) << error.message;
    expect_fine(device_bench_table().rates(0, 1, &r, &error)); // and the next call works
}

} // namespace
} // namespace graft::study
