// Periodic boxes at their limits: points far from all sources, no charge at all, sums that would not end.
#include "periodic_scene.hpp"

namespace {

using namespace graft;
using namespace graft::pipeline;
using namespace graft::pipeline::testing;

TEST(PeriodicLimits, PointsFarFromAllSourcesHaveTheFieldOfTheWaves) {
    PeriodicBox corner;
    corner.edge[0] = corner.edge[1] = corner.edge[2] = 0.1;
    const Cloud cloud = random_charges(corner, 300); // in a corner of a box of edge 1
    Cloud points;
    for (int i = 0; i < 200; ++i) // some near, so that memory of other values is about
        add(points, 0.5 + 1e-3 * i / 200, 0.5, i % 2 == 0 ? 0.5 : 0.05, 0);
    Choice at;
    at.points = &points;
    at.point_owners = all_on(points, 0);
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
