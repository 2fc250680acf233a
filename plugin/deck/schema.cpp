// SPDX-License-Identifier: BSD-3-Clause
// The questions asked of the table of deck keys.
#include "deck/schema.hpp"

#include "deck/quantity.hpp"

#include <algorithm>
#include <cmath>

namespace graft::plugin {

namespace {

std::string_view section_of(std::string_view name) {
    const size_t dot = name.rfind('.');
    return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
        }
    }
    return row[b.size()];
}

void append(std::string& list, std::string_view item) {
    if (!list.empty())
        list += ", ";
    list += item;
}

std::string range_text(const Range& range) {
    if (range.minimum == 0 && range.minimum_open && range.maximum == std::numeric_limits<double>::infinity())
        return " > 0";
    if (range.minimum == 0 &&
        (range.maximum == std::numeric_limits<double>::infinity() || range.maximum == largest_count))
        return " >= 0";
    if (range.minimum == -range.maximum && range.maximum == std::numeric_limits<double>::infinity())
        return ", finite";
    return std::string(" in ") + (range.minimum_open ? "(" : "[") + number_text(range.minimum) + ", " +
           number_text(range.maximum) + (range.maximum_open ? ")" : "]");
}

} // namespace

const Key* find_key(std::string_view name) {
    for (const Key& key : schema())
        if (key.name == name)
            return &key;
    return nullptr;
}

bool is_host(std::string_view name) {
    return name == "host" || name.starts_with("host.");
}

bool is_section(std::string_view name) {
    return is_host(name) || std::ranges::any_of(schema(), [name](const Key& key) {
               return section_of(key.name) == name && !name.empty();
           });
}

std::string allowed_in(std::string_view section) {
    std::string list;
    std::string_view last;
    for (const Key& key : schema()) {
        const std::string_view inside = section_of(key.name);
        if (inside == section)
            append(list, key.name);
        else if (section.empty() && inside != last && !key.for_papers())
            append(list, inside);
        last = inside;
    }
    if (section.empty())
        append(list, "host");
    return list;
}

std::string choice_words(const Key& key) {
    std::string list;
    for (const Choice& one : key.takes.list())
        append(list, one.word);
    return list;
}

std::string allowed_values(const Key& key) {
    switch (key.takes.type) {
    case Type::choice:
        return "one of: " + choice_words(key);
    case Type::integer:
        return "a whole number" + range_text(key.takes.range);
    case Type::real:
        return "a number" + range_text(key.takes.range);
    case Type::boolean:
        return "true or false";
    case Type::path:
        return "a file name";
    case Type::input_path:
        return "the name of an existing file";
    default:
        return "a unit or number*unit, of: " + unit_names(key.takes.type);
    }
}

std::string nearest(std::string_view name, const std::vector<std::string_view>& candidates) {
    const std::string_view cut = name.substr(0, 64);
    std::string_view best;
    size_t least = std::string_view::npos;
    for (std::string_view candidate : candidates) {
        const size_t distance = edit_distance(cut, candidate);
        if (distance < least) {
            least = distance;
            best = candidate;
        }
    }
    return least <= std::max(cut.size(), best.size()) / 2 ? std::string(best) : std::string();
}

std::string nearest_key(std::string_view name) {
    std::vector<std::string_view> names = {"host"};
    for (const Key& key : schema()) {
        names.push_back(key.name);
        if (const std::string_view section = section_of(key.name); !section.empty())
            names.push_back(section);
    }
    std::string found = nearest(name, names);
    if (!found.empty() || name.find('.') != std::string_view::npos)
        return found;
    for (const Key& key : schema()) // "theta" alone means mac.theta
        if (const std::string_view full = key.name;
            full.ends_with(name) && full.size() > name.size() && full[full.size() - name.size() - 1] == '.')
            return key.name;
    return found;
}

} // namespace graft::plugin
