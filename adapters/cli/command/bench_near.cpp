#include "command/bench_near.hpp"

#include "command/arguments.hpp"
#include "command/engine.hpp"
#include "command/fresh_memory.hpp"
#include "command/json.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>

namespace graft::cli {

namespace {

constexpr std::string_view passed[] = {"n",      "density",   "height",  "dimension",  "layout",
                                       "kernel", "precision", "outputs", "components", "backend",
                                       "device", "executes",  "repeats", "threads",    "memory",
                                       "order",  "collect",   "serial",  "seed"};

Arguments declare() {
    Arguments arguments("bench p2p", "--n N --density D [options]",
                        "Sums the near field of even points in boxes of a grid with every layout, and tells "
                        "for each how long\n"
                        "collection, charges, transfer, kernel and scatter take (medians), what the model "
                        "predicts, and which\n"
                        "layout would be chosen. Without an option of its own: the rates of all pairs "
                        "(graft bench --help).",
                        true);
    arguments.value("n", "N", "1e5", "points")
        .value("density", "D", "points a box (8): the grid has as many boxes along each axis")
        .value("height", "L", "the paper's tree instead: 2^(L-1) boxes along each axis")
        .value("dimension", "K", "3", "2 or 3")
        .value("layout", "NAMES", "all", "all, or names with commas between them")
        .value("kernel", "NAME", "auto",
               "laplace, logarithm, yukawa, helmholtz, table; auto: logarithm in 2-D, else laplace")
        .value("precision", "P", "fp64", "fp64, mixed or fp32")
        .value("outputs", "WHAT", "potential", "potential, gradient or both")
        .value("components", "C", "charges a point (1; helmholtz: 2)")
        .value("backend", "B", "cpu", "cpu or cuda")
        .value("device", "K", "0", "the GPU")
        .value("executes", "E", "1", "executions with one set of coordinates: collection counts 1/E")
        .value("repeats", "R", "9", "repetitions; medians count")
        .value("threads", "T", "0", "0: as many as OpenMP would")
        .value("memory", "BYTES", "2e9", "cap of a layout's arrays; 0: none")
        .value("order", "WHICH", "random", "of the caller's points: random or boxes")
        .value("collect", "WHERE", "device", "cuda: device, or host as in the paper")
        .value("serial", "R", "0", "repetitions of the paper's serial loop; 0: without")
        .value("seed", "S", "1", "of the points")
        .value("machine", "FILE", "of graft model calibrate; else the model's built-in numbers")
        .flag("no-trial", "choose by prediction alone");
    return arguments.epilogue(
        "JSON: layouts [{layout, time_s {collection, charges, transfer, kernel, scatter, total}, predicted_s "
        "{the\nsame}, corrected_s: after a trial, bytes, chunks, pairs_per_s}], choice, best, regret = "
        "t(choice)/t(best) - 1.\ntotal: of one execution with its share of the collection.\n\n"
        "  graft bench p2p --n 1e6 --density 4 --dimension 2 --executes 10");
}

} // namespace

bool wants_bench_near(const std::vector<std::string>& words) {
    const auto is_own = [](const std::string& option) {
        constexpr std::string_view shared[] = {"n", "precision", "backend"},
                                   others[] = {"machine", "no-trial", "help"};
        return std::ranges::find(others, option) != std::end(others) ||
               (std::ranges::find(passed, option) != std::end(passed) &&
                std::ranges::find(shared, option) == std::end(shared));
    };
    return std::ranges::any_of(words, [&](const std::string& word) {
        return word.starts_with("--") && is_own(word.substr(2, word.find('=') - 2));
    });
}

int bench_near_command(const std::vector<std::string>& words) {
    Arguments arguments = declare();
    if (!arguments.parse(words)) {
        return 0;
    }
    use_fresh_memory();
    std::string yaml = "what: p2p\n";
    if (!arguments.has("density") && !arguments.has("height")) {
        yaml += "density: 8\n"; // one of them tells the library's tool what is meant
    }
    for (const std::string_view passed_on : passed) {
        const std::string name(passed_on);
        if (const auto value = arguments.text(name)) {
            yaml += name + ": " + json_string(*value) + "\n";
        }
    }
    if (const auto file = arguments.text("machine")) {
        yaml += "machine: " + json_string(*file) + "\n";
    }
    if (arguments.has("no-trial")) {
        yaml += "trial: \"false\"\n";
    }
    const Engine engine(arguments.text("library").value_or(""));
    std::printf("%s\n", engine.run_tool("bench", yaml).c_str());
    return 0;
}

} // namespace graft::cli
