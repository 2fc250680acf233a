// SPDX-License-Identifier: BSD-3-Clause
// p2p-data-replication's printed numbers from its formulas, and the formulas derived again against counting.
#include "study/papers/near_paper.hpp"

#include "core/error.hpp"
#include "model/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace graft::model {
namespace {

study::PaperNear problem(double points, int height, double largest, double threshold = 15) {
    return {points, height, largest, threshold};
}

/// Accesses of algorithm 3 as equation 6 lists them, counted: t points in each of 9 boxes.
double count_replicated(int boxes, int t) {
    double accesses = 0;
    for (int b = 0; b < boxes; ++b) {
        accesses += 1;
        for (int target = 0; target < t; ++target) {
            accesses += 1 + 2 + 1; // the target, two coordinates written, the count cleared
            for (int neighbour = 0; neighbour < 9; ++neighbour) {
                accesses += 1;
                for (int source = 0; source < t; ++source)
                    accesses += 1 + 2 + 1 + 1;
            }
            accesses += 1; // the count written
        }
    }
    return accesses;
}

TEST(NearPaper, HeightIsRaisedUntilBoxesFit) {
    EXPECT_EQ(study::paper_height(1000, 15), 5); // 256 boxes: 3.9 a box
    EXPECT_EQ(study::paper_height(960, 15), 4);  // 64 boxes of 15
    EXPECT_EQ(study::paper_height(10, 15), 3);
    EXPECT_EQ(problem(1, 11, 1).boxes(), 1048576);
    EXPECT_THROW(study::paper_height(0, 15), core::Error);
}

TEST(NearPaper, Equation7Derived) {
    EXPECT_DOUBLE_EQ(study::replicated_collection_s(problem(960, 4, 15), 1, 0), count_replicated(64, 15));
    EXPECT_DOUBLE_EQ(study::replicated_collection_s(problem(64, 4, 1), 1, 0), count_replicated(64, 1));
    EXPECT_DOUBLE_EQ(study::replicated_collection_printed_s(problem(960, 4, 15), 1, 0), 64 * (1 + 11 * 15 + 45.));
}

TEST(NearPaper, Equations1To9) {
    const study::PaperNear near = problem(960, 4, 15);
    EXPECT_DOUBLE_EQ(study::indexed_collection_s(near, 1, 2), 7 * 960 + 64 * (11 + 19 * 15 + 3 + 2.));
    EXPECT_DOUBLE_EQ(study::indexed_bytes(near), 40 * 960 + 256 * 152.);
    EXPECT_DOUBLE_EQ(study::replicated_bytes(near), 8 * 960 * 408.);
    // Equation 4 before it is multiplied out: 4 m + t (3 m + 9 t (5 m + p) + m).
    EXPECT_DOUBLE_EQ(study::indexed_thread_s(near, 1, 2), 4 + 15 * (3 + 135 * (5 + 2.) + 1));
    EXPECT_DOUBLE_EQ(study::replicated_thread_s(near, 1, 2), 3 + 135 * (4 + 2.));
}

TEST(NearPaper, MissRatios) {
    const study::PaperNear near = problem(960, 4, 15);
    const study::PaperLocality printed = study::indexed_locality_printed(near, 512);
    EXPECT_DOUBLE_EQ(printed.banks_of_thread, (8 + 272 * 15) / 512.);
    EXPECT_NEAR(printed.all_threads() / study::indexed_miss_ratio(near), 1, 8. / (272 * 15) + 1e-12);
    EXPECT_DOUBLE_EQ(printed.miss_ratio(), study::indexed_locality_printed(near, 32).miss_ratio()); // b cancels
    EXPECT_DOUBLE_EQ(study::replicated_miss_ratio(near), 1. / 960);
    // Derived: 2 + 1 + 2 banks of indices (60 and 540 bytes), 29 scattered data a point.
    EXPECT_DOUBLE_EQ(study::indexed_locality(near, 512).banks_of_thread, 2 + 1 + 2 + 29 * 15.);
    EXPECT_DOUBLE_EQ(study::replicated_locality(near, 512).banks_of_thread, 7); // 3264 bytes
    EXPECT_DOUBLE_EQ(study::kernel_speed_up(near, 512), 440. / 7);
}

TEST(NearPaper, IndicesAreFourBytes) {
    // Printed 1 / 21.6 against 1 / 5.4 of what the bytes of equations 2 and 8 tend to when t = CT is large.
    study::PaperNear near = problem(std::ldexp(1e4, 14), 8, 1e4, 1e4);
    near.points /= 1000; // few points: the indices are nearly all, as 15 has it
    const double bytes = study::indexed_bytes(near) / study::replicated_bytes(near);
    EXPECT_NEAR(bytes * 5.4 * near.mean(), 1, 2e-2);
    EXPECT_DOUBLE_EQ(study::collection_speed_up(near, 3), 4 * study::collection_speed_up_printed(near, 3));
    EXPECT_DOUBLE_EQ(study::transfer_speed_up_printed(near) * 21.6, 1 / near.mean());
}

TEST(NearPaper, Equation30) {
    EXPECT_NEAR(study::collection_limit_printed(4, 1, 108), 1.25, 1e-12);
}

TEST(NearPaper, Equations31And32) {
    EXPECT_NEAR(study::kernel_limit_printed(15, 1, 1), 829.65, 1e-9);
    EXPECT_NEAR(study::kernel_limit_printed(15, 5, 640), 106000, 500);
    EXPECT_NEAR(study::kernel_limit_printed(15, 1, 640), 530000, 1000);
    const double n = study::kernel_limit_printed(15, 1, 640); // there the speed-up is 1
    study::PaperNear near = problem(n, 1, 15);
    EXPECT_NEAR(study::kernel_speed_up_printed(near, 640), 1 / near.mean(), 1e-9); // one box: D = N
}

TEST(NearPaper, Equation35) {
    EXPECT_NEAR(study::growth_speed_up_printed({}, 1), 13.93, 1e-9); // "more than 13 times"
    EXPECT_NEAR(study::growth_speed_up_printed({}, 0), 1.09, 1e-9);
    const study::PaperNear near = problem(2e5, 8, 15);
    const double c = study::collection_speed_up_printed(near, 108), t = study::transfer_speed_up_printed(near),
                 k = study::kernel_speed_up_printed(near, 640);
    for (int i = -3; i <= 3; ++i)
        EXPECT_NEAR(study::total_speed_up_printed(near, {}, i),
                    0.82 * c * std::pow(16., i) + 0.18 * t * std::pow(4., i) + 0.09 * k,
                    1e-9 * std::pow(16., i));
}

TEST(NearPaper, TotalIsExactWithTheSharesOfTime) {
    const double indexed[] = {3, 1, 8}, replicated[] = {12, 9, 2}; // collection, transfer, kernel
    const study::PaperNearConstants shares{1, 1, 12. / 23, 2. / 23, 9. / 23};
    EXPECT_NEAR(study::total_speed_up(shares, indexed[0] / replicated[0], indexed[1] / replicated[1],
                               indexed[2] / replicated[2]),
                12. / 23, 1e-14);
}

TEST(NearPaper, FitFindsTheConstantsAgain) {
    std::vector<study::PaperMeasurement> measurements;
    for (int k = 0; k < 12; ++k) {
        study::PaperMeasurement m;
        m.near = problem(1000 + 7919. * k * k, 4 + k % 5, 4 + k);
        m.collection = study::collection_speed_up_printed(m.near, 90);
        m.kernel = study::kernel_speed_up_printed(m.near, 500);
        m.transfer = study::transfer_speed_up(m.near) * (1 + 0.1 * (k % 3));
        m.total = study::total_speed_up({90, 500, 0.7, 0.1, 0.2}, m.collection, m.transfer, m.kernel);
        measurements.push_back(m);
    }
    const study::PaperNearConstants c = study::fit_paper_near(measurements);
    EXPECT_NEAR(c.lambda_ram, 90, 1e-9);
    EXPECT_NEAR(c.lambda_gpu, 500, 1e-9);
    EXPECT_NEAR(c.alpha, 0.7, 1e-9);
    EXPECT_NEAR(c.beta, 0.1, 1e-9);
    EXPECT_NEAR(c.gamma, 0.2, 1e-9);
    measurements.resize(2);
    EXPECT_THROW(study::fit_paper_near(measurements), core::Error);
    const double measured[] = {2, 6}, modelled[] = {1, 2};
    EXPECT_DOUBLE_EQ(study::fit_by_mean(measured, modelled), 2.5);
    EXPECT_DOUBLE_EQ(study::fit_by_squares(measured, modelled), 14. / 5);
}

TEST(LeastSquares, NotNegativeKeepsTheBound) {
    // b = 2 a0 - a1 without bound; with it x1 = 0 and x0 is the fit of one column.
    const std::vector<double> rows{1, 0, 1, 1, 1, 2, 0, 0}, b{2, 1, 0, 0};
    const std::vector<double> free = least_squares(rows, b, 2);
    EXPECT_NEAR(free[0], 2, 1e-12);
    EXPECT_NEAR(free[1], -1, 1e-12);
    const std::vector<double> bound = least_squares_not_negative(rows, b, 2);
    EXPECT_NEAR(bound[0], 1, 1e-12);
    EXPECT_EQ(bound[1], 0);
}

TEST(LeastSquares, NotNegativeFindsPositiveSolutionsAndSparesParallelColumns) {
    std::vector<double> rows, b;
    for (int k = 1; k <= 20; ++k) {
        const double x = k, y = 40 - k + k % 3, z = (k * 7) % 11;
        rows.insert(rows.end(), {x, y, z, 2 * x, 0});
        b.push_back(3 * x + 1e-6 * y + 5 * z);
    }
    const std::vector<double> found = least_squares_not_negative(rows, b, 5);
    EXPECT_NEAR(found[0] + 2 * found[3], 3, 1e-8);
    EXPECT_NEAR(found[1], 1e-6, 1e-8);
    EXPECT_NEAR(found[2], 5, 1e-8);
    EXPECT_EQ(found[4], 0);
}

} // namespace
} // namespace graft::model
