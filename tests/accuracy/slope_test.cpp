// SPDX-License-Identifier: BSD-3-Clause
// The force error grows with the opening angle as a power law whose exponent rises by one with each order.
//
// Plummer sphere, fp64, |a - a_direct| / |a_direct| over random targets; the exponent is the least-squares
// slope of log(error) over log(theta). Bounds: 2.7 +- 0.5 for monopoles, 3.8 +- 0.5 for quadrupoles
// (gaburov2010, figure 3.5, fits 4), each order steeper than the one before by 1 +- 0.4. Orders 0 and 1 are
// one step: the dipole about the centre of mass is zero. The steps are fitted on the 99th percentile: the
// cells of an octree are cubes, whose typical third moments are so small by symmetry that at the median order
// 2 already behaves a little like order 3 (slopes 2.7, 3.8, 4.3, 5.7), while the worst targets see the whole
// series. Small leaves and groups keep the share of pairs, which have no error, small.
//
// All of it on the CPU and, where there is one, on the GPU; the sums to compare with are the CPU's.
#include "command/check_case.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace {

using graft::cli::CheckRunner;
using graft::cli::Engine;

/// Exponents of the median and of the 99th percentile.
struct Slopes {
    double median = 0, p99 = 0;
};

/// Its parameter is the backend.
class ForceError : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        const std::string info = Engine().run_tool("info", "");
        if (std::string(GetParam()) == "gpu" && info.find("\"usable\":true") == std::string::npos) {
            GTEST_SKIP() << "no GPU";
        }
    }
    graft::cli::CheckResult check(graft::cli::CheckSettings settings) {
        settings["backend"] = GetParam();
        settings["repeat"] = "0";
        const auto result = runner_.run(settings);
        EXPECT_EQ(result.backend, GetParam());
        return result;
    }
    void expect_slopes(const char* tree);

  private:
    Slopes slopes_of(const std::string& tree, int order);
    CheckRunner runner_{Engine()};
};

constexpr double thetas[] = {0.3, 0.42, 0.58, 0.8};

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

Slopes ForceError::slopes_of(const std::string& tree, int order) {
    std::vector<double> medians, p99s;
    for (const double theta : thetas) {
        const auto result = check({{"n", "30000"},
                                   {"targets", "4000"},
                                   {"precision", "fp64"},
                                   {"mac", "edge"},
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

void ForceError::expect_slopes(const char* tree) {
    Slopes last = slopes_of(tree, 0);
    std::printf("%s order 0: slope %.2f (median), %.2f (p99)\n", tree, last.median, last.p99);
    EXPECT_NEAR(last.median, 2.7, 0.5);
    EXPECT_NEAR(last.p99, 2.7, 0.5);
    for (int order = 2; order <= 4; ++order) {
        const Slopes next = slopes_of(tree, order);
        std::printf("%s order %d: slope %.2f (median), %.2f (p99)\n", tree, order, next.median, next.p99);
        EXPECT_NEAR(next.p99 - last.p99, 1.0, 0.4) << "order " << order;
        if (order == 2) {
            EXPECT_NEAR(next.p99, 3.8, 0.5);
        }
        last = next;
    }
}

TEST_P(ForceError, SlopeInThetaRisesByOneWithEachOrderOctree) {
    expect_slopes("octree");
}
TEST_P(ForceError, SlopeInThetaRisesByOneWithEachOrderOrb) {
    expect_slopes("orb");
}

TEST_P(ForceError, EveryCriterionTreeAndPrecisionReachesAnErrorOfOneInAThousand) {
    for (const char* mac : {"edge", "box", "error"}) {
        for (const char* tree : {"octree", "orb"}) {
            for (const char* precision : {"fp32", "mixed", "fp64"}) {
                const auto result = check({{"n", "20000"},
                                           {"mac", mac},
                                           {"tree", tree},
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

TEST_P(ForceError, SinglePrecisionAddsNoMoreThanItsRounding) {
    // Per-group frames keep relative positions to 2^-24 of a group's surroundings: the p99 of direct sums is
    // far below what any tree setting in use gives.
    for (const char* precision : {"fp32", "mixed"}) {
        const auto result = check({{"n", "20000"}, {"method", "direct"}, {"precision", precision}});
        EXPECT_LT(result.percentile(0.99), 5e-4) << precision;
        EXPECT_LT(result.percentile(0.5), 2e-6) << precision;
    }
}

INSTANTIATE_TEST_SUITE_P(On, ForceError, testing::Values("cpu", "gpu"),
                         [](const auto& info) { return std::string(info.param); });

} // namespace
