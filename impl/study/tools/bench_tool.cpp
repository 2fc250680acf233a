// SPDX-License-Identifier: BSD-3-Clause
// `bench` by its arguments, the kernels' rates as JSON; see bench_tool.hpp.
#include "study/tools/bench_tool.hpp"

#include "core/error.hpp"
#include "forces/simd.hpp"
#include "study/bench/bench_orb.hpp"
#include "study/bench/bench_p2p.hpp"
#include "study/tools/bench_pairs.hpp"
#include "study/tools/near_tool.hpp"
#include "study/tools/sweep_tool.hpp"

#include <cstdlib>

namespace graft::study {

namespace {

int repetitions_of(const ToolArguments& arguments) {
    int repetitions = 10;
    for (const auto& [key, value] : arguments) {
        if (key == "what" || (key == "backend" && value == "cpu"))
            continue;
        char* end = nullptr;
        const long number = std::strtol(value.c_str(), &end, 10);
        if (key != "repetitions" || value.empty() || *end != '\0' || number < 1 || number > 1000)
            core::fail(core::Status::argument,
                       "bench: argument '%s: %s' is not known or out of range; expected what (all, p2p, m2p, "
                       "sweep) and "
                       "repetitions (1 to 1000)",
                       key.c_str(), value.c_str());
        repetitions = static_cast<int>(number);
    }
    return repetitions;
}

template <typename T>
std::string pairs_json(const char* name, int repetitions) {
    const P2pBench b = bench_p2p<T>(repetitions);
    std::string text =
        core::format("\"%s\":{\"pairs_per_s\":%.4g,\"fma_per_s\":%.4g", name, b.pairs_per_s, b.fma_per_s);
    if (b.instructions_per_pair > 0) // absent where nobody has counted them
        text +=
            core::format(",\"instructions_per_pair\":%.4g,\"bound_pairs_per_s\":%.4g,\"share_of_bound\":%.4g",
                         b.instructions_per_pair, b.fma_per_s / b.instructions_per_pair, b.share_of_bound());
    return text + "}";
}

template <typename T>
std::string cells_json(const char* name, int repetitions) {
    std::string text = core::format("\"%s\":{", name);
    for (int order = 0; order <= 4; ++order)
        text += core::format("%s\"order_%d\":%.4g", order == 0 ? "" : ",", order,
                             bench_m2p<T>(order, repetitions));
    return text + "}";
}

} // namespace

std::string bench_tool(const ToolArguments& arguments) {
    std::string what = "all";
    for (const auto& [key, value] : arguments)
        if (key == "what")
            what = value;
    if (what == "orb")
        return bench_device_orb(arguments);
    if (what == "p2p" && wants_near_field(arguments))
        return near_field_json(arguments);
    if (wants_device_pairs(arguments)) {
        if (what != "p2p")
            core::fail(core::Status::argument, "bench: what is '%s' and backend gpu; expected p2p or orb",
                       what.c_str());
        return device_pairs_json(arguments);
    }
    if (what != "all" && what != "p2p" && what != "m2p" && what != "sweep")
        core::fail(core::Status::argument, "bench: what is '%s'; expected all, p2p, m2p, sweep or orb (GPU)",
                   what.c_str());
    const int repetitions = repetitions_of(arguments);
    if (what == "sweep")
        return sweep_json(repetitions);
    std::string text = core::format("{\"simd\":\"%s\",\"threads\":1", forces::simd_name());
    if (what != "m2p")
        text += ",\"p2p\":{" + pairs_json<float>("fp32", repetitions) + "," +
                pairs_json<double>("fp64", repetitions) + "}";
    if (what != "p2p")
        text += ",\"m2p_per_s\":{" + cells_json<float>("fp32", repetitions) + "," +
                cells_json<double>("fp64", repetitions) + "}";
    return text + "}";
}

} // namespace graft::study
