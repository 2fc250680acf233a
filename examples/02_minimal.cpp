// SPDX-License-Identifier: BSD-3-Clause
// A C++ host: options by key, a failure caught as an exception, energy of a ring of equal masses against the
// formula.
#include <graft/graft.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

int main() try {
    const int n = 100;
    const double pi = std::acos(-1.0);
    std::vector<double> x(n), y(n), z(n), m(n, 1.0 / n), ax(n), ay(n), az(n), phi(n);
    for (int i = 0; i < n; ++i) {
        x[i] = std::cos(2 * pi * i / n);
        y[i] = std::sin(2 * pi * i / n);
    }
    const graft::Library library = graft::Library::load();
    graft::Options options(library);
    options.set("method", "tree").set("mac.theta", 0.3).set("order", 4).set("precision", "fp64");
    graft::Context gravity(options);
    double energy = 0;
    gravity.compute(graft::Particles().positions(x, y, z).charges(m),
                    graft::Results().accelerations(ax, ay, az).potentials(phi).energy(energy));

    double expected = 0; // phi of one mass on the ring: -(1/n) sum 1 / (2 sin(pi k / n))
    for (int k = 1; k < n; ++k)
        expected -= 1.0 / n / (2 * std::sin(pi * k / n));
    std::printf("Graft %s: potential %.8f, formula %.8f, energy %.8f\n", library.version().c_str(), phi[0],
                expected, energy);
    bool refused = false;
    try {
        options.set("mac.theat", 0.5);
    } catch (const graft::Error& error) {
        refused = error.status() == GRAFT_ERROR_DECK_KEY;
        std::printf("as it should: %s\n", error.what());
    }
    const bool right = std::abs(phi[0] - expected) < 1e-4 && std::abs(energy - 0.5 * expected) < 1e-4;
    return right && refused ? 0 : 1;
} catch (const graft::Error& error) {
    std::fprintf(stderr, "graft: %s\n", error.what());
    return 1;
}
