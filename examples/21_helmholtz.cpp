// SPDX-License-Identifier: BSD-3-Clause
// Scattered waves in C++: e^{ikr}/r with complex charges and three right-hand sides at once, targets beside
// the sources, in the leaves of an adaptive octree that Graft makes. Checked with std::complex at a few
// targets.
#include <graft/graft.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <random>
#include <vector>

namespace {

using Complex = std::complex<double>;
constexpr double wave_number = 12.5;

struct Points {
    std::vector<double> x, y, z;
    Points(std::size_t n, unsigned seed) : x(n), y(n), z(n) {
        std::mt19937_64 random(seed);
        std::uniform_real_distribution<double> uniform(0, 1);
        for (std::size_t i = 0; i < n; ++i) { // denser towards a corner
            const double scale = uniform(random);
            x[i] = uniform(random) * scale;
            y[i] = uniform(random) * scale;
            z[i] = uniform(random) * scale;
        }
    }
};

/// The two largest relative differences between what was summed over all boxes and the plain loop over all
/// sources.
double worst_error(const Points& targets, const Points& sources, const std::vector<Complex>& charge,
                   const std::vector<Complex>& potential) {
    double worst = 0;
    for (std::size_t i = 0; i < targets.x.size(); i += 97) {
        Complex sum = 0;
        double size = 0;
        for (std::size_t j = 0; j < sources.x.size(); ++j) {
            const double r = std::hypot(targets.x[i] - sources.x[j], targets.y[i] - sources.y[j],
                                        targets.z[i] - sources.z[j]);
            sum += charge[j] * std::polar(1 / r, wave_number * r);
            size += std::abs(charge[j]) / r;
        }
        worst = std::max(worst, std::abs(potential[i] - sum) / size);
    }
    return worst;
}

} // namespace

int main() try {
    const Points sources(3000, 1), targets(2000, 2);
    std::vector<std::vector<Complex>> charge(3), potential(3, std::vector<Complex>(2000));
    for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t j = 0; j < 3000; ++j)
            charge[c].push_back(std::polar(1.0, 0.001 * static_cast<double>((c + 1) * j)));

    graft::Context context(graft::Options(graft::Library::load()).set("near_field.precision", "fp64"));
    graft::NearField field(3);
    field.helmholtz(wave_number).components(6).target_positions(targets.x, targets.y, targets.z);
    field.source_positions(sources.x, sources.y, sources.z);
    const graft::NearSums sums = graft::NearSums()
                                     .charges(charge[0], charge[1], charge[2])
                                     .potentials(potential[0], potential[1], potential[2]);

    graft::NearPlan all(context, field.level(3000, 1)); // a tree of one box: every pair
    all.execute(sums);
    double worst = 0;
    for (std::size_t c = 0; c < 3; ++c)
        worst = std::max(worst, worst_error(targets, sources, charge[c], potential[c]));
    const std::vector<Complex> everything = potential[0];

    graft::NearPlan near(context, field.leaves(40)); // what an MLFMA leaves to its near field
    near.execute(sums);
    std::printf("%.0f of %.0f pairs are near, in %.0f boxes of at most %.0f points; layout %s, %.3g s\n",
                context.query("near.pairs"), 2000.0 * 3000.0, context.query("near.boxes"),
                context.query("near.largest"), context.query_text("near.layout").c_str(),
                context.query("near.time_s.total"));
    std::printf("largest error of all pairs: %.1e of sum |q|/r\n", worst);
    const bool fewer = context.query("near.pairs") < 0.9 * 2000 * 3000 && everything != potential[0];

    bool refused = false;
    try {
        graft::NearPlan odd(context, graft::NearField(field).components(5));
    } catch (const graft::Error& error) {
        refused = error.status() == GRAFT_ERROR_ARGUMENT;
        std::printf("as it should: %s\n", error.what());
    }
    return worst < 1e-13 && fewer && refused ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
