// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes at their limits: points far from all sources, no charge at all, sums that would not end.
#include "periodic_scene.hpp"
#include "reference/direct_sum.hpp"

#include <array>

namespace {

using namespace graft;
using namespace graft::settings;
using namespace graft::engine::testing;

TEST(PeriodicLimits, PointsFarFromAllSourcesHaveTheFieldOfTheWaves) {
    PeriodicBox corner;
    corner.edge[0] = corner.edge[1] = corner.edge[2] = 0.1;
    const Cloud cloud = random_charges(corner, 300); // in a corner of a box of edge 1
    Cloud points;
    for (int i = 0; i < 200; ++i) // some near, so that memory of other values is about
        add(points, 0.5 + 1e-3 * i / 200, 0.5, i % 2 == 0 ? 0.5 : 0.05, 0);
    Choice at = field_at(points);
    at.calls = 2;
    for (const Precision precision : {Precision::fp64, Precision::mixed}) {
        Settings s = periodic_settings(PeriodicBox{}, Method::tree, precision);
        s.ewald_alpha = 20; // a short cut-off
        const double most = precision == Precision::fp64 ? 1e-11 : 1e-4;
        EXPECT_LT(rms_error(compute_periodic(cloud, s, at), oracle(cloud, s, 0, &points)), most);
    }
}

TEST(PeriodicLimits, WithoutChargeThereIsNoField) {
    for (const double edge : {1e-6, 0.003, 1.0, 1e6})
        for (const Method method : {Method::direct, Method::tree}) {
            PeriodicBox box;
            box.edge[0] = box.edge[1] = box.edge[2] = edge;
            Cloud cloud = random_charges(box, 64);
            std::fill(cloud.q.begin(), cloud.q.end(), 0.0);
            const Results r = compute_periodic(cloud, periodic_settings(box, method));
            for (size_t i = 0; i < r.ax.size(); ++i)
                EXPECT_EQ(std::abs(r.ax[i]) + std::abs(r.potential[i]), 0) << edge;
        }
}

TEST(PeriodicLimits, SumsWithoutEndAreRefused) {
    PeriodicBox thin;
    thin.edge[2] = 1e10;
    EXPECT_NE(refusal(random_charges(thin, 2), periodic_settings(thin)).find("wave vectors"),
              std::string::npos);
    const PeriodicBox box;
    Settings soft = periodic_settings(box);
    soft.softening = Softening::spline, soft.softening_length = 1000;
    EXPECT_NE(refusal(random_charges(box, 4), soft).find("softening length 1000"), std::string::npos);
    Settings slab = periodic_settings(box);
    slab.open_axis = 2;
    Cloud stray = random_charges(box, 4);
    stray.z[3] = 1e10;
    EXPECT_NE(refusal(stray, slab).find("strays"), std::string::npos);
    slab.softening = Softening::plummer, slab.softening_length = 0.1;
    EXPECT_NE(refusal(random_charges(box, 4), slab).find("plummer in a slab or wire"), std::string::npos);
    EXPECT_EQ(refusal(random_charges(box, 4), periodic_settings(box)), "");
}

TEST(PeriodicLimits, PlacesThatDoubleCannotTellAreRefused) {
    Cloud cloud = random_charges(PeriodicBox{}, 8);
    cloud.y[5] = 1e20;
    EXPECT_NE(refusal(cloud, periodic_settings(PeriodicBox{})).find("particle 5 lies"), std::string::npos);
    Settings slab = periodic_settings(PeriodicBox{}), wire = slab;
    slab.open_axis = 1, wire.wire_axis = 1;
    EXPECT_NE(refusal(cloud, wire).find("particle 5 lies"), std::string::npos);
    EXPECT_EQ(refusal(cloud, slab).find("particle 5 lies"), std::string::npos) << "is a stray there";
    cloud.y[5] = 0.5 + 1e6;
    EXPECT_EQ(refusal(cloud, periodic_settings(PeriodicBox{})), "");
}

TEST(PeriodicLimits, UnitsLeaveTheAccuracyOfSinglePrecision) {
    for (const double edge : {1e-60, 1e-36, 1e-20, 1.0, 1e20, 1e36, 1e60})
        for (const Method method : {Method::direct, Method::tree}) {
            PeriodicBox box;
            box.edge[0] = box.edge[1] = box.edge[2] = edge;
            const Cloud cloud = random_charges(box, 300);
            const Results exact = compute_periodic(cloud, periodic_settings(box, method));
            const Results r = compute_periodic(cloud, periodic_settings(box, method, Precision::mixed));
            Results scaled = r, expected = exact; // whose squares stay in double
            for (std::vector<double>* values :
                 {&scaled.ax, &scaled.ay, &scaled.az, &expected.ax, &expected.ay, &expected.az})
                for (double& value : *values)
                    value = value * edge * edge;
            EXPECT_LT(rms_error(scaled, expected), 3e-6) << edge;
        }
}

/// Pairs closer than single precision tells apart, within the box and across its faces.
TEST(PeriodicLimits, ClosePairsInSinglePrecision) {
    const PeriodicBox box;
    Cloud cloud = random_charges(box, 300);
    const size_t first = cloud.x.size();
    for (size_t i = 0; i < 40; ++i) {
        const bool across = i % 2 != 0;
        add(cloud, across ? 1e-8 : cloud.x[i], cloud.y[i], cloud.z[i] + 1e-4, 1);
        add(cloud, across ? 1 - 2e-8 : cloud.x[i] + 3e-8, cloud.y[i], cloud.z[i] + 1e-4, -1);
    }
    for (const Method method : {Method::direct, Method::tree}) {
        const Results exact = compute_periodic(cloud, periodic_settings(box, method));
        for (const Precision precision : {Precision::fp32, Precision::mixed}) {
            const Results r = compute_periodic(cloud, periodic_settings(box, method, precision));
            for (size_t i = first; i < cloud.x.size(); ++i)
                EXPECT_NEAR(r.ax[i] / exact.ax[i], 1, 1e-5) << "particle " << i << ", method " << int(method);
            for (size_t k = 0; k < 6; ++k)
                EXPECT_NEAR(r.virial[k], exact.virial[k], 1e-5 * std::abs(exact.virial[0])) << k;
        }
    }
}

/// A pair at distance zero loses its erf part, whatever the unit of length.
TEST(PeriodicLimits, UnitsLeaveThePotentialOfHeaps) {
    const auto heap = [](double edge, Method method, Precision precision) {
        PeriodicBox box;
        box.edge[0] = box.edge[1] = box.edge[2] = edge;
        Cloud cloud;
        for (int i = 0; i < 3; ++i)
            add(cloud, 0.3 * edge, 0.3 * edge, 0.3 * edge, 1);
        const Results r = compute_periodic(cloud, periodic_settings(box, method, precision));
        return std::array<double, 3>{r.potential[0] * edge, r.energy * edge, r.virial[0] * edge};
    };
    const std::array<double, 3> expected = heap(1, Method::reference, Precision::fp64);
    for (const double edge : {1e-60, 1e-30, 1e-20, 1.0, 1e20, 1e60})
        for (const Method method : {Method::direct, Method::tree})
            for (const Precision precision : {Precision::fp64, Precision::mixed})
                for (size_t k = 0; k < 3; ++k)
                    EXPECT_NEAR(heap(edge, method, precision)[k], expected[k], 2e-5) << edge;
    EXPECT_THROW(heap(1e-110, Method::direct, Precision::fp64), core::Error);
}

/// What a spline takes off Newton's field, summed over its images one by one.
Results spline_correction(const Cloud& cloud, const PeriodicBox& box, const int (&images)[3], double length) {
    Cloud copies;
    for (int i = -images[0]; i <= images[0]; ++i)
        for (int j = -images[1]; j <= images[1]; ++j)
            for (int k = -images[2]; k <= images[2]; ++k)
                for (size_t p = 0; p < cloud.x.size(); ++p)
                    add(copies, cloud.x[p] + i * box.edge[0], cloud.y[p] + j * box.edge[1],
                        cloud.z[p] + k * box.edge[2], cloud.q[p]);
    const reference::Points from{copies.size(), copies.x.data(), copies.y.data(), copies.z.data(), nullptr},
        to{cloud.size(), cloud.x.data(), cloud.y.data(), cloud.z.data(), nullptr};
    Results r[2];
    for (const bool soft : {false, true}) {
        Results& at = r[soft];
        for (std::vector<double>* values : {&at.ax, &at.ay, &at.az, &at.potential})
            values->assign(cloud.x.size(), 0);
        reference::direct_sum(from, copies.q.data(), to, nullptr,
                              soft ? reference::Softening::spline : reference::Softening::none, length, 1,
                              {at.ax.data(), at.ay.data(), at.az.data(), at.potential.data()});
    }
    for (size_t i = 0; i < cloud.x.size(); ++i) {
        r[0].ax[i] -= r[1].ax[i], r[0].ay[i] -= r[1].ay[i], r[0].az[i] -= r[1].az[i]; // Coulomb's signs
        r[0].potential[i] =
            r[1].potential[i] - r[0].potential[i] - cloud.q[i] * 2.8 / length; // without its own
    }
    return r[0];
}

TEST(PeriodicLimits, SplinesMayBeLongerThanTheBox) {
    const PeriodicBox box{{0.4, 1, 0.9}};
    const Cloud cloud = random_charges(box, 30);
    constexpr double length = 2.1;
    constexpr int open = -1;
    const int kinds[3][2] = {{open, open}, {2, open}, {open, 0}}; // a box, a slab, a wire
    for (const auto& [slab, wire] : kinds) {
        int images[3] = {7, 4, 4};
        for (int a = 0; a < 3; ++a)
            images[a] = a == slab || (wire >= 0 && a != wire) ? 0 : images[a];
        const Results more = spline_correction(cloud, box, images, length);
        for (const Method method : {Method::direct, Method::reference}) {
            Settings s = periodic_settings(box, method);
            s.open_axis = slab, s.wire_axis = wire;
            Results expected = compute_periodic(cloud, s);
            for (size_t i = 0; i < cloud.x.size(); ++i) {
                expected.ax[i] += more.ax[i], expected.ay[i] += more.ay[i], expected.az[i] += more.az[i];
                expected.potential[i] += more.potential[i];
            }
            s.softening = Softening::spline, s.softening_length = length;
            const Results r = compute_periodic(cloud, s);
            double field = 0; // of all forces: what is left is small beside what was taken off
            for (size_t i = 0; i < cloud.x.size(); ++i)
                field = std::max(field, std::abs(more.ax[i]));
            for (size_t i = 0; i < cloud.x.size(); ++i) {
                EXPECT_NEAR(r.ax[i], expected.ax[i], 1e-9 * field);
                EXPECT_NEAR(r.potential[i], expected.potential[i], 1e-7) << slab << wire;
            }
        }
    }
}

/// On one place many act on each other by nothing: their neighbours are what counts.
TEST(PeriodicLimits, HeapsAtOnePlaceKeepTheAccuracyOfTheirCells) {
    const Cloud places = random_charges(PeriodicBox{}, 1000, false);
    Cloud cloud;
    for (int64_t i = 0; i < 8 * places.size(); ++i) {
        const auto k = static_cast<size_t>(i / 8);
        add(cloud, places.x[k], places.y[k], places.z[k], 1);
    }
    Settings s = periodic_settings(PeriodicBox{}, Method::tree);
    const Results exact = compute_periodic(cloud, s);
    s.theta = 1, s.order = 4, s.leaf = 16, s.group = 32;
    for (const double accuracy : {1e-3, 1e-5}) {
        s.accuracy = accuracy;
        EXPECT_LT(rms_error(compute_periodic(cloud, s), exact), accuracy);
    }
}

} // namespace
