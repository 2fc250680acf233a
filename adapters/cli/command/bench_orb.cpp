// SPDX-License-Identifier: BSD-3-Clause
#include "command/bench_orb.hpp"

#include "command/arguments.hpp"
#include "command/engine.hpp"
#include "command/json.hpp"
#include "ic/points.hpp"
#include "ranks/ranks.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>
#include <vector>

namespace graft::cli {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Request {
    std::int64_t n = 0;
    std::int32_t leaves = 0; // = ranks unless given
    bool order = false;
    int repeats = 3;
};

/// Seconds and counts of one run: times are the slowest rank's.
struct Measurement {
    std::map<std::string, double> figures; // of the library
    double decompose_s = 0, migrate_s = 0;
    double total_s() const { return decompose_s + migrate_s; }
};

Arguments declare() {
    Arguments arguments(
        "bench orb", "--n N [options]",
        "Divides N points into parts of equal weight (orthogonal recursive bisection) and moves 32-byte\n"
        "records to their owners; on ranks each has made a random share of the points before.",
        true);
    arguments.value("n", "N", "1000000", "points on all ranks together (1e7 is understood)")
        .value("dist", "KIND", "plummer", "plummer or uniform")
        .value("weights", "KIND", "unit", "unit or lognormal")
        .value("leaves", "D", "parts (default: as many as there are ranks)")
        .value("finder", "NAME", "bisection, histogram or sampled (study.finder)")
        .value("strategy", "NAME", "level, halving or central (decompose.strategy)")
        .value("shape", "NAME", "orb or prefix (decompose.shape)")
        .value("tolerance", "T", "of a cut, in mean weights of a part (decompose.tolerance)")
        .value("mix", "M", "0: parts of equal count (memory) to 1: of equal weight (work) (decompose.mix)")
        .value("threads", "K", "1", "threads of each rank; 0: as many as OpenMP would")
        .value("seed", "S", "42", "of the points")
        .value("repeat", "R", "3", "runs after a first one that is not counted; the best counts")
        .value("backend", "NAME", "cpu",
               "cpu, or gpu: one GPU, points made on it, the result verified in the run")
        .value("variant", "NAME",
               "gpu: rounds (ours), cell, level or warp (rehmann2022), sweep (count-left alone)")
        .list("set", "key=value",
              "gpu: axis=column|direct|strided, partition=cell|level, temporaries=3|1, "
              "threads=, items=, tolerance=, precision=fp32|fp64, levels_per_round=, "
              "samples=, device=, verify=false (repeatable)")
        .flag("order", "one rank: also bring the records into the order of the parts, and compare with "
                       "recursive std::nth_element on the records");
    return arguments.epilogue(
        "JSON: time_s {cuts, partition (owners and order), decompose (both, as called), migrate, total} in\n"
        "seconds of the slowest rank; passes: reads of all local points; iterations_per_cut; collectives of "
        "a\n"
        "rank; bytes sent by all ranks while cutting; bytes_moved; imbalance_count, imbalance_weight: max / "
        "mean;\nimbalance_work: of the weights, whatever the mix (one rank).");
}

template <typename Value>
Value choice(const Arguments& arguments, const std::string& name, std::map<std::string, Value> values) {
    const auto found = values.find(arguments.required(name));
    if (found == values.end()) {
        std::string known;
        for (const auto& [word, value] : values) {
            known += (known.empty() ? "" : " or ") + word;
        }
        arguments.fail("--" + name + " is not understood", known, in_quotes(arguments.required(name)));
    }
    return found->second;
}

std::vector<PointRecord> make_block(const Arguments& arguments, std::int64_t n, const Ranks& ranks) {
    const auto set =
        choice<PointSet>(arguments, "dist", {{"plummer", PointSet::plummer}, {"uniform", PointSet::uniform}});
    const auto weights = choice<PointWeights>(
        arguments, "weights", {{"unit", PointWeights::unit}, {"lognormal", PointWeights::lognormal}});
    const auto seed = static_cast<std::uint64_t>(arguments.integer("seed", 0, INT64_MAX));
    const std::int64_t begin = ranks.block_begin(n, ranks.rank()),
                       count = ranks.block_begin(n, ranks.rank() + 1) - begin;
    std::vector<PointRecord> points(static_cast<std::size_t>(count));
    const std::int64_t least = 1 << 20; // of a thread
    const std::int64_t threads =
        std::clamp<std::int64_t>(count / least, 1, std::thread::hardware_concurrency());
    std::vector<std::thread> workers;
    workers.reserve(static_cast<std::size_t>(threads));
    for (std::int64_t t = 0; t < threads; ++t) {
        workers.emplace_back([&, from = count * t / threads, to = count * (t + 1) / threads] {
            for (std::int64_t i = from; i < to; ++i) {
                points[static_cast<std::size_t>(i)] =
                    make_point(set, weights, seed, static_cast<std::uint64_t>(begin + i));
            }
        });
    }
    for (std::thread& worker : workers) {
        worker.join();
    }
    return points;
}

/// The deck key of one of this command's options.
std::string key_of(const std::string& option) {
    return (option == "finder" ? "study." : "decompose.") + option;
}

void read_options(Deck& deck, const Arguments& arguments, const Request& request) {
    deck.set("decompose.parts", std::to_string(request.leaves));
    deck.set("threads", arguments.required("threads"));
    for (const char* name : {"finder", "strategy", "shape", "tolerance", "mix"}) {
        if (const auto value = arguments.text(name)) {
            deck.set(key_of(name), *value);
        }
    }
}

/// One input, measured again and again.
class Bench {
  public:
    Bench(const Deck& deck, Ranks& ranks, const Request& request, std::vector<PointRecord> points,
          bool weighted)
        : ranks_(ranks), request_(request), solver_(deck, ranks), weighted_(weighted),
          points_(std::move(points)) {}

