// run_tool: arguments from YAML, answers as JSON. The tool "deck" lives here, with the schema, and the deck
// keys among the arguments of "force" are read here; the others are capi's.
#include "options.hpp"

#include "deck/deck.hpp"
#include "deck/machine_file.hpp"
#include "deck/schema.hpp"
#include "deck/yaml_reader.hpp"
#include "entries.hpp"
#include "force_tool.hpp"
#include "guard.hpp"
#include "json_string.hpp"

#include <cstring>

namespace graft::plugin {

using capi::json_string;
using core::fail;
using core::Status;

namespace {

capi::ToolArguments read_arguments(const char* yaml) {
    capi::ToolArguments arguments;
    for (Entry& entry : read_yaml(yaml != nullptr ? yaml : "", "arguments"))
        if (entry.kind == EntryKind::scalar || entry.kind == EntryKind::null) // "key:" is an empty text
            arguments.emplace_back(std::move(entry.key), std::move(entry.text));
    return arguments;
}

/// Checks a deck (`file: path`, or `text: the deck`) and answers with every value that it leads to.
std::string deck_tool(const capi::ToolArguments& arguments) {
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

/// `machine: FILE` of the tools "model", "bench" and "force" becomes the machine's values, each as
/// machine.KEY.
capi::ToolArguments with_machine(const capi::ToolArguments& arguments) {
    capi::ToolArguments all;
    for (const auto& [key, text] : arguments) {
        if (key != "machine")
            all.emplace_back(key, text);
        else
            for (auto& [name, value] : read_machine_file(text))
                all.emplace_back("machine." + name, std::move(value));
    }
    return all;
}

/// Measures force evaluations: deck keys set the engine, what is left says what to measure.
std::string force_tool(const capi::ToolArguments& arguments) {
    Settings settings;
    capi::ToolArguments others;
    for (const auto& [key, value] : arguments)
        if (find_key(key) != nullptr)
            settings.set(key, value);
        else
            others.emplace_back(key, value);
    settings.check_units();
    settings.check_buffer();
    if (const std::string file = machine_file_of(settings); !file.empty())
        others.emplace_back("machine", file);
    return capi::force_tool(settings.values(), with_machine(others));
}

/// The list of known tools in capi's message lacks the one that lives here.
std::string engine_tool(const std::string& name, capi::ToolArguments arguments) {
    if (name == "model" || name == "bench")
        arguments = with_machine(arguments);
    try {
        return capi::run_tool(name, arguments);
    } catch (const core::Error& error) {
        if (std::string_view(error.what()).starts_with("run_tool: there is no tool"))
            throw core::Error(error.status(), std::string(error.what()) + ", deck, force");
        throw;
    }
}

} // namespace

int32_t run_tool(const char* name, const char* yaml, graft_sink sink, void* user) noexcept {
    return capi::guard([&] {
        if (name == nullptr || sink == nullptr)
            fail(Status::argument, "%s is NULL; expected %s", name == nullptr ? "name" : "sink",
                 name == nullptr ? "a tool's name" : "a function that takes the answer");
        const capi::ToolArguments arguments = read_arguments(yaml);
        const std::string answer = std::strcmp(name, "deck") == 0    ? deck_tool(arguments)
                                   : std::strcmp(name, "force") == 0 ? force_tool(arguments)
                                                                     : engine_tool(name, arguments);
        sink(user, answer.data(), static_cast<int64_t>(answer.size()));
    });
}

} // namespace graft::plugin
