// SPDX-License-Identifier: BSD-3-Clause
#include "command/bench_force.hpp"

#include "command/arguments.hpp"
#include "command/check_case.hpp"
#include "command/engine.hpp"

#include <cstdio>
#include <utility>
#include <vector>

namespace graft::cli {

namespace {

Arguments declare() {
    Arguments arguments(
        "bench force", "--ic KIND --n N [options]",
        "Evaluates the forces of N points again and again, and tells where the time goes. The points stay\n"
        "where the evaluation reads them: on the GPU where there is one, else on the host.",
        true);
    arguments
        .value("ic", "KIND", "plummer",
               "plummer (scale radius 1), plummer-cut (99.9 % of its mass) or uniform (unit cube)")
        .value("n", "N", "1000000", "points (1e6 is understood)")
        .value("seed", "S", "42", "of points and targets")
        .value("type", "NAME", "f32", "numbers of the arrays: f32 or f64")
        .value("memory", "PLACE", "device or host (default: device where a GPU may be used)")
        .value("repeat", "R", "7", "timed evaluations")
        .value("warm-up", "R", "2", "evaluations before them")
        .value("targets", "N", "1000", "with --check: points whose error is measured")
        .flag("check",
              "measure errors, too: against compensated direct sums on the CPU, or on the GPU (fp64)")
        .flag("potential", "compute potentials as well")
        .list("set", "key=value", "a deck key, such as gpu.walk=super (repeatable)");
    for (const EngineSetting& setting : engine_settings()) {
        arguments.value(setting.name, setting.placeholder,
                        (std::string(setting.help) + " (" + setting.key + ")").c_str());
    }
    return arguments.epilogue(
        "JSON: medians in seconds, by events on a GPU: time_s {import, sort, tree, moments, lists, forces "
        "(p2p\n"
        "and m2p), output, total}, and wall: from call to return; best: the fastest total; interactions "
        "{p2p,\n"
        "m2p} and their rates a second; waits and allocations an evaluation; bytes; error {median, p90, "
        "p99,\n"
        "max} = |a - a_direct| / |a_direct|, where pairs are more than 5e10 of sums in fp64 on the GPU.\n\n"
        "  graft bench force --n 1e6 --accuracy 1e-3 --check\n"
        "  graft bench force --ic uniform --n 8e6 --backend gpu --set gpu.walk=super --json");
}

std::string yaml_of(const Arguments& arguments) {
    std::string yaml;
    for (const char* name : {"ic", "n", "seed", "type", "memory", "repeat"}) {
        if (const auto value = arguments.text(name)) {
            yaml += std::string(name) + ": " + *value + "\n";
        }
    }
    yaml += "warm_up: " + arguments.required("warm-up") + "\n";
    yaml += "targets: " + (arguments.has("check") ? arguments.required("targets") : "0") + "\n";
    yaml += std::string("potential: ") + (arguments.has("potential") ? "true" : "false") + "\n";
    return yaml;
}

/// What deck keys are set to.
std::vector<std::pair<std::string, std::string>> keys_of(const Arguments& arguments) {
    std::vector<std::pair<std::string, std::string>> keys;
    for (const EngineSetting& setting : engine_settings()) {
        if (const auto value = arguments.text(setting.name)) {
            keys.emplace_back(setting.key, *value);
        }
    }
    for (const std::string& pair : arguments.texts("set")) {
        const auto equals = pair.find('=');
        if (equals == std::string::npos) {
            arguments.fail("--set needs a key and a value", "key=value", in_quotes(pair));
        }
        keys.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
    }
    return keys;
}

} // namespace

int bench_force_command(const Words& words) {
    Arguments arguments = declare();
    if (!arguments.parse(words)) {
        return 0;
    }
    const Engine engine(arguments.text("library").value_or(""));
    std::string yaml = yaml_of(arguments);
    Deck deck(engine);
    for (const auto& [key, value] : keys_of(arguments)) {
        yaml += key + ": " + value + "\n";
        if (!key.starts_with("machine.")) { // the study's own
            deck.set(key, value);
        }
    }
    Solver(deck).log_to_stderr(); // a study has no log: what there is to warn of is known before it
    std::printf("%s\n", engine.run_study("force", yaml).c_str());
    return 0;
}

} // namespace graft::cli
