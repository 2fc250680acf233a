// SPDX-License-Identifier: BSD-3-Clause
// Cells of periodic boxes against the plain sum of erfc(alpha s) / s in long double.
#include "cloud.hpp"
#include "forces/m2p/cell_rows.hpp"
#include "forces/p2p/gather.hpp"
#include "forces/m2p/m2p.hpp"
#include "moments/expansion.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

using namespace graft;
using support::Cloud;

namespace {

using Real = long double;
using Field = std::array<Real, 4>; // a towards the sources, potential

/// -1/r d/dr of erfc(alpha s)/s, and itself.
void add_pair(Real alpha, Real eps, const std::array<Real, 3>& d, Real q, Field& sum) {
    const Real s = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + eps * eps), x = alpha * s;
    const Real potential = std::erfc(x) / s;
    const Real force = (potential + 2 * alpha / std::sqrt(std::acos(Real(-1))) * std::exp(-x * x)) / (s * s);
    for (size_t a = 0; a < 3; ++a)
        sum[a] += q * force * d[a];
    sum[3] += q * potential;
}

struct Case {
    int order;
    double alpha, length, distance;
};

struct Errors {
    double force, potential; // over sum |q| / distance^2, sum |q| / distance: what is not screened
};

/// Largest error of the root's expansion at targets around it.
template <typename T>
Errors root_error(Cloud& cloud, const Case& c) {
    moments::compute_moments(cloud.executor, cloud.tree, c.order, cloud.moments);
    const moments::Moments& m = cloud.moments;
    const forces::CellVariant variant{c.order, c.length > 0, false, true, true};
    core::Buffer<T> expansion(cloud.memory);
    moments::fill_expansion(cloud.executor, m, true, expansion);
    std::mt19937_64 random(11);
    std::normal_distribution<double> normal;
    std::vector<double> x, y, z;
    geometry::Box box;
    for (int k = 0; k < 13; ++k) {
        const double v[3] = {normal(random), normal(random), normal(random)};
        const double f = c.distance / std::hypot(v[0], v[1], v[2]);
        x.push_back(m.cx[0] + f * v[0]), y.push_back(m.cy[0] + f * v[1]), z.push_back(m.cz[0] + f * v[2]);
        box.include(x.back(), y.back(), z.back());
    }
    const forces::Frame frame = forces::make_frame<T>(box, 0);
    forces::TargetBuffer<T> targets(cloud.memory);
    targets.fill({x.data(), y.data(), z.data(), nullptr, nullptr, 13}, 0, 13, frame,
                 {forces::Softening::none, false, true});
    forces::CellBuffer<T> cells(cloud.memory);
    const int32_t root = 0;
    cells.fill(m, expansion.data(), &root, 1, frame, variant);
    forces::m2p_screened(variant, c.length * frame.scale, c.alpha / frame.scale, cells.view(),
                          targets.view(), 0, targets.sums());
    const forces::FieldSums sums = targets.sums();
    const double square = frame.scale * frame.scale;
    Errors worst{0, 0};
    for (size_t k = 0; k < 13; ++k) {
        Field f{};
        for (size_t j = 0; j < cloud.x.size(); ++j)
            add_pair(c.alpha, c.length,
                     {Real(cloud.x[j]) - x[k], Real(cloud.y[j]) - y[k], Real(cloud.z[j]) - z[k]}, cloud.q[j],
                     f);
        const double error = std::hypot(sums.ax[k] * square - static_cast<double>(f[0]),
                                        sums.ay[k] * square - static_cast<double>(f[1]),
                                        sums.az[k] * square - static_cast<double>(f[2]));
        worst.force = std::max(worst.force, error * c.distance * c.distance / m.magnitude[0]);
        worst.potential =
            std::max(worst.potential, std::abs(sums.potential[k] * frame.scale - static_cast<double>(f[3])) *
                                          c.distance / m.magnitude[0]);
    }
    return worst;
}

} // namespace

TEST(ScreenedM2P, ErrorFallsWithDistanceByTheRightPower) {
    for (const bool mixed : {false, true})
        for (const double length : {0.0, 0.4}) // of the distance
            for (const double product : {0.3, 1.0, 2.0, 3.0}) {
                Cloud cloud(300, mixed, 16);
                for (const int order : {0, 1, 2, 3, 4}) {
                    const auto at = [&](double d) {
                        return root_error<double>(cloud, {order, product / d, length * d, d});
                    };
                    const Errors near = at(40), far = at(160);
                    // The tail is the next order's, and in powers of 2 (alpha d)^2 / d times the next.
                    EXPECT_GT(std::log(near.force / far.force) / std::log(4.0), order + 0.7)
                        << "order " << order << ", alpha d " << product << ", eps/d " << length;
                    EXPECT_GT(std::log(near.potential / far.potential) / std::log(4.0), order + 0.7)
                        << "order " << order << ", alpha d " << product << ", eps/d " << length;
                }
            }
}

TEST(ScreenedM2P, ErrorIsNoLargerThanWithoutTheScreen) {
    Cloud cloud(300, false, 16);
    for (const int order : {1, 2, 3, 4}) {
        const Errors open = root_error<double>(cloud, {order, 1e-4, 0, 4});
        for (const double product : {0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0})
            EXPECT_LT(root_error<double>(cloud, {order, product / 4, 0, 4}).force, 2.5 * open.force)
                << "order " << order << ", alpha d " << product;
    }
}

TEST(ScreenedM2P, SinglePrecisionIsGoodToItsRounding) {
    for (const double length : {0.0, 2.0})
        for (const double product : {0.1, 0.7, 1.5, 3.0, 5.0, 12.0, 300.0})
            for (const int order : {0, 1, 2, 3, 4}) {
                Cloud cloud(300, false, 16);
                const Case c{order, product / 20, length, 20};
                const Errors single = root_error<float>(cloud, c), full = root_error<double>(cloud, c);
                EXPECT_NEAR(single.force, full.force, 1e-6) << product << " " << order;
                EXPECT_NEAR(single.potential, full.potential, 1e-6) << product << " " << order;
            }
}
