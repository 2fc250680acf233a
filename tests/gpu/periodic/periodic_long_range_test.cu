// SPDX-License-Identifier: BSD-3-Clause
// The long-range part alone on the GPU (ewald.part): the CPU's, by waves and on a mesh, and all of it with the pairs of a host.
#include "periodic_scene.cuh"

namespace {

using namespace graft::test;
using graft::settings::EwaldPart;
using graft::settings::LongRange;

Settings long_range_settings(const PeriodicBox& box, double alpha, LongRange way = LongRange::sum,
                             Precision precision = Precision::fp64) {
    Settings s = periodic_settings(box, Method::tree, precision);
    s.ewald_part = EwaldPart::long_range, s.ewald_alpha = alpha, s.long_range = way;
    s.ewald_accuracy = 1e-13;
    return s;
}

TEST_F(Periodic, TheLongRangePartIsTheCpus) {
    Cases cases(5);
    for (const bool neutral : {true, false})
        for (const PeriodicBox& box : {cube, tilted})
            for (const int n : {2, 63, 700}) {
                if (cases.skip())
                    continue;
                const Cloud cloud = strewn_charges(box, n, neutral);
                Settings s = long_range_settings(box, 9);
                const std::string what = std::to_string(n) + (neutral ? " neutral" : " positive");
                expect_like(run(s, cloud), on_cpu(s, cloud, {}), what);
                EXPECT_EQ(engine().report.pairs, 0);
                s.method = Method::direct, s.open_axis = 2;
                expect_like(run(s, cloud), on_cpu(s, cloud, {}), what + " slab");
            }
}

TEST_F(Periodic, TheLongRangePartOnAMesh) {
    const Cloud cloud = random_charges(tilted, test_size(3000, 400), false); // in the box, for the host's pairs
    constexpr double alpha = 12;
    const Settings whole = periodic_settings(tilted);
    const Answer expected = on_cpu(whole, cloud, {});
    for (const double accuracy : {1e-3, 1e-5})
        for (const Precision precision : {Precision::mixed, Precision::fp64}) {
            Settings s = long_range_settings(tilted, alpha, LongRange::mesh, precision);
            s.ewald_accuracy = accuracy;
            Answer r = run(s, cloud);
            add_host_pairs(cloud, s, alpha, 5 / alpha, r);
            EXPECT_LT(rms_error(r, expected), 1.5 * accuracy) << accuracy;
            EXPECT_NEAR(r.energy / expected.energy, 1, 2 * accuracy) << accuracy;
            EXPECT_LT(worst(r.virial, expected.virial), 20 * accuracy) << accuracy;
            EXPECT_LT(worst(r.potential, expected.potential), 20 * accuracy) << accuracy;
        }
}

TEST_F(Periodic, TheLongRangePartOfSomeAndAtPoints) {
    const Cloud cloud = strewn_charges(brick, test_size(900, 200), false), points = strewn_charges(brick, 70, true, 3);
    Wish some, at;
    some.sums = at.sums = false;
    for (int32_t i = 0; i < cloud.size(); i += 3)
        some.target.push_back(i);
    some.has_target = true, at.points = &points;
    for (const LongRange way : {LongRange::sum, LongRange::mesh}) {
        Settings s = long_range_settings(brick, 8, way);
        s.ewald_accuracy = way == LongRange::mesh ? 1e-7 : 1e-13;
        const double limit = way == LongRange::mesh ? 1e-5 : 1e-11;
        for (const Wish& wish : {some, at}) {
            const Answer gpu = run(s, cloud, wish), cpu = on_cpu(s, cloud, wish);
            const int32_t count = wish.has_target ? static_cast<int32_t>(wish.target.size()) : 70;
            for (int32_t k = 0; k < count; ++k) { // those of no target are not written
                const auto i = static_cast<size_t>(wish.has_target ? wish.target[static_cast<size_t>(k)] : k);
                EXPECT_NEAR(gpu.ax[i], cpu.ax[i], limit * 1000) << i;
                EXPECT_NEAR(gpu.potential[i], cpu.potential[i], limit * 1000) << i;
            }
        }
    }
}

/// On a mesh the whole force of some particles is that of all.
TEST_F(Periodic, AMeshForSomeOfTheParticles) {
    const Cloud cloud = strewn_charges(tilted, test_size(3000, 400), false);
    Settings s = periodic_settings(tilted, Method::tree);
    s.long_range = LongRange::mesh, s.ewald_accuracy = 1e-6;
    const Answer all = run(s, cloud);
    Wish some;
    some.sums = false, some.has_target = true;
    for (int32_t i = 1; i < cloud.size(); i += 7)
        some.target.push_back(i);
    const Answer r = run(s, cloud, some);
    for (const int32_t target : some.target) {
        const auto i = static_cast<size_t>(target);
        EXPECT_NEAR(r.ax[i], all.ax[i], 1e-9 * std::hypot(all.ax[i], all.ay[i], all.az[i])) << i;
        EXPECT_NEAR(r.potential[i], all.potential[i], 1e-9 * std::abs(all.potential[i])) << i;
    }
}

TEST_F(Periodic, AlphaForTheHostsCutoff) {
    const Cloud cloud = random_charges(cube, test_size(2000, 300));
    Settings s = long_range_settings(cube, 0, LongRange::auto_);
    const Answer expected = on_cpu(periodic_settings(cube), cloud, {});
    s.ewald_cutoff = 0.3;
    for (const double accuracy : {1e-2, 1e-4}) {
        s.ewald_accuracy = accuracy;
        Answer r = run(s, cloud);
        add_host_pairs(cloud, s, engine().report.periodic.alpha, s.ewald_cutoff, r);
        EXPECT_LT(rms_error(r, expected), accuracy);
    }
}

} // namespace
