// SPDX-License-Identifier: BSD-3-Clause
// Local expansions of groups: M2L and L2P against M2P, whose mathematics is another.
#include "cloud.hpp"
#include "forces/m2p/cell_rows.hpp"
#include "forces/p2p/gather.hpp"
#include "forces/m2l/m2l.hpp"
#include "forces/simd.hpp"
#include "moments/expansion.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace graft;
using support::Cloud;

namespace {

struct Place {
    double x, y, z;
};

/// All nodes of the cloud's tree down to `nodes`, as cells, by M2P and by M2L + L2P, at targets near
/// `centre`.
template <typename T>
struct Both {
    forces::Frame frame;
    forces::TargetBuffer<T> by_cell, by_local;
    int64_t count;

    Both(Cloud& cloud, int order, bool softened, const Place& centre, const std::vector<Place>& offsets)
        : by_cell(cloud.memory), by_local(cloud.memory), count(static_cast<int64_t>(offsets.size())) {
        moments::compute_moments(cloud.executor, cloud.tree, order, cloud.moments);
        core::Buffer<T> expansion(cloud.memory);
        moments::fill_expansion(cloud.executor, cloud.moments, softened, expansion);
        std::vector<double> x, y, z;
        geometry::Box box;
        for (const Place& p : offsets) {
            x.push_back(centre.x + p.x), y.push_back(centre.y + p.y), z.push_back(centre.z + p.z);
            box.include(x.back(), y.back(), z.back());
        }
        frame = forces::make_frame<T>(box, 1);
        const double length = softened ? 0.7 * frame.scale : 0;
        const auto softening = softened ? forces::Softening::plummer : forces::Softening::none;
        const forces::CellVariant variant{order, softened, false, true};
        for (forces::TargetBuffer<T>* targets : {&by_cell, &by_local})
            targets->fill({x.data(), y.data(), z.data(), nullptr, nullptr, count}, 0, count, frame,
                          {softening, false, true});
        std::vector<int32_t> nodes;
        for (int32_t k = 0; k < std::min(21, cloud.tree.node_count()); ++k)
            nodes.push_back(k);
        const auto cells_count = static_cast<int64_t>(nodes.size());
        forces::CellBuffer<T> cells(cloud.memory);
        cells.fill(cloud.moments, expansion.data(), nodes.data(), cells_count, frame, variant);
        forces::m2p(variant, length, cells.view(), by_cell.view(), 0, by_cell.sums());

        forces::M2lSources<T> sources(cloud.memory);
        sources.fill(cloud.moments, expansion.data(), nodes.data(), cells_count, frame, variant);
        forces::LocalExpansion local;
        local.centre[0] = (centre.x - frame.centre[0]) * frame.scale;
        local.centre[1] = (centre.y - frame.centre[1]) * frame.scale;
        local.centre[2] = (centre.z - frame.centre[2]) * frame.scale;
        forces::m2l(variant, length, sources, local);
        forces::l2p(variant, local, by_local.view(), by_local.sums());
    }

    /// Largest difference, relative to the largest force, or potential.
    double force_error() {
        const forces::FieldSums a = by_cell.sums(), b = by_local.sums();
        double worst = 0, size = 0;
        for (int64_t k = 0; k < count; ++k) {
            worst = std::max(worst, std::hypot(a.ax[k] - b.ax[k], a.ay[k] - b.ay[k], a.az[k] - b.az[k]));
            size = std::max(size, std::hypot(a.ax[k], a.ay[k], a.az[k]));
        }
        return worst / size;
    }
    double potential_error() {
        const forces::FieldSums a = by_cell.sums(), b = by_local.sums();
        double worst = 0, size = 0;
        for (int64_t k = 0; k < count; ++k) {
            worst = std::max(worst, std::abs(a.potential[k] - b.potential[k]));
            size = std::max(size, std::abs(a.potential[k]));
        }
        return worst / size;
    }
};

const Place direction{0.48, -0.6, 0.64};
Place at(double distance) {
    return {distance * direction.x, distance * direction.y, distance * direction.z};
}
std::vector<Place> ring(double radius, int count) {
    std::vector<Place> places;
    for (int k = 0; k < count; ++k) {
        const double a = 2.4 * k, c = 1 - 2 * (k + 0.5) / count, s = std::sqrt(1 - c * c);
        places.push_back({radius * s * std::cos(a), radius * s * std::sin(a), radius * c});
    }
    return places;
}

/// Orders 0 to 4, and where there is no softening some above.
std::vector<int> orders(bool softened) {
    return softened ? std::vector<int>{0, 1, 2, 3, 4} : std::vector<int>{0, 1, 2, 3, 4, 5, 6, 8, 11, 12};
}

class LocalOnEverySimd : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override { ASSERT_TRUE(forces::set_simd_limit(GetParam())); }
    void TearDown() override { forces::set_simd_limit(""); }
};

} // namespace

