// SPDX-License-Identifier: BSD-3-Clause
// Device primitives against the standard library.
#include "backend/primitives_gpu.cuh"

#include "device_fixture.cuh"

#include <algorithm>
#include <numeric>
#include <random>

namespace {

using graft::backend::DeviceBuffer;

class Primitives : public graft::test::DeviceTest {};

TEST_F(Primitives, SortIsStable) {
    std::mt19937_64 random(1);
    for (int64_t n : {0, 1, 2, 1000, 100003}) {
        std::vector<uint64_t> keys(static_cast<size_t>(n));
        for (uint64_t& key : keys)
            key = random() % 1000;
        std::vector<int32_t> index(keys.size());
        std::iota(index.begin(), index.end(), 0);
        DeviceBuffer<uint64_t> in(*memory, "in"), out(*memory, "out");
        DeviceBuffer<int32_t> values(*memory, "values"), sorted(*memory, "sorted");
        put(keys, in), put(index, values);
        out.resize(n), sorted.resize(n);
        graft::backend::sort_pairs(*queue, in.data(), out.data(), values.data(), sorted.data(), n);
        std::stable_sort(index.begin(), index.end(), [&](int32_t a, int32_t b) { return keys[a] < keys[b]; });
        EXPECT_EQ(get(sorted.data(), n), index);
    }
}

TEST_F(Primitives, ScansAndSums) {
    const int64_t n = 70001;
    std::vector<int32_t> values(n);
    std::mt19937 random(2);
    for (int32_t& value : values)
        value = static_cast<int32_t>(random() % 1000000);
    DeviceBuffer<int32_t> in(*memory, "in");
    DeviceBuffer<int64_t> out(*memory, "out");
    put(values, in);
    out.resize(n);
    graft::backend::exclusive_sum(*queue, in.data(), out.data(), n);
    std::vector<int64_t> expected(n);
    std::exclusive_scan(values.begin(), values.end(), expected.begin(), int64_t{0});
    EXPECT_EQ(get(out.data(), n), expected);
}

TEST_F(Primitives, RefusedMemoryIsAnErrorAndNoMore) {
    memory->set_limit(memory->bytes_held() + 1000);
    DeviceBuffer<char> big(*memory, "a test buffer");
    try {
        big.resize(int64_t{1} << 20);
        FAIL() << "expected an Error";
    } catch (const graft::core::Error& error) {
        EXPECT_EQ(error.status(), graft::core::Status::memory);
        EXPECT_NE(std::string(error.what()).find("a test buffer"), std::string::npos) << error.what();
    }
    big.resize(500);
    EXPECT_EQ(big.size(), 500);
}

} // namespace
