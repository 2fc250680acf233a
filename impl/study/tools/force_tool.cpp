// SPDX-License-Identifier: BSD-3-Clause
// Arguments of a measurement from text, its result as JSON.
#include "study/tools/force_tool.hpp"

#include "backend/gpu_library.hpp"
#include "backend/thread_limits.hpp"
#include "core/json_string.hpp"
#include "study/bench/bench_force.hpp"

#include <cmath>
#include <cstdlib>

namespace graft::study {

using core::fail;
using core::Status;

namespace {

int64_t whole_of(const std::string& key, const std::string& text, double least, double most) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value >= least) || !(value <= most) || value != std::floor(value))
        fail(Status::argument, "force: argument '%s: %s' is no whole number from %.15g to %.15g", key.c_str(),
             text.c_str(), least, most);
    return static_cast<int64_t>(value);
}

/// Whether the text is the second word; it must be one of the two.
bool second_of(const std::string& key, const std::string& text, const char* first, const char* second) {
    if (text != first && text != second)
        fail(Status::argument, "force: argument '%s: %s'; expected %s or %s", key.c_str(), text.c_str(),
             first, second);
    return text == second;
}

constexpr const char* cloud_names[] = {"plummer", "uniform", "plummer-cut"}; // as Cloud

Cloud cloud_of(const std::string& text) {
    for (int cloud = 0; cloud < 3; ++cloud)
        if (text == cloud_names[cloud])
            return static_cast<Cloud>(cloud);
    fail(Status::argument, "force: argument 'ic: %s'; expected plummer, uniform or plummer-cut",
         text.c_str());
}

void set(ForceBench& bench, const std::string& key, const std::string& text) {
    if (key == "n")
        bench.n = whole_of(key, text, 1, 2147483647);
    else if (key == "ic")
        bench.cloud = cloud_of(text);
    else if (key == "seed")
        bench.seed = static_cast<uint64_t>(whole_of(key, text, 0, 9e15));
    else if (key == "type")
        bench.type =
            second_of(key, text, "f32", "f64") ? particles::ElementType::f64 : particles::ElementType::f32;
    else if (key == "memory")
        bench.on_device = second_of(key, text, "host", "device");
    else if (key == "potential")
        bench.potential = second_of(key, text, "false", "true");
    else if (key == "warm_up")
        bench.warm_up = static_cast<int>(whole_of(key, text, 0, 1000));
    else if (key == "repeat")
        bench.repeats = static_cast<int>(whole_of(key, text, 1, 1000));
    else if (key.starts_with("machine."))
        model::set_machine(bench.machine ? *bench.machine : bench.machine.emplace(), key.substr(8), text);
    else if (key == "targets")
        bench.targets = whole_of(key, text, 0, 1e6);
    else
        fail(Status::argument,
             "force: there is no argument '%s'; expected a deck key, or one of n, ic, seed, type, memory, "
             "potential, warm_up, repeat, targets",
             key.c_str());
}

/// The figures whose names begin with `group`, as members.
std::string members_of(const std::map<std::string, double>& figures, const std::string& group) {
    std::string text;
    for (const auto& [name, value] : figures)
        if (name.starts_with(group))
            text += core::format("%s\"%s\":%.9g", text.empty() ? "" : ",", name.substr(group.size()).c_str(),
                                 value);
    return text;
}

std::string errors_json(const std::vector<double>& errors) {
    const auto at = [&](double share) {
        const double rank = std::ceil(share * static_cast<double>(errors.size()));
        return errors[static_cast<size_t>(std::max(rank, 1.0)) - 1];
    };
    return core::format("\"error\":{\"targets\":%zu,\"median\":%.4g,\"p90\":%.4g,\"p99\":%.4g,\"max\":%.4g}",
                        errors.size(), at(0.5), at(0.9), at(0.99), errors.back());
}

