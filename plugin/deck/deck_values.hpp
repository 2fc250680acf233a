// SPDX-License-Identifier: BSD-3-Clause
// The values that a deck or a host has set: the fields of options and the texts kept for the host.
//
// Invariant: every value held has passed its key's checks, and `constant` is the one that the units make once
// the units are complete. A failing set changes nothing.
#pragma once

#include "deck/schema.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graft::plugin {

class Settings {
  public:
    Settings() = default;
    explicit Settings(capi::Options values) : values_(std::move(values)) {}

    /// Sets one key from its deck spelling. The later of `constant` and `units` counts.
    /// Throws core::Error DECK_KEY (unknown), DECK_TYPE, DECK_RANGE, DECK_FILE; the message begins with the
    /// key.
    void set(std::string_view name, std::string_view text);
    /// The same with a number, for keys that take one; 0 and 1 are false and true. DECK_TYPE for the others.
    void set_number(std::string_view name, double value);
    /// The value in deck spelling. Throws DECK_KEY (unknown) or ABSENT (a key without value or default).
    std::string get(std::string_view name) const;
    /// The value of a key that is a number (of a truth value: 0 or 1). As get(), and DECK_TYPE for the others.
    double get_number(std::string_view name) const;
    /// Whether a key that is kept as text was given.
    bool has(std::string_view name) const { return values_.texts.contains(name); }
    /// Throws DECK_KEY when some units are given but not all that the force constant needs.
    void check_units() const;
    /// Throws DECK_RANGE when study.buffer is given where no kernel takes buffers.
    void check_buffer() const;

    const capi::Options& values() const { return values_; }
    /// All keys that have a value, with their values: schema order (of the studies those that are not at their default), then
    /// the host's own.
    std::vector<std::pair<std::string, std::string>> all() const;

  private:
    void set_text(std::string_view name, const Key& key, std::string_view text);
    double unit_size(const char* name, Type type) const;
    bool units_complete() const;
    void update_constant();

    capi::Options values_;
};

/// Throws DECK_KEY: unknown, nearest known key, what is allowed in its section.
[[noreturn]] void fail_unknown_key(std::string_view name);

} // namespace graft::plugin
