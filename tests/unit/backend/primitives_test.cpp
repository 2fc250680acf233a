// SPDX-License-Identifier: BSD-3-Clause
// Sort, scan and reduce against the standard library, for several thread counts.
#include "backend/radix_sort.hpp"
#include "backend/reduce.hpp"
#include "backend/scan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace graft::backend {
namespace {

class Primitives : public ::testing::TestWithParam<int> {
  protected:
    core::Memory memory;
    Executor executor{memory, GetParam()};
};

TEST_P(Primitives, sort_is_stable) {
    std::mt19937_64 random(7);
    RadixSorter sorter(memory);
    for (const int64_t n : {0, 1, 2, 1000, 16384, 100003})
        for (const uint64_t mask :
             {~uint64_t{0}, uint64_t{0xff00}, uint64_t{0x7000000000000007}, uint64_t{0}}) {
            core::Buffer<uint64_t> keys(memory);
            core::Buffer<int32_t> values(memory);
            std::vector<std::pair<uint64_t, int32_t>> expected;
            for (int32_t i = 0; i < n; ++i) {
                keys.push_back(random() & mask);
                values.push_back(i);
                expected.emplace_back(keys[i], i);
            }
            std::stable_sort(expected.begin(), expected.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; });
            sorter.sort(executor, keys, values);
            ASSERT_EQ(keys.size(), n);
            for (int32_t i = 0; i < n; ++i) {
                ASSERT_EQ(keys[i], expected[static_cast<size_t>(i)].first);
                ASSERT_EQ(values[i], expected[static_cast<size_t>(i)].second);
            }
        }
}

TEST_P(Primitives, scan_sums_what_stands_before) {
    core::Buffer<int64_t> out(memory), sums(memory);
    for (const int64_t n : {0, 1, 5, 32768, 32769, 200001}) {
        out.resize(n);
        const int64_t total = exclusive_scan<int64_t>(
            executor, n, [](int64_t i) { return i % 11; }, out.data(), sums);
        int64_t expected = 0;
        for (int64_t i = 0; i < n; ++i) {
            ASSERT_EQ(out[i], expected);
            expected += i % 11;
        }
        EXPECT_EQ(total, expected);
    }
}

TEST_P(Primitives, reduce_gives_the_same_bits_for_any_thread_count) {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> values(100000);
    for (double& value : values)
        value = uniform(random);
    core::Buffer<double> partial(memory);
    const auto sum = [&](const Executor& with) {
        return reduce(
            with, static_cast<int64_t>(values.size()), 0.0,
            [&](int64_t begin, int64_t end) {
                return std::accumulate(&values[begin], &values[0] + end, 0.0);
            },
            [](double a, double b) { return a + b; }, partial);
    };
    EXPECT_EQ(sum(executor), sum(Executor{memory, 1}));
    EXPECT_NEAR(sum(executor), std::accumulate(values.begin(), values.end(), 0.0), 1e-9);
}

TEST_P(Primitives, a_failing_block_throws_on_the_caller) {
    EXPECT_THROW(executor.for_each(
                     100000, [](int64_t i) { i == 77777 ? throw 5 : void(); }, 100),
                 int);
}

INSTANTIATE_TEST_SUITE_P(Threads, Primitives, ::testing::Values(1, 2, 3, 7));

} // namespace
} // namespace graft::backend