    Measurement run() {
        Measurement m;
        ranks_.barrier();
        const auto start = Clock::now();
        solver_.decompose_records(points_, weighted_, request_.leaves, request_.order, parts_);
        m.decompose_s = ranks_.max(seconds_since(start));
        for (const char* key : {"cuts", "iterations_per_cut", "collectives", "passes", "imbalance_count",
                                "imbalance_weight", "bytes", "messages", "time_s.cuts", "time_s.partition"}) {
            const double value = solver_.figure("decompose." + std::string(key)).value_or(0);
            const bool adds = std::string(key) == "bytes" || std::string(key) == "messages";
            m.figures[key] = adds ? ranks_.sum(value) : ranks_.max(value);
        }
        if (ranks_.alone() && !request_.order) {
            m.figures["imbalance_work"] = imbalance_work();
        }
        move(m);
        return m;
    }

    /// max / mean over the parts of the points' weights, whatever the mix that was balanced.
    double imbalance_work() const {
        std::vector<double> work(static_cast<std::size_t>(request_.leaves), 0.0);
        double total = 0;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            work[static_cast<std::size_t>(parts_.owner[i])] += points_[i].weight;
            total += points_[i].weight;
        }
        return total > 0 ? *std::max_element(work.begin(), work.end()) * request_.leaves / total : 1;
    }

    /// Seconds of recursive std::nth_element on the records, parts as left-filled as ours.
    double nth_element_s() const {
        std::vector<PointRecord> records = points_;
        const auto start = Clock::now();
        split(records.data(), records.data() + records.size(), request_.leaves);
        return seconds_since(start);
    }

  private:
    void move(Measurement& m) {
        ranks_.barrier();
        const auto start = Clock::now();
        if (!ranks_.alone() && request_.leaves == ranks_.size()) {
            moved_.resize(points_.size());
            solver_.migrate_records(parts_.owner, points_, moved_);
            m.figures["bytes_moved"] = ranks_.sum(solver_.figure("migrate.bytes_moved").value_or(0));
        } else if (request_.order) {
            moved_.resize(points_.size());
            for (std::size_t i = 0; i < moved_.size(); ++i) {
                moved_[i] = points_[static_cast<std::size_t>(parts_.permutation[i])];
            }
        }
        m.migrate_s = ranks_.max(seconds_since(start));
    }

    static void split(PointRecord* begin, PointRecord* end, std::int32_t parts) {
        if (parts <= 1 || end - begin <= 1) {
            return;
        }
        std::array<double, 3> lower{1e300, 1e300, 1e300}, upper{-1e300, -1e300, -1e300};
        for (const PointRecord* p = begin; p != end; ++p) {
            const std::array<double, 3> x{p->x, p->y, p->z};
            for (std::size_t axis = 0; axis < 3; ++axis) {
                lower[axis] = std::min(lower[axis], x[axis]);
                upper[axis] = std::max(upper[axis], x[axis]);
            }
        }
        std::size_t axis = 0;
        for (std::size_t other : {1u, 2u}) {
            axis = upper[other] - lower[other] > upper[axis] - lower[axis] ? other : axis;
        }
        double PointRecord::*const member[3] = {&PointRecord::x, &PointRecord::y, &PointRecord::z};
        const auto along = member[axis];
        const std::int32_t left = parts / 2;
        PointRecord* middle = begin + (end - begin) * left / parts;
        std::nth_element(begin, middle, end,
                         [along](const PointRecord& a, const PointRecord& b) { return a.*along < b.*along; });
        split(begin, middle, left);
        split(middle, end, parts - left);
    }

