// SPDX-License-Identifier: BSD-3-Clause
// Moments and M2P together against the plain sum: error falls with order and distance as the expansion says.
#include "cloud.hpp"
#include "forces/m2p/cell_rows.hpp"
#include "forces/p2p/gather.hpp"
#include "forces/m2p/m2p.hpp"
#include "forces/simd.hpp"
#include "moments/expansion.hpp"
#include "reference/direct_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace graft;
using support::Cloud;

namespace {

struct Errors {
    double force, potential;
};

/// Largest relative error of the root's expansion at 13 targets on a sphere of radius `distance` about the
/// centre.
template <typename T>
Errors root_error(Cloud& cloud, int order, double distance, reference::Softening softening, double length,
                  bool per_particle = false) {
    moments::compute_moments(cloud.executor, cloud.tree, order, cloud.moments);
    const moments::Moments& m = cloud.moments;
    const bool softened = softening == reference::Softening::plummer;
    core::Buffer<T> expansion(cloud.memory);
    moments::fill_expansion(cloud.executor, m, softened, expansion);

    std::mt19937_64 random(11);
    std::normal_distribution<double> normal;
    std::vector<double> x, y, z, h;
    geometry::Box box;
    for (int k = 0; k < 13; ++k) {
        const double v[3] = {normal(random), normal(random), normal(random)};
        const double f = distance / std::hypot(v[0], v[1], v[2]);
        x.push_back(m.cx[0] + f * v[0]), y.push_back(m.cy[0] + f * v[1]), z.push_back(m.cz[0] + f * v[2]);
        h.push_back(0.05);
        box.include(x.back(), y.back(), z.back());
    }
    const forces::Frame frame = forces::make_frame<T>(box, 0);
    const forces::PairVariant pair{static_cast<forces::Softening>(softening), per_particle, true};
    const forces::CellVariant variant{order, softened, per_particle && softened, true};
    forces::TargetBuffer<T> targets(cloud.memory);
    targets.fill({x.data(), y.data(), z.data(), nullptr, per_particle ? h.data() : nullptr, 13}, 0, 13, frame,
                 pair);
    forces::CellBuffer<T> cells(cloud.memory);
    const int32_t root = 0;
    cells.fill(m, expansion.data(), &root, 1, frame, variant);
    forces::m2p(variant, length * frame.scale, cells.view(), targets.view(), 0, targets.sums());

    std::vector<double> ax(13), ay(13), az(13), p(13);
    const auto n = static_cast<int64_t>(cloud.x.size());
    reference::direct_sum(
        {n, cloud.x.data(), cloud.y.data(), cloud.z.data(), per_particle ? cloud.h.data() : nullptr},
        cloud.q.data(), {13, x.data(), y.data(), z.data(), per_particle ? h.data() : nullptr}, nullptr,
        softening, length, 1, {ax.data(), ay.data(), az.data(), p.data()});
    Errors worst{0, 0};
    const double square = frame.scale * frame.scale;
    for (int k = 0; k < 13; ++k) {
        const forces::FieldSums sums = targets.sums();
        const double d =
            std::hypot(sums.ax[k] * square - ax[k], sums.ay[k] * square - ay[k], sums.az[k] * square - az[k]);
        worst.force = std::max(worst.force, d / std::hypot(ax[k], ay[k], az[k]));
        worst.potential = std::max(worst.potential, std::abs(sums.potential[k] * frame.scale / p[k] - 1));
    }
    return worst;
}

} // namespace

TEST(M2P, ErrorFallsWithOrderWithoutSoftening) {
    for (int leaf : {1000, 8}) { // P2M alone, and through M2M
        Cloud cloud(300, false, leaf);
        double last = 1;
        for (int order : {1, 2, 3, 4, 5, 6, 8, 10, 12}) {
            const Errors e = root_error<double>(cloud, order, 4, reference::Softening::none, 0);
            EXPECT_LT(e.force, 0.35 * last) << "order " << order;
            EXPECT_LT(e.potential, e.force);
            last = e.force;
        }
        EXPECT_LT(last, 1e-4);
    }
}

TEST(M2P, ErrorFallsWithDistanceByTheRightPower) {
    Cloud cloud(300, false, 16);
    for (int order : {1, 2, 3, 4}) {
        const double near = root_error<double>(cloud, order, 5, reference::Softening::none, 0).force;
        const double far = root_error<double>(cloud, order, 20, reference::Softening::none, 0).force;
        EXPECT_NEAR(std::log(near / far) / std::log(4.0), order + 1, 0.5) << "order " << order;
    }
}

TEST(M2P, SofteningAsLargeAsTheDistanceKeepsTheOrder) {
    for (bool mixed : {false, true}) {
        Cloud cloud(200, mixed, 16);
        double last = 1;
        for (int order : {1, 2, 3, 4}) {
            const Errors e = root_error<double>(cloud, order, 3, reference::Softening::plummer, 2.5);
            EXPECT_LT(e.force, 0.5 * last) << "order " << order;
            last = e.force;
        }
        EXPECT_LT(last, mixed ? 2e-2 : 2e-4); // mixed: relative to a nearly cancelling field
    }
}

TEST(M2P, SoftenedPowersOfDistance) {
    Cloud cloud(300, false, 16);
    for (int order : {2, 3, 4}) {
        const double near = root_error<double>(cloud, order, 6, reference::Softening::plummer, 3).force;
        const double far = root_error<double>(cloud, order, 24, reference::Softening::plummer, 12).force;
        EXPECT_NEAR(std::log(near / far) / std::log(4.0), order + 1, 0.5) << "order " << order;
    }
}

TEST(M2P, MixedChargesKeepTheirDipole) {
    Cloud cloud(200, true, 16);
    const Errors low = root_error<double>(cloud, 1, 6, reference::Softening::none, 0);
    const Errors high = root_error<double>(cloud, 4, 6, reference::Softening::none, 0);
    EXPECT_LT(high.force, 1e-2 * low.force);
}

TEST(M2P, SofteningPerParticleTakesTheMeanSquare) {
    Cloud cloud(300, false, 16);
    const Errors e = root_error<double>(cloud, 4, 4, reference::Softening::plummer, 0, true);
    EXPECT_LT(e.force, 1e-4);
}

TEST(M2P, EverySimdTargetAndFloat) {
    Cloud cloud(300, false, 16, 1e-3, 1e3); // far from the origin, small: frames must hold the digits
    for (const std::string& name : forces::simd_names()) {
        ASSERT_TRUE(forces::set_simd_limit(name));
        for (int order : {0, 1, 2, 3, 4, 5, 8, 12}) {
            const Errors exact = root_error<double>(cloud, order, 5e-3, reference::Softening::none, 0);
            const Errors single = root_error<float>(cloud, order, 5e-3, reference::Softening::none, 0);
            EXPECT_NEAR(single.force, exact.force, 2e-6) << name << " order " << order;
            if (order > 4)
                continue;
            const Errors soft = root_error<float>(cloud, order, 5e-3, reference::Softening::plummer, 2e-3);
            const Errors soft_exact =
                root_error<double>(cloud, order, 5e-3, reference::Softening::plummer, 2e-3);
            EXPECT_NEAR(soft.force, soft_exact.force, 2e-6) << name << " order " << order;
        }
    }
    forces::set_simd_limit("");
}
