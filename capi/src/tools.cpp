// run_tool: the library's own tools by name, arguments as (key, text) pairs, answers as JSON.
#include "entries.hpp"

#include "backend/executor.hpp"
#include "backend/thread_limits.hpp"
#include "core/error.hpp"
#include "device_pairs_tool.hpp"
#include "device_tool.hpp"
#include "forces/simd.hpp"
#include "model_tool.hpp"
#include "near_tool.hpp"
#include "simulate_tool.hpp"
#include "study/bench/bench_orb.hpp"
#include "study/bench/bench_p2p.hpp"
#include "sweep_tool.hpp"

#include <cstdlib>

namespace graft::capi {

namespace {

std::string info(const ToolArguments&) {
    std::string names;
    for (const std::string& name : forces::simd_names())
        names += core::format("%s\"%s\"", names.empty() ? "" : ",", name.c_str());
    return core::format("{\"simd\":\"%s\",\"simd_available\":[%s],\"threads\":%d,\"cuda\":%s}",
                        forces::simd_name(), names.c_str(), backend::resolve_threads(0), cuda_json().c_str());
}

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
    const study::P2pBench b = study::bench_p2p<T>(repetitions);
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
                             study::bench_m2p<T>(order, repetitions));
    return text + "}";
}

/// Rates of the kernels on one thread: P2P with its bound, M2P by order; or (what: sweep) of the loops of
/// ORB; or (what: p2p with a density) the layouts of the near field.
std::string bench(const ToolArguments& arguments) {
    std::string what = "all";
    for (const auto& [key, value] : arguments)
        if (key == "what")
            what = value;
    if (what == "orb")
        return study::bench_device_orb(arguments);
    if (what == "p2p" && wants_near_field(arguments))
        return near_field_json(arguments);
    if (wants_device_pairs(arguments)) {
        if (what != "p2p")
            core::fail(core::Status::argument, "bench: what is '%s' and backend cuda; expected p2p or orb",
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

struct Tool {
    const char* name;
    std::string (*run)(const ToolArguments&);
};

constexpr Tool tools[] = {
    {"info", info}, {"bench", bench}, {"simulate", simulate_tool}, {"model", model_tool}};

} // namespace

std::string run_tool(const std::string& name, const ToolArguments& arguments) {
    std::string known;
    for (const Tool& tool : tools) {
        if (name == tool.name) {
            backend::require_threads(0);
            return tool.run(arguments);
        }
        known += core::format("%s%s", known.empty() ? "" : ", ", tool.name);
    }
    core::fail(core::Status::argument, "run_tool: there is no tool '%s'; known tools: %s", name.c_str(),
               known.c_str());
}

} // namespace graft::capi
