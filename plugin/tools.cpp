// SPDX-License-Identifier: BSD-3-Clause
// run_tool: arguments from YAML, answers as JSON. The tool "deck" lives here, with the schema; "info" is capi's. What
// measures is not in libgraft but in the study library (study/study_library.cpp).
#include "options.hpp"

#include "deck/deck.hpp"
#include "entries.hpp"
#include "guard.hpp"
#include "json_string.hpp"
#include "tool_arguments.hpp"

#include <cstring>

namespace graft::plugin {

using capi::json_string;
using core::fail;
using core::Status;

namespace {

/// Checks a deck (`file: path`, or `text: the deck`) and answers with every value that it leads to.
std::string deck_tool(const ToolArguments& arguments) {
    if (arguments.size() != 1 || (arguments[0].first != "file" && arguments[0].first != "text"))
        fail(Status::argument, "tool deck: expected one argument, file or text");
    Settings settings;
    const bool is_file = arguments[0].first == "file";
    if (is_file)
        read_deck_file(settings, arguments[0].second);
    else
        read_deck(settings, arguments[0].second, "deck");
    std::string json =
        "{\"deck\": " + json_string(is_file ? arguments[0].second : "deck") + ", \"values\": {";
    bool first = true;
    for (const auto& [key, value] : settings.all()) {
        json += (first ? "\n  " : ",\n  ") + json_string(key) + ": " + json_string(value);
        first = false;
    }
    return json + "\n}}\n";
}

} // namespace

int32_t run_tool(const char* name, const char* yaml, graft_sink sink, void* user) noexcept {
    return capi::guard([&] {
        capi::require(name != nullptr, "name", "a tool's name");
        capi::require(sink != nullptr, "sink", "a function that takes the answer");
        const ToolArguments arguments = read_tool_arguments(yaml);
        std::string answer;
        if (std::strcmp(name, "deck") == 0)
            answer = deck_tool(arguments);
        else if (std::strcmp(name, "info") == 0)
            answer = capi::info_json();
        else
            fail(Status::argument,
                 "run_tool: there is no tool '%s'; known tools: info, deck. What measures (bench, force, model, simulate) is in "
                 "the study library, which the graft command opens: graft bench, graft model, graft simulate",
                 name);
        sink(user, answer.data(), static_cast<int64_t>(answer.size()));
    });
}

} // namespace graft::plugin
