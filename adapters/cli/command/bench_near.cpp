// SPDX-License-Identifier: BSD-3-Clause
#include "command/bench_near.hpp"

#include "command/arguments.hpp"
#include "command/engine.hpp"
#include "command/fresh_memory.hpp"
#include "command/json.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace graft::cli {

namespace {

constexpr std::string_view of_pairs_too[] = {"n", "precision", "backend"};
constexpr std::string_view of_boxes[] = {
    "density",  "height",  "dimension", "layout", "kernel", "outputs", "components", "device",
    "executes", "repeats", "threads",   "memory", "order",  "collect", "serial",     "seed"};
constexpr std::string_view not_passed[] = {"help", "machine", "no-trial"};

Arguments declare() {
    Arguments arguments(
        "bench p2p", "--n N --density D [options]",
        "Sums the near field of even points in boxes of a grid with every layout, and tells for each how "
        "long\ncollection, charges, transfer, kernel and scatter take (medians), what the model predicts, "
        "and which\nlayout would be chosen. With no more than --n, --precision, --backend and --set: the "
        "rates of all pairs\n(graft bench --help).",
        true);
    arguments.value("n", "N", "1e5", "points")
        .value("density", "D", "8", "points a box: the grid has as many boxes along each axis")
        .value("height", "L", "the paper's tree instead: 2^(L-1) boxes along each axis")
        .value("dimension", "K", "3", "2 or 3")
        .value("layout", "NAMES", "all",
               "all, or names with commas between them (near_field.layout in graft deck --explain)")
        .value("kernel", "NAME", "auto",
               "laplace, logarithm, yukawa, helmholtz, table; auto: logarithm in 2-D, else laplace")
        .value("precision", "P", "fp64", "fp64, mixed or fp32")
        .value("outputs", "WHAT", "potential", "potential, gradient or both")
        .value("components", "C", "charges a point (1; helmholtz: 2)")
        .value("backend", "B", "cpu", "cpu or gpu")
        .value("device", "K", "0", "the GPU")
        .value("executes", "E", "1", "executions with one set of coordinates: collection counts 1/E")
        .value("repeats", "R", "9", "repetitions; medians count")
        .value("threads", "T", "0", "0: as many as OpenMP would")
        .value("memory", "BYTES", "2e9", "cap of a layout's arrays; 0: none")
        .value("order", "WHICH", "random", "of the caller's points: random or boxes")
        .value("collect", "WHERE", "device", "gpu: device, or host as in the paper")
        .value("serial", "R", "0", "repetitions of the paper's serial loop; 0: without")
        .value("seed", "S", "1", "of the points")
        .value("machine", "FILE", "of graft model calibrate; else the model's built-in numbers")
        .flag("no-trial", "choose by prediction alone");
    return arguments.epilogue(
        "JSON: layouts [{layout, time_s {collection, charges, transfer, kernel, scatter, total}, predicted_s "
        "{the\nsame}, corrected_s: after a trial, bytes, chunks, pairs_per_s}], choice and best of those "
        "named by --layout,\nregret = t(choice)/t(best) - 1. total: of one execution with its share of the "
        "collection.\n\n"
        "  graft bench p2p --n 1e6 --density 4 --dimension 2 --executes 10");
}

} // namespace

bool wants_bench_near(const std::vector<std::string>& words) {
    return std::any_of(words.begin(), words.end(), [](std::string_view word) {
        const std::string_view name = word.substr(0, word.find('='));
        const auto in = [name](const auto& names) {
            return std::any_of(std::begin(names), std::end(names), [name](std::string_view one) {
                return name.starts_with("--") && name.substr(2) == one;
            });
        };
        return in(of_boxes) || in(not_passed);
    });
}

int bench_near_command(const std::vector<std::string>& words) {
    Arguments arguments = declare();
    if (!arguments.parse(words)) {
        return 0;
    }
    use_fresh_memory();
    std::string yaml = "what: p2p\n";
    const auto pass = [&](std::string_view name) {
        if (const auto value = arguments.text(std::string(name))) {
            yaml += std::string(name) + ": " + json_string(*value) + "\n";
        }
    };
    std::for_each(std::begin(of_pairs_too), std::end(of_pairs_too), pass);
    std::for_each(std::begin(of_boxes), std::end(of_boxes), pass);
    if (const auto file = arguments.text("machine")) {
        yaml += "machine: " + json_string(*file) + "\n";
    }
    if (arguments.has("no-trial")) {
        yaml += "trial: \"false\"\n";
    }
    const Engine engine(arguments.text("library").value_or(""));
    std::printf("%s\n", engine.run_study("bench", yaml).c_str());
    return 0;
}

} // namespace graft::cli
