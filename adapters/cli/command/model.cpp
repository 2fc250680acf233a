// SPDX-License-Identifier: BSD-3-Clause
// `graft model`: run-time models of a machine given by a file of its numbers, through run_study("model").
#include "command/arguments.hpp"
#include "command/commands.hpp"
#include "command/engine.hpp"
#include "command/fresh_memory.hpp"
#include "command/json.hpp"
#include "snapshot/file_io.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>

namespace graft::cli {

namespace {

/// "key: value" lines for the options that were given; an option's key is its name with underscores.
std::string yaml_of(const Arguments& arguments, std::initializer_list<const char*> names) {
    std::string yaml;
    for (std::string name : names) {
        const auto value = arguments.text(name);
        std::replace(name.begin(), name.end(), '-', '_');
        if (value) {
            yaml += name + ": " + json_string(*value) + "\n";
        }
    }
    return yaml;
}

int predict(const std::string& what, const Words& words) {
    Arguments arguments(
        "model " + what, "--machine FILE [options]",
        what == "orb" ? "What orthogonal recursive bisection takes on a machine: rehmann2022's equations "
                        "12 to 16 (paper), and\nthe model put right (corrected): bytes that are read, "
                        "iterations, partition, launches."
                      : "Which roof, memory or arithmetic, bounds counting keys left of a cut "
                        "(rehmann2022, figures 10 to 14).",
        true);
    arguments.list("machine", "FILE", "machine file (graft model schema lists its keys); repeatable");
    if (what == "orb") {
        arguments.value("n", "N", "1e9", "particles")
            .value("leaves", "D", "4096", "parts")
            .value("iterations", "K", "of a level's bisection, measured; else they follow from --miss")
            .value("miss", "ALPHA", "0.5", "particles by which a cut may miss its place; 0.5: exact")
            .value("precision-bits", "P", "32", "iterations that the paper's model takes")
            .flag("csv", "lines machine,model,variant,step,seconds,bytes,launches");
    }
    arguments.epilogue(
        "JSON, one object a machine. Seconds; bytes read and written, or sent; \"gpu-resident\": "
        "the data are on the GPU before.");
    if (!arguments.parse(words)) {
        return 0;
    }
    if (arguments.texts("machine").empty()) {
        arguments.fail("no machine", "--machine FILE (graft model calibrate --out FILE makes one)", "none");
    }
    const Engine engine(arguments.text("library").value_or(""));
    std::string yaml = "what: " + what + "\n";
    const bool csv = what == "orb" && arguments.has("csv");
    if (what == "orb") {
        yaml += yaml_of(arguments, {"n", "leaves", "iterations", "miss", "precision-bits"});
        yaml += csv ? "format: csv\n" : "";
    }
    if (csv) {
        std::printf("machine,model,variant,step,seconds,bytes,launches\n");
    }
    for (const std::string& file : arguments.texts("machine")) {
        const std::string answer = engine.run_study("model", yaml + "machine: " + json_string(file) + "\n");
        std::printf("%s%s", answer.c_str(), csv ? "" : "\n");
    }
    return 0;
}

int calibrate(const Words& words) {
    Arguments arguments(
        "model calibrate", "[--out FILE] [options]",
        "Measures this machine: bandwidths of each level of the memory, rates of the kernels, "
        "and with a GPU\nits own and its link's. Takes about 15 s; the file begins with the seconds of each "
        "part.");
    arguments.value("out", "FILE", "write a machine file (YAML); else it goes to the screen")
        .value("backend", "NAME", "auto", "auto: the GPU too when there is one; cpu; gpu: it must be there")
        .value("device", "K", "0", "the GPU to measure")
        .value("threads", "K", "0", "threads to use; 0: as many as OpenMP would")
        .value("repetitions", "R", "5", "most rounds; the best counts");
    if (!arguments.parse(words)) {
        return 0;
    }
    const auto path = arguments.text("out");
    std::optional<AtomicFile> file;
    if (path) {
        file.emplace(*path); // what cannot be written is known before the time is spent
    }
    use_fresh_memory();
    const Engine engine(arguments.text("library").value_or(""));
    std::string yaml =
        "what: calibrate\n" + yaml_of(arguments, {"backend", "device", "threads", "repetitions"});
    yaml += arguments.json() ? "" : "format: yaml\n";
    const std::string answer = engine.run_study("model", yaml);
    if (!path) {
        std::printf("%s%s", answer.c_str(), arguments.json() ? "\n" : "");
        return 0;
    }
    file->write(std::as_bytes(std::span(answer.data(), answer.size())));
    file->commit();
    std::printf("%s: written\n", path->c_str());
    return 0;
}

int schema(const Words& words) {
    Arguments arguments("model schema", "", "Prints every key of a machine file: type, unit, meaning.", true);
    if (!arguments.parse(words)) {
        return 0;
    }
    const Engine engine(arguments.text("library").value_or(""));
    std::printf("%s\n", engine.run_study("model", "what: schema").c_str());
    return 0;
}

} // namespace

int model_command(const Words& words) {
    const std::string what = words.empty() ? "" : words[0];
    const Words rest(words.empty() ? words.begin() : words.begin() + 1, words.end());
    if (what == "orb" || what == "roofline") {
        return predict(what, rest);
    }
    if (what == "calibrate") {
        return calibrate(rest);
    }
    if (what == "schema") {
        return schema(rest);
    }
    if (what == "--help" || what == "-h") {
        std::printf("usage: graft model orb | roofline | calibrate | schema [options]\n"
                    "graft model orb --help tells more\n");
        return 0;
    }
    throw UsageError({what.empty() ? "no model is named" : "no model '" + what + "'", "graft model",
                      "one of orb, roofline, calibrate, schema", "", "graft model orb --help"});
}

} // namespace graft::cli
