// SPDX-License-Identifier: BSD-3-Clause
// thuering2023 (N-body in SYCL), chapter 5 on our hardware: planets, moons and an asteroid belt in fp64,
// without softening; all pairs and Barnes-Hut (theta 0.6, edge over distance, monopoles), arrays on the
// device.
//
//   study_thuering2023 [--nmax 1216869] [--repeat 5] [--cpu] [--json FILE]
//   GRAFT_TEST_DATA: planets_and_moons.csv
//
// Belts of 178, 999, 2,678, 19,054, 138,723 and 1,216,869 bodies: 178 are the Sun and the table, 999 the Sun
// and asteroids alone, the others the table and asteroids (his come from JPL's data base, ours from published
// distributions of elements). Tables: time an evaluation; a year of hourly steps (8,761 evaluations, his
// table 5.2); and for each belt: stages 0 to 2 and ours (5.8 to 5.10); block sizes (5.1); construction of the
// tree (5.3, 5.13); bodies in the order of the tree, as they come, or shuffled (5.14: his "sort" moves the
// bodies, ours always sorts copies); --cpu: the CPU beside it (5.15). All pairs of the largest belt are timed
// once. His acceleration kernel and octree for the largest belt on an A100: 240 ms and 163 ms.
#include "study.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

using namespace graft;
using namespace graft::study;

namespace {

constexpr std::size_t counts[] = {178, 999, 2678, 19054, 138723, 1216869};
constexpr double evaluations_of_a_year = 8761;
constexpr double largest_direct_on_cpu = 2e5; // beyond: by N^2
constexpr double pairs_once = 1e11;           // beyond: one evaluation, without a warm-up

/// His figures for the largest belt, a year, in hours (table 5.2).
struct Theirs {
    const char* device;
    double naive_h, tree_h;
};
constexpr Theirs theirs[] = {{"A100", 23.26, 58.9 / 60},
                             {"A100 (DPC++)", 16.63, 51.9 / 60},
                             {"GP100", 50.24, 2.52},
                             {"RTX 3090", 14.6 * 24, 1.49},
                             {"2 x EPYC 7543", 11.96 * 24, 2.59},
                             {"Threadripper 3960X", 27.5 * 24, 3.38}};

void rearrange(cli::Snapshot& s, const std::vector<std::size_t>& order) {
    const cli::Snapshot old = s;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::size_t k = order[i];
        s.x[i] = old.x[k], s.y[i] = old.y[k], s.z[i] = old.z[k], s.mass[i] = old.mass[k];
    }
}

std::vector<std::size_t> shuffled(std::size_t n) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(1);
    std::shuffle(order.begin(), order.end(), random);
    return order;
}

