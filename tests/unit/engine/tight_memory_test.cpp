// SPDX-License-Identifier: BSD-3-Clause
// The memory model of a GPU: what 2^30 particles take, and that no product in it is computed in 32 bits.
#include "engine/gpu/tight_memory.hpp"

#include <gtest/gtest.h>

namespace {

using namespace graft::engine;

constexpr int64_t billion = int64_t{1} << 30;

double bytes_a_particle(int64_t n, int leaf, bool lean) {
    return static_cast<double>(footprint_bytes(footprint_shape(n, leaf, 128, 2, lean, true))) /
           static_cast<double>(n);
}

TEST(DeviceFootprint, BytesAParticleDoNotDependOnTheirNumber) {
    for (const bool lean : {false, true})
        for (const int64_t n : {int64_t{1} << 28, billion, (int64_t{1} << 31) - 65})
            EXPECT_NEAR(bytes_a_particle(n, 96, lean), bytes_a_particle(int64_t{1} << 28, 96, lean), 0.1)
                << n << (lean ? " lean" : " whole");
}

/// An H200 has 150.1e9 bytes; the caller's arrays take 28 B a particle, CUDA half a gigabyte, lists 8 B.
TEST(DeviceFootprint, ABillionParticlesFitAnH200) {
    const auto left = [](int leaf, bool lean) {
        return 150.1e9 - 0.6e9 -
               (28 + 8 + bytes_a_particle(billion, leaf, lean)) * static_cast<double>(billion);
    };
    EXPECT_GT(left(96, true) + 8.0 * static_cast<double>(billion), 4e9) << "with fewer lists at a time";
    EXPECT_GT(left(128, true), 5e9);
    EXPECT_LT(left(128, false), -30e9);
}

TEST(DeviceFootprint, SharedArraysTakeNothing) {
    int shared = 0;
    for (const DeviceArray& array : device_arrays(footprint_shape(billion, 96, 128, 2, true, true))) {
        shared += array.memory != nullptr;
        EXPECT_TRUE(array.memory == nullptr || array.bytes() == 0) << array.name;
        EXPECT_GT(array.count * array.item_bytes, -1) << array.name;
    }
    EXPECT_EQ(shared, 3) << "keys before and after the sort, and sorted columns";
    for (const DeviceArray& array : device_arrays(footprint_shape(billion, 96, 128, 2, false, true)))
        EXPECT_EQ(array.memory, nullptr) << array.name;
}

} // namespace
