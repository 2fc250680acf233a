// SPDX-License-Identifier: BSD-3-Clause
// How to read what Graft did: figures of the last computation, one by one and as JSON, and the library's
// tools.
#include <graft/graft.hpp>

#include <cstdio>
#include <random>
#include <vector>

int main() try {
    const int n = 100000;
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> xyz(3 * n), a(3 * n);
    for (float& value : xyz)
        value = normal(random);
    const graft::Library library = graft::Library::load();
    graft::Context gravity{graft::Options(library)};
    gravity.compute(graft::Particles().positions(graft::view(xyz.data(), n, 3)).charge_all(1.0 / n),
                    graft::Results().accelerations(graft::view(a.data(), n, 3)));

    double parts = 0;
    for (const char* part : {"sort", "tree", "moments", "lists", "forces"}) {
        const double time_s = gravity.query(std::string("time_s.") + part);
        std::printf("%-8s %8.4f s\n", part, time_s);
        parts += time_s;
    }
    const double total_s = gravity.query("time_s.total"), pairs = gravity.query("interactions.p2p");
    std::printf("total    %8.4f s, %.3g particle pairs\n", total_s, pairs);
    std::printf("all figures: %s\n", gravity.query_text().c_str());
    bool absent = false;
    try {
        gravity.query("model.time_s");
    } catch (const graft::Error& error) { // a prediction without a model is absent, not zero
        absent = error.status() == GRAFT_ERROR_ABSENT;
    }
    std::printf("info: %s\n", library.run_tool("info").c_str());
    const bool right = pairs > n && parts > 0 && parts <= total_s * 1.001 && absent;
    return right ? 0 : 1;
} catch (const graft::Error& error) {
    std::fprintf(stderr, "graft: %s\n", error.what());
    return 1;
}
