// SPDX-License-Identifier: BSD-3-Clause
// The oracle itself, against results that are known on paper.
#include "reference/direct_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using graft::reference::Softening;

namespace {

struct Value {
    double a, potential;
};

/// Field at distance r on the x axis from a unit charge at the origin.
Value at(double r, Softening softening, double length_source, double length_target) {
    const double zero = 0, charge = 1;
    double ax, ay, az, p;
    graft::reference::direct_sum({1, &zero, &zero, &zero, &length_source}, &charge,
                                 {1, &r, &zero, &zero, &length_target}, nullptr, softening, 0, 1,
                                 {&ax, &ay, &az, &p});
    EXPECT_EQ(ay, 0);
    EXPECT_EQ(az, 0);
    return {ax, p};
}

/// Mass inside u of the spline kernel of unit mass and unit support, by the midpoint rule on its density
/// (Springel 2005, eq. 4).
double mass_inside(double u) {
    const int steps = 20000;
    double mass = 0;
    for (int k = 0; k < steps; ++k) {
        const double x = u * (k + 0.5) / steps;
        const double w = x < 0.5 ? 1 - 6 * x * x + 6 * x * x * x : 2 * std::pow(1 - x, 3);
        mass += 8 / M_PI * w * 4 * M_PI * x * x * u / steps;
    }
    return mass;
}

} // namespace

TEST(Reference, NewtonPlummerByHand) {
    EXPECT_DOUBLE_EQ(at(2, Softening::none, 0, 0).a, -0.25);
    EXPECT_DOUBLE_EQ(at(2, Softening::none, 0, 0).potential, 0.5);
    EXPECT_DOUBLE_EQ(at(3, Softening::plummer, 4, 4).a, -3.0 / 125);
    EXPECT_DOUBLE_EQ(at(3, Softening::plummer, 4, 4).potential, 0.2);
    EXPECT_NEAR(at(3, Softening::plummer, std::sqrt(32.0), 0).potential, 0.2, 1e-15); // mean of the squares
}

TEST(Reference, SplineForceIsTheMassInside) {
    for (double u : {0.1, 0.3, 0.49, 0.51, 0.8, 0.99}) {
        const double h = 3;
        EXPECT_NEAR(at(u * h, Softening::spline, h, 1).a * -(u * h) * (u * h), mass_inside(u), 1e-7) << u;
    }
    EXPECT_DOUBLE_EQ(at(3, Softening::spline, 3, 1).a, -1.0 / 9);
}

TEST(Reference, SplinePotentialIntegratesTheForce) {
    const double step = 1e-5;
    for (double r : {0.2, 0.8, 1.2, 1.9}) {
        const double slope = (at(r + step, Softening::spline, 2, 2).potential -
                              at(r - step, Softening::spline, 2, 2).potential) /
                             (2 * step);
        EXPECT_NEAR(slope, at(r, Softening::spline, 2, 2).a, 1e-9);
    }
    EXPECT_NEAR(at(2 - 1e-9, Softening::spline, 2, 2).potential, 0.5, 1e-9); // joins Newton at the support
    EXPECT_DOUBLE_EQ(at(0, Softening::spline, 2, 2).potential, 1.4);
}

TEST(Reference, ZeroDistanceAndSelf) {
    EXPECT_EQ(at(0, Softening::none, 0, 0).potential, 0);
    EXPECT_EQ(at(0, Softening::plummer, 0.5, 0.5).a, 0);
    EXPECT_DOUBLE_EQ(at(0, Softening::plummer, 0.5, 0.5).potential, 2);
    const double x[2] = {0, 1}, zero[2] = {0, 0}, charge[2] = {1, 1};
    const int64_t self[2] = {0, 1};
    double ax[2], ay[2], az[2], p[2];
    const graft::reference::Points points{2, x, zero, zero, nullptr};
    graft::reference::direct_sum(points, charge, points, self, Softening::plummer, 1, 1, {ax, ay, az, p});
    EXPECT_DOUBLE_EQ(p[0], 1 / std::sqrt(2.0));
    EXPECT_DOUBLE_EQ(ax[0], -ax[1]);
}

TEST(Reference, CompensationKeepsWhatADoubleSumLoses) {
    std::vector<double> x{1, 1}, zero(2, 0.0), charge{1e17, -1e17};
    for (int k = 0; k < 10; ++k)
        x.push_back(-1), zero.push_back(0), charge.push_back(1);
    x.push_back(1), zero.push_back(0), charge.push_back(0);
    std::swap(charge[1], charge.back()); // the large charge cancels at the very end
    const double origin = 0;
    double ax, ay, az, p;
    graft::reference::direct_sum(
        {static_cast<int64_t>(x.size()), x.data(), zero.data(), zero.data(), nullptr}, charge.data(),
        {1, &origin, &origin, &origin, nullptr}, nullptr, Softening::none, 0, 3, {&ax, &ay, &az, &p});
    EXPECT_EQ(ax, -10);
    EXPECT_EQ(p, 10);
}
