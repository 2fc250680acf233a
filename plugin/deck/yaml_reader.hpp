// SPDX-License-Identifier: BSD-3-Clause
// YAML text to a flat list of (dotted key, text, place), without building a tree: input that is deep, huge or
// full of aliases is refused before it can cost anything.
//
// Lists become keys with numbers (sizes.0, sizes.1). A scalar may be anchored and used again by alias; an
// alias of a section or list is refused. One document per deck.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace graft::plugin {

enum class EntryKind { scalar, null, section, list };

struct Entry {
    std::string key;
    std::string text; // of a scalar
    EntryKind kind = EntryKind::scalar;
    bool in_list = false;                 // the key, or a section around it, is an item of a list
    int key_line = 0, key_column = 0;     // from 1: where the key stands
    int value_line = 0, value_column = 0; // where its value stands
};

constexpr size_t most_deck_bytes = size_t{1} << 20u;
constexpr size_t most_deck_depth = 16;
constexpr size_t most_deck_entries = 20000;
constexpr size_t longest_deck_key = 256;

/// All scalars, and the start of every section and list, in the order of the text; none for an empty
/// document. Throws core::Error DECK_SYNTAX or DECK_TYPE (the document is no section); messages begin
/// "name:line:column: ".
std::vector<Entry> read_yaml(std::string_view text, const std::string& name);

/// The text of a file, up to one byte more than a deck may have; `what` names the file in messages ("deck").
/// Throws core::Error DECK_FILE: missing, unreadable, or no regular file (a pipe would be waited for).
std::string read_text_file(const std::string& path, const char* what);

/// "a folder", "a pipe" ...: what has a name that a file should have; "" for a regular file.
const char* not_a_file(uint32_t mode) noexcept;

/// "name:line:column: "
std::string place(const std::string& name, int line, int column);

} // namespace graft::plugin
