// The values that a deck or a host has set: the engine's struct and the texts kept for the host.
//
// Invariant: every value held has passed its key's checks, and `constant` is the one that the units make once
// the units are complete. A failing set changes nothing.
#pragma once

#include "deck/schema.hpp"

#include <map>
#include <string>
#include <string_view>

namespace graft::plugin {

class Settings {
  public:
    Settings();

    /// Sets one key from its deck spelling. The later of `constant` and `units` counts.
    /// Throws core::Error DECK_KEY (unknown), DECK_TYPE, DECK_RANGE, DECK_FILE; the message begins with the
    /// key.
    void set(std::string_view name, std::string_view text);
    /// The value in deck spelling. Throws DECK_KEY (unknown) or ABSENT (a key without value or default).
    std::string get(std::string_view name) const;
    /// Whether a key that is kept as text was given.
    bool has(std::string_view name) const { return texts_.contains(name); }
    /// Throws DECK_KEY when some units are given but not all that the force constant needs.
    void check_units() const;
    /// Throws DECK_RANGE when cuda.buffer is given where no kernel takes buffers.
    void check_buffer() const;

    const graft_options_values& values() const { return values_; }
    /// Takes over all engine values, each checked. Throws DECK_RANGE, naming the key.
    void set_values(const graft_options_values& values);
    /// All keys that have a value, with their values: schema order, then the host's own.
    std::vector<std::pair<std::string, std::string>> all() const;

  private:
    void set_engine(const Key& key, std::string_view text);
    void check_range(const Key& key, double value, const std::string& found) const;
    double unit_size(const char* name, Type type) const;
    bool units_complete() const;
    void update_constant();

    graft_options_values values_;
    std::map<std::string, std::string, std::less<>> texts_;
};

/// Throws DECK_KEY: unknown, nearest known key, what is allowed in its section.
[[noreturn]] void fail_unknown_key(std::string_view name);

} // namespace graft::plugin
