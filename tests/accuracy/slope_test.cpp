// The force error grows with the opening angle as a power law whose exponent rises by one with each order.
//
// Plummer sphere, fp64, median of |a - a_direct| / |a_direct| over 1,000 random targets; the exponent is the
// least-squares slope of log(error) over log(theta). Bounds: 2.7 +- 0.5 for monopoles, 3.8 +- 0.5 for
// quadrupoles (gaburov2010, figure 3.5, fits 4), each order steeper than the one before by 1 +- 0.4. Order 1
// equals order 0: the dipole about the centre of mass is zero.
#include "command/check_case.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using graft::cli::CheckRunner;
using graft::cli::CheckSettings;
using graft::cli::Engine;

constexpr double thetas[] = {0.3, 0.4, 0.5, 0.6, 0.7, 0.8};

double median_error(CheckRunner& runner, int order, double theta) {
    const CheckSettings settings = {{"n", "30000"},
                                    {"precision", "fp64"},
                                    {"mac", "edge"},
                                    {"repeat", "1"},
                                    {"leaf", "16"},
                                    {"order", std::to_string(order)},
                                    {"theta", std::to_string(theta)}};
    return runner.run(settings).percentile(0.5);
}

/// Least-squares slope of log(error) over log(theta).
double slope(CheckRunner& runner, int order) {
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    constexpr double count = std::size(thetas);
    for (const double theta : thetas) {
        const double x = std::log(theta), y = std::log(median_error(runner, order, theta));
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    return (count * sxy - sx * sy) / (count * sxx - sx * sx);
}

} // namespace

TEST(ForceError, SlopeInThetaRisesByOneWithEachOrder) {
    CheckRunner runner{Engine()};
    double slopes[5];
    for (int order = 0; order <= 4; ++order) {
        slopes[order] = slope(runner, order);
        RecordProperty("slope_order_" + std::to_string(order), std::to_string(slopes[order]));
        std::printf("order %d: slope %.2f\n", order, slopes[order]);
    }
    EXPECT_NEAR(slopes[0], 2.7, 0.5);
    EXPECT_NEAR(slopes[1], slopes[0], 1e-3) << "the dipole about the centre of mass is zero";
    EXPECT_NEAR(slopes[2], 3.8, 0.5);
    EXPECT_NEAR(slopes[2] - slopes[1], 1.0, 0.4);
    EXPECT_NEAR(slopes[3] - slopes[2], 1.0, 0.4);
    EXPECT_NEAR(slopes[4] - slopes[3], 1.0, 0.4);
}

TEST(ForceError, EveryCriterionTreeAndPrecisionReachesAnErrorOfOneInAThousand) {
    CheckRunner runner{Engine()};
    for (const char* mac : {"edge", "box", "error"}) {
        for (const char* tree : {"octree", "orb"}) {
            for (const char* precision : {"fp32", "mixed", "fp64"}) {
                const auto result = runner.run({{"n", "20000"},
                                                {"mac", mac},
                                                {"tree", tree},
                                                {"repeat", "1"},
                                                {"precision", precision},
                                                {"theta", "0.5"},
                                                {"order", "3"},
                                                {"accuracy", "1e-5"}});
                EXPECT_LT(result.percentile(0.99), 1e-3) << mac << " " << tree << " " << precision;
                EXPECT_GT(result.percentile(0.99), 1e-9) << "a tree code that is exact is not one";
            }
        }
    }
}

TEST(ForceError, SinglePrecisionAddsNoMoreThanItsRounding) {
    // Per-group frames keep relative positions to 2^-24 of a group's surroundings: the p99 of direct sums is
    // far below what any tree setting in use gives.
    CheckRunner runner{Engine()};
    for (const char* precision : {"fp32", "mixed"}) {
        const auto result =
            runner.run({{"n", "20000"}, {"method", "direct"}, {"precision", precision}, {"repeat", "1"}});
        EXPECT_LT(result.percentile(0.99), 5e-4) << precision;
        EXPECT_LT(result.percentile(0.5), 2e-6) << precision;
    }
}
