// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes: published Madelung constants, the oracle's Ewald sum, and what must hold whatever the
// splitting.
#include "crystals.hpp"
#include "periodic_scene.hpp"

namespace graft::engine::testing {
namespace {

using test::Crystal;
using test::crystals;

/// A crystal: ions of a unit cell of edge 1, repeated.
Cloud crystal(const std::vector<std::array<double, 4>>& ions, int repeats) {
    Cloud cloud;
    for (int i = 0; i < repeats; ++i)
        for (int j = 0; j < repeats; ++j)
            for (int k = 0; k < repeats; ++k)
                for (const auto& ion : ions)
                    add(cloud, ion[0] + i, ion[1] + j, ion[2] + k, ion[3]);
    return cloud;
}

class PeriodicMethod : public ::testing::TestWithParam<settings::Method> {};

TEST_P(PeriodicMethod, MadelungConstants) {
    for (const Crystal& c : crystals)
        for (const int repeats : {1, 3}) {
            const Cloud cloud = crystal(c.ions, repeats);
            const double edge = repeats;
            const Results r = compute_periodic(cloud, periodic_settings({{edge, edge, edge}}, GetParam()));
            const double madelung = -2 * r.energy / static_cast<double>(cloud.size()) * c.nearest;
            EXPECT_NEAR(madelung / c.madelung, 1, 1e-11) << c.name << " " << repeats;
            for (size_t i = 0; i < r.ax.size(); ++i)
                EXPECT_LT(size_of(r, i), 1e-9) << c.name << " " << i;
        }
}

TEST_P(PeriodicMethod, ForcesPotentialsEnergyAndVirialAreTheOracles) {
    for (const bool neutral : {true, false})
        for (const PeriodicBox& box : {PeriodicBox{{1, 1, 1}}, PeriodicBox{{1, 1.5, 0.7}, {-3, 2, 10}},
                                       PeriodicBox{{1, 1, 1.2}, {0, 0, 0}, {0.4, -0.3, 0.5}}}) {
            const Cloud cloud = random_charges(box, 50, neutral);
            const settings::Settings s = periodic_settings(box, GetParam());
            const Results r = compute_periodic(cloud, s), expected = oracle(cloud, s);
            EXPECT_LT(rms_error(r, expected), 1e-12);
            for (size_t i = 0; i < r.potential.size(); ++i)
                EXPECT_NEAR(r.potential[i], expected.potential[i], 1e-11 * 20);
            EXPECT_NEAR(r.energy / expected.energy, 1, 1e-11);
            double size = 0; // of which most may cancel in the energy
            for (const double value : expected.virial)
                size += std::abs(value);
            for (int c = 0; c < 6; ++c)
                EXPECT_NEAR(r.virial[c], expected.virial[c], 1e-12 * size) << c;
            EXPECT_NEAR(r.virial[0] + r.virial[1] + r.virial[2], r.energy, 1e-12 * size) << "degree -1";
            expect_no_net_force(cloud, r);
        }
}

TEST_P(PeriodicMethod, AnyAlphaGivesTheSame) {
    const PeriodicBox box{{1, 1.2, 0.9}, {0, 0, 0}, {0.2, 0, -0.3}};
    const Cloud cloud = random_charges(box, 100, false);
    settings::Settings s = periodic_settings(box, GetParam());
    const Results expected = compute_periodic(cloud, s);
    double size = 0; // of which most cancels in the energy
    for (const double value : expected.virial)
        size += std::abs(value);
    for (const double alpha : {3.0, 8.0, 16.0}) {
        s.ewald_alpha = alpha;
        const Results r = compute_periodic(cloud, s);
        EXPECT_LT(rms_error(r, expected), 1e-12) << alpha;
        EXPECT_NEAR(r.energy / expected.energy, 1, 1e-11) << alpha;
        for (int c = 0; c < 6; ++c)
            EXPECT_NEAR(r.virial[c], expected.virial[c], 1e-11 * size) << alpha;
    }
}

/// What pairs beyond the cut-off do on average, and what the waves beyond the last do to their own charge, is known.
TEST_P(PeriodicMethod, EnergyAndVirialOfMassesAreBetterThanForces) {
    const PeriodicBox box{{1, 1.2, 0.9}, {0, 0, 0}, {0.2, 0, -0.3}};
    Cloud cloud = random_charges(box, 4000, false);
    for (double& mass : cloud.q)
        mass = std::abs(mass);
    for (const double length : {0.0, 0.02, 0.15}) {
        settings::Settings s = periodic_settings(box, GetParam());
        s.softening = length > 0 ? settings::Softening::plummer : settings::Softening::none, s.softening_length = length;
        const Results expected = compute_periodic(cloud, s);
        for (const double accuracy : {1e-2, 1e-3, 1e-4}) {
            s.ewald_accuracy = accuracy;
            const Results r = compute_periodic(cloud, s);
            EXPECT_NEAR(r.energy / expected.energy, 1, 0.15 * accuracy) << length;
            for (int c = 0; c < 6; ++c)
                EXPECT_NEAR(r.virial[c], expected.virial[c], 0.6 * accuracy * std::abs(expected.energy)) << length << " " << c;
        }
    }
}

TEST_P(PeriodicMethod, AccuraciesAskedForAreKept) {
    const PeriodicBox box{{2, 2, 2}};
    const Cloud cloud = random_charges(box, 120);
    const Results expected = oracle(cloud, periodic_settings(box));
    for (const settings::Precision precision : {settings::Precision::fp64, settings::Precision::mixed, settings::Precision::fp32})
        for (const double accuracy : {1e-3, 1e-4, 1e-5, 1e-6, 1e-9}) {
            settings::Settings s = periodic_settings(box, GetParam(), precision);
            s.ewald_accuracy = accuracy;
            const double rounding = precision == settings::Precision::fp64 ? 0 : 1e-6;
            EXPECT_LT(rms_error(compute_periodic(cloud, s), expected), accuracy + rounding)
                << accuracy << " " << static_cast<int>(precision);
        }
}

TEST_P(PeriodicMethod, ForceIsTheSlopeOfTheEnergyAndVirialThatOfTheStrain) {
    const PeriodicBox box{{1, 1.1, 1.3}, {0, 0, 0}, {0.3, -0.2, 0.1}};
    Cloud cloud = random_charges(box, 40, false);
    const settings::Settings s = periodic_settings(box, GetParam());
    const Results r = compute_periodic(cloud, s);
    const double h = 1e-5;
    const auto slope = [&](const std::function<double(double)>& energy) {
        return (energy(h) - energy(-h)) / (2 * h);
    };
    EXPECT_NEAR(slope([&](double by) {
                    Cloud moved = cloud;
                    moved.y[3] += by;
                    return compute_periodic(moved, s).energy;
                }) / (-cloud.q[3] * r.ay[3]),
                1, 1e-6);
    const auto strained = [&](int a, int b,
                              double by) { // x_a += by x_b: along the upper triangle, as boxes allow
        Cloud moved = cloud;
        settings::Settings t = s;
        std::vector<double>* x[3] = {&moved.x, &moved.y, &moved.z};
        for (size_t i = 0; i < moved.x.size(); ++i)
            (*x[a])[i] += by * (*x[b])[i];
        if (a == b)
            t.box_upper[a] *= 1 + by;
        double* const tilt[3][3] = {
            {nullptr, &t.box_tilt[0], &t.box_tilt[1]}, {nullptr, nullptr, &t.box_tilt[2]}, {}};
        const double edge[3] = {box.edge[0], box.edge[1], box.edge[2]};
        if (a == 0 && b == 0)
            t.box_tilt[0] *= 1 + by, t.box_tilt[1] *= 1 + by;
        else if (a == 1 && b == 1)
            t.box_tilt[2] *= 1 + by;
        else if (a != b)
            *tilt[a][b] += by * edge[b];
        if (a == 0 && b == 1)
            t.box_tilt[1] += by * box.tilt[2];
        return compute_periodic(moved, t).energy;
    };
    constexpr int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    for (int c = 0; c < 6; ++c)
        EXPECT_NEAR(-slope([&](double by) { return strained(pairs[c][0], pairs[c][1], by); }), r.virial[c],
                    1e-6 * std::abs(r.energy))
            << c;
}

TEST_P(PeriodicMethod, TheSameCrystalInATiltedCell) {
    const Cloud cloud = crystal(crystals[0].ions, 1);
    settings::Settings s = periodic_settings({{1, 1, 1}, {0, 0, 0}, {0, 0, 0}}, GetParam());
    Cloud moved = cloud; // off its symmetric places
    moved.x[0] += 0.1, moved.y[5] -= 0.07;
    const Results straight = compute_periodic(moved, s);
    Cloud two =
        moved; // two cells high, shifted by half an edge: the lattice (1,0,0), (0,2,0) + ... as one with tilt
    for (size_t i = 0; i < moved.x.size(); ++i)
        add(two, moved.x[i], moved.y[i], moved.z[i] + 1, moved.q[i]);
    s = periodic_settings({{1, 1, 2}, {0, 0, 0}, {0, 0, 0}}, GetParam());
    const Results doubled = compute_periodic(two, s);
    EXPECT_NEAR(doubled.energy / straight.energy, 2, 1e-11);
    // A lattice vector of the straight lattice in the place of another one: (0.5, 0.5, 1) is none of NaCl's
    // simple cube, (1, 0, 2) is one of the doubled cell's rows.
    settings::Settings tilted = periodic_settings({{2, 1, 1}, {0, 0, 0}, {1, 0, 0}}, GetParam());
    Cloud wide = moved;
    for (size_t i = 0; i < moved.x.size(); ++i)
        add(wide, moved.x[i] + 1, moved.y[i], moved.z[i], moved.q[i]);
    const Results r = compute_periodic(wide, tilted);
    EXPECT_NEAR(r.energy / straight.energy, 2, 1e-11);
    for (size_t i = 0; i < moved.x.size(); ++i)
        EXPECT_NEAR(r.ax[i], straight.ax[i], 1e-10);
}

TEST_P(PeriodicMethod, PositionsAreTakenModuloTheLattice) {
    const PeriodicBox box{{1, 2, 3}, {-0.5, 0, 7}, {0.4, 0, -0.9}};
    const Cloud cloud = random_charges(box, 60);
    Cloud far = cloud;
    for (size_t i = 0; i < far.x.size(); ++i) {
        const auto a = static_cast<double>(i % 5) - 2, b = static_cast<double>(i % 3) - 1,
                   c = static_cast<double>(i % 4) - 1;
        far.x[i] += a + 0.4 * b, far.y[i] += 2 * b - 0.9 * c, far.z[i] += 3 * c;
    }
    const settings::Settings s = periodic_settings(box, GetParam());
    const Results r = compute_periodic(cloud, s), f = compute_periodic(far, s);
    EXPECT_LT(rms_error(f, r), 1e-11);
    for (int c = 0; c < 6; ++c)
        EXPECT_NEAR(f.virial[c], r.virial[c], 1e-10 * std::abs(r.energy));
}

TEST_P(PeriodicMethod, FewParticlesAndTheRim) {
    const settings::Settings s = periodic_settings({{1, 1, 1}}, GetParam());
    Cloud none;
    EXPECT_EQ(compute_periodic(none, s).energy, 0);
    Cloud one; // a Wigner crystal: E = -2.837297479480619 / 2 for edge 1
    add(one, 1, 0, 0.3, 1);
    const Results wigner = compute_periodic(one, s);
    EXPECT_NEAR(wigner.energy, -0.5 * 2.837297479480619, 1e-11);
    EXPECT_LT(size_of(wigner, 0), 1e-10);
    Cloud two;
    add(two, 0, 0, 0, 1),
        add(two, 1, 1, 1, 1); // the same place: each feels the other's images and none of the pair
    const Results pair = compute_periodic(two, s);
    EXPECT_LT(size_of(pair, 0), 1e-10);
    EXPECT_NEAR(pair.potential[0], -2 * 2.837297479480619, 1e-10);
}

TEST_P(PeriodicMethod, SofteningSubsetsPointsAndGravity) {
    const PeriodicBox box{{1, 1, 1}};
    const Cloud cloud = random_charges(box, 40, false);
    settings::Settings s = periodic_settings(box, GetParam());
    s.softening = settings::Softening::spline, s.softening_length = 0.2;
    Results expected = oracle(cloud, s, 0.5);
    const Results r = compute_periodic(cloud, s);
    EXPECT_LT(rms_error(r, expected), 1e-11) << "spline";
    s.softening = settings::Softening::none, s.softening_length = 0;
    s.interaction = settings::Interaction::gravity;
    expected = oracle(cloud, s);
    EXPECT_LT(rms_error(compute_periodic(cloud, s), expected), 1e-12) << "gravity";
    Choice some = every(3, cloud);
    const Results active = compute_periodic(cloud, s, some);
    for (size_t i = 0; i < cloud.x.size(); i += 3)
        EXPECT_NEAR(active.ax[i], expected.ax[i], 1e-10 * size_of(expected, i)) << i;
    some.virial = true;
    EXPECT_THROW(compute_periodic(cloud, s, some), core::Error);
    const Cloud points = random_charges(box, 30, true, 5);
    EXPECT_LT(rms_error(compute_periodic(cloud, s, field_at(points)), oracle(cloud, s, 0, &points)), 1e-12);
}

TEST_P(PeriodicMethod, AnyNumberOfRanks) {
    const PeriodicBox box{{1, 1, 1.5}, {0, 0, 0}, {0.3, 0, 0}};
    const Cloud cloud = random_charges(box, 1500);
    for (const settings::TreeScope scope : {settings::TreeScope::local, settings::TreeScope::global})
        for (const settings::Exchange exchange : {settings::Exchange::push, settings::Exchange::fetch}) {
            settings::Settings s = periodic_settings(box, GetParam());
            s.tree_scope = scope, s.exchange = exchange;
            s.ewald_accuracy = 1e-8, s.leaf = 16, s.group = 32;
            const Results one = compute_periodic(cloud, s);
            for (const int ranks : {2, 3, 4})
                for (const Owners& owners :
                     {bisection(cloud, ranks), scattered(cloud, ranks), all_on(cloud, 1)}) {
                    const Results r = compute_over(ranks, cloud, owners, s);
                    EXPECT_LT(rms_error(r, one), 1e-12) << ranks;
                    EXPECT_NEAR(r.energy / one.energy, 1, 1e-12);
                    for (int c = 0; c < 6; ++c)
                        EXPECT_NEAR(r.virial[c], one.virial[c], 1e-12 * std::abs(one.energy)) << ranks;
                }
            if (GetParam() == settings::Method::direct)
                return;
        }
}

TEST_P(PeriodicMethod, ThreadsChangeNoBit) {
    const PeriodicBox box{{1, 1, 1}};
    const Cloud cloud = random_charges(box, 2000);
    settings::Settings s = periodic_settings(box, GetParam(), settings::Precision::mixed);
    Choice three;
    three.threads = 3;
    const Results a = compute_periodic(cloud, s), b = compute_periodic(cloud, s, three);
    EXPECT_EQ(a.ax, b.ax);
    EXPECT_EQ(a.potential, b.potential);
    EXPECT_EQ(a.virial[3], b.virial[3]);
}

/// All of a sum over waves of Plummer's softened charges, with no splitting: the wave k of 1 / sqrt(r^2 +
/// eps^2) is 4 pi / k^2 (k eps K_1(k eps)), which falls as exp(-k eps). Without the particles' own
/// contribution.
Results plummer_waves(const Cloud& cloud, double eps) {
    const double pi = std::acos(-1.0);
    const int most = static_cast<int>(34 / (2 * pi * eps));
    const auto n = cloud.x.size();
    Results r;
    for (std::vector<double>* values : {&r.ax, &r.ay, &r.az, &r.potential})
        values->assign(n, 0);
    for (int i = -most; i <= most; ++i)
        for (int j = -most; j <= most; ++j)
            for (int l = -most; l <= most; ++l) {
                const double k[3] = {2 * pi * i, 2 * pi * j, 2 * pi * l};
                const double square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2],
                             along = std::sqrt(square) * eps;
                if (square == 0 || along > 34)
                    continue;
                const double weight = 4 * pi / square * along * std::cyl_bessel_k(1.0, along);
                double c = 0, s = 0;
                const auto angle = [&](size_t p) {
                    return k[0] * cloud.x[p] + k[1] * cloud.y[p] + k[2] * cloud.z[p];
                };
                for (size_t p = 0; p < n; ++p)
                    c += cloud.q[p] * std::cos(angle(p)), s += cloud.q[p] * std::sin(angle(p));
                for (size_t p = 0; p < n; ++p) {
                    const double cosine = std::cos(angle(p)), sine = std::sin(angle(p));
                    r.potential[p] += weight * (c * cosine + s * sine);
                    const double slope = weight * (c * sine - s * cosine); // minus the gradient over k
                    r.ax[p] += slope * k[0], r.ay[p] += slope * k[1], r.az[p] += slope * k[2];
                }
            }
    for (size_t p = 0; p < n; ++p) {
        r.potential[p] -= cloud.q[p] / eps;
        r.energy += 0.5 * cloud.q[p] * r.potential[p];
    }
    return r;
}

TEST_P(PeriodicMethod, PlummersSofteningActsOnAllImages) {
    const PeriodicBox box{{1, 1, 1}};
    for (const bool neutral : {true, false}) {
        const Cloud cloud = random_charges(box, 12, neutral);
        settings::Settings s = periodic_settings(box, GetParam());
        s.softening = settings::Softening::plummer, s.softening_length = 0.3;
        const Results waves = plummer_waves(cloud, 0.3), expected = oracle(cloud, s);
        // Only the mean of the potential is another one: k = 0 of the softening's own background.
        const double mean = waves.potential[0] - (expected.potential[0] - cloud.q[0] / 0.3);
        double energy = expected.energy; // which counts the particles themselves
        for (const double q : cloud.q)
            energy -= 0.5 * q * q / 0.3;
        EXPECT_LT(rms_error(expected, waves), 1e-12) << "the oracle";
        for (const double alpha : {0.0, 3.0, 8.0}) {
            s.ewald_alpha = alpha;
            const Results r = compute_periodic(cloud, s);
            EXPECT_LT(rms_error(r, waves), 1e-11) << alpha;
            EXPECT_NEAR(r.energy, energy, 1e-9) << alpha;
            for (size_t i = 0; i < cloud.x.size(); ++i)
                EXPECT_NEAR(r.potential[i], waves.potential[i] - mean, 1e-10) << alpha;
            for (int c = 0; c < 6; ++c)
                EXPECT_NEAR(r.virial[c], expected.virial[c], 1e-10) << alpha;
        }
    }
}

TEST_P(PeriodicMethod, PlummerLengthsPerParticleActUpToTheCutOff) {
    const PeriodicBox box{{1, 1, 1}};
    Cloud cloud = random_charges(box, 40, false);
    for (size_t i = 0; i < cloud.x.size(); ++i)
        cloud.softening[i] = 0.01 + 0.002 * static_cast<double>(i % 5);
    settings::Settings s = periodic_settings(box, GetParam());
    s.softening = settings::Softening::plummer;
    Choice choice;
    choice.softening = true;
    const Results r = compute_periodic(cloud, s, choice);
    const Results near = oracle(cloud, s, 0.15, nullptr, true), far = oracle(cloud, s, 1.5, nullptr, true);
    EXPECT_LT(rms_error(r, far), 1.1 * rms_error(near, far)); // the cut-off is at least 10 lengths
    EXPECT_LT(rms_error(r, far), 1e-4);
    std::fill(cloud.softening.begin(), cloud.softening.end(), 0.05);
    s.softening_length = 0.05;
    EXPECT_LT(rms_error(compute_periodic(cloud, s, choice), compute_periodic(cloud, s)), 1e-11)
        << "equal lengths";
}

TEST(Periodic, TheReferenceMethodIsTheOracle) {
    const PeriodicBox box{{1, 1, 1.2}, {0, 0, 0}, {0.4, -0.3, 0.5}};
    const Cloud cloud = random_charges(box, 30, false);
    const settings::Settings s = periodic_settings(box, settings::Method::reference);
    const Results r = compute_periodic(cloud, s), expected = oracle(cloud, s);
    EXPECT_LT(rms_error(r, expected), 1e-14);
    EXPECT_NEAR(r.energy / expected.energy, 1, 1e-14);
    EXPECT_NEAR(r.virial[4] / expected.virial[4], 1, 1e-13);
    for (const int ranks : {2, 3}) {
        const Results over = compute_over(ranks, cloud, bisection(cloud, ranks), s);
        EXPECT_LT(rms_error(over, expected), 1e-14) << ranks;
        EXPECT_NEAR(over.energy / expected.energy, 1, 1e-13) << ranks;
        EXPECT_NEAR(over.virial[4] / expected.virial[4], 1, 1e-13) << ranks;
    }
}

INSTANTIATE_TEST_SUITE_P(Of, PeriodicMethod, ::testing::Values(settings::Method::direct, settings::Method::tree),
                         [](const auto& info) { return info.param == settings::Method::direct ? "direct" : "tree"; });

} // namespace
} // namespace graft::engine::testing