// At the centre all that is left of the polynomial is the field of the cells, exactly.
TEST_P(LocalOnEverySimd, AtItsCentreTheExpansionIsM2P) {
    for (bool mixed : {false, true})
        for (bool softened : {false, true})
            for (const int order : orders(softened)) {
                Cloud cloud(300, mixed, 16);
                SCOPED_TRACE(testing::Message()
                             << "order " << order << " softened " << softened << " mixed " << mixed);
                Both<double> full(cloud, order, softened, at(3), {{0, 0, 0}});
                EXPECT_LT(full.force_error(), 1e-12);
                EXPECT_LT(full.potential_error(), 1e-12);
                Both<float> single(cloud, order, softened, at(3), {{0, 0, 0}});
                EXPECT_LT(single.force_error(), mixed ? 2e-5 : 3e-6);
                EXPECT_LT(single.potential_error(), mixed ? 2e-5 : 3e-6);
            }
}
INSTANTIATE_TEST_SUITE_P(Simd, LocalOnEverySimd, testing::ValuesIn(forces::simd_names()));

// The first term left out of a far cell's polynomial: (size of the group / distance)^local_order.
TEST(Local, ErrorFallsWithDistanceByTheRightPower) {
    for (bool softened : {false, true})
        for (const int order : orders(softened)) {
            Cloud cloud(300, false, 16, 0.05); // so small that cells are points
            const double distance = order > 4 ? 2.5 : 8, ratio = order > 4 ? 2 : 4; // errors are larger than rounding
            Both<double> near(cloud, order, softened, at(distance), ring(1, 17));
            Both<double> far(cloud, order, softened, at(ratio * distance), ring(1, 17));
            const double power = std::log(near.force_error() / far.force_error()) / std::log(ratio);
            EXPECT_NEAR(power, forces::local_order(order), order > 4 ? 0.45 : 0.35)
                << "order " << order << " softened " << softened;
        }
}

TEST(Local, ForceIsTheGradientOfThePotential) {
    Cloud cloud(300, true, 16);
    constexpr double step = 1e-4;
    for (const int order : orders(false)) {
        Both<double> b(cloud, order, false, at(4),
                       {{0.3, -0.2, 0.1},
                        {0.3 + step, -0.2, 0.1},
                        {0.3 - step, -0.2, 0.1},
                        {0.3, -0.2 + step, 0.1},
                        {0.3, -0.2 - step, 0.1},
                        {0.3, -0.2, 0.1 + step},
                        {0.3, -0.2, 0.1 - step}});
        const forces::FieldSums s = b.by_local.sums();
        const double h = 2 * step * b.frame.scale;
        EXPECT_NEAR((s.potential[1] - s.potential[2]) / h, s.ax[0], 1e-6 * std::abs(s.ax[0]) + 1e-9);
        EXPECT_NEAR((s.potential[3] - s.potential[4]) / h, s.ay[0], 1e-6 * std::abs(s.ay[0]) + 1e-9);
        EXPECT_NEAR((s.potential[5] - s.potential[6]) / h, s.az[0], 1e-6 * std::abs(s.az[0]) + 1e-9);
    }
}

// Far apart in units of any size: no number overflows, no field is lost.
TEST(Local, AnyUnits) {
    for (double size : {1e-25, 1e-3, 1e20}) {
        Cloud cloud(200, false, 16, size);
        const Place centre = at(1e3 * size);
        Both<float> b(cloud, 2, false, centre, {{0, 0, 0}, {size, size, 0}, {-size, 0, size}});
        EXPECT_LT(b.force_error(), 1e-5) << size;
    }
}
