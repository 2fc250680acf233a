// SPDX-License-Identifier: BSD-3-Clause
// Checked setting and getting of deck keys.
#include "deck/deck_values.hpp"

#include "deck/machine_file.hpp"
#include "deck/quantity.hpp"
#include "deck/yaml_reader.hpp"
#include "guard.hpp"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>

namespace graft::plugin {

using core::Error;
using core::fail;
using core::Status;

namespace {

constexpr size_t longest_host_key = 256;

std::string key_words(std::string_view name) {
    return "key '" + printable(name) + "'";
}

/// What the number, choice or truth value of a field is called in a deck.
std::string field_text(const Key& key, const capi::Options& values) {
    const double value = key.get(values);
    if (key.takes.type == Type::boolean)
        return value != 0 ? "true" : "false";
    for (const Choice& one : key.takes.list())
        if (one.value == value)
            return one.word;
    return key.takes.type == Type::integer ? std::to_string(static_cast<int64_t>(value)) : number_text(value);
}

int32_t choice_value(const Key& key, std::string_view text) {
    std::vector<std::string_view> words;
    for (const Choice& one : key.takes.list()) {
        if (text == one.word)
            return one.value;
        words.push_back(one.word);
    }
    const std::string near = nearest(text, words);
    fail(Status::deck_range, "'%s' is no value of it%s%s", printable(text).c_str(),
         near.empty() ? "" : "; nearest: ", near.c_str());
}

void check_input_path(std::string_view text) {
    const std::string path(text);
    struct stat status {};
    if (stat(path.c_str(), &status) != 0)
        fail(Status::deck_file,
             "file '%s' cannot be found (%s); the path is relative to the folder the program runs in",
             printable(text).c_str(), std::strerror(errno));
    if (const char* kind = not_a_file(status.st_mode); *kind != '\0')
        fail(Status::deck_file, "'%s' is %s", printable(text).c_str(), kind);
}

void check_path(const Key& key, std::string_view text) {
    if (text.empty() || text.find('\0') != std::string_view::npos)
        fail(Status::deck_type, "'%s' is no file name", printable(text).c_str());
    if (key.takes.type == Type::input_path)
        check_input_path(text);
}

} // namespace

void fail_unknown_key(std::string_view name) {
    const std::string near = nearest_key(name);
    std::string_view section = name;
    while (!section.empty() && !is_section(section)) {
        const size_t dot = section.rfind('.');
        section = dot == std::string_view::npos ? std::string_view() : section.substr(0, dot);
    }
    fail(Status::deck_key, "%s: unknown%s%s; allowed here: %s", key_words(name).c_str(),
         near.empty() ? "" : "; nearest known key: ", near.c_str(), allowed_in(section).c_str());
}

static void check_range(const Key& key, double value, const std::string& found) {
    const Range& range = key.takes.range;
    const bool below = range.minimum_open ? value <= range.minimum : value < range.minimum;
    const bool above = range.maximum_open ? value >= range.maximum : value > range.maximum;
    if (!(value == value) || below || above || value - value != 0)
        fail(Status::deck_range, "%s is out of range", found.c_str());
}

/// The number, choice or truth value of a field by its spelling in a deck.
static double field_value(const Key& key, std::string_view text) {
    if (key.takes.type == Type::choice)
        return choice_value(key, text);
    if (key.takes.type == Type::boolean)
        return parse_boolean(text) ? 1 : 0;
    const double value =
        key.takes.type == Type::integer ? static_cast<double>(parse_integer(text)) : parse_number(text);
    check_range(key, value, printable(text));
    return value;
}

/// The text as it is kept: checked, and in one spelling per value.
static std::string kept_text(const Key& key, std::string_view text) {
    switch (key.takes.type) {
    case Type::boolean:
        return parse_boolean(text) ? "true" : "false";
    case Type::integer:
        return std::to_string(parse_integer(text));
    case Type::real:
        return number_text(parse_number(text));
    case Type::choice:
        choice_value(key, text);
        break;
    case Type::path:
    case Type::input_path:
        check_path(key, text);
        break;
    default:
        parse_unit(text, key.takes.type);
    }
    return std::string(text);
}

/// Keys that are kept as text, not as a field.
void Settings::set_text(std::string_view name, const Key& key, std::string_view text) {
    std::string kept = kept_text(key, text);
    if (name == "near_field.machine")
        (void)read_machine_file(kept); // what is wrong in it is told here, at the deck's line
    if (key.takes.type == Type::integer || key.takes.type == Type::real)
        check_range(key, parse_number(kept), printable(text));
    values_.texts.insert_or_assign(std::string(name), std::move(kept));
}

/// The key of that name; throws for others and for sections.
static const Key& known_key(std::string_view name) {
    const Key* key = find_key(name);
    if (key == nullptr && is_section(name))
        fail(Status::deck_type, "%s: a section, not a value; keys in it: %s", key_words(name).c_str(),
             is_host(name) ? "any" : allowed_in(name).c_str());
    if (key == nullptr)
        fail_unknown_key(name);
    return *key;
}

void Settings::set(std::string_view name, std::string_view text) {
    if (name.starts_with("host.") && name.size() > 5) {
        if (name.size() > longest_host_key)
            fail(Status::deck_key, "%s: longer than %zu characters", key_words(name).c_str(),
                 longest_host_key);
        values_.texts.insert_or_assign(std::string(name), std::string(text));
        return;
    }
    const Key& key = known_key(name);
    try {
        if (key.has_field())
            key.set(values_, field_value(key, text));
        else
            set_text(name, key, text);
    } catch (const Error& error) {
        throw Error(error.status(),
                    key_words(name) + ": " + error.what() + "; expected " + allowed_values(key));
    }
    if (name == "constant")
        std::erase_if(values_.texts, [](const auto& one) { return one.first.starts_with("units."); });
    if (name == "interaction" || name.starts_with("units."))
        update_constant();
}

static bool takes_numbers(Type type) {
    return type == Type::integer || type == Type::real || type == Type::boolean;
}

void Settings::set_number(std::string_view name, double value) {
    if (is_host(name))
        return set(name, number_text(value));
    const Key& key = known_key(name);
    if (!takes_numbers(key.takes.type))
        fail(Status::deck_type, "%s: it takes no number (found %s); expected %s", key_words(name).c_str(),
             number_text(value).c_str(), allowed_values(key).c_str());
    if (key.takes.type != Type::boolean)
        return set(name, number_text(value));
    if (value != 0 && value != 1)
        fail(Status::deck_range, "%s: %s is out of range; expected 0 or 1, for false and true",
             key_words(name).c_str(), number_text(value).c_str());
    set(name, value != 0 ? "true" : "false");
}

double Settings::get_number(std::string_view name) const {
    const Key* key = find_key(name);
    const std::string text = get(name);
    if (key != nullptr && key->takes.type == Type::boolean)
        return text == "true" ? 1 : 0;
    if (key != nullptr && !takes_numbers(key->takes.type))
        fail(Status::deck_type, "%s: its value, '%s', is no number; ask for the text",
             key_words(name).c_str(), printable(text).c_str());
    if (key != nullptr && key->has_field())
        return key->get(values_);
    try {
        return parse_number(text);
    } catch (const Error& error) { // a host's own text
        throw Error(Status::deck_type, key_words(name) + ": " + error.what() + "; ask for the text");
    }
}

double Settings::unit_size(const char* name, Type type) const {
    const auto found = values_.texts.find(name);
    return found == values_.texts.end() ? 0 : parse_unit(found->second, type);
}

bool Settings::units_complete() const {
    return values_.texts.contains("units.length") && values_.texts.contains("units.mass") &&
           values_.texts.contains("units.time") &&
           (values_.engine.interaction != settings::Interaction::coulomb ||
            values_.texts.contains("units.charge"));
}

void Settings::update_constant() {
    if (!units_complete())
        return;
    const double length_m = unit_size("units.length", Type::length);
    const double mass_kg = unit_size("units.mass", Type::mass);
    const double time_s = unit_size("units.time", Type::time);
    values_.engine.constant =
        values_.engine.interaction == settings::Interaction::coulomb
            ? coulomb_constant(length_m, mass_kg, time_s, unit_size("units.charge", Type::charge))
            : gravitational_constant(length_m, mass_kg, time_s);
}

void Settings::check_units() const {
    if (units_complete()) {
        if (!(values_.engine.constant > 0) || values_.engine.constant - values_.engine.constant != 0)
            fail(Status::deck_range,
                 "units: they make the constant %g, which is no finite number > 0; "
                 "choose units nearer to the system's own size",
                 values_.engine.constant);
        return;
    }
    for (const char* any : {"units.length", "units.mass", "units.time", "units.charge"})
        if (values_.texts.contains(any))
            for (const char* needed : {"units.length", "units.mass", "units.time", "units.charge"})
                if (!values_.texts.contains(needed))
                    fail(Status::deck_key,
                         "key '%s': missing, while %s is given; the force constant needs units.length, "
                         "units.mass and "
                         "units.time (and units.charge for interaction coulomb)",
                         needed, any);
}

void Settings::check_buffer() const {
    const auto refuse = [&](const char* where, const char* expected) {
        fail(Status::deck_range,
             "key 'study.buffer': %s has no effect with %s '%s'; expected %s, or study.buffer 0",
             get("study.buffer").c_str(), where, get(where).c_str(), expected);
    };
    if (values_.engine.device.buffer == 0)
        return;
    if (const std::string kernel = get("study.kernel"); kernel != "pairs-1d" && kernel != "tiles-2d")
        refuse("study.kernel", "pairs-1d or tiles-2d");
    if (values_.engine.method != settings::Method::tree)
        refuse("method", "tree");
    if (values_.asked.backend == settings::Backend::cpu)
        refuse("backend", "auto or gpu");
}

std::string Settings::get(std::string_view name) const {
    const Key* key = find_key(name);
    if (key != nullptr && key->has_field())
        return field_text(*key, values_);
    if (const auto found = values_.texts.find(name); found != values_.texts.end())
        return found->second;
    if (key != nullptr && key->fallback != nullptr)
        return key->fallback;
    if (key == nullptr && !is_host(name))
        fail_unknown_key(name);
    fail(Status::absent, "%s: not given, and it has no default", key_words(name).c_str());
}

std::vector<std::pair<std::string, std::string>> Settings::all() const {
    std::vector<std::pair<std::string, std::string>> list;
    const capi::Options standard;
    for (const Key& key : schema())
        if (key.has_field() ? !key.for_papers() || key.get(values_) != key.get(standard)
                            : key.fallback != nullptr || values_.texts.contains(key.name))
            list.emplace_back(key.name, get(key.name));
    for (const auto& [name, text] : values_.texts)
        if (is_host(name))
            list.emplace_back(name, text);
    return list;
}

} // namespace graft::plugin
