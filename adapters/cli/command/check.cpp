// SPDX-License-Identifier: BSD-3-Clause
// `graft check`: errors against direct summation, times, counts; one setting or a sweep over several.
#include "command/arguments.hpp"
#include "command/check_case.hpp"
#include "command/commands.hpp"
#include "command/models.hpp"

#include <cstdio>

namespace graft::cli {

namespace {

Arguments declare() {
    Arguments arguments("check", "[--ic KIND --n N --seed S | --file SNAPSHOT] [options]",
                        "Evaluates all forces once, and says how wrong they are at random targets (against\n"
                        "compensated direct sums in double precision; in a periodic box of the deck, all "
                        "pairs and waves to 1e-10), how long it took and what was computed.");
    arguments.value("ic", "KIND", "plummer", ("particles to make: " + model_names()).c_str())
        .value("n", "N", "10000", "particles (1e6 is understood)")
        .value("seed", "S", "42", "of particles and targets")
        .value("table", "FILE", "orbits, belt: table of orbital elements")
        .value("file", "SNAPSHOT", "particles from a file instead")
        .value("deck", "FILE", "engine settings to begin with; options below change them")
        .value("targets", "N", "1000", "particles whose error is measured")
        .value("repeat", "R", "3",
               "timed calls after one warm-up; times are medians (0: time the warm-up itself)")
        .value("domains", "KIND", "orb",
               "many ranks: orb, compact domains of equal count; block, particles as they come")
        .list("sweep", "NAME=A,B,...",
              "one answer for each value of an option (repeatable: all combinations)")
        .flag("curve", "add the fraction of targets above a given error, for plots (with --json)");
    for (const EngineSetting& setting : engine_settings()) {
        arguments.value(setting.name, setting.placeholder,
                        (std::string(setting.help) + " (" + setting.key + ")").c_str());
    }
    return arguments.epilogue(
        "JSON, one object a line: n, backend, simd, precision, theta, order, mac, threads,\n"
        "time_s {sort, tree, moments, lists, forces, total} in seconds,\n"
        "error {median, p90, p99, max} = |a - a_direct| / |a_direct| over the targets,\n"
        "interactions {p2p, m2p}: pairs and node-target pairs evaluated in all (interactions_per_particle: "
        "divided\n"
        "by n), bytes {lists, total}: memory held; settings: the rest of what was set.\n\n"
        "  graft check --n 1e5 --sweep accuracy=1e-2,1e-3,1e-4 --sweep order=2,4\n"
        "  graft check --n 1e5 --mac box --sweep theta=0.3,0.5,0.7");
}

CheckSettings settings_of(const Arguments& arguments) {
    CheckSettings settings;
    std::vector<std::string> names = {"ic",   "n",       "seed",   "table",  "file",
                                      "deck", "targets", "repeat", "domains"};
    for (const EngineSetting& setting : engine_settings()) {
        names.emplace_back(setting.name);
    }
    for (const std::string& name : names) {
        if (const auto value = arguments.text(name)) {
            settings[name] = *value;
        }
    }
    return settings;
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
        end = text.find(',', begin);
        parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
    }
    return parts;
}

bool is_setting(const std::string& name) {
    for (const EngineSetting& setting : engine_settings()) {
        if (name == setting.name) {
            return true;
        }
    }
    return name == "n" || name == "seed" || name == "ic" || name == "file";
}

/// Every combination of the swept values, the last sweep fastest.
std::vector<CheckSettings> combinations(const Arguments& arguments) {
    std::vector<CheckSettings> cases = {settings_of(arguments)};
    for (const std::string& sweep : arguments.texts("sweep")) {
        const auto equals = sweep.find('=');
        if (equals == std::string::npos || !is_setting(sweep.substr(0, equals))) {
            arguments.fail("--sweep cannot be used so", "NAME=A,B,... with NAME an option like theta or n",
                           in_quotes(sweep));
        }
        std::vector<CheckSettings> more;
        for (const CheckSettings& settings : cases) {
            for (const std::string& value : split(sweep.substr(equals + 1))) {
                more.push_back(settings);
                more.back()[sweep.substr(0, equals)] = value;
            }
        }
        cases = std::move(more);
    }
    return cases;
}

} // namespace

int check_command(const Words& words) {
    Arguments arguments = declare();
    if (!arguments.parse(words)) {
        return 0;
    }
    const std::vector<CheckSettings> cases = combinations(arguments);
    CheckRunner runner(Engine(arguments.text("library").value_or("")), Ranks::here());
    for (const CheckSettings& settings : cases) {
        const CheckResult result = runner.run(settings);
        std::printf("%s\n", (arguments.json() ? result.json(arguments.has("curve")) : result.text()).c_str());
        std::fflush(stdout);
    }
    return 0;
}

} // namespace graft::cli
