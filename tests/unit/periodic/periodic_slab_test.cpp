// SPDX-License-Identifier: BSD-3-Clause
// Slabs: images along two axes, none along the third, against the two-dimensional Ewald sum.
#include "periodic_scene.hpp"
#include "slab_sum.hpp"

namespace graft::engine::testing {
namespace {

const PeriodicBox plane{{1, 1.3, 0.6}, {-0.4, 2, 5}, {0.3, 0, 0}};

settings::Settings slab_settings(const PeriodicBox& box, settings::Method method, int open_axis = 2) {
    settings::Settings s = periodic_settings(box, method);
    s.open_axis = open_axis;
    return s;
}

/// Coulomb's signs; z is the open axis.
Results slab_oracle(const Cloud& cloud, const PeriodicBox& box, const Cloud* points = nullptr) {
    const Cloud& at = points != nullptr ? *points : cloud;
    Results r;
    for (std::vector<double>* values : {&r.ax, &r.ay, &r.az, &r.potential})
        values->assign(at.x.size(), 0);
    reference::slab_sum({box.edge[0], 0}, {box.tilt[0], box.edge[1]},
                        {cloud.size(), cloud.x.data(), cloud.y.data(), cloud.z.data(), nullptr},
                        cloud.q.data(), {at.size(), at.x.data(), at.y.data(), at.z.data(), nullptr}, 1,
                        {r.ax.data(), r.ay.data(), r.az.data(), r.potential.data()});
    for (size_t i = 0; i < at.x.size(); ++i) {
        r.ax[i] *= -1, r.ay[i] *= -1, r.az[i] *= -1;
        r.energy += points != nullptr ? 0 : 0.5 * cloud.q[i] * r.potential[i];
    }
    return r;
}

class Slab : public ::testing::TestWithParam<settings::Method> {};

TEST_P(Slab, IsTheTwoDimensionalSum) {
    for (const bool neutral : {true, false})
        for (const double thickness : {0.0, 0.6, 4.0}) { // a layer; flat; a column
            PeriodicBox box = plane;
            box.edge[2] = thickness;
            const Cloud cloud = random_charges(box, 30, neutral);
            box.edge[2] = 0.1; // what the host calls the box along z is of no account
            const Results r = compute_periodic(cloud, slab_settings(box, GetParam())),
                          expected = slab_oracle(cloud, box);
            EXPECT_LT(rms_error(r, expected), 1e-11) << thickness;
            for (size_t i = 0; i < cloud.x.size(); ++i)
                EXPECT_NEAR(r.potential[i], expected.potential[i],
                            1e-9 * (1 + std::abs(expected.potential[i])));
            EXPECT_NEAR(r.energy, expected.energy, 1e-10 * (1 + std::abs(expected.energy))) << thickness;
            expect_no_net_force(cloud, r);
            expect_opposite_gravity(cloud, slab_settings(box, GetParam()), r);
        }
}

TEST(SlabReference, KnowsNoAccuracyAskedFor) {
    const Cloud cloud = random_charges(plane, 30, false);
    settings::Settings s = slab_settings(plane, settings::Method::reference);
    const Results expected = slab_oracle(cloud, plane);
    s.precision = settings::Precision::mixed, s.ewald_accuracy = 0.1;
    EXPECT_LT(rms_error(compute_periodic(cloud, s), expected), 1e-11);
}

TEST_P(Slab, AnyAxisMayBeTheOpenOne) {
    const PeriodicBox box{{1, 1.2, 0.5}};
    const Cloud cloud = random_charges(box, 40, false);
    const Results expected = compute_periodic(cloud, slab_settings(box, GetParam()));
    Cloud turned = cloud; // x y z -> z x y: the open axis is y's place ... x
    turned.x = cloud.z, turned.y = cloud.x, turned.z = cloud.y;
    Results r = compute_periodic(turned, slab_settings({{0.5, 1, 1.2}}, GetParam(), 0));
    std::swap(r.ax, r.az), std::swap(r.ax, r.ay); // (z x y) -> (y x z) -> (x y z)
    EXPECT_LT(rms_error(r, expected), 1e-11);
    EXPECT_NEAR(r.virial[0], expected.virial[2], 1e-9 * std::abs(expected.energy));
}

TEST_P(Slab, VirialIsTheSlopeOfTheStrain) {
    const Cloud cloud = random_charges(plane, 30, false);
    const Results r = compute_periodic(cloud, slab_settings(plane, GetParam()));
    const auto strained = [&](int a, double by) { // 3: x += by y
        Cloud moved = cloud;
        PeriodicBox box = plane;
        for (size_t i = 0; i < cloud.x.size(); ++i)
            a == 0   ? moved.x[i] *= 1 + by
            : a == 1 ? moved.y[i] *= 1 + by
            : a == 2 ? moved.z[i] *= 1 + by
                     : moved.x[i] += by * cloud.y[i];
        if (a < 3)
            box.edge[a] *= 1 + by;
        if (a == 0)
            box.tilt[0] *= 1 + by;
        if (a == 3)
            box.tilt[0] += by * plane.edge[1];
        return compute_periodic(moved, slab_settings(box, GetParam())).energy;
    };
    for (int a = 0; a < 4; ++a)
        EXPECT_NEAR(-(strained(a, 1e-5) - strained(a, -1e-5)) / 2e-5, r.virial[a], 2e-6 * std::abs(r.energy))
            << a;
}

TEST_P(Slab, RanksPointsSubsetsAndImages) {
    Cloud cloud = random_charges(plane, 48, true);
    const settings::Settings s = slab_settings(plane, GetParam());
    const Results expected = slab_oracle(cloud, plane);
    for (size_t i = 0; i < cloud.x.size(); i += 3) // other images
        cloud.x[i] += 2 * plane.edge[0] - plane.tilt[0], cloud.y[i] -= plane.edge[1];
    for (const int ranks : {1, 2, 3, 4})
        EXPECT_LT(rms_error(compute_over(ranks, cloud, bisection(cloud, ranks), s), expected), 1e-11)
            << ranks;
    Cloud points = random_charges(plane, 20, true, 5);
    points.z[0] += 3, points.z[1] -= 3; // far above and below
    EXPECT_LT(rms_error(compute_periodic(cloud, s, field_at(points)), slab_oracle(cloud, plane, &points)),
              1e-11);
    const Results active = compute_periodic(cloud, s, every(3, cloud));
    for (size_t i = 0; i < cloud.x.size(); i += 3)
        EXPECT_NEAR(active.az[i], expected.az[i], 1e-9 * size_of(expected, i));
}

TEST_P(Slab, AccuraciesAskedForAreKept) {
    if (GetParam() == settings::Method::reference)
        return; // knows no accuracy
    const Cloud cloud = random_charges(plane, 64, true);
    const Results expected = slab_oracle(cloud, plane);
    for (const settings::Precision precision : {settings::Precision::fp64, settings::Precision::mixed})
        for (const double accuracy : {1e-3, 1e-5}) {
            settings::Settings s = slab_settings(plane, GetParam());
            s.precision = precision, s.ewald_accuracy = accuracy;
            EXPECT_LT(rms_error(compute_periodic(cloud, s), expected), accuracy);
        }
}

INSTANTIATE_TEST_SUITE_P(Of, Slab,
                         ::testing::Values(settings::Method::direct, settings::Method::tree, settings::Method::reference),
                         [](const auto& info) {
                             return info.param == settings::Method::direct ? "direct"
                                    : info.param == settings::Method::tree ? "tree"
                                                                 : "reference";
                         });

} // namespace
} // namespace graft::engine::testing
