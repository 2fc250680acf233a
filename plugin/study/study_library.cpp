// SPDX-License-Identifier: BSD-3-Clause
// The study library behind its one function: arguments from YAML; deck keys among those of "force" set the engine.
#include "study_library.h"

#include "deck/machine_file.hpp"
#include "deck/schema.hpp"
#include "guard.hpp"
#include "option_use.hpp"
#include "study/tools/force_tool.hpp"
#include "study/tools/tools.hpp"
#include "tool_arguments.hpp"

#include <cstring>

namespace graft::plugin {

namespace {

/// `machine: FILE` becomes the machine's values, each as machine.KEY.
ToolArguments with_machine(const ToolArguments& arguments) {
    ToolArguments all;
    for (const auto& [key, text] : arguments) {
        if (key != "machine")
            all.emplace_back(key, text);
        else
            for (auto& [name, value] : read_machine_file(text))
                all.emplace_back("machine." + name, std::move(value));
    }
    return all;
}

/// The engine that a deck's keys describe, as a context of the library would have it.
study::ForceBench bench_of(const Settings& settings) {
    settings.check_units();
    settings.check_buffer();
    const capi::Options& options = settings.values();
    study::ForceBench bench;
    bench.settings = capi::engine_settings(options);
    bench.leaf_given = options.asked.leaf != 0;
    bench.group_given = options.asked.group != 0;
    bench.sizes = options.asked.sizes;
    return bench;
}

/// Measures force evaluations: deck keys set the engine, what is left says what to measure.
std::string force(const ToolArguments& arguments) {
    Settings settings;
    ToolArguments others;
    for (const auto& [key, value] : arguments)
        if (find_key(key) != nullptr)
            settings.set(key, value);
        else
            others.emplace_back(key, value);
    study::ForceBench bench = bench_of(settings);
    if (const std::string file = machine_file_of(settings); !file.empty())
        others.emplace_back("machine", file);
    return study::force_tool(std::move(bench), with_machine(others));
}

} // namespace

} // namespace graft::plugin

int32_t graft_study_run(const char* name, const char* yaml, graft_sink sink, void* user) {
    using namespace graft;
    if (sink == nullptr)
        return GRAFT_ERROR_ARGUMENT;
    const int32_t status = capi::guard([&] {
        if (name == nullptr)
            core::fail(core::Status::argument, "name is NULL; expected a study's name");
        const plugin::ToolArguments arguments = plugin::read_tool_arguments(yaml);
        const std::string answer = std::strcmp(name, "force") == 0
                                       ? plugin::force(arguments)
                                       : study::run_tool(name, plugin::with_machine(arguments));
        sink(user, answer.data(), static_cast<int64_t>(answer.size()));
    });
    if (status != GRAFT_OK)
        sink(user, capi::last_error(), static_cast<int64_t>(std::strlen(capi::last_error())));
    return status;
}
