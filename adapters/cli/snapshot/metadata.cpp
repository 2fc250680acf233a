// SPDX-License-Identifier: BSD-3-Clause
// One table of keys serves both directions, so that what is written is read back.
#include "snapshot/metadata.hpp"

#include "snapshot/error.hpp"

#include <charconv>
#include <cmath>

namespace graft::cli {

namespace {

struct NumberKey {
    const char* key;
    double& (*field)(Snapshot&);
};

struct TextKey {
    const char* key;
    std::string& (*field)(Snapshot&);
};

const NumberKey number_keys[] = {
    {"time", [](Snapshot& s) -> double& { return s.time; }},
    {"box_size", [](Snapshot& s) -> double& { return s.box_size; }},
    {"gravitational_constant", [](Snapshot& s) -> double& { return s.units.gravitational_constant; }},
    {"unit_length_m", [](Snapshot& s) -> double& { return s.units.length_m; }},
    {"unit_mass_kg", [](Snapshot& s) -> double& { return s.units.mass_kg; }},
    {"unit_time_s", [](Snapshot& s) -> double& { return s.units.time_s; }},
    {"suggested_softening", [](Snapshot& s) -> double& { return s.suggested_softening; }},
    {"suggested_time_step", [](Snapshot& s) -> double& { return s.suggested_time_step; }},
};

const TextKey text_keys[] = {
    {"unit_length", [](Snapshot& s) -> std::string& { return s.units.length; }},
    {"unit_mass", [](Snapshot& s) -> std::string& { return s.units.mass; }},
    {"unit_time", [](Snapshot& s) -> std::string& { return s.units.time; }},
};

double to_number(const std::string& text, const std::string& key, const std::string& where) {
    double value = 0.0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc{} || result.ptr != text.data() + text.size() || !std::isfinite(value)) {
        throw Error(
            {"metadata '" + key + "' is not a number", where, "a finite number", "'" + text + "'", ""});
    }
    return value;
}

} // namespace

std::string number_text(double value) {
    char buffer[40];
    const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
    return std::string(buffer, result.ptr);
}

std::vector<std::pair<std::string, std::string>> metadata_of(const Snapshot& snapshot) {
    Snapshot s; // the accessors give references to write through, so they get a copy without the particles
    s.time = snapshot.time;
    s.box_size = snapshot.box_size;
    s.units = snapshot.units;
    s.suggested_softening = snapshot.suggested_softening;
    s.suggested_time_step = snapshot.suggested_time_step;
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const NumberKey& entry : number_keys) {
        pairs.emplace_back(entry.key, number_text(entry.field(s)));
    }
    for (const TextKey& entry : text_keys) {
        pairs.emplace_back(entry.key, entry.field(s));
    }
    pairs.insert(pairs.end(), snapshot.attributes.begin(), snapshot.attributes.end());
    return pairs;
}

void set_metadata(Snapshot& s, const std::string& key, const std::string& value, const std::string& where) {
    for (const NumberKey& entry : number_keys) {
        if (key == entry.key) {
            entry.field(s) = to_number(value, key, where);
            return;
        }
    }
    for (const TextKey& entry : text_keys) {
        if (key == entry.key) {
            entry.field(s) = value;
            return;
        }
    }
    s.attributes[key] = value;
}

} // namespace graft::cli
