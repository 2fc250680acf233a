// SPDX-License-Identifier: BSD-3-Clause
#include "command/check_case.hpp"

#include "command/arguments.hpp"
#include "command/models.hpp"
#include "snapshot/error.hpp"
#include "snapshot/formats.hpp"
#include "snapshot/metadata.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

namespace graft::cli {

namespace {

constexpr const char* figure_keys[] = {
    "time_s.sort",       "time_s.tree",      "time_s.moments",   "time_s.lists",     "time_s.forces",
    "time_s.total",      "interactions.p2p", "interactions.m2p", "interactions.m2l", "bytes.lists",
    "bytes.total",       "bytes.peak",       "threads",          "ranks.bytes_sent", "ranks.messages",
    "ranks.collectives", "ranks.wait_s",     "ranks.imbalance", "order",
    "sizes.leaf",        "sizes.group"};

std::string setting(const CheckSettings& settings, const std::string& name, const std::string& otherwise) {
    const auto found = settings.find(name);
    return found == settings.end() ? otherwise : found->second;
}

std::int64_t whole(const CheckSettings& settings, const std::string& name, std::int64_t otherwise,
                   std::int64_t least) {
    const auto value = parse_integer(setting(settings, name, std::to_string(otherwise)));
    if (!value || *value < least) {
        throw UsageError({std::string("--").append(name) + " is out of range", "graft check",
                          "a whole number >= " + std::to_string(least),
                          in_quotes(setting(settings, name, "")), "graft check --help"});
    }
    return *value;
}

/// `count` different indices below n, ascending; the generator is one that is the same everywhere.
std::vector<std::int64_t> random_targets(std::int64_t n, std::int64_t count, std::uint64_t seed) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    std::mt19937_64 random(seed ^ 0x7461726765747321ull);
    const std::size_t wanted = static_cast<std::size_t>(std::min(n, count));
    for (std::size_t i = 0; i < wanted; ++i) {
        std::swap(all[i], all[i + random() % (all.size() - i)]);
    }
    all.resize(wanted);
    std::sort(all.begin(), all.end());
    return all;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

std::string unquoted(std::string text) {
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
        text = text.substr(1, text.size() - 2);
    }
    return text;
}

std::map<std::string, double> medians(const std::map<std::string, std::vector<double>>& samples) {
    std::map<std::string, double> result;
    for (const auto& [key, values] : samples) {
        result[key] = median(values);
    }
    return result;
}

JsonObject group_of(const std::map<std::string, double>& figures, const std::string& prefix,
                    double scale = 1) {
    JsonObject object;
    for (const char* key : figure_keys) {
        const std::string name = key;
        const auto found = figures.find(name);
        if (name.starts_with(prefix) && found != figures.end()) {
            object.add(name.substr(prefix.size()), found->second * scale);
        }
    }
    return object;
}

/// [error, fraction of targets above it] twenty times a decade where the fraction changes.
JsonArray curve_of(const std::vector<double>& errors) {
    JsonArray curve;
    for (int step = -20 * 17; step <= 40; ++step) {
        const double error = std::pow(10.0, step / 20.0);
        const auto above = errors.end() - std::upper_bound(errors.begin(), errors.end(), error);
        const double fraction = static_cast<double>(above) / static_cast<double>(errors.size());
        if (fraction < 1) {
            curve.add(JsonArray().add(json_number(error)).add(json_number(fraction)).text());
        }
        if (fraction == 0) {
            break;
        }
    }
    return curve;
}

void describe(CheckResult& result, const Deck& deck) {
    result.theta = deck.number("mac.theta");
    result.accuracy = deck.number("mac.accuracy");
    result.softening = deck.number("softening.length");
    const auto chosen = [&](const char* figure, const char* key) {
        const auto found = result.figures.find(figure);
        return static_cast<int>(found != result.figures.end() ? found->second : deck.number(key));
    };
    result.order = chosen("order", "order");
    result.leaf = chosen("sizes.leaf", "tree.leaf");
    result.group = chosen("sizes.group", "tree.group");
    const auto word = [&](const char* key) { return deck.get(key).value_or(""); };
    result.tree = word("tree.type");
    result.walk = deck.is("study.walk", "auto") ? "group" : word("study.walk");
    result.method = word("method");
    result.mac = word("mac.type");
}

} // namespace