/// By a Z-order of 21 bits an axis: near to the order of the tree's leaves.
std::vector<std::size_t> along_curve(const cli::Snapshot& s) {
    const auto spread = [](std::uint64_t v) {
        std::uint64_t out = 0;
        for (int bit = 0; bit < 21; ++bit)
            out |= (v >> bit & 1) << (3 * bit);
        return out;
    };
    double size = 1e-300;
    for (std::size_t i = 0; i < s.size(); ++i)
        size = std::max({size, std::abs(s.x[i]), std::abs(s.y[i]), std::abs(s.z[i])});
    const auto cell = [&](double v) { return static_cast<std::uint64_t>((v / size + 1) * 1048575); };
    std::vector<std::uint64_t> key(s.size());
    for (std::size_t i = 0; i < s.size(); ++i)
        key[i] = spread(cell(s.x[i])) | spread(cell(s.y[i])) << 1 | spread(cell(s.z[i])) << 2;
    std::vector<std::size_t> order(s.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
    return order;
}

Keys naive(const char* backend) {
    return {{"backend", backend}, {"method", "direct"}, {"precision", "fp64"}, {"threads", "0"}};
}

Keys barnes_hut(const char* backend) {
    return {{"backend", backend}, {"precision", "fp64"}, {"order", "0"},     {"mac.type", "edge"},
            {"mac.theta", "0.6"}, {"threads", "0"},      {"tree.leaf", "0"}, {"tree.group", "0"}};
}

Keys with(Keys keys, const std::string& key, const std::string& value) {
    keys.emplace_back(key, value);
    return keys;
}

class Study {
  public:
    explicit Study(const Words& words)
        : words_(words), table_(words.text("json", "")),
          repeats_(static_cast<int>(words.number("repeat", 5))) {}

    void run() {
        table_.title("ms an evaluation; errors of Barnes-Hut against all pairs");
        each([&](std::size_t n) { both(n, "gpu", Place::device); });
        if (words_.has("cpu"))
            each([&](std::size_t n) { both(n, "cpu", Place::host); });
        year();
        table_.title("all pairs: stages of optimisation, 128 threads a block, ms");
        each([&](std::size_t n) { stages(n); });
        table_.title("all pairs: threads a block, ms");
        each([&](std::size_t n) { blocks(n); });
        table_.title("Barnes-Hut: construction, ms");
        each([&](std::size_t n) { builds(n); });
        table_.title("Barnes-Hut: order of the host's bodies, ms");
        each([&](std::size_t n) { orders(n); });
    }

  private:
    /// For each belt that was asked for.
    template <typename Body>
    void each(Body&& body) {
        for (const std::size_t n : counts)
            if (static_cast<double>(n) <= words_.number("nmax", 1216869))
                body(n);
    }
    Timing time_of(const Keys& keys, const Bodies& bodies, int repeats) {
        Context context = make_context(keys);
        return measure(context, bodies, repeats > 1 ? 2 : 0, repeats);
    }
    Timing all_pairs(const Keys& keys, const Bodies& bodies) {
        const auto n = static_cast<double>(bodies.size());
        return time_of(keys, bodies, n * n > pairs_once ? 1 : repeats_);
    }
    /// A block of all pairs, where the stage lets one choose it.
    double staged_ms(const char* stage, int block, const Bodies& bodies) {
        const Keys keys =
            with(with(naive("gpu"), "study.direct_stage", stage), "study.block_x", std::to_string(block));
        return 1e3 * all_pairs(keys, bodies).wall_s;
    }

    void both(std::size_t n, const char* backend, Place place) {
        attempt(table_, std::string(backend) + " " + std::to_string(n), [&] {
            const Bodies bodies(solar_system(n), place, Real::fp64);
            const double pairs = static_cast<double>(n) * static_cast<double>(n);
            const bool on_gpu = place == Place::device;
            const bool measured = on_gpu || static_cast<double>(n) <= largest_direct_on_cpu;
            double naive_s = cpu_pair_s_ * pairs;
            std::vector<double> exact;
            if (measured) {
                naive_s = all_pairs(naive(backend), bodies).wall_s;
                exact = bodies.accelerations();
                cpu_pair_s_ = on_gpu ? 0 : naive_s / pairs;
            }
            const Timing tree = time_of(barnes_hut(backend), bodies, repeats_);
            Row row;
            row.add("backend", std::string(backend)).add("bodies", static_cast<double>(n));
            row.add("naive", 1e3 * naive_s).add("pairs/s", pairs / naive_s);
            row.add("naive_is", std::string(measured ? "measured" : "by N^2"));
            row.add("tree_code", 1e3 * tree.wall_s)
                .add("build", 1e3 * (tree.figure("time_s.sort") + tree.figure("time_s.tree")));
            row.add("moments", 1e3 * tree.figure("time_s.moments"))
                .add("lists", 1e3 * tree.figure("time_s.lists"));
            row.add("forces", 1e3 * tree.figure("time_s.forces"));
            row.hidden("p2p", tree.figure("interactions.p2p")).hidden("m2p", tree.figure("interactions.m2p"));
            if (!exact.empty()) {
                const std::vector<double> e = errors(bodies.accelerations(), exact);
                row.add("median", quantile(e, 0.5)).add("p99", quantile(e, 0.99));
            }
            table_.print(row);
            if (n == counts[5])
                years_.push_back({on_gpu ? "this GPU" : "this CPU", naive_s, tree.wall_s});
        });
    }

    void year() {
        table_.title("a year of the largest belt (8,761 evaluations), hours");
        for (const Theirs& one : theirs)
            table_.print(Row()
                             .add("device", std::string(one.device) + ", his")
                             .add("naive_h", one.naive_h)
                             .add("tree_h", one.tree_h));
        for (const Ours& one : years_)
            table_.print(Row()
                             .add("device", std::string(one.device))
                             .add("naive_h", one.naive_s * evaluations_of_a_year / 3600)
                             .add("tree_h", one.tree_s * evaluations_of_a_year / 3600));
    }

    void stages(std::size_t n) {
        const Bodies bodies(solar_system(n), Place::device, Real::fp64);
        Row row;
        row.add("bodies", static_cast<double>(n));
        for (const char* stage : {"plain", "tiled", "unrolled", "best"})
            attempt(table_, stage, [&] { row.add(stage, staged_ms(stage, 128, bodies)); });
        table_.print(row);
    }

    void blocks(std::size_t n) {
        const Bodies bodies(solar_system(n), Place::device, Real::fp64);
        for (const char* stage : {"tiled", "unrolled"}) { // stages 1 and 2
            Row row;
            row.add("bodies", static_cast<double>(n)).add("stage", std::string(stage));
            for (const int block : {32, 64, 128, 256, 512, 1024})
                attempt(table_, stage + (" " + std::to_string(block)),
                        [&] { row.add(std::to_string(block), staged_ms(stage, block, bodies)); });
            table_.print(row);
        }
    }

    void builds(std::size_t n) {
        const Bodies bodies(solar_system(n), Place::device, Real::fp64);
        const auto line = [&](const std::string& name, const Keys& keys) {
            attempt(table_, name, [&] {
                const Timing t = time_of(keys, bodies, repeats_);
                table_.print(Row()
                                 .add("bodies", static_cast<double>(n))
                                 .add("build", name)
                                 .add("sort", 1e3 * t.figure("time_s.sort"))
                                 .add("tree", 1e3 * t.figure("time_s.tree"))
                                 .add("total", 1e3 * t.wall_s));
            });
        };
        for (const char* build : {"fused", "levels"})
            line(build, with(barnes_hut("gpu"), "study.build", build));
        for (int depth = 1; depth <= 9; ++depth)
            line("two-phase " + std::to_string(depth),
                 with(with(barnes_hut("gpu"), "study.build", "two-phase"), "study.top_depth",
                      std::to_string(depth)));
    }

    void orders(std::size_t n) {
        const cli::Snapshot as_made = solar_system(n);
        for (const char* name : {"as made", "shuffled", "along the curve"}) {
            cli::Snapshot s = as_made;
            if (name[0] != 'a' || name[1] == 'l')
                rearrange(s, name[0] == 's' ? shuffled(s.size()) : along_curve(s));
            attempt(table_, name, [&] {
                const Bodies bodies(s, Place::device, Real::fp64);
                const Timing t = time_of(barnes_hut("gpu"), bodies, repeats_);
                table_.print(Row()
                                 .add("bodies", static_cast<double>(n))
                                 .add("order", std::string(name))
                                 .add("total", 1e3 * t.wall_s)
                                 .add("import", 1e3 * t.figure("time_s.import"))
                                 .add("sort", 1e3 * t.figure("time_s.sort"))
                                 .add("output", 1e3 * t.figure("time_s.output")));
            });
        }
    }

    struct Ours {
        const char* device;
        double naive_s, tree_s;
    };
    const Words& words_;
    Table table_;
    int repeats_;
    double cpu_pair_s_ = 0;
    std::vector<Ours> years_;
};

} // namespace

int main(int count, char** words) try {
    const Words arguments(count, words);
    if (devices() == 0)
        return without_device();
    make_context({{"backend", "gpu"}}); // or say at once why not
    Study(arguments).run();
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
