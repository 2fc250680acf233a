// SPDX-License-Identifier: BSD-3-Clause
// Copies of sources that host threads make for the device's layouts: what stands where.
#include "near/copies/collect.hpp"

#include <gtest/gtest.h>

namespace graft::near {

namespace {

/// Four boxes of 2, 0, 3 and 1 points on a line, neighbours: a box and those beside it. Point i is at
/// i + 0.5.
class NearCollect : public ::testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        structure.target_offset = structure.source_offset = offset;
        structure.neighbour_offset = neighbour_offset, structure.neighbour = neighbour;
        structure.target_index = structure.source_index = index, structure.same = GetParam();
        sums.components = 2, sums.precision = Precision::fp64;
        for (size_t i = 0; i < 6; ++i) {
            x[i] = static_cast<double>(i) + 0.5, y[i] = -x[i], z[i] = 2 * x[i];
            charge[0][i] = 10 + static_cast<double>(i), charge[1][i] = 20 + static_cast<double>(i);
        }
    }
    void fill(HostCollector<double>& collector) {
        const double* const points[3] = {x, y, z};
        const double* const charges[2] = {charge[0], charge[1]};
        collector.set_points(points, points);
        collector.set_charges(charges);
    }
    const std::vector<int64_t> offset{0, 2, 2, 5, 6}, index{5, 4, 3, 2, 1, 0},
        neighbour_offset{0, 2, 5, 8, 10};
    const std::vector<int32_t> neighbour{0, 1, 0, 1, 2, 1, 2, 3, 2, 3};
    // merged by hand: box 0: 0-2; 1: 0-5; 2: 2-6; 3: 2-6
    const std::vector<int64_t> run_offset{0, 1, 2, 3, 4};
    const std::vector<int32_t> runs{0, 2, 0, 5, 2, 6, 2, 6}, sources{2, 5, 4, 4};
    const std::vector<int64_t> entries{0, 2, 7, 11, 15};
    Structure structure;
    Sums sums;
    double x[6], y[6], z[6], charge[2][6];
};

TEST_P(NearCollect, IndicesAreTheCallersPoints) {
    HostCollector<double> collector(structure, sums, run_offset, runs.data(), sources, entries, 2);
    fill(collector);
    std::vector<int32_t> got(9, -1);
    collector.collect_indices({1, 3, 0, 0, 2, 9}, got.data()); // boxes 1 and 2 alone
    EXPECT_EQ(got, (std::vector<int32_t>{5, 4, 3, 2, 1, 3, 2, 1, 0}));
}

TEST_P(NearCollect, GroupsHoldPointsAndEveryCharge) {
    HostCollector<double> collector(structure, sums, run_offset, runs.data(), sources, entries, 1);
    fill(collector);
    std::vector<Point<double>> points(8);
    std::vector<double> charges(16, -1);
    collector.collect_groups({2, 4, 0, 0, 7, 8}, points.data(), charges.data(), 8);
    for (size_t k = 0; k < 8; ++k) {
        const auto i = static_cast<size_t>(index[2 + k % 4]);
        EXPECT_EQ(points[k].x, x[i]);
        EXPECT_EQ(points[k].y, y[i]);
        EXPECT_EQ(points[k].z, z[i]);
        EXPECT_EQ(points[k].charge, charge[0][i]);
        EXPECT_EQ(charges[k], charge[0][i]);
        EXPECT_EQ(charges[8 + k], charge[1][i]);
    }
}

/// Word w of the record of slot s: padded, packed (each as long as its own sources), side by side.
TEST_P(NearCollect, RecordsStandOneAfterTheOtherOrSideBySide) {
    HostCollector<double> collector(structure, sums, run_offset, runs.data(), sources, entries, 2);
    fill(collector);
    constexpr int64_t length = 4 + 5 * 5;
    const std::vector<int64_t> group{0, 32 * length};
    std::vector<double> rows(6 * length, -1), columns(32 * length, -1);
    const int64_t box_of[6] = {0, 0, 2, 2, 2, 3};
    std::vector<int64_t> first{0}, of_box(sources.size()); // of targets; of boxes, were theirs from 0 on
    for (const int64_t b : box_of) {
        const int64_t words = 4 + 5 * sources[static_cast<size_t>(b)];
        of_box[static_cast<size_t>(b)] = first.back() - words * (static_cast<int64_t>(first.size()) - 1);
        first.push_back(first.back() + words);
    }
    std::vector<double> packed(static_cast<size_t>(first.back() - first[1]), -1);
    collector.collect_records({0, 0, 1, 6, length, 5 * length}, {length, nullptr, false},
                              rows.data()); // without slot 0
    collector.collect_records({0, 0, 1, 6, first[1], first.back() - first[1]},
                              {0, of_box.data(), false, sources.data(), 4, 5}, packed.data());
    collector.collect_records({0, 0, 0, 6, 0, 32 * length}, {0, group.data(), true}, columns.data());
    EXPECT_EQ(std::count(packed.begin(), packed.end(), -1), 0) << "no padding";
    for (int64_t s = 1; s < 6; ++s) {
        const auto b = static_cast<size_t>(box_of[s]);
        std::vector<double> want{x[index[static_cast<size_t>(s)]], y[index[static_cast<size_t>(s)]],
                                 z[index[static_cast<size_t>(s)]], static_cast<double>(sources[b])};
        for (int32_t j = runs[2 * b]; j < runs[2 * b + 1]; ++j) {
            const auto i = static_cast<size_t>(index[static_cast<size_t>(j)]);
            want.insert(want.end(), {x[i], y[i], z[i], charge[0][i], charge[1][i]});
        }
        for (size_t w = 0; w < want.size(); ++w) {
            EXPECT_EQ(rows[static_cast<size_t>((s - 1) * length) + w], want[w]) << s << ' ' << w;
            EXPECT_EQ(columns[w * 32 + static_cast<size_t>(s)], want[w]) << s << ' ' << w;
            EXPECT_EQ(packed[static_cast<size_t>(first[static_cast<size_t>(s)] - first[1]) + w], want[w])
                << s << ' ' << w;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(SameAndSeparate, NearCollect, ::testing::Bool());

} // namespace

} // namespace graft::near
