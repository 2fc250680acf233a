// SPDX-License-Identifier: BSD-3-Clause
// The loops over records against plain loops, on every SIMD instruction set, and keys against their promises.
#include "decompose/points/sweep.hpp"

#include "forces/simd.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using namespace graft::decompose;

namespace {

constexpr int64_t guard = 40; // records behind each array that nobody may touch

struct Table {
    std::vector<uint32_t> key[3], weight[2];
    std::vector<int32_t> index;
    std::vector<double> x; // exact coordinate of axis 1, by index

    explicit Table(int64_t n) {
        for (auto* field : {&key[0], &key[1], &key[2], &weight[0], &weight[1]})
            field->assign(static_cast<size_t>(n + guard), 0xdeadbeefU);
        index.assign(static_cast<size_t>(n + guard), -77);
    }
    Table(int64_t n, uint32_t seed, uint32_t distinct) : Table(n) {
        std::mt19937 random(seed);
        for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
            for (auto& field : key)
                field[i] = distinct > 0 ? random() % distinct * 1000 : random();
            weight[0][i] = random();
            weight[1][i] = random();
            index[i] = static_cast<int32_t>(n - 1 - static_cast<int64_t>(i));
        }
        x.resize(static_cast<size_t>(n));
        for (size_t i = 0; i < static_cast<size_t>(n); ++i)
            x[static_cast<size_t>(index[i])] = key[1][i] + 0.25 * (random() % 3);
    }
    RecordArrays arrays(bool weighted, bool deep = true) {
        RecordArrays s;
        for (int a = 0; a < (deep ? 3 : 2); ++a)
            s.key[a] = key[a].data();
        s.index = index.data();
        for (int half = 0; half < 2 && weighted; ++half)
            s.weight[half] = weight[half].data();
        return s;
    }
    bool untouched(size_t from) const {
        for (const auto* field : {&key[0], &key[1], &key[2], &weight[0], &weight[1]})
            for (size_t i = from; i < field->size(); ++i)
                if ((*field)[i] != 0xdeadbeefU)
                    return false;
        for (size_t i = from; i < index.size(); ++i)
            if (index[i] != -77)
                return false;
        return true;
    }
};

class Sweep : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override { ASSERT_TRUE(graft::forces::set_simd_limit(GetParam())); }
    void TearDown() override { graft::forces::set_simd_limit(""); }
};

const int64_t sizes[] = {0, 1, 3, 4, 5, 15, 16, 17, 31, 64, 100, 1000};

} // namespace

TEST_P(Sweep, Counts) {
    for (const int64_t n : sizes)
        for (const uint32_t distinct : {0U, 5U}) {
            Table table(n, static_cast<uint32_t>(n), distinct);
            for (const uint32_t cut : {0U, 1U, 2000U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
                RecordSum expected;
                for (size_t i = 0; i < static_cast<size_t>(n); ++i)
                    if (table.key[2][i] < cut)
                        expected.add(table.weight[0][i], table.weight[1][i]);
                EXPECT_EQ(count_left(table.key[2].data(), n, cut), static_cast<int64_t>(expected.count));
                const RecordSum sum = sum_left(table.arrays(true), 2, n, cut);
                EXPECT_EQ(sum.count, expected.count);
                EXPECT_TRUE(sum.weight() == expected.weight());
                EXPECT_EQ(sum_left(table.arrays(false), 2, n, cut).count, expected.count);
            }
        }
}

TEST_P(Sweep, Collects) {
    for (const int64_t n : sizes)
        for (const bool weighted : {false, true})
            for (const bool in_place : {false, true})
                for (const auto& [first, last] :
                     {std::pair{0x20000000U, 0xa0000000U}, {0U, 0xffffffffU}, {7U, 7U}}) {
                    Table table(n, static_cast<uint32_t>(n + 1), 0), to(n);
                    const Table before = table;
                    RecordSum below, expected_below;
                    const RecordArrays from = table.arrays(weighted),
                                       out = in_place ? from : to.arrays(weighted);
                    const int64_t kept = collect(from, 1, n, first, last, out, below);
                    size_t k = 0;
                    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
                        const uint32_t key = before.key[1][i];
                        if (key < first)
                            expected_below.add(before.weight[0][i], before.weight[1][i]);
                        if (key < first || key > last)
                            continue;
                        ASSERT_EQ(out.key[1][k], key);
                        ASSERT_EQ(out.index[k], before.index[i]);
                        if (weighted) {
                            ASSERT_EQ(out.weight[0][k], before.weight[0][i]);
                            ASSERT_EQ(out.weight[1][k], before.weight[1][i]);
                        }
                        ++k;
                    }
                    EXPECT_EQ(kept, static_cast<int64_t>(k));
                    EXPECT_EQ(below.count, expected_below.count);
                    EXPECT_TRUE(!weighted || below.weight() == expected_below.weight());
                    EXPECT_TRUE((in_place ? table : to).untouched(static_cast<size_t>(n)));
                }
}

