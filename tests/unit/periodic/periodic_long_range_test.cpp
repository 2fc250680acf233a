// SPDX-License-Identifier: BSD-3-Clause
// The long-range part alone (ewald.part), for hosts whose pairs are their own: with the pairs that such a host sums it is the
// whole force, energy and virial, in any box, by waves and on a mesh.
#include "periodic_scene.hpp"

namespace graft::engine::testing {
namespace {

const PeriodicBox straight{{1, 1, 1}}, tilted{{1, 1.2, 0.8}, {-2, 3, 0}, {0.3, -0.2, 0.4}};

settings::Settings long_range_settings(const PeriodicBox& box, double alpha, double accuracy,
                                       settings::LongRange way = settings::LongRange::sum,
                                       settings::Precision precision = settings::Precision::fp64) {
    settings::Settings s = periodic_settings(box, settings::Method::tree, precision);
    s.ewald_part = settings::EwaldPart::long_range, s.ewald_alpha = alpha, s.ewald_accuracy = accuracy, s.long_range = way;
    return s;
}

/// All of it, of a split that is Graft's own.
Results whole(const Cloud& cloud, settings::Settings s, const Choice& choice = {}) {
    s.ewald_part = settings::EwaldPart::all, s.ewald_alpha = s.ewald_cutoff = 0;
    s.long_range = settings::LongRange::sum, s.method = settings::Method::direct;
    s.precision = settings::Precision::fp64, s.ewald_accuracy = 1e-11;
    return compute_periodic(cloud, s, choice);
}

/// erfc of it is 1e-12.
double far_for(double alpha) {
    return 5 / alpha;
}

void expect_same(const Results& r, const Results& expected, double accuracy) {
    EXPECT_LT(rms_error(r, expected), accuracy);
    EXPECT_NEAR(r.energy / expected.energy, 1, accuracy);
    for (int c = 0; c < 6; ++c)
        EXPECT_NEAR(r.virial[c], expected.virial[c], 8 * accuracy * std::abs(expected.energy)) << c;
    double error = 0, size = 0;
    for (size_t i = 0; i < r.potential.size(); ++i) {
        error += std::pow(r.potential[i] - expected.potential[i], 2);
        size += std::pow(expected.potential[i], 2);
    }
    EXPECT_LT(std::sqrt(error / size), 8 * accuracy);
}

TEST(PeriodicLongRange, WithTheHostsPairsItIsAllOfIt) {
    constexpr double alpha = 11;
    for (const bool neutral : {true, false})
        for (const PeriodicBox& box : {straight, tilted}) {
            const Cloud cloud = random_charges(box, 250, neutral);
            const Results expected = oracle(cloud, periodic_settings(box));
            for (const settings::LongRange way : {settings::LongRange::sum, settings::LongRange::mesh})
                for (const double accuracy : {1e-3, 1e-5, 1e-8}) {
                    const settings::Settings s = long_range_settings(box, alpha, accuracy, way);
                    Results r = compute_periodic(cloud, s);
                    EXPECT_GT(rms_error(r, expected), 0.3) << "pairs must be missing";
                    add_host_pairs(cloud, s, alpha, far_for(alpha), r);
                    expect_same(r, expected, accuracy);
                }
        }
}

TEST(PeriodicLongRange, InEveryPrecision) {
    constexpr double alpha = 9;
    const Cloud cloud = random_charges(tilted, 500, false);
    const Results expected = whole(cloud, periodic_settings(tilted));
    for (const settings::LongRange way : {settings::LongRange::sum, settings::LongRange::mesh})
        for (const settings::Precision precision :
             {settings::Precision::fp32, settings::Precision::mixed, settings::Precision::fp64}) {
            const settings::Settings s = long_range_settings(tilted, alpha, 1e-5, way, precision);
            Results r = compute_periodic(cloud, s);
            add_host_pairs(cloud, s, alpha, far_for(alpha), r);
            expect_same(r, expected, 2e-5);
        }
}

TEST(PeriodicLongRange, AlphaIsChosenForTheCutoff) {
    const Cloud cloud = random_charges(straight, 1000, true);
    const Results expected = whole(cloud, periodic_settings(straight));
    for (const double cutoff : {0.15, 0.3})
        for (const double accuracy : {1e-2, 1e-4, 1e-6}) {
            settings::Settings s = long_range_settings(straight, 0, accuracy, settings::LongRange::auto_);
            s.ewald_cutoff = cutoff;
            Results r = compute_periodic(cloud, s);
            const double alpha = r.reports[0].ewald_alpha;
            add_host_pairs(cloud, s, alpha, cutoff, r);
            EXPECT_LT(rms_error(r, expected), accuracy) << cutoff;
            s.ewald_alpha = alpha; // a host that keeps it has the same
            EXPECT_EQ(compute_periodic(cloud, s).reports[0].ewald_alpha, alpha);
        }
}

/// How it is split is no matter of charges, which may come later.
TEST(PeriodicLongRange, AlphaWithoutChargesIsThatWithThem) {
    Cloud cloud = random_charges(straight, 300, true);
    settings::Settings s = long_range_settings(straight, 0, 1e-4);
    s.ewald_cutoff = 0.2;
    const double alpha = compute_periodic(cloud, s).reports[0].ewald_alpha;
    std::fill(cloud.q.begin(), cloud.q.end(), 0.0);
    EXPECT_NEAR(compute_periodic(cloud, s).reports[0].ewald_alpha, alpha, 1e-12 * alpha);
}

TEST(PeriodicLongRange, HangsOnNoKeyOfTheTree) {
    const Cloud cloud = random_charges(straight, 500, true);
    settings::Settings s = long_range_settings(straight, 0, 0, settings::LongRange::auto_, settings::Precision::auto_);
    s.ewald_cutoff = 0.2;
    const Results usual = compute_periodic(cloud, s);
    s.theta = 0.5, s.mac = settings::MacType::box, s.accuracy = 1e-9;
    const Results other = compute_periodic(cloud, s);
    EXPECT_EQ(other.ax, usual.ax);
    EXPECT_EQ(other.reports[0].ewald_alpha, usual.reports[0].ewald_alpha);
}

TEST(PeriodicLongRange, SlabsAndWires) {
    constexpr double alpha = 7;
    for (const bool neutral : {true, false})
        for (const bool wire : {false, true})
            for (const settings::LongRange way : {settings::LongRange::sum, settings::LongRange::mesh}) {
                const Cloud cloud = random_charges(straight, 300, neutral);
                settings::Settings s = long_range_settings(straight, alpha, 1e-5, way);
                (wire ? s.wire_axis : s.open_axis) = 2;
                const Results expected = whole(cloud, s);
                Results r = compute_periodic(cloud, s);
                add_host_pairs(cloud, s, alpha, far_for(alpha), r);
                SCOPED_TRACE(wire ? "wire" : "slab");
                expect_same(r, expected, 1e-5);
            }
}

/// A host's pairs reach across the vacuum that accuracy alone would leave.
TEST(PeriodicLongRange, SlabOfAHostWhosePairsReachFar) {
    const Cloud cloud = random_charges(straight, 60, true);
    settings::Settings s = long_range_settings(straight, 0.9, 1e-4);
    s.open_axis = 2;
    const Results expected = whole(cloud, s);
    Results r = compute_periodic(cloud, s);
    add_host_pairs(cloud, s, s.ewald_alpha, far_for(s.ewald_alpha), r);
    EXPECT_LT(rms_error(r, expected), 1e-4);
}

TEST(PeriodicLongRange, SubsetsAndPoints) {
    constexpr double alpha = 8;
    const Cloud cloud = random_charges(straight, 700, false), points = random_charges(straight, 100, true, 5);
    for (const settings::LongRange way : {settings::LongRange::sum, settings::LongRange::mesh}) {
        const settings::Settings s = long_range_settings(straight, alpha, 1e-5, way);
        const Results all = compute_periodic(cloud, s), some = compute_periodic(cloud, s, every(7, cloud));
        for (size_t i = 0; i < cloud.x.size(); i += 7) {
            EXPECT_NEAR(some.ax[i], all.ax[i], 1e-9 * size_of(all, i)) << i;
            EXPECT_NEAR(some.potential[i], all.potential[i], 1e-9 * std::abs(all.potential[i])) << i;
        }
        const Choice at = field_at(points);
        const Results expected = whole(cloud, s, at);
        Results r = compute_periodic(cloud, s, at);
        add_host_pairs(cloud, s, alpha, far_for(alpha), r, &points);
        EXPECT_LT(rms_error(r, expected), 1e-5);
        for (size_t i = 0; i < points.x.size(); ++i)
            EXPECT_NEAR(r.potential[i], expected.potential[i], 1e-4 * (1 + std::abs(expected.potential[i]))) << i;
    }
}

TEST(PeriodicLongRange, AnyNumberOfRanks) {
    const Cloud cloud = random_charges(tilted, 500, false);
    for (const settings::LongRange way : {settings::LongRange::sum, settings::LongRange::mesh})
        expect_same_over_ranks(cloud, long_range_settings(tilted, 8, 1e-5, way));
}

TEST(PeriodicLongRange, NeverMakesATreeNorMeetsAPair) {
    const Cloud cloud = random_charges(straight, 3000, true);
    settings::Settings s = long_range_settings(straight, 8, 1e-5, settings::LongRange::mesh);
    s.theta = 0.7, s.mac = settings::MacType::error, s.accuracy = 1e-9; // of cells that there are not
    const Results r = compute_periodic(cloud, s);
    EXPECT_EQ(r.reports[0].pairs, 0);
    EXPECT_FALSE(r.reports[0].has_tree);
}

TEST(PeriodicLongRange, IsRefusedWhereItCannotBeHad) {
    const Cloud cloud = random_charges(straight, 50, true);
    const settings::Settings good = long_range_settings(straight, 8, 1e-5);
    settings::Settings s = good;
    s.ewald_alpha = 0;
    EXPECT_NE(refusal(cloud, s).find("expected ewald.cutoff, or the ewald.alpha"), std::string::npos);
    s = good, s.periodic = false;
    EXPECT_NE(refusal(cloud, s).find("ewald.part long_range in a box without images"), std::string::npos);
    s = good, s.softening = settings::Softening::spline, s.softening_length = 0.1;
    EXPECT_NE(refusal(cloud, s).find("is not had with softening"), std::string::npos);
    s = good, s.method = settings::Method::reference;
    EXPECT_NE(refusal(cloud, s).find("is not had with method reference"), std::string::npos);
    s = good, s.lattice_sum = settings::LatticeSum::replicas;
    EXPECT_NE(refusal(cloud, s).find("is not had with ewald.method replicas"), std::string::npos);
}

} // namespace
} // namespace graft::engine::testing