const std::vector<EngineSetting>& engine_settings() {
    static const std::vector<EngineSetting> settings = {
        {"theta", "mac.theta", "T", "opening angle; criterion error: the largest one"},
        {"order", "order", "P", "multipole order 0..12; -1: chosen for the accuracy"},
        {"mac", "mac.type", "TYPE", "opening criterion, a word of mac.type (graft deck --explain)"},
        {"accuracy", "mac.accuracy", "A",
         "criterion error: force error per node, about the p99 error (graft deck --explain says where)"},
        {"tree", "tree.type", "TYPE", "octree or orb"},
        {"leaf", "tree.leaf", "N", "most particles in a leaf; 0: chosen"},
        {"group", "tree.group", "N", "most targets in a group; 0: chosen"},
        {"far-cells", "far_cells", "WHEN", "far cells as one polynomial of a group: auto, off or on"},
        {"walk", "study.walk", "TYPE", "auto, or of a paper: transposed (CPU), thread (GPU)"},
        {"method", "method", "NAME", "tree or direct"},
        {"precision", "precision", "NAME", "fp32, mixed, fp64 or auto"},
        {"backend", "backend", "NAME", "auto, cpu or gpu"},
        {"threads", "threads", "K", "threads; 0: as many as OpenMP would"},
        {"softening-kind", "softening.kind", "KIND", "none, plummer or spline"},
        {"softening", "softening.length", "L", "softening length"},
    };
    return settings;
}

double CheckResult::percentile(double q) const {
    if (errors.empty()) {
        return std::nan("");
    }
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(errors.size())));
    return errors[std::max<std::size_t>(rank, 1) - 1];
}

std::string CheckResult::json(bool curve) const {
    JsonObject object;
    object.add("n", n).add("backend", backend).add("simd", simd).add("precision", precision);
    object.add("theta", theta);
    if (order >= 0) { // there are expansions
        object.add("order", order);
    }
    object.add("mac", mac).add("threads", threads);
    if (ranks > 1) {
        object.add("ranks", group_of(figures, "ranks.").add("size", ranks));
    }
    object.add("time_s", group_of(figures, "time_s."));
    object.add("error", JsonObject()
                            .add("median", percentile(0.5))
                            .add("p90", percentile(0.9))
                            .add("p99", percentile(0.99))
                            .add("max", percentile(1)));
    object.add("interactions", group_of(figures, "interactions."));
    object.add("bytes", group_of(figures, "bytes."));
    object.add("interactions_per_particle",
               group_of(figures, "interactions.", 1 / std::max(1.0, static_cast<double>(n))));
    object.add("settings", JsonObject()
                               .add("accuracy", accuracy)
                               .add("leaf", leaf)
                               .add("group", group)
                               .add("tree", tree)
                               .add("walk", walk)
                               .add("method", method)
                               .add("softening", softening)
                               .add("targets", errors.size())
                               .add("repeats", repeats));
    if (curve) {
        object.add("curve", curve_of(errors));
    }
    return object.text();
}

std::string CheckResult::text() const {
    const auto show = [&](const char* key, double scale, const char* format) {
        char text[48] = "-"; // what was not measured
        if (const auto found = figures.find(key); found != figures.end()) {
            std::snprintf(text, sizeof text, format, found->second * scale);
        }
        return std::string(text);
    };
    char criterion[100];
    if (mac == "error") {
        std::snprintf(criterion, sizeof criterion, "error (accuracy %g, theta at most %g)", accuracy, theta);
    } else {
        std::snprintf(criterion, sizeof criterion, "%s (theta %g)", mac.c_str(), theta);
    }
    const std::string engine = backend == "cpu" ? backend + " " + simd : backend;
    char head[400];
    std::snprintf(head, sizeof head,
                  "n %lld, %s, %s%s, mac %s, threads %lld, ranks %d\n"
                  "  error       median %.2e, p90 %.2e, p99 %.2e, max %.2e (%zu targets)\n",
                  static_cast<long long>(n), engine.c_str(), precision.c_str(),
                  order >= 0 ? (", order " + std::to_string(order)).c_str() : "", criterion,
                  static_cast<long long>(threads), ranks, percentile(0.5), percentile(0.9), percentile(0.99),
                  percentile(1), errors.size());
    std::string text = std::string(head) + "  time        " + show("time_s.total", 1, "%.4f") + " s:";
    for (const char* part : {"sort", "tree", "moments", "lists", "forces"}) {
        text += std::string(" ") + part + " " + show((std::string("time_s.") + part).c_str(), 1, "%.4f");
    }
    const double each = 1 / std::max(1.0, static_cast<double>(n));
    return text + "\n  a particle  " + show("interactions.p2p", each, "%.0f") + " P2P, " +
           show("interactions.m2p", each, "%.0f") + " M2P, " + show("interactions.m2l", each, "%.1f") +
           " M2L\n  memory      " + show("bytes.total", 1e-6, "%.1f") + " MB, lists " +
           show("bytes.lists", 1e-6, "%.1f") + " MB";
}

