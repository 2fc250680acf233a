// The force error grows with the opening angle as a power law whose exponent rises by one with each order.
//
// Plummer sphere, fp64, |a - a_direct| / |a_direct| over random targets; the exponent is the least-squares
// slope of log(error) over log(theta). Bounds: 2.7 +- 0.5 for monopoles, 3.8 +- 0.5 for quadrupoles
// (gaburov2010, figure 3.5, fits 4), each order steeper than the one before by 1 +- 0.4. Orders 0 and 1 are
// one step: the dipole about the centre of mass is zero. The steps are fitted on the 99th percentile: the
// cells of an octree are cubes, whose typical third moments are so small by symmetry that at the median order
// 2 already behaves a little like order 3 (slopes 2.7, 3.8, 4.3, 5.7), while the worst targets see the whole
// series. Small leaves and groups keep the share of pairs, which have no error, small.
#include "command/check_case.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace {

using graft::cli::CheckRunner;
using graft::cli::Engine;

constexpr double thetas[] = {0.3, 0.42, 0.58, 0.8};

/// Exponents of the median and of the 99th percentile.
struct Slopes {
    double median = 0, p99 = 0;
};

/// Least-squares slope of log(error) over log(theta).
double fit(const std::vector<double>& errors) {
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) {
        const double x = std::log(thetas[i]), y = std::log(errors[i]);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    const auto count = static_cast<double>(errors.size());
    return (count * sxy - sx * sy) / (count * sxx - sx * sx);
}

Slopes slopes_of(CheckRunner& runner, const std::string& tree, int order) {
    std::vector<double> medians, p99s;
    for (const double theta : thetas) {
        const auto result = runner.run({{"n", "30000"},
                                        {"targets", "4000"},
                                        {"precision", "fp64"},
                                        {"mac", "edge"},
                                        {"repeat", "0"},
                                        {"tree", tree},
                                        {"leaf", "4"},
                                        {"group", "8"},
                                        {"order", std::to_string(order)},
                                        {"theta", std::to_string(theta)}});
        medians.push_back(result.percentile(0.5));
        p99s.push_back(result.percentile(0.99));
    }
    return {fit(medians), fit(p99s)};
}

void expect_slopes(const char* tree) {
    CheckRunner runner{Engine()};
    Slopes last = slopes_of(runner, tree, 0);
    std::printf("%s order 0: slope %.2f (median), %.2f (p99)\n", tree, last.median, last.p99);
    EXPECT_NEAR(last.median, 2.7, 0.5);
    EXPECT_NEAR(last.p99, 2.7, 0.5);
    for (int order = 2; order <= 4; ++order) {
        const Slopes next = slopes_of(runner, tree, order);
        std::printf("%s order %d: slope %.2f (median), %.2f (p99)\n", tree, order, next.median, next.p99);
        EXPECT_NEAR(next.p99 - last.p99, 1.0, 0.4) << "order " << order;
        if (order == 2) {
            EXPECT_NEAR(next.p99, 3.8, 0.5);
        }
        last = next;
    }
}

} // namespace

TEST(ForceError, SlopeInThetaRisesByOneWithEachOrderOctree) {
    expect_slopes("octree");
}
TEST(ForceError, SlopeInThetaRisesByOneWithEachOrderOrb) {
    expect_slopes("orb");
}

TEST(ForceError, EveryCriterionTreeAndPrecisionReachesAnErrorOfOneInAThousand) {
    CheckRunner runner{Engine()};
    for (const char* mac : {"edge", "box", "error"}) {
        for (const char* tree : {"octree", "orb"}) {
            for (const char* precision : {"fp32", "mixed", "fp64"}) {
                const auto result = runner.run({{"n", "20000"},
                                                {"mac", mac},
                                                {"tree", tree},
                                                {"repeat", "0"},
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
            runner.run({{"n", "20000"}, {"method", "direct"}, {"precision", precision}, {"repeat", "0"}});
        EXPECT_LT(result.percentile(0.99), 5e-4) << precision;
        EXPECT_LT(result.percentile(0.5), 2e-6) << precision;
    }
}