std::string json_of(const ForceBench& bench, const ForceBenchResult& result) {
    const settings::Settings& s = result.computed;
    const double seconds = result.median.at("time_s.total");
    const auto figure = [&](const char* name) {
        const auto found = result.median.find(name);
        return found == result.median.end() ? 0.0 : found->second;
    };
    std::string text = core::format(
        "{\"n\":%lld,\"ic\":\"%s\",\"seed\":%llu,\"type\":\"%s\",\"memory\":\"%s\",\"backend\":\"%s\","
        "\"device\":%s,"
        "\"repeats\":%d,\"time_s\":{%s,\"best\":%.9g},\"particles_per_s\":%.6g",
        static_cast<long long>(bench.n), cloud_names[static_cast<int>(bench.cloud)],
        static_cast<unsigned long long>(bench.seed),
        bench.type == particles::ElementType::f32 ? "f32" : "f64", bench.on_device ? "device" : "host",
        result.backend.c_str(), core::json_string(result.device).c_str(), bench.repeats,
        members_of(result.median, "time_s.").c_str(), result.best_s, static_cast<double>(bench.n) / seconds);
    for (const char* kernel : {"p2p", "m2p"})
        if (const double time = figure((std::string("time_s.") + kernel).c_str()); time > 0)
            text += core::format(",\"%s_per_s\":%.6g", kernel,
                                 figure((std::string("interactions.") + kernel).c_str()) / time);
    for (const char* group : {"interactions", "tree", "bytes", "device"})
        if (const std::string members = members_of(result.median, std::string(group) + "."); !members.empty())
            text += core::format(",\"%s%s\":{%s}", group, std::string(group) == "device" ? "_counts" : "",
                                 members.c_str());
    text += core::format(",\"waits_per_evaluation\":%g,\"allocations_per_evaluation\":%g", result.waits,
                         result.allocations);
    if (!result.note.empty())
        text += ",\"note\":" + core::json_string(result.note);
    if (const model::TreeTimes& t = result.sizes.predicted; t.total_s() > 0)
        text += core::format(",\"sizes\":{\"leaf\":%d,\"group\":%d,\"block_x\":%d,\"block_y\":%d,\"by\":%s,"
                             "\"predicted_s\":{\"sort\":%.9g,"
                             "\"tree\":%.9g,\"moments\":%.9g,\"lists\":%.9g,\"forces\":%.9g,\"total\":%.9g}}",
                             result.sizes.sizes.leaf, result.sizes.sizes.group, result.sizes.sizes.block.x,
                             result.sizes.sizes.block.y, core::json_string(result.sizes.by).c_str(), t.sort_s,
                             t.tree_s, t.moments_s, t.lists_s, t.forces_s, t.total_s());
    if (const auto& [fed, t, by] = result.buffers; fed.buffer > 0)
        text += core::format(",\"feed\":{\"buffer\":%lld,\"by\":%s,\"predicted_s\":{\"append\":%.9g,"
                             "\"call\":%.9g,\"device\":%.9g,\"total\":%.9g}}",
                             static_cast<long long>(fed.buffer), core::json_string(by).c_str(), t.append_s,
                             t.call_s, t.device_s, t.total_s());
    if (!result.errors.empty())
        text +=
            core::format(",\"checked\":\"%s\",", result.checked_on_device ? "gpu fp64" : "cpu reference") +
            errors_json(result.errors);
    return text +
           core::format(",\"settings\":{\"accuracy\":%g,\"theta\":%g,\"order\":%d,\"mac\":%d,\"leaf\":%d,"
                        "\"group\":%d,\"chosen\":%s,\"precision\":%d,\"softening\":%g}}",
                        s.accuracy, s.theta, s.order, static_cast<int>(s.mac), s.leaf, s.group,
                        s.tuned ? "false" : "true", static_cast<int>(s.precision), s.softening_length);
}

} // namespace

std::string force_tool(ForceBench bench, const ToolArguments& arguments) {
    if (bench.settings.backend == settings::Backend::cuda)
        backend::require_cuda();
    backend::require_threads(bench.settings.threads);
    bench.on_device =
        bench.settings.backend != settings::Backend::cpu && backend::find_cuda(nullptr) != nullptr;
    for (const auto& [key, text] : arguments)
        set(bench, key, text);
    return json_of(bench, bench_force(bench));
}

} // namespace graft::study