TEST_P(Sweep, Partitions) {
    for (const int64_t n : sizes)
        for (const int kind : {0, 1, 2, 3}) { // weighted, 2-D
            for (const double share : {0.0, 0.02, 0.5, 1.0}) {
                const bool weighted = kind % 2 == 1, deep = kind < 2;
                Table table(n, static_cast<uint32_t>(n + 2), 9), left(n), right(n), bare(n);
                const auto key = static_cast<uint32_t>(share * 9) * 1000;
                const TieRule rule{table.x.data(), nullptr, 0, {key + 0.25, n / 2}};
                std::vector<size_t> goes_left, goes_right;
                for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
                    const double x = table.x[static_cast<size_t>(table.index[i])];
                    const bool is_left = x < key + 0.25 || (x == key + 0.25 && table.index[i] < n / 2);
                    (is_left ? goes_left : goes_right).push_back(i);
                }
                const RecordArrays from = table.arrays(weighted, deep);
                const auto count = static_cast<int64_t>(goes_left.size());
                ASSERT_EQ(count_left_exactly(from.key[1], from.index, n, key, rule), count);
                partition(from, n, 1, key, rule, left.arrays(weighted, deep), count,
                          right.arrays(weighted, deep));
                RecordArrays only; // indices, both sides in one array
                only.index = bare.index.data();
                partition(from, n, 1, key, rule, only, count, only + count);
                for (const bool is_left : {true, false}) {
                    const std::vector<size_t>& items = is_left ? goes_left : goes_right;
                    const Table& to = is_left ? left : right;
                    for (size_t k = 0; k < items.size(); ++k) {
                        const size_t i = items[k];
                        ASSERT_EQ(to.index[k], table.index[i]);
                        ASSERT_EQ(bare.index[is_left ? k : k + goes_left.size()], table.index[i]);
                        for (int a = 0; a < (deep ? 3 : 2); ++a)
                            ASSERT_EQ(to.key[a][k], table.key[a][i]);
                        for (int half = 0; half < 2 && weighted; ++half)
                            ASSERT_EQ(to.weight[half][k], table.weight[half][i]);
                    }
                    EXPECT_TRUE(to.untouched(items.size())) << "n " << n << " share " << share;
                }
                EXPECT_TRUE(bare.untouched(static_cast<size_t>(n)));
            }
        }
}

TEST_P(Sweep, KeysKeepTheOrder) {
    std::mt19937_64 random(4);
    using limits = std::numeric_limits<double>;
    const std::pair<double, double> ranges[] = {
        {-1, 1},     {0, 1e-310},      {-limits::max(), limits::max()},
        {5, 5},      {-1e300, 1e-300}, {1, std::nextafter(1.0, 2.0)},
        {-0.0, 0.0}, {3e307, 1.7e308}, {-limits::denorm_min(), 0}};
    for (const auto& [low, high] : ranges) {
        const KeyFrame frame(low, high);
        std::uniform_real_distribution<double> unit(0, 1);
        std::vector<double> x = {low, high};
        for (int i = 0; i < 101; ++i) {
            const double share = unit(random);
            x.push_back(std::clamp(low * (1 - share) + high * share, low, high));
        }
        std::sort(x.begin(), x.end());
        std::vector<uint32_t> keys(x.size());
        make_keys(x.data(), static_cast<int64_t>(x.size()), frame, keys.data());
        for (size_t i = 0; i < x.size(); ++i) {
            EXPECT_EQ(keys[i], frame.key(x[i], low, high));
            EXPECT_GE(keys[i], i > 0 ? keys[i - 1] : 0);
            const double first = frame.first_with(keys[i], low, high);
            EXPECT_LE(first, x[i]);
            EXPECT_EQ(frame.key(first, low, high), keys[i]);
            if (first > low) {
                EXPECT_LT(frame.key(std::nextafter(first, -HUGE_VAL), low, high), keys[i]);
            }
        }
        EXPECT_EQ(keys.front(), 0U);
    }
}

TEST_P(Sweep, Bounds) {
    std::mt19937_64 random(6);
    for (const int64_t n : sizes) {
        std::vector<double> x;
        for (int64_t i = 0; i < n; ++i)
            x.push_back(static_cast<double>(random()) - 9e18);
        double least = HUGE_VAL, most = -HUGE_VAL;
        EXPECT_TRUE(widen_bounds(x.data(), n, least, most));
        if (n > 0) {
            EXPECT_EQ(least, *std::min_element(x.begin(), x.end()));
            EXPECT_EQ(most, *std::max_element(x.begin(), x.end()));
        }
        for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL})
            for (int64_t i = 0; i < std::min<int64_t>(n, 70); ++i) {
                std::vector<double> y = x;
                y[static_cast<size_t>(i)] = bad;
                EXPECT_FALSE(widen_bounds(y.data(), n, least, most)) << n << " " << i;
            }
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, Sweep, testing::ValuesIn(graft::forces::simd_names()),
                         [](const auto& info) { return info.param; });
