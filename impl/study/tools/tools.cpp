// SPDX-License-Identifier: BSD-3-Clause
// See tools.hpp.
#include "study/tools/tools.hpp"

#include "backend/thread_limits.hpp"
#include "core/error.hpp"
#include "study/tools/bench_tool.hpp"
#include "study/tools/model_tool.hpp"
#include "study/tools/simulate_tool.hpp"

namespace graft::study {

namespace {

struct Tool {
    const char* name;
    std::string (*run)(const ToolArguments&);
};

constexpr Tool tools[] = {{"bench", bench_tool}, {"simulate", simulate_tool}, {"model", model_tool}};

} // namespace

std::string run_tool(const std::string& name, const ToolArguments& arguments) {
    std::string known;
    for (const Tool& tool : tools) {
        if (name == tool.name) {
            backend::require_threads(0);
            return tool.run(arguments);
        }
        known += std::string(tool.name) + ", ";
    }
    core::fail(core::Status::argument, "there is no study '%s'; known: %sforce", name.c_str(), known.c_str());
}

} // namespace graft::study
