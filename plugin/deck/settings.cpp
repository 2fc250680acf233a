// Checked setting and getting of deck keys.
#include "deck/settings.hpp"

#include "deck/machine_file.hpp"
#include "deck/quantity.hpp"
#include "deck/yaml_reader.hpp"
#include "entries.hpp"
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

/// What the number, choice or truth value of an engine field is called in a deck.
std::string field_text(const Key& key, const graft_options_values& values) {
    if (key.real != nullptr)
        return number_text(values.*key.real);
    const int32_t value = values.*key.integer;
    if (key.type == Type::boolean)
        return value != 0 ? "true" : "false";
    for (const Choice& one : key.choices)
        if (one.value == value)
            return one.word;
    return std::to_string(value);
}

int32_t choice_value(const Key& key, std::string_view text) {
    std::vector<std::string_view> words;
    for (const Choice& one : key.choices) {
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
    if (key.type == Type::input_path)
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

Settings::Settings() : values_(capi::default_options()) {}

void Settings::check_range(const Key& key, double value, const std::string& found) const {
    const Range& range = key.range;
    const bool below = range.minimum_open ? value <= range.minimum : value < range.minimum;
    const bool above = range.maximum_open ? value >= range.maximum : value > range.maximum;
    if (!(value == value) || below || above || value - value != 0)
        fail(Status::deck_range, "%s is out of range", found.c_str());
}

void Settings::set_engine(const Key& key, std::string_view text) {
    if (key.real != nullptr) {
        const double value = parse_number(text);
        check_range(key, value, printable(text));
        values_.*key.real = value;
    } else if (key.type == Type::choice) {
        values_.*key.integer = choice_value(key, text);
    } else if (key.type == Type::boolean) {
        values_.*key.integer = parse_boolean(text) ? 1 : 0;
    } else {
        const int64_t value = parse_integer(text);
        check_range(key, static_cast<double>(value), printable(text));
        values_.*key.integer = static_cast<int32_t>(value);
    }
}

/// The text as it is kept: checked, and in one spelling per value.
static std::string kept_text(const Key& key, std::string_view text) {
    switch (key.type) {
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
        parse_unit(text, key.type);
    }
    return std::string(text);
}

void Settings::set(std::string_view name, std::string_view text) {
    if (name.starts_with("host.") && name.size() > 5) {
        if (name.size() > longest_host_key)
            fail(Status::deck_key, "%s: longer than %zu characters", key_words(name).c_str(),
                 longest_host_key);
        texts_.insert_or_assign(std::string(name), std::string(text));
        return;
    }
    const Key* key = find_key(name);
    if (key == nullptr && is_section(name))
        fail(Status::deck_type, "%s: a section, not a value; keys in it: %s", key_words(name).c_str(),
             is_host(name) ? "any" : allowed_in(name).c_str());
    if (key == nullptr)
        fail_unknown_key(name);
    try {
        if (key->is_engine()) {
            set_engine(*key, text);
            if (name == "constant")
                std::erase_if(texts_, [](const auto& one) { return one.first.starts_with("units."); });
        } else {
            std::string kept = kept_text(*key, text);
            if (name == "near_field.machine")
                (void)read_machine_file(kept); // what is wrong in it is told here, at the deck's line
            if (key->type == Type::integer || key->type == Type::real)
                check_range(*key, parse_number(kept), printable(text));
            texts_.insert_or_assign(std::string(name), std::move(kept));
        }
    } catch (const Error& error) {
        throw Error(error.status(),
                    key_words(name) + ": " + error.what() + "; expected " + allowed_values(*key));
    }
    if (name == "interaction" || name.starts_with("units."))
        update_constant();
}

double Settings::unit_size(const char* name, Type type) const {
    const auto found = texts_.find(name);
    return found == texts_.end() ? 0 : parse_unit(found->second, type);
}

bool Settings::units_complete() const {
    return texts_.contains("units.length") && texts_.contains("units.mass") &&
           texts_.contains("units.time") &&
           (values_.interaction != GRAFT_INTERACTION_COULOMB || texts_.contains("units.charge"));
}

void Settings::update_constant() {
    if (!units_complete())
        return;
    const double length_m = unit_size("units.length", Type::length);
    const double mass_kg = unit_size("units.mass", Type::mass);
    const double time_s = unit_size("units.time", Type::time);
    values_.constant =
        values_.interaction == GRAFT_INTERACTION_COULOMB
            ? coulomb_constant(length_m, mass_kg, time_s, unit_size("units.charge", Type::charge))
            : gravitational_constant(length_m, mass_kg, time_s);
}

void Settings::check_units() const {
    if (units_complete()) {
        if (!(values_.constant > 0) || values_.constant - values_.constant != 0)
            fail(Status::deck_range,
                 "units: they make the constant %g, which is no finite number > 0; "
                 "choose units nearer to the system's own size",
                 values_.constant);
        return;
    }
    for (const char* any : {"units.length", "units.mass", "units.time", "units.charge"})
        if (texts_.contains(any))
            for (const char* needed : {"units.length", "units.mass", "units.time", "units.charge"})
                if (!texts_.contains(needed))
                    fail(Status::deck_key,
                         "key '%s': missing, while %s is given; the force constant needs units.length, "
                         "units.mass and "
                         "units.time (and units.charge for interaction coulomb)",
                         needed, any);
}

void Settings::check_buffer() const {
    const std::string buffer = get("cuda.buffer");
    const auto refuse = [&](const char* where, const char* expected) {
        fail(Status::deck_range,
             "key 'cuda.buffer': %s has no effect with %s '%s'; expected %s, or cuda.buffer 0",
             buffer.c_str(), where, get(where).c_str(), expected);
    };
    if (buffer == "0")
        return;
    if (values_.cuda_kernel != GRAFT_CUDA_KERNEL_PAIRS_1D &&
        values_.cuda_kernel != GRAFT_CUDA_KERNEL_TILES_2D)
        refuse("cuda.kernel", "pairs-1d or tiles-2d");
    if (values_.method != GRAFT_METHOD_TREE)
        refuse("method", "tree");
    if (values_.backend == GRAFT_BACKEND_CPU)
        refuse("backend", "auto or cuda");
}

std::string Settings::get(std::string_view name) const {
    const Key* key = find_key(name);
    if (key != nullptr && key->is_engine())
        return field_text(*key, values_);
    if (const auto found = texts_.find(name); found != texts_.end())
        return found->second;
    if (key != nullptr && key->fallback != nullptr)
        return key->fallback;
    if (key == nullptr && !is_host(name))
        fail_unknown_key(name);
    fail(Status::absent, "%s: not given, and it has no default", key_words(name).c_str());
}

void Settings::set_values(const graft_options_values& values) {
    for (const Key& key : schema()) {
        if (!key.is_engine())
            continue;
        const std::string text = field_text(key, values);
        try {
            if (key.type == Type::choice)
                choice_value(key, text);
            else if (key.type != Type::boolean)
                check_range(key, key.real != nullptr ? values.*key.real : values.*key.integer, text);
        } catch (const Error& error) {
            throw Error(error.status(),
                        key_words(key.name) + ": " + error.what() + "; expected " + allowed_values(key));
        }
    }
    if (values.constant != values_.constant || values.interaction != values_.interaction)
        std::erase_if(texts_, [](const auto& one) { return one.first.starts_with("units."); });
    values_ = values;
}

std::vector<std::pair<std::string, std::string>> Settings::all() const {
    std::vector<std::pair<std::string, std::string>> list;
    for (const Key& key : schema())
        if (key.is_engine() || key.fallback != nullptr || texts_.contains(key.name))
            list.emplace_back(key.name, get(key.name));
    for (const auto& [name, text] : texts_)
        if (is_host(name))
            list.emplace_back(name, text);
    return list;
}

} // namespace graft::plugin