    Ranks& ranks_;
    Request request_;
    Solver solver_;
    bool weighted_;
    std::vector<PointRecord> points_, moved_;
    Parts parts_; // kept: a host has these arrays, too
};

JsonObject json_of(const Measurement& m, const Request& request, const Arguments& arguments,
                   const Deck& deck) {
    const auto& f = m.figures;
    JsonObject object;
    object.add("n", request.n)
        .add("dist", arguments.required("dist"))
        .add("weights", arguments.required("weights"));
    object.add("ranks", Ranks::here().size()).add("leaves", request.leaves);
    for (const char* name : {"shape", "strategy", "finder", "tolerance", "mix"}) {
        object.add(name, deck.get(key_of(name)).value_or(""));
    }
    object.add("threads", arguments.required("threads"));
    object.add("time_s", JsonObject()
                             .add("cuts", f.at("time_s.cuts"))
                             .add("partition", f.at("time_s.partition"))
                             .add("decompose", m.decompose_s)
                             .add("migrate", m.migrate_s)
                             .add("total", m.total_s()));
    for (const char* key : {"passes", "iterations_per_cut", "collectives", "bytes", "messages", "bytes_moved",
                            "imbalance_count", "imbalance_weight", "imbalance_work"}) {
        if (f.contains(key)) {
            object.add(key, f.at(key));
        }
    }
    return object;
}

/// The library's own measurement on a GPU.
std::string bench_on_device(const Engine& engine, const Arguments& arguments, const Request& request) {
    std::string yaml = "what: orb\nbackend: gpu\n";
    const auto add = [&](const std::string& key, const std::string& value) {
        yaml += key + ": " + value + "\n";
    };
    add("n", std::to_string(request.n));
    add("leaves", std::to_string(request.leaves));
    add("repetitions", std::to_string(std::max(1, request.repeats)));
    for (const char* name : {"dist", "weights", "seed", "variant"}) {
        if (const auto value = arguments.text(name)) {
            add(name, *value);
        }
    }
    for (const std::string& pair : arguments.texts("set")) {
        const auto equals = pair.find('=');
        if (equals == std::string::npos) {
            arguments.fail("--set needs a key and a value", "key=value", in_quotes(pair));
        }
        add(pair.substr(0, equals), pair.substr(equals + 1));
    }
    return engine.run_study("bench", yaml);
}

Request read_request(const Arguments& arguments, const Ranks& ranks) {
    Request request;
    request.n = arguments.integer("n", 1, INT64_MAX / 64);
    request.leaves = arguments.has("leaves")
                         ? static_cast<std::int32_t>(arguments.integer("leaves", 1, 16777216))
                         : ranks.size();
    request.repeats = static_cast<int>(arguments.integer("repeat", 0, 1000));
    request.order = arguments.has("order");
    if (request.order && !ranks.alone()) {
        arguments.fail("--order is for one rank", "one rank", std::to_string(ranks.size()) + " ranks");
    }
    return request;
}

} // namespace

int bench_orb_command(const Words& words) {
    Arguments arguments = declare();
    if (!arguments.parse(words)) {
        return 0;
    }
    Ranks& ranks = Ranks::here();
    const Request request = read_request(arguments, ranks);
    const Engine engine(arguments.text("library").value_or(""));
    if (choice<int>(arguments, "backend", {{"cpu", 0}, {"gpu", 1}}) == 1) {
        std::printf("%s\n", bench_on_device(engine, arguments, request).c_str());
        return 0;
    }
    Deck deck(engine);
    read_options(deck, arguments, request);
    Bench bench(deck, ranks, request, make_block(arguments, request.n, ranks),
                arguments.required("weights") != "unit");
    Measurement best = bench.run(); // warms up
    for (int run = 0; run < request.repeats; ++run) {
        const Measurement m = bench.run();
        if (run == 0 || m.total_s() < best.total_s()) {
            best = m;
        }
    }
    JsonObject answer = json_of(best, request, arguments, deck);
    if (request.order) {
        const double other_s = bench.nth_element_s();
        answer.add("nth_element_s", other_s).add("ratio", other_s / best.total_s());
    }
    std::printf("%s\n", answer.text().c_str());
    return 0;
}

} // namespace graft::cli
