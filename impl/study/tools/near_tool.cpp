// SPDX-License-Identifier: BSD-3-Clause
// The near field layout by layout, see near_tool.hpp.
#include "study/tools/near_tool.hpp"

#include "backend/executor.hpp"
#include "near/mutual.hpp"
#include "study/bench/bench_near.hpp"
#include "study/tools/argument_reader.hpp"
#include "study/tools/near_tool_json.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace graft::study {

namespace {

constexpr double usual_cap_bytes = 2e9; // of a layout's arrays: replicated ones grow fast

/// (1 - r^2/2)^2 on 1,024 knots, which reach as far as neighbours may be.
near::RadialTable example_table() {
    constexpr double step = 2.0 / 1023;
    static const std::vector<double> knots = [] {
        std::vector<double> f;
        f.reserve(2048);
        for (int k = 0; k < 1024; ++k)
            f.push_back(std::pow(1 - 0.5 * k * step * k * step, 2));
        for (int k = 0; k < 1024; ++k)
            f.push_back(-2 * k * step * (1 - 0.5 * k * step * k * step));
        return f;
    }();
    return {0, step, std::span(knots).first(1024), std::span(knots).last(1024)};
}

near::Sums sums_of(ArgumentReader& reader, int32_t dimension) {
    near::Sums sums;
    const std::string kernel =
        reader.word("kernel", {"auto", "laplace", "logarithm", "yukawa", "helmholtz", "table"});
    sums.kernel.kernel = kernel == "auto"        ? (dimension == 2 ? Kernel::logarithm : Kernel::laplace)
                         : kernel == "laplace"   ? Kernel::laplace
                         : kernel == "logarithm" ? Kernel::logarithm
                         : kernel == "yukawa"    ? Kernel::yukawa
                         : kernel == "helmholtz" ? Kernel::helmholtz
                                                 : Kernel::table;
    if (sums.kernel.kernel == Kernel::table)
        sums.kernel.table = example_table();
    sums.kernel.wave_number = reader.number("wave_number", 1, 0, 1e12);
    sums.kernel.softening = reader.number("softening", 0, 0, 1e12);
    sums.dimension = dimension;
    sums.components = static_cast<int32_t>(reader.whole(
        "components", sums.kernel.kernel == Kernel::helmholtz ? 2 : 1, 1, near::most_components));
    const std::string precision = reader.word("precision", {"fp64", "fp32", "mixed"});
    sums.precision = precision == "fp64"   ? Precision::fp64
                     : precision == "fp32" ? Precision::fp32
                                           : Precision::mixed;
    const std::string outputs = reader.word("outputs", {"potential", "gradient", "both"});
    sums.outputs = outputs == "potential" ? 1 : outputs == "gradient" ? 2 : 3;
    return sums;
}

std::string_view trimmed(std::string_view text) {
    const size_t first = std::min(text.find_first_not_of(" \t"), text.size());
    return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

std::vector<Layout> layouts_of(const std::string& text) {
    std::vector<Layout> list;
    if (text == "all" || text == "auto") {
        for (int k = 0; k < near::layouts; ++k)
            list.push_back(static_cast<Layout>(k));
        return list;
    }
    for (size_t begin = 0; begin <= text.size();) {
        const size_t comma = std::min(text.find(',', begin), text.size());
        list.push_back(
            near::layout_named(trimmed(std::string_view(text).substr(begin, comma - begin))));
        begin = comma + 1;
    }
    return list;
}

BenchGrid grid_of(ArgumentReader& reader) {
    BenchGrid grid;
    grid.points = reader.whole("n", 100000, 1, 200000000);
    grid.dimension = static_cast<int32_t>(reader.whole("dimension", 3, 2, 3));
    grid.density = reader.number("density", 8, 1e-3, 1e9);
    grid.height = static_cast<int32_t>(reader.whole("height", 0, 0, 15));
    grid.sorted = reader.word("order", {"random", "boxes"}) == "boxes";
    grid.seed = static_cast<uint64_t>(reader.whole("seed", 1, 0, int64_t{1} << 40));
    return grid;
}

NearRequest request_of(ArgumentReader& reader) {
    NearRequest request;
    request.grid = grid_of(reader);
    request.sums = sums_of(reader, request.grid.dimension);
    request.grid.components = request.sums.components;
    request.layouts = layouts_of(reader.text("layout", "all"));
    request.choice.every = true;
    request.choice.asked.fill(false);
    for (const Layout layout : request.layouts)
        request.choice.asked[static_cast<size_t>(layout)] = true;
    request.cuda = reader.word("backend", {"cpu", "gpu"}) == "gpu";
    request.device = static_cast<int32_t>(reader.whole("device", 0, 0, 1023));
    request.repeats = static_cast<int32_t>(reader.whole("repeats", 9, 1, 1000));
    request.serial_repeats = static_cast<int32_t>(reader.whole("serial", 0, 0, 1000));
    request.choice.expected_executes = reader.number("executes", 1, 1, 1e12);
    request.choice.trial = reader.word("trial", {"true", "false"}) == "true";
    near::NearWay& way = request.choice.way;
    way.backend = request.cuda ? near::NearBackend::cuda : near::NearBackend::cpu;
    way.threads = backend::resolve_threads(static_cast<int>(reader.whole("threads", 0, 0, 4096)));
    way.most_bytes = reader.number("memory", usual_cap_bytes, 0, 1e15);
    way.collect_on_host = reader.word("collect", {"device", "host"}) == "host";
    return request;
}

} // namespace

bool wants_near_field(const ToolArguments& arguments) {
    return std::any_of(arguments.begin(), arguments.end(), [](const auto& argument) {
        return argument.first == "density" || argument.first == "height" || argument.first == "layout";
    });
}

std::string near_field_json(const ToolArguments& arguments) {
    ArgumentReader reader("bench p2p", arguments);
    (void)reader.text("what", "");
    NearRequest request = request_of(reader);
    reader.finish();
    const BenchCase one = make_case(request.grid);
    near::NearWay& way = request.choice.way;
    way.pairs_once = request.cuda && near::sums_pairs_once(one.structure(), request.sums,
                                                                    static_cast<int64_t>(way.most_bytes));
    NearAnswer answer;
    answer.choice = request.cuda
                        ? bench_choice_on_device(one, request.sums, reader.machine(),
                                                                request.choice, request.device)
                        : bench_choice(one, request.sums, reader.machine(), request.choice);
    answer.times = request.cuda ? bench_layouts_on_device(request.layouts, one, request.sums,
                                                                         request.choice.way, request.device,
                                                                         request.repeats)
                                : bench_layouts(request.layouts, one, request.sums,
                                                               request.choice.way, request.repeats);
    if (request.serial_repeats > 0)
        answer.serial_s = bench_serial_s(one, request.sums, request.serial_repeats);
    const near::Structure structure = one.structure();
    answer.shape = near::shape_of(structure, request.sums);
    return near_answer_json(request, answer);
}

} // namespace graft::study
