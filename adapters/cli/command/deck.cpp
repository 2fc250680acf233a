// SPDX-License-Identifier: BSD-3-Clause
// `graft deck`: explain every key, check a deck.
#include "command/arguments.hpp"
#include "command/commands.hpp"
#include "command/engine.hpp"
#include "command/json.hpp"

#include <cstdio>

namespace graft::cli {

namespace {

/// Keys one by one, then what a context says of them together; on the CPU, since the GPU may be elsewhere.
int32_t try_deck(const graft_api_v1& api, graft_options* options, const std::string& path) {
    int32_t status = api.options_read_file(options, path.c_str());
    graft_context* context = nullptr;
    if (status == GRAFT_OK)
        status = api.options_set(options, "backend", "cpu");
    if (status == GRAFT_OK)
        status = api.context_create(options, nullptr, &context);
    if (context != nullptr)
        api.context_destroy(&context);
    return status;
}

int check_deck(const Engine& engine, const std::string& path, bool json) {
    Deck deck(engine);
    const int32_t status = try_deck(engine.api(), const_cast<graft_options*>(deck.handle()), path);
    const std::string message = status == GRAFT_OK ? "" : engine.api().last_error();
    if (json) {
        std::printf("%s\n", JsonObject()
                                .add("file", path)
                                .add("ok", status == GRAFT_OK)
                                .add("status", status)
                                .add("message", message)
                                .text()
                                .c_str());
        return status == GRAFT_OK ? 0 : 1;
    }
    engine.require(status, message.rfind(path, 0) == 0 ? "" : path); // what a context says names no file
    std::printf("%s: fine\n", path.c_str());
    return 0;
}

} // namespace

int deck_command(const Words& words) {
    Arguments arguments(
        "deck", "--explain [--study] | --schema [--study] | --check FILE",
        "--explain prints every deck key with type, default, range, unit and meaning; --check reads a deck\n"
        "and tells what is wrong with it: file, line, column, key, what is allowed; --schema prints a JSON schema,\n"
        "by which editors complete keys: graft deck --schema >graft.json, and in the deck's first line\n"
        "# yaml-language-server: $schema=graft.json");
    arguments.flag("explain", "print every key")
        .flag("schema", "print the JSON schema of decks")
        .flag("study", "with the parameters of papers, study.*, which may change with any release")
        .value("check", "FILE", "check this deck")
        .epilogue("A deck is YAML; what is absent has its default, so an empty file is one too:\n"
                  "  method: tree\n"
                  "  mac: {accuracy: 0.001}    # chooses order and precision; or {type: box, theta: 0.6}\n"
                  "  softening: {kind: plummer, length: 0.03}");
    if (!arguments.parse(words)) {
        return 0;
    }
    const Engine engine(arguments.text("library").value_or(""));
    if (const auto path = arguments.text("check")) {
        return check_deck(engine, *path, arguments.json());
    }
    if (!arguments.has("explain") && !arguments.has("schema")) {
        arguments.fail("nothing to do", "--explain, --schema or --check FILE", "none of them");
    }
    const int32_t form = arguments.has("schema") ? GRAFT_EXPLAIN_SCHEMA
                         : arguments.json()      ? GRAFT_EXPLAIN_JSON
                                                 : GRAFT_EXPLAIN_TEXT;
    std::printf("%s\n", engine.explain(form, arguments.has("study")).c_str());
    return 0;
}

} // namespace graft::cli
