// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes whose smooth part is summed on a mesh: the error asked for, whatever the box, precision, softening, targets
// and number of ranks.
#include "periodic_scene.hpp"
#include "periodic/ewald_splitting.hpp"

namespace graft::engine::testing {
namespace {

const PeriodicBox straight{{1, 1, 1}}, tilted{{1, 1.2, 0.8}, {-2, 3, 0}, {0.3, -0.2, 0.4}};

settings::Settings mesh_settings(const PeriodicBox& box, double accuracy,
                                 settings::Precision precision = settings::Precision::fp64) {
    settings::Settings s = periodic_settings(box, settings::Method::tree, precision);
    s.long_range = settings::LongRange::mesh, s.ewald_accuracy = accuracy;
    return s;
}

Results sum_of_waves(const Cloud& cloud, settings::Settings s, const Choice& choice = {}) {
    s.long_range = settings::LongRange::sum, s.precision = settings::Precision::fp64, s.ewald_accuracy = 1e-9;
    s.theta = 0;
    return compute_periodic(cloud, s, choice);
}

TEST(PeriodicMesh, HoldsTheAccuracyInForcesEnergyAndVirial) {
    for (const bool neutral : {true, false})
        for (const PeriodicBox& box : {straight, tilted}) {
            const Cloud cloud = random_charges(box, 3000, neutral);
            const Results expected = sum_of_waves(cloud, mesh_settings(box, 1e-9));
            for (const double accuracy : {1e-2, 1e-4, 1e-6, 1e-8}) {
                const Results r = compute_periodic(cloud, mesh_settings(box, accuracy));
                EXPECT_LT(rms_error(r, expected), accuracy);
                EXPECT_NEAR(r.energy / expected.energy, 1, accuracy);
                for (int c = 0; c < 6; ++c)
                    EXPECT_NEAR(r.virial[c], expected.virial[c], 8 * accuracy * std::abs(expected.energy)) << c;
            }
        }
}

TEST(PeriodicMesh, InEveryPrecisionAndWithSoftening) {
    const Cloud cloud = random_charges(tilted, 3000, false);
    for (const settings::Softening softening :
         {settings::Softening::none, settings::Softening::plummer, settings::Softening::spline})
        for (const settings::Precision precision :
             {settings::Precision::fp32, settings::Precision::mixed, settings::Precision::fp64}) {
            settings::Settings s = mesh_settings(tilted, 1e-5, precision);
            s.softening = softening, s.softening_length = softening == settings::Softening::none ? 0 : 0.03;
            const Results expected = sum_of_waves(cloud, s), r = compute_periodic(cloud, s);
            EXPECT_LT(rms_error(r, expected), 2e-5) << static_cast<int>(softening) << static_cast<int>(precision);
            for (int c = 0; c < 6; ++c)
                EXPECT_NEAR(r.virial[c], expected.virial[c], 4e-4 * std::abs(expected.energy)) << c;
        }
}

TEST(PeriodicMesh, SlabsAndWires) {
    for (const bool wire : {false, true}) {
        const Cloud cloud = random_charges(straight, 2000, false);
        settings::Settings s = mesh_settings(straight, 1e-4);
        (wire ? s.wire_axis : s.open_axis) = 2;
        const Results expected = sum_of_waves(cloud, s), r = compute_periodic(cloud, s);
        EXPECT_LT(rms_error(r, expected), 1e-4) << wire;
        EXPECT_NEAR(r.energy / expected.energy, 1, 1e-4) << wire;
    }
}

TEST(PeriodicMesh, SubsetsAndPoints) {
    const Cloud cloud = random_charges(straight, 3000, true);
    const settings::Settings s = mesh_settings(straight, 1e-5);
    const Results expected = compute_periodic(cloud, s), some = compute_periodic(cloud, s, every(7, cloud));
    for (size_t i = 0; i < cloud.x.size(); i += 7)
        EXPECT_NEAR(some.ax[i], expected.ax[i], 1e-6 * size_of(expected, i)) << i;
    const Cloud points = random_charges(straight, 300, true, 5);
    const Choice at = field_at(points);
    EXPECT_LT(rms_error(compute_periodic(cloud, s, at), sum_of_waves(cloud, s, at)), 1e-5);
}

TEST(PeriodicMesh, AnyNumberOfRanks) {
    expect_same_over_ranks(random_charges(tilted, 3000, true), mesh_settings(tilted, 1e-5));
}

TEST(PeriodicMesh, IsTakenWhereItIsCheaper) {
    periodic::EwaldInput p;
    p.accuracy = 1e-5;
    p.mesh.allowed = true;
    for (const auto& [particles, on_mesh] : {std::pair(100, false), {1000000, true}}) {
        p.particles = particles, p.square_sum = particles;
        EXPECT_EQ(periodic::split_ewald(p).mesh.order > 0, on_mesh) << particles;
    }
    p.mesh.allowed = false;
    EXPECT_EQ(periodic::split_ewald(p).mesh.order, 0);
}

TEST(PeriodicMesh, IsRefusedWhereItCannotBeHad) {
    const Cloud cloud = random_charges(straight, 200, true);
    settings::Settings s = mesh_settings(straight, 1e-13);
    EXPECT_NE(refusal(cloud, s).find("ewald.waves mesh, but no mesh"), std::string::npos);
    s = mesh_settings(straight, 1e-3), s.method = settings::Method::direct;
    EXPECT_NE(refusal(cloud, s).find("methods direct and reference, which sum exactly"), std::string::npos);
}

} // namespace
} // namespace graft::engine::testing
