// SPDX-License-Identifier: BSD-3-Clause
// `graft simulate`: one balancing on ranks that are not there, through run_study("simulate").
#include "command/arguments.hpp"
#include "command/commands.hpp"
#include "command/engine.hpp"

#include <cstdio>
#include <map>

namespace graft::cli {

namespace {

struct Option {
    const char* name;
    const char* key; // of the tool
    const char* placeholder;
    const char* def; // NULL: the library's
    const char* help;
};

constexpr Option options[] = {
    {"strategy", "strategy", "NAME", "orb-distributed",
     "orb-central, orb-distributed, prefix-central or prefix-distributed"},
    {"ranks", "ranks", "P", "1024", "simulated ranks, 1 to 4194304"},
    {"objects-per-rank", "objects_per_rank", "N", "16", "mean number of objects of a rank"},
    {"objects", "objects", "N", nullptr, "objects over all ranks, instead of --objects-per-rank"},
    {"alpha", "alpha", "S", "1e-5", "seconds of latency of a message"},
    {"beta", "beta", "S_PER_BYTE", "1e-9", "seconds of a message per byte"},
    {"gamma", "gamma", "S", "measured", "seconds of an elementary step, or `measured`: the time taken here"},
    {"node-size", "node_size", "N", nullptr, "consecutive ranks that share a node [1]"},
    {"node-alpha", "node_alpha", "S", nullptr, "latency inside a node [1e-6]"},
    {"node-beta", "node_beta", "S_PER_BYTE", nullptr, "seconds per byte inside a node [1e-10]"},
    {"load-sigma", "load_sigma", "SIGMA", nullptr, "spread of the log-normal loads [1]"},
    {"forces", "forces", "WAY", nullptr,
     "instead of a balancing one force evaluation; push: essential trees are sent, fetch: nodes are asked "
     "for"},
    {"particles-per-rank", "particles_per_rank", "N", nullptr, "with --forces: particles of a rank [1000]"},
    {"seed", "seed", "N", "1", "of the objects"},
};

/// {"a":1,"b":{"c":2}} as lines "a: 1", "b: c: 2".
std::string lines_of(const std::string& json) {
    std::string text, outer;
    for (size_t i = 1; i + 1 < json.size(); ++i) {
        const char c = json[i];
        if (c == '{') { // after the name of an object: it stands in front of its members
            outer = text.substr(text.rfind('\n') + 1);
        } else if (c == '}') {
            outer.clear();
        } else if (c == ',') {
            text += "\n" + outer;
        } else if (c == ':') {
            text += ": ";
        } else if (c != '"') {
            text += c;
        }
    }
    return text;
}

} // namespace

int simulate_command(const Words& words) {
    Arguments arguments("simulate", "[--strategy NAME] [--ranks P] [options]",
                        "Balances a clustered set of objects on simulated ranks: the balancer that real "
                        "ranks use runs unchanged, "
                        "a message\n"
                        "costs alpha + beta x bytes along the algorithm that an MPI library would choose. "
                        "Times are those of the "
                        "machine simulated.");
    for (const Option& option : options) {
        if (option.def != nullptr) {
            arguments.value(option.name, option.placeholder, option.def, option.help);
        } else {
            arguments.value(option.name, option.placeholder, option.help);
        }
    }
    arguments.flag("free-split", "splitting a communicator costs nothing, not an allgather as in MPI")
        .flag("level", "orb-distributed: all cells of a level at once instead of recursive halving")
        .list("set", "key=value",
              "a further argument of the tool: bins, threshold_a, threshold_b, tolerance");
    if (!arguments.parse(words)) {
        return 0;
    }
    std::map<std::string, std::string> values; // --set wins
    for (const Option& option : options) {
        if (const auto text = arguments.text(option.name)) {
            values[option.key] = *text;
        }
    }
    if (arguments.has("free-split")) {
        values["free_split"] = "true";
    }
    if (arguments.has("level")) {
        values["level"] = "true";
    }
    for (const std::string& pair : arguments.texts("set")) {
        const auto equals = pair.find('=');
        if (equals == std::string::npos) {
            arguments.fail("--set needs a key and a value", "key=value", in_quotes(pair));
        }
        values[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
    std::string yaml;
    for (const auto& [key, value] : values) {
        yaml.append(key).append(": ").append(value).append("\n");
    }
    const Engine engine(arguments.text("library").value_or(""));
    const std::string json = engine.run_study("simulate", yaml);
    std::printf("%s\n", arguments.json() ? json.c_str() : lines_of(json).c_str());
    return 0;
}

} // namespace graft::cli
