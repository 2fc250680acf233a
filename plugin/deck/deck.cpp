// SPDX-License-Identifier: BSD-3-Clause
// From YAML entries to checked settings, with the place of each mistake.
#include "deck/deck.hpp"

#include "deck/yaml_reader.hpp"
#include "guard.hpp"

namespace graft::plugin {

using core::Error;
using core::fail;
using core::Status;

namespace {

/// A section or list is right only where the schema (or the host's freedom) has one.
void check_container(const Entry& entry) {
    if (is_host(entry.key) && (entry.key != "host" || entry.kind == EntryKind::section))
        return;
    const Key* key = find_key(entry.key);
    if (key == nullptr && !is_section(entry.key))
        fail_unknown_key(entry.key);
    const std::string expected =
        key != nullptr ? allowed_values(*key) : "a section with keys " + allowed_in(entry.key);
    if (entry.kind == EntryKind::list)
        fail(Status::deck_type, "key '%s': a list stands here; expected %s", entry.key.c_str(),
             expected.c_str());
    if (key != nullptr)
        fail(Status::deck_type, "key '%s': a section stands here; expected %s", entry.key.c_str(),
             expected.c_str());
}

void set_null(Settings& settings, const Entry& entry) {
    if (is_section(entry.key) && !entry.key.starts_with("host."))
        return; // a section whose keys are all commented out
    if (is_host(entry.key))
        settings.set(entry.key, "");
    else if (const Key* key = find_key(entry.key))
        fail(Status::deck_type, "key '%s': no value; expected %s", entry.key.c_str(),
             allowed_values(*key).c_str());
    else
        fail_unknown_key(entry.key);
}

void apply(Settings& settings, const Entry& entry) {
    if (entry.kind == EntryKind::scalar)
        settings.set(entry.key, entry.text);
    else if (entry.kind == EntryKind::null)
        set_null(settings, entry);
    else
        check_container(entry);
}

/// `constant` and `units` say the same thing twice.
void check_exclusive(const std::vector<Entry>& entries, const std::string& name) {
    const Entry* constant = nullptr;
    const Entry* units = nullptr;
    for (const Entry& entry : entries) {
        if (entry.key == "constant")
            constant = &entry;
        if (entry.key.starts_with("units."))
            units = &entry;
        if (constant != nullptr && units != nullptr)
            throw Error(Status::deck_key,
                        place(name, entry.key_line, entry.key_column) + "key '" + entry.key +
                            "': constant and units are both given; expected one of the two, since "
                            "units make the constant");
    }
}

/// The constant of the units is checked at the end; the place shown is the first of the units.
void check_units(const Settings& settings, const std::vector<Entry>& entries, const std::string& name) {
    try {
        settings.check_units();
    } catch (const Error& error) {
        for (const Entry& entry : entries)
            if (entry.key == "units" || entry.key.starts_with("units."))
                throw Error(error.status(), place(name, entry.key_line, entry.key_column) + error.what());
        throw Error(error.status(), place(name, 1, 1) + error.what());
    }
}

} // namespace

void read_deck(Settings& settings, std::string_view text, const std::string& name) {
    const std::vector<Entry> entries = read_yaml(text, name);
    Settings changed = settings;
    check_exclusive(entries, name);
    for (const Entry& entry : entries) {
        try {
            apply(changed, entry);
        } catch (const Error& error) {
            const bool at_key = error.status() == Status::deck_key;
            throw Error(error.status(), place(name, at_key ? entry.key_line : entry.value_line,
                                              at_key ? entry.key_column : entry.value_column) +
                                            error.what());
        }
    }
    check_units(changed, entries, name);
    settings = std::move(changed);
}

void read_deck_file(Settings& settings, const std::string& path) {
    read_deck(settings, read_text_file(path, "deck"), path);
}

} // namespace graft::plugin
