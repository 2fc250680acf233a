// SPDX-License-Identifier: BSD-3-Clause
// Distances from neighbours in target order.
#include "forces/frame_resolution_gpu.cuh"

#include <gtest/gtest.h>

#include <vector>

namespace graft::forces {
namespace {

struct Points {
    std::vector<double> x, zero;
    explicit Points(const std::vector<double>& places) : x(places), zero(places.size(), 0.0) {}
    double gap(int64_t k) const {
        return neighbour_gap({x.data(), zero.data(), zero.data(), static_cast<int64_t>(x.size())}, k);
    }
};

TEST(FrameResolution, NeighboursBeforeAndBehind) {
    const Points points({0, 1, 3, 3.5, 8, 8.25, 8.125});
    const double expected[] = {1, 1, 0.5, 0.5, 0.125, 0.125, 0.125};
    for (int64_t k = 0; k < 7; ++k)
        EXPECT_EQ(points.gap(k), expected[k]) << k;
}

/// Whichever member looks, also the first, which has one at another place right before it.
TEST(FrameResolution, MembersOfAHeapSeeWhatStandsBesideIt) {
    for (const int64_t members : {2, 3, 5, 64, 1000}) {
        std::vector<double> places(static_cast<size_t>(members) + 4, 1.0);
        places[0] = -7, places[1] = -3;
        places[places.size() - 2] = 1 + 1e-9, places[places.size() - 1] = 5;
        const Points points(places);
        for (int64_t k = 2; k < 2 + members; ++k)
            EXPECT_EQ(points.gap(k), 1 + 1e-9 - 1) << "member " << k - 2 << " of " << members;
    }
}

TEST(FrameResolution, AloneAndAllAtOnePlace) {
    EXPECT_EQ(Points({4}).gap(0), HUGE_VAL);
    const Points heap(std::vector<double>(300, 2.0));
    for (int64_t k = 0; k < 300; ++k)
        EXPECT_EQ(heap.gap(k), HUGE_VAL);
}

} // namespace
} // namespace graft::forces