void CheckRunner::load_particles(const CheckSettings& settings) {
    const std::string file = setting(settings, "file", "");
    const std::string kind = setting(settings, "ic", "plummer");
    const std::string key = file + "|" + kind + "|" + setting(settings, "n", "10000") + "|" +
                            setting(settings, "seed", "42") + "|" + setting(settings, "targets", "1000");
    if (key == particles_key_) {
        return;
    }
    ModelRequest request;
    request.kind = kind;
    request.n = static_cast<std::size_t>(whole(settings, "n", 10000, 1));
    request.seed = static_cast<std::uint64_t>(whole(settings, "seed", 42, 0));
    request.table = setting(settings, "table", "");
    particles_ = file.empty() ? make_model(request) : read_snapshot_file(file);
    if (particles_.size() == 0) {
        throw Error({"nothing to check", file, "one particle or more", "none", ""});
    }
    targets_ = random_targets(static_cast<std::int64_t>(particles_.size()),
                              whole(settings, "targets", 1000, 1), request.seed);
    particles_key_ = key;
    reference_key_.clear();
}

void CheckRunner::apply(Deck& deck, const CheckSettings& settings) const {
    const std::string deck_file = setting(settings, "deck", "");
    if (!deck_file.empty()) {
        deck.read_file(deck_file);
    } else {
        deck.set("constant", number_text(particles_.units.gravitational_constant));
    }
    if (settings.contains("softening") && !settings.contains("softening-kind")) {
        deck.set("softening.kind", "plummer");
    }
    for (const EngineSetting& entry : engine_settings()) {
        if (const auto found = settings.find(entry.name); found != settings.end()) {
            deck.set(entry.key, found->second);
        }
    }
}

void CheckRunner::load_reference(const CheckSettings& settings) {
    const std::string key = setting(settings, "softening", "0") + "|" +
                            setting(settings, "softening-kind", "") + "|" + setting(settings, "deck", "") +
                            "|" + particles_key_;
    if (key == reference_key_) {
        return;
    }
    Deck deck(engine_);
    apply(deck, settings);
    deck.set("method", "reference");
    deck.set("precision", "fp64");
    if (!deck.is("box.periodic", "none")) { // the oracle of boxes takes hours for many: their own exact way
        deck.set("method", "tree");
        deck.set("mac.theta", "0");
        deck.set("ewald.method", "split");
        deck.set("ewald.waves", "sum");
        deck.set("order", "4");
        deck.set("ewald.accuracy", "1e-10");
    }
    deck.set("threads", "0"); // the oracle is not what is timed
    const auto count = static_cast<std::int64_t>(targets_.size());
    const auto begin = targets_.begin() + ranks_.block_begin(count, ranks_.rank()),
               end = targets_.begin() + ranks_.block_begin(count, ranks_.rank() + 1);
    reference_ = Field();
    Solver(deck).compute_targets(particles_, {begin, end}, reference_, false);
    if (!ranks_.alone()) { // what another rank computes is 0 here
        for (auto* component : {&reference_.ax, &reference_.ay, &reference_.az}) {
            ranks_.sum(*component);
        }
    }
    reference_key_ = key;
}

CheckResult CheckRunner::run(const CheckSettings& settings) {
    load_particles(settings);
    load_reference(settings);
    Deck deck(engine_);
    apply(deck, settings);
    Solver solver(deck, ranks_);
    take_share(solver, setting(settings, "domains", "orb"));
    CheckResult result;
    Field field;
    std::map<std::string, std::vector<double>> samples;
    result.repeats = static_cast<int>(whole(settings, "repeat", 3, 0));
    for (int call = 0; call <= result.repeats; ++call) {
        solver.compute(share_, field, false, false);
        for (const char* key : figure_keys) {
            if (const auto value = solver.figure(key); value && (call > 0 || result.repeats == 0)) {
                const std::string name = key;
                const bool adds = name.starts_with("interactions") || name.starts_with("bytes") ||
                                  name == "ranks.bytes_sent" || name == "ranks.messages";
                samples[key].push_back(adds ? ranks_.sum(*value) : ranks_.max(*value));
            }
        }
    }
    result.ranks = ranks_.size();
    result.figures = medians(samples);
    result.n = static_cast<std::int64_t>(particles_.size());
    describe(result, deck);
    result.backend = unquoted(solver.figure_text("backend"));
    result.simd = unquoted(solver.figure_text("simd"));
    result.precision = unquoted(solver.figure_text("precision"));
    result.threads = static_cast<std::int64_t>(result.figures.contains("threads") ? result.figures["threads"]
                                                                                  : deck.number("threads"));
    result.errors = errors(field);
    return result;
}

} // namespace graft::cli
