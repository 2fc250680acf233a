// run_tool: the library's own tools by name, arguments as (key, text) pairs, answers as JSON.
#include "entries.hpp"

#include "core/error.hpp"
#include "backend/executor.hpp"
#include "kernels/simd.hpp"

namespace graft::capi {

namespace {

std::string info(const ToolArguments&) {
    std::string names;
    for (const std::string& name : kernels::simd_names())
        names += core::format("%s\"%s\"", names.empty() ? "" : ",", name.c_str());
    return core::format("{\"simd\":\"%s\",\"simd_available\":[%s],\"threads\":%d}", kernels::simd_name(), names.c_str(),
                        backend::resolve_threads(0));
}

struct Tool {
    const char* name;
    std::string (*run)(const ToolArguments&);
};

constexpr Tool tools[] = {{"info", info}};

} // namespace

std::string run_tool(const std::string& name, const ToolArguments& arguments) {
    std::string known;
    for (const Tool& tool : tools) {
        if (name == tool.name)
            return tool.run(arguments);
        known += core::format("%s%s", known.empty() ? "" : ", ", tool.name);
    }
    core::fail(core::Status::argument, "run_tool: there is no tool '%s'; known tools: %s", name.c_str(), known.c_str());
}

} // namespace graft::capi
