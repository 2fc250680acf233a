// Periodic boxes: published Madelung constants, the oracle's Ewald sum, and what must hold whatever the
// splitting.
#include "periodic_scene.hpp"

namespace graft::pipeline::testing {
namespace {

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

struct Crystal {
    const char* name;
    std::vector<std::array<double, 4>> ions;
    double nearest;  // distance of unlike ions, edge 1
    double madelung; // 2 E / (N q^2) = -madelung / nearest
};

// Constants: NaCl and CsCl from Crandall & Buhler 1987, ZnS from Sakamoto 1958; all as in OEIS A085469,
// A181152, A182566.
const Crystal crystals[] = {
    {"NaCl",
     {{0, 0, 0, 1},
      {.5, .5, 0, 1},
      {.5, 0, .5, 1},
      {0, .5, .5, 1},
      {.5, 0, 0, -1},
      {0, .5, 0, -1},
      {0, 0, .5, -1},
      {.5, .5, .5, -1}},
     0.5,
     1.7475645946331822},
    {"CsCl", {{0, 0, 0, 1}, {.5, .5, .5, -1}}, 0.8660254037844386, 1.7626747730709883},
    {"ZnS",
     {{0, 0, 0, 1},
      {.5, .5, 0, 1},
      {.5, 0, .5, 1},
      {0, .5, .5, 1},
      {.25, .25, .25, -1},
      {.75, .75, .25, -1},
      {.75, .25, .75, -1},
      {.25, .75, .75, -1}},
     0.4330127018922193,
     1.6380550533887893}};

class PeriodicMethod : public ::testing::TestWithParam<Method> {};

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
            const Cloud cloud = random_charges(box, 150, neutral);
            const Settings s = periodic_settings(box, GetParam());
            const Results r = compute_periodic(cloud, s), expected = oracle(cloud, s);
            EXPECT_LT(rms_error(r, expected), 1e-12);
            for (size_t i = 0; i < r.potential.size(); ++i)
                EXPECT_NEAR(r.potential[i], expected.potential[i], 1e-11 * 20);
            EXPECT_NEAR(r.energy / expected.energy, 1, 1e-12);
            for (int c = 0; c < 6; ++c)
                EXPECT_NEAR(r.virial[c], expected.virial[c], 1e-11 * std::abs(expected.energy)) << c;
            EXPECT_NEAR((r.virial[0] + r.virial[1] + r.virial[2]) / r.energy, 1, 1e-11) << "degree -1";
        }
}

INSTANTIATE_TEST_SUITE_P(Of, PeriodicMethod, ::testing::Values(Method::direct, Method::tree),
                         [](const auto& info) { return info.param == Method::direct ? "direct" : "tree"; });

} // namespace
} // namespace graft::pipeline::testing
