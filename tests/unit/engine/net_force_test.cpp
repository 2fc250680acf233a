// SPDX-License-Identifier: BSD-3-Clause
// conserve_momentum on CPUs: forces that add up to zero, where they are forces of all charged particles, and nothing else.
#include "ranks_scene.hpp"

#include <algorithm>

namespace graft::engine {
namespace {

using namespace testing;
using settings::Method;
using settings::Settings;

constexpr double rounding = 3e-15; // of the sum of all forces' sizes

Settings conserving() {
    Settings s;
    s.accuracy = 1e-2, s.conserve_momentum = true;
    return s;
}

Settings in_box(Settings s) {
    s.periodic = s.has_box = true;
    std::fill(s.box_upper, s.box_upper + 3, 1.0);
    return s;
}

/// Charges of both signs, and some without.
Cloud cloud_with(bool both_signs, bool in_unit_cube = false) {
    Cloud cloud = in_unit_cube ? make_cube(1500) : make_cloud(1500, 3);
    for (size_t i = 0; i < cloud.q.size(); ++i)
        cloud.q[i] = i % 50 == 0 ? 0 : (both_signs && i % 3 == 0 ? -2 : 1) * (1 + 0.001 * static_cast<double>(i));
    return cloud;
}

/// The largest change of an acceleration, of the largest one.
double largest_change(const Results& a, const Results& b) {
    double change = 0, size = 0;
    for (size_t i = 0; i < a.ax.size(); ++i) {
        change = std::max(change, std::hypot(a.ax[i] - b.ax[i], a.ay[i] - b.ay[i], a.az[i] - b.az[i]));
        size = std::max(size, size_of(b, i));
    }
    return change / size;
}

void expect_conserved(const Cloud& cloud, int ranks, const Settings& s, const Choice& choice, double least_before) {
    Settings free = s;
    free.conserve_momentum = false;
    const Owners owners = bisection(cloud, ranks);
    const Results with = compute_over(ranks, cloud, owners, s, choice),
                  without = compute_over(ranks, cloud, owners, free, choice);
    EXPECT_LT(net_force(cloud, with), rounding);
    EXPECT_GT(net_force(cloud, without), least_before) << "there was nothing to take off";
    EXPECT_LT(largest_change(with, without), 1e-3);
    EXPECT_DOUBLE_EQ(with.energy, without.energy);
    for (size_t i = 0; i < cloud.q.size(); ++i)
        if (cloud.q[i] == 0) {
            EXPECT_EQ(with.ax[i], without.ax[i]) << i;
        }
    for (int k = 0; k < 3; ++k)
        EXPECT_NEAR(with.virial[k], without.virial[k], 0.1 * std::abs(without.virial[k])); // of places that are not about 0
}

TEST(NetForce, IsZeroOnAnyNumberOfRanks) {
    for (const bool both_signs : {false, true})
        for (const int ranks : {1, 2, 3})
            for (const auto scope : {settings::TreeScope::local, settings::TreeScope::global}) {
                SCOPED_TRACE(std::to_string(ranks) + " ranks" + (both_signs ? ", both signs" : ""));
                Settings s = conserving();
                s.tree_scope = scope;
                s.interaction = both_signs ? settings::Interaction::coulomb : settings::Interaction::gravity;
                expect_conserved(cloud_with(both_signs), ranks, s, {}, 1e-8);
            }
}

TEST(NetForce, OfSoftenedOrderedAndDirectSums) {
    for (const auto method : {Method::tree, Method::direct, Method::reference})
        for (const auto softening : {settings::Softening::plummer, settings::Softening::spline}) {
            SCOPED_TRACE("method " + std::to_string(int(method)) + ", softening " + std::to_string(int(softening)));
            Settings s = conserving();
            s.method = method, s.softening = softening, s.softening_length = 0.05;
            Choice choice;
            choice.softening = softening == settings::Softening::spline;
            expect_conserved(cloud_with(false), 2, s, choice, 0);
        }
}

/// Where the sum is split, and where the tree has the images.
TEST(NetForce, OfPeriodicBoxes) {
    for (const bool both_signs : {false, true})
        for (const int ranks : {1, 2}) {
            SCOPED_TRACE(std::to_string(ranks) + " ranks" + (both_signs ? ", both signs" : ""));
            expect_conserved(cloud_with(both_signs, true), ranks, in_box(conserving()), {}, 0);
        }
}

/// A mask of all is all; so are those with a charge.
TEST(NetForce, OfMasksThatLeaveNoChargeOut) {
    const Cloud cloud = cloud_with(true);
    for (const bool as_list : {false, true}) {
        Choice all, charged;
        all.active.assign(cloud.q.size(), 1), all.as_list = charged.as_list = as_list;
        for (const double q : cloud.q)
            charged.active.push_back(q != 0);
        EXPECT_LT(net_force(cloud, compute_over(2, cloud, bisection(cloud, 2), conserving(), all)), rounding);
        EXPECT_LT(net_force(cloud, compute_over(2, cloud, bisection(cloud, 2), conserving(), charged)), rounding);
    }
}

/// Some forces do not add up to anything, and a field at points is no force: the same bits.
TEST(NetForce, OfSomeParticlesAndPointsIsLeftAlone) {
    const Cloud cloud = cloud_with(false), points = make_cloud(200, 9);
    Settings free = conserving();
    free.conserve_momentum = false;
    Choice some, at;
    some.active.assign(cloud.q.size(), 1), some.active[7] = 0; // on one rank
    at.points = &points, at.point_owners = scattered(points, 2);
    for (const Choice& choice : {some, at}) {
        const Owners owners = bisection(cloud, 2);
        const Results with = compute_over(2, cloud, owners, conserving(), choice),
                      without = compute_over(2, cloud, owners, free, choice);
        EXPECT_EQ(with.ax, without.ax);
        EXPECT_EQ(with.az, without.az);
    }
}

TEST(NetForce, TheSameBitsOnAnyNumberOfThreads) {
    const Cloud cloud = make_cloud(20000, 4);
    Choice one, four;
    four.threads = 4;
    const Results a = compute_over(1, cloud, all_on(cloud, 0), conserving(), one),
                  b = compute_over(1, cloud, all_on(cloud, 0), conserving(), four);
    EXPECT_EQ(a.ax, b.ax);
    EXPECT_LT(net_force(cloud, a), rounding);
}

} // namespace
} // namespace graft::engine
