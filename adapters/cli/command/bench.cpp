// SPDX-License-Identifier: BSD-3-Clause
// `graft bench`: the library's own measurements through run_study("bench").
#include "command/arguments.hpp"
#include "command/bench_force.hpp"
#include "command/bench_near.hpp"
#include "command/bench_orb.hpp"
#include "command/commands.hpp"
#include "command/engine.hpp"

#include <cstdio>

namespace graft::cli {

int bench_command(const Words& words) {
    if (!words.empty() && words[0] == "orb") {
        return bench_orb_command(Words(words.begin() + 1, words.end()));
    }
    if (!words.empty() && words[0] == "force") {
        return bench_force_command(Words(words.begin() + 1, words.end()));
    }
    if (!words.empty() && words[0] == "p2p" && wants_bench_near(words)) {
        return bench_near_command(Words(words.begin() + 1, words.end()));
    }
    Arguments arguments(
        "bench", "WHAT [--backend gpu] [--n N] [--precision P] [--set key=value ...]",
        "Runs a measurement of the library and prints its JSON answer. WHAT is p2p (pairs per second, the "
        "rate of\n"
        "independent multiply-adds, and the share of the bound that follows from both), m2p, or all. One "
        "thread;\n"
        "p2p with --backend gpu: all pairs on a GPU, thuering2023's stages and ours, beside the rate of "
        "the\n"
        "pure instruction mix and the bandwidths measured in the same run.\n"
        "graft bench p2p --help: the near field of boxes, layout by layout (--density D, --layout NAMES "
        "...).\n"
        "graft bench force --help: whole force evaluations, on the GPU where there is one.\n"
        "graft bench orb --help: the decomposition and migration of many points, on any number of ranks.",
        true);
    arguments.positional("what")
        .value("backend", "B", "p2p: cpu (default) or gpu")
        .value("n", "N", "p2p, gpu: bodies (262144)")
        .value("precision", "P", "p2p, gpu: fp32, mixed, fp64 or all (default)")
        .list("set", "key=value", "an argument of the measurement: repetitions=1 to 1000 (repeatable)");
    if (!arguments.parse(words)) {
        return 0;
    }
    std::string yaml = "what: " + arguments.required("what") + "\n";
    for (const std::string& pair : arguments.texts("set")) {
        const auto equals = pair.find('=');
        if (equals == std::string::npos) {
            arguments.fail("--set needs a key and a value", "key=value", in_quotes(pair));
        }
        yaml += pair.substr(0, equals) + ": " + pair.substr(equals + 1) + "\n";
    }
    for (const char* name : {"backend", "n", "precision"}) {
        if (const auto value = arguments.text(name)) {
            yaml += std::string(name) + ": " + *value + "\n";
        }
    }
    const Engine engine(arguments.text("library").value_or(""));
    std::printf("%s\n", engine.run_study("bench", yaml).c_str());
    return 0;
}

} // namespace graft::cli
