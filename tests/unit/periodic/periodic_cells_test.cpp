// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes with the tree's cells: the error asked for, whatever the order, precision, box and number of
// ranks.
#include "periodic_scene.hpp"
#include "periodic/periodic.hpp"

namespace graft::engine::testing {
namespace {

/// Heaps of charges in a box with some strays: all pairs would cost much more than cells.
Cloud heaps(const PeriodicBox& box, int64_t n, bool neutral) {
    Cloud cloud = random_charges(box, n, neutral);
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal(0, 0.02);
    for (size_t i = 0; i < cloud.x.size(); ++i)
        if (i % 8 != 0) { // about the first charges, which stay
            const size_t to = 8 * (i % 2);
            cloud.x[i] = cloud.x[to] + normal(random), cloud.y[i] = cloud.y[to] + normal(random);
            cloud.z[i] = cloud.z[to] + normal(random);
        }
    return cloud;
}

const PeriodicBox straight{{1, 1, 1}}, tilted{{1, 1.2, 0.8}, {-2, 3, 0}, {0.3, -0.2, 0.4}};

settings::Settings cell_settings(const PeriodicBox& box, int order, double accuracy,
                       settings::Precision precision = settings::Precision::fp64) {
    settings::Settings s = periodic_settings(box, settings::Method::tree, precision);
    s.theta = 1, s.mac = settings::MacType::error, s.order = order, s.accuracy = accuracy;
    s.leaf = 16, s.group = 32;
    return s;
}

Results all_pairs(const Cloud& cloud, settings::Settings s, const Choice& choice = {}) {
    s.theta = 0, s.precision = settings::Precision::fp64, s.ewald_accuracy = 1e-9;
    return compute_periodic(cloud, s, choice);
}

TEST(PeriodicCells, KeepTheAccuracyAtEveryOrder) {
    for (const bool neutral : {true, false})
        for (const PeriodicBox& box : {straight, tilted}) {
            const Cloud cloud = heaps(box, 6000, neutral);
            const Results expected = all_pairs(cloud, cell_settings(box, 2, 1e-3));
            for (const int order : {0, 1, 2, 3, 4})
                for (const double accuracy : {1e-2, 1e-4}) {
                    if (order == 0 && accuracy < 1e-2)
                        continue;
                    const Results r = compute_periodic(cloud, cell_settings(box, order, accuracy));
                    EXPECT_GT(r.reports[0].cells, 0) << order << " " << accuracy;
                    EXPECT_LT(rms_error(r, expected), accuracy) << order;
                    EXPECT_NEAR(r.energy / expected.energy, 1, accuracy) << order;
                    for (int c = 0; c < 6; ++c)
                        EXPECT_NEAR(r.virial[c], expected.virial[c],
                                    10 * accuracy * std::abs(expected.energy));
                }
        }
}

TEST(PeriodicCells, InEveryPrecisionAndWithSoftening) {
    const Cloud cloud = heaps(tilted, 6000, false);
    for (const settings::Softening softening :
         {settings::Softening::none, settings::Softening::plummer, settings::Softening::spline})
        for (const settings::Precision precision :
             {settings::Precision::fp32, settings::Precision::mixed, settings::Precision::fp64}) {
            settings::Settings s = cell_settings(tilted, 3, 1e-4, precision);
            s.softening = softening, s.softening_length = softening == settings::Softening::none ? 0 : 0.01;
            const Results expected = all_pairs(cloud, s), r = compute_periodic(cloud, s);
            EXPECT_GT(r.reports[0].cells, 0);
            EXPECT_LT(rms_error(r, expected), 1e-4)
                << static_cast<int>(softening) << static_cast<int>(precision);
        }
}

TEST(PeriodicCells, GeometricCriteriaSubsetsAndPoints) {
    const Cloud cloud = heaps(straight, 6000, false);
    settings::Settings s = cell_settings(straight, 4, 1e-3);
    const Results expected = all_pairs(cloud, s);
    for (const settings::MacType mac : {settings::MacType::edge, settings::MacType::box}) {
        s.mac = mac, s.theta = 0.5;
        const Results r = compute_periodic(cloud, s);
        EXPECT_GT(r.reports[0].cells, 0);
        EXPECT_LT(rms_error(r, expected), 1e-3) << static_cast<int>(mac);
    }
    s = cell_settings(straight, 3, 1e-4);
    const Results active = compute_periodic(cloud, s, every(7, cloud));
    Results difference;
    for (size_t i = 0; i < cloud.x.size(); i += 7)
        EXPECT_NEAR(active.ax[i], expected.ax[i], 1e-3 * size_of(expected, i) + 1) << i;
    const Cloud points = random_charges(straight, 300, true, 5);
    const Choice at = field_at(points);
    settings::Settings exact = s;
    exact.theta = 0, exact.ewald_accuracy = 1e-9;
    EXPECT_LT(rms_error(compute_periodic(cloud, s, at), compute_periodic(cloud, exact, at)), 1e-4);
}

TEST(PeriodicCells, AnyNumberOfRanks) {
    const Cloud cloud = heaps(tilted, 6000, true);
    const Results expected = all_pairs(cloud, cell_settings(tilted, 3, 1e-4));
    for (const settings::TreeScope scope : {settings::TreeScope::local, settings::TreeScope::global})
        for (const settings::Exchange exchange : {settings::Exchange::push, settings::Exchange::fetch}) {
            settings::Settings s = cell_settings(tilted, 3, 1e-4, settings::Precision::mixed);
            s.tree_scope = scope, s.exchange = exchange;
            const double one = rms_error(compute_periodic(cloud, s), expected);
            for (const int ranks : {2, 3, 4})
                for (const Owners& owners : {bisection(cloud, ranks), scattered(cloud, ranks)}) {
                    const Results r = compute_over(ranks, cloud, owners, s);
                    double cells = 0;
                    for (const Report& report : r.reports)
                        cells += report.cells;
                    EXPECT_GT(cells, 0);
                    EXPECT_LT(rms_error(r, expected), 2 * one) << ranks;
                }
        }
}

TEST(PeriodicCells, SmallBoxesSumAllPairs) {
    const Cloud cloud = random_charges(straight, 3000);
    const Results r = compute_periodic(cloud, cell_settings(straight, 2, 1e-3));
    EXPECT_EQ(r.reports[0].cells, 0);
    EXPECT_LT(rms_error(r, all_pairs(cloud, cell_settings(straight, 2, 1e-3))), 1e-5);
}

TEST(PeriodicCells, CrowdsAreFoundWhereTheyAre) {
    periodic::EwaldInput p;
    p.particles = 20000, p.square_sum = 20000, p.accuracy = 1e-5;
    p.cells.allowed = true;
    p.cells.error = 1e-3;
    p.crowding.largest = 0.5;
    p.crowding.factor.assign(periodic::Crowding::steps, 1.0);
    p.cells.cost = 20, p.pair_cost = 4;
    EXPECT_FALSE(periodic::split_ewald(p).cells);
    p.crowding.factor.assign(periodic::Crowding::steps, 30.0);
    EXPECT_TRUE(periodic::split_ewald(p).cells);
    p.particles = 1000000, p.square_sum = 1e6;
    p.crowding = {};
    const periodic::EwaldSplit many = periodic::split_ewald(p);
    EXPECT_TRUE(many.cells) << "uniform, but many";
    p.cells.allowed = false;
    EXPECT_LT(periodic::split_ewald(p).cutoff, many.cutoff);
}

} // namespace
} // namespace graft::engine::testing
