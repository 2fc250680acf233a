// SPDX-License-Identifier: BSD-3-Clause
// See machine_file.hpp.
#include "deck/machine_file.hpp"

#include "deck/schema.hpp"
#include "deck/yaml_reader.hpp"
#include "entries.hpp"
#include "guard.hpp"

#include <algorithm>
#include <cstdlib>

namespace graft::plugin {

using core::Error;
using core::fail;
using core::Status;

namespace {

/// "cpu.caches.2.bytes" -> "cpu.caches.#.bytes"
std::string without_index(std::string_view key) {
    std::string text;
    while (!key.empty()) {
        const std::string_view part = key.substr(0, key.find('.'));
        const bool index = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
        text += (text.empty() ? "" : ".") + (index ? std::string("#") : std::string(part));
        key.remove_prefix(std::min(part.size() + 1, key.size()));
    }
    return text;
}

bool is_inside(const std::string& section, const std::vector<std::string>& known) {
    return std::ranges::any_of(known, [&](const std::string& key) { return key.starts_with(section + "."); });
}

std::string allowed_near(std::string_view key, const std::vector<std::string>& known) {
    const std::string section(key.substr(0, key.find('.')));
    std::string list;
    for (const std::string& one : known)
        if (one.starts_with(section + "."))
            list += (list.empty() ? "" : ", ") + one;
    return list.empty() ? "name, cpu: ..., gpu: ..., link: ..." : list;
}

[[noreturn]] void fail_unknown(const std::string& key, const std::vector<std::string>& known) {
    const std::vector<std::string_view> names(known.begin(), known.end());
    std::string near = nearest(without_index(key), names);
    for (const std::string& one : known) // "launch_s" alone means gpu.launch_s
        if (near.empty() && key.find('.') == key.npos && one.ends_with("." + key))
            near = one;
    fail(Status::deck_key, "key '%s': no such key of a machine file;%s allowed: %s", key.c_str(),
         near.empty() ? "" : (" did you mean '" + near + "'?").c_str(), allowed_near(key, known).c_str());
}

void check(const Entry& entry, const std::vector<std::string>& known) {
    const std::string name = without_index(entry.key);
    const bool is_key = std::ranges::find(known, name) != known.end();
    if (!is_key && !is_inside(name, known))
        fail_unknown(entry.key, known);
    if (entry.kind == EntryKind::scalar && is_key) {
        try {
            capi::check_machine_key(entry.key, entry.text);
        } catch (const Error& error) {
            throw Error(error.status(), "key '" + entry.key + "'" + (error.what() + entry.key.size()));
        }
    } else if (is_key) {
        fail(Status::deck_type, "key '%s': expected a value, found %s", entry.key.c_str(),
             entry.kind == EntryKind::null ? "none"
                                           : (entry.kind == EntryKind::list ? "a list" : "a section"));
    } else if (entry.kind == EntryKind::scalar) {
        fail(Status::deck_type, "key '%s': a value stands here; expected a section with keys %s",
             entry.key.c_str(), allowed_near(entry.key + ".", known).c_str());
    }
}

} // namespace

std::vector<std::pair<std::string, std::string>> read_machine(std::string_view text,
                                                              const std::string& name) {
    const std::vector<std::string> known = capi::machine_key_names();
    std::vector<std::pair<std::string, std::string>> values;
    for (Entry& entry : read_yaml(text, name)) {
        try {
            check(entry, known);
        } catch (const Error& error) {
            const bool at_key = error.status() == Status::deck_key;
            throw Error(error.status(), place(name, at_key ? entry.key_line : entry.value_line,
                                              at_key ? entry.key_column : entry.value_column) +
                                            error.what());
        }
        if (entry.kind == EntryKind::scalar)
            values.emplace_back(std::move(entry.key), std::move(entry.text));
    }
    return values;
}

std::vector<std::pair<std::string, std::string>> read_machine_file(const std::string& path) {
    return read_machine(read_text_file(path, "machine file"), path);
}

std::string machine_file_of(const Settings& settings) {
    const char* const everywhere = std::getenv("GRAFT_MACHINE");
    if (settings.has("near_field.machine"))
        return settings.get("near_field.machine");
    return everywhere != nullptr ? everywhere : "";
}

} // namespace graft::plugin
