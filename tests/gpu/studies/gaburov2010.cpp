// SPDX-License-Identifier: BSD-3-Clause
// gaburov2010 (Octgrav), figures 3.4 to 3.8 on our hardware: a galaxy of disc, bulge and halo (1:1:4),
// quadrupoles, tight boxes, N_leaf = N_group = 64, arrays on the device.
//
//   study_gaburov2010 [--nmin 1] [--nmax 1e7] [--repeat 5] [--backend gpu] [--json FILE]
//
// Time over theta and N by steps; speed-up over direct summation in fp32 (measured to 1e6, N^2 beyond:
// "direct_ms" is then extrapolated); GFLOP/s with his 38 and 70 operations a pair and cell; errors of all
// particles against direct sums in fp64 for N = 3e4, 1e5, 1e6, with the fraction above 1e-6 ... 1e-1 in the
// JSON. Above 1e6 the galaxy is several of 1e6 with other seeds, laid over each other.
#include "ic/initial_conditions.hpp"
#include "study.hpp"

#include <cmath>
#include <cstdio>
#include <thread>

using namespace graft;
using namespace graft::study;

namespace {

constexpr double thetas[] = {0.2, 0.3, 0.4, 0.5, 0.6, 0.7};
constexpr double counts[] = {1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7};
constexpr double operations_of_pair = 38, operations_of_cell = 70; // his footnote 3
constexpr std::size_t largest_galaxy = 1000000;

cli::Snapshot galaxy(std::size_t n) {
    const std::size_t parts = (n + largest_galaxy - 1) / largest_galaxy;
    std::vector<cli::Snapshot> galaxies(parts);
    std::vector<std::thread> workers;
    for (std::size_t k = 0; k < parts; ++k)
        workers.emplace_back([&, k] {
            cli::GalaxyOptions options;
            options.n = n / parts;
            options.seed = 42 + k;
            galaxies[k] = cli::make_galaxy(options);
        });
    for (std::thread& worker : workers)
        worker.join();
    cli::Snapshot all = std::move(galaxies[0]);
    for (std::size_t k = 1; k < parts; ++k) {
        all.x.insert(all.x.end(), galaxies[k].x.begin(), galaxies[k].x.end());
        all.y.insert(all.y.end(), galaxies[k].y.begin(), galaxies[k].y.end());
        all.z.insert(all.z.end(), galaxies[k].z.begin(), galaxies[k].z.end());
        all.mass.insert(all.mass.end(), galaxies[k].mass.begin(), galaxies[k].mass.end());
    }
    for (double& mass : all.mass)
        mass /= static_cast<double>(parts);
    return all;
}

Keys keys_of(const Words& words, const std::string& method, const std::string& precision, double softening) {
    Keys keys = {{"backend", words.text("backend", "gpu")}, {"method", method}, {"precision", precision}};
    if (softening > 0) {
        keys.emplace_back("softening.kind", "plummer");
        keys.emplace_back("softening.length", std::to_string(softening));
    }
    return keys;
}

class Study {
  public:
    explicit Study(const Words& words) : words_(words), table_(words.text("json", "")) {}

    void run() {
        table_.title(
            "time in ms, rates in GFLOP/s (38 a pair, 70 a cell), errors |a - a_direct| / |a_direct|");
        for (const double n : counts)
            if (n >= words_.number("nmin", 1) && n <= words_.number("nmax", 1e7))
                run_size(static_cast<std::size_t>(n));
    }

  private:
    void run_size(std::size_t n) {
        const cli::Snapshot snapshot = galaxy(n);
        softening_ = snapshot.suggested_softening;
        const Place place = words_.text("backend", "gpu") == "cpu" ? Place::host : Place::device;
        const Bodies bodies(snapshot, place, Real::fp32);
        attempt(table_, "direct", [&] { direct_ms_ = direct_ms(bodies); });
        exact_.clear();
        if (n == 30000 || n == 100000 || n == 1000000)
            attempt(table_, "direct in fp64", [&] {
                Context context = make_context(keys_of(words_, "direct", "fp64", softening_));
                measure(context, bodies, 0, 1);
                exact_ = bodies.accelerations();
            });
        for (const double theta : thetas)
            attempt(table_, "theta " + std::to_string(theta), [&] { tree(bodies, theta); });
    }

    double direct_ms(const Bodies& bodies) {
        const auto n = static_cast<double>(bodies.size());
        if (n > 1.1e6)
            return direct_ms_1e6_ * (n / 1e6) * (n / 1e6);
        Context context = make_context(keys_of(words_, "direct", "fp32", softening_));
        const double ms = 1e3 * measure(context, bodies, 1, 2).wall_s;
        direct_ms_1e6_ = ms * (1e6 / n) * (1e6 / n);
        return ms;
    }

    void tree(const Bodies& bodies, double theta) {
        Keys keys = keys_of(words_, "tree", "fp32", softening_);
        for (const auto& one : Keys{{"order", "2"},
                                    {"mac.type", "box"},
                                    {"mac.theta", std::to_string(theta)},
                                    {"tree.leaf", words_.text("leaf", "64")},
                                    {"tree.group", words_.text("group", "64")}})
            keys.push_back(one);
        Context context = make_context(keys);
        const Timing t = measure(context, bodies, 3, static_cast<int>(words_.number("repeat", 5)));
        const auto n = static_cast<double>(bodies.size());
        const auto ms = [&](const char* key) { return 1e3 * t.figure(key); };
        const double pairs = t.figure("interactions.p2p"), cells = t.figure("interactions.m2p");
        Row row;
        row.add("n", n).add("theta", theta).add("wall", 1e3 * t.wall_s).add("total", ms("time_s.total"));
        row.add("build", ms("time_s.sort") + ms("time_s.tree")).add("moments", ms("time_s.moments"));
        row.add("lists", ms("time_s.lists")).add("forces", ms("time_s.forces"));
        row.add("Mpart/s", 1e-6 * n / t.wall_s).add("direct_ms", direct_ms_);
        row.add("speed-up", direct_ms_ / (1e3 * t.wall_s));
        const double operations = operations_of_pair * pairs + operations_of_cell * cells;
        row.add("GFLOP/s", 1e-9 * operations / t.figure("time_s.forces"));
        row.hidden("p2p_ms", ms("time_s.p2p"))
            .hidden("m2p_ms", ms("time_s.m2p")); // 0: run together, not told apart
        row.hidden("pairs", pairs).hidden("cells", cells).hidden("bytes_lists", t.figure("bytes.lists"));
        if (!exact_.empty())
            add_errors(row, errors(bodies.accelerations(), exact_));
        table_.print(row);
    }

    static void add_errors(Row& row, const std::vector<double>& ascending) {
        row.add("median", quantile(ascending, 0.5)).add("p90", quantile(ascending, 0.9));
        row.add("p99", quantile(ascending, 0.99));
        for (int k = 0; k <= 15; ++k) { // three levels a decade
            const double level = std::pow(10, -6 + k / 3.0);
            char name[32];
            std::snprintf(name, sizeof name, "above_%.2e", level);
            row.hidden(name, share_above(ascending, level));
        }
    }

    const Words& words_;
    Table table_;
    double softening_ = 0, direct_ms_ = NAN, direct_ms_1e6_ = NAN;
    std::vector<double> exact_;
};

} // namespace

int main(int count, char** words) try {
    const Words arguments(count, words);
    if (devices() == 0 && arguments.text("backend", "gpu") != "cpu")
        return without_device();
    make_context({{"backend", arguments.text("backend", "gpu")}}); // or say at once why not
    Study(arguments).run();
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
