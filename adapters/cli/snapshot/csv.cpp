// SPDX-License-Identifier: BSD-3-Clause
// CSV reader and writer. Memory grows with the text read, never with a number found in it.
#include "snapshot/csv.hpp"

#include "snapshot/error.hpp"
#include "snapshot/metadata.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace graft::cli {

namespace {

enum class Column { X, Y, Z, Vx, Vy, Vz, Mass, Softening, Id, ComponentCode, Name };

const struct {
    const char* name;
    Column column;
} known_columns[] = {
    {"x", Column::X},       {"y", Column::Y},    {"z", Column::Z},
    {"vx", Column::Vx},     {"vy", Column::Vy},  {"vz", Column::Vz},
    {"mass", Column::Mass}, {"id", Column::Id},  {"softening", Column::Softening},
    {"name", Column::Name}, {"m", Column::Mass}, {"component", Column::ComponentCode},
};

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Hands out lines and counts them.
class Lines {
  public:
    /// Spreadsheets put the byte-order mark of UTF-8 before the first line.
    explicit Lines(std::string_view text) : rest_(text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text) {}

    bool next(std::string_view& line) {
        if (rest_.empty()) {
            return false;
        }
        const auto end = rest_.find('\n');
        line = trim(rest_.substr(0, end));
        rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
        ++number_;
        return true;
    }
    std::size_t number() const noexcept { return number_; }

  private:
    std::string_view rest_;
    std::size_t number_ = 0;
};

std::string at_line(const std::string& where, std::size_t line) {
    return where + ":" + std::to_string(line);
}

std::vector<Column> parse_header(std::string_view line, const std::string& where) {
    std::vector<Column> columns;
    std::set<Column> seen;
    for (const std::string& field : split_csv_line(line)) {
        const auto* match = std::find_if(std::begin(known_columns), std::end(known_columns),
                                         [&field](const auto& known) { return field == known.name; });
        if (match == std::end(known_columns)) {
            throw Error({"unknown column", where, "x, y, z, vx, vy, vz, mass, softening, id, component, name",
                         "'" + field.substr(0, 40) + "'", "rename or remove that column"});
        }
        if (!seen.insert(match->column).second) {
            throw Error({"column '" + field + "' appears twice", where, "", "", "remove one of them"});
        }
        columns.push_back(match->column);
    }
    for (const Column needed : {Column::X, Column::Y, Column::Z}) {
        if (seen.count(needed) == 0) {
            throw Error({"no position columns", where, "a header line with x, y and z",
                         "'" + std::string(line.substr(0, 60)) + "'", "add the header line"});
        }
    }
    return columns;
}

std::int32_t parse_component(const std::string& field, const std::string& where) {
    for (std::int32_t code = 0; code < component_count; ++code) {
        if (field == component_name(code) || field == std::to_string(code)) {
            return code;
        }
    }
    throw Error({"unknown component", where, "0 to 5, or gas, halo, disc, bulge, star, boundary",
                 "'" + field.substr(0, 40) + "'", ""});
}

std::int64_t parse_id(const std::string& field, const std::string& where) {
    std::int64_t value = 0;
    const auto result = std::from_chars(field.data(), field.data() + field.size(), value);
    if (result.ec != std::errc{} || result.ptr != field.data() + field.size()) {
        throw Error(
            {"id is not a whole number", where, "-2^63 to 2^63-1", "'" + field.substr(0, 40) + "'", ""});
    }
    return value;
}

std::vector<double>& number_array(Snapshot& s, Column column) {
    switch (column) {
    case Column::X:
        return s.x;
    case Column::Y:
        return s.y;
    case Column::Z:
        return s.z;
    case Column::Vx:
        return s.vx;
    case Column::Vy:
        return s.vy;
    case Column::Vz:
        return s.vz;
    case Column::Softening:
        return s.softening;
    default:
        return s.mass;
    }
}

void store_field(Snapshot& s, std::size_t row, Column column, const std::string& field,
                 const std::string& where, std::size_t line) {
    switch (column) {
    case Column::Id:
        s.id[row] = parse_id(field, at_line(where, line));
        break;
    case Column::ComponentCode:
        s.component[row] = parse_component(field, at_line(where, line));
        break;
    case Column::Name:
        s.names[row] = field;
        break;
    default:
        number_array(s, column)[row] = parse_csv_number(field, where, line, "");
    }
}

void parse_row(Snapshot& s, std::string_view text, const std::vector<Column>& columns,
               const std::string& where, std::size_t line) {
    const std::vector<std::string> fields = split_csv_line(text);
    if (fields.size() != columns.size()) {
        throw Error({"wrong number of fields", at_line(where, line), std::to_string(columns.size()),
                     std::to_string(fields.size()), "compare the line with the header"});
    }
    const std::size_t row = s.append(Component::Halo, 0.0);
    for (std::size_t k = 0; k < fields.size(); ++k) {
        store_field(s, row, columns[k], fields[k], where, line);
    }
}

// "# key = value"; other comments are free text.
void parse_comment(Snapshot& s, std::string_view line, const std::string& where) {
    const std::string_view text = trim(line.substr(1));
    const auto equals = text.find(" = ");
    if (equals != std::string_view::npos) {
        set_metadata(s, std::string(trim(text.substr(0, equals))), std::string(trim(text.substr(equals + 3))),
                     where);
    }
}

constexpr std::string_view before_count = "# graft snapshot of ", behind_count = " particles";

/// How many particles the first line of a file of ours says that there are; 0: it says nothing.
std::size_t announced(std::string_view text) {
    const std::string_view line = trim(text.substr(0, text.find('\n')));
    std::size_t count = 0;
    if (line.starts_with(before_count) && line.ends_with(behind_count)) {
        std::from_chars(line.data() + before_count.size(), line.data() + line.size(), count);
    }
    return count;
}

/// A file that was cut short: rows are missing, or the end of the last one.
void require_whole(std::string_view text, std::size_t found, const std::string& where) {
    const std::size_t expected = announced(text);
    if (found < expected || (found == expected && expected > 0 && !text.ends_with('\n'))) {
        throw Error({"the file is cut short", where, std::to_string(expected) + " particles, by its first line",
                     found < expected ? std::to_string(found) : "a last line that has no end",
                     "write it again; if you took lines out, change the number in the first line or remove that line"});
    }
}

bool next_header(Lines& lines, std::string_view& line, Snapshot* metadata, const std::string& where) {
    while (lines.next(line)) {
        if (line.empty()) {
            continue;
        }
        if (line.front() != '#') {
            return true;
        }
        if (metadata != nullptr) {
            parse_comment(*metadata, line, at_line(where, lines.number()));
        }
    }
    return false;
}

void append_name(std::string& text, const std::string& name) {
    text += '"';
    for (const char c : name) {
        if (c == '"') {
            text += '"';
        }
        text += c == '\n' || c == '\r' ? ' ' : c;
    }
    text += '"';
}

void append_row(std::string& text, const Snapshot& s, std::size_t i) {
    text += std::to_string(s.id[i]);
    text += ',';
    text += component_name(s.component[i]);
    for (const auto* field : {&s.mass, &s.x, &s.y, &s.z, &s.vx, &s.vy, &s.vz, &s.softening}) {
        if (!field->empty()) {
            text += ',';
            text += number_text((*field)[i]);
        }
    }
    if (!s.names.empty()) {
        text += ',';
        append_name(text, s.names[i]);
    }
    text += '\n';
}

} // namespace

std::vector<std::string> split_csv_line(std::string_view line) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (std::size_t k = 0; k < line.size(); ++k) {
        const char c = line[k];
        if (c == '"' && quoted && k + 1 < line.size() && line[k + 1] == '"') {
            fields.back() += '"';
            ++k;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            fields.emplace_back();
        } else {
            fields.back() += c;
        }
    }
    for (std::string& field : fields) {
        field = std::string(trim(field));
    }
    return fields;
}

double parse_csv_number(std::string_view field, const std::string& where, std::size_t line,
                        std::string_view column) {
    std::string_view digits = field;
    if (digits.size() > 1 && digits.front() == '+' && digits[1] != '-') {
        digits.remove_prefix(1);
    }
    double value = 0.0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || result.ec != std::errc{} || result.ptr != digits.data() + digits.size() ||
        !std::isfinite(value)) {
        const std::string name = column.empty() ? "field" : "column '" + std::string(column) + "'";
        throw Error({name + " is not a number", at_line(where, line), "a finite number",
                     "'" + std::string(field.substr(0, 40)) + "'", ""});
    }
    return value;
}

bool looks_like_csv(std::string_view text) noexcept {
    try {
        Lines lines(text);
        std::string_view line;
        return next_header(lines, line, nullptr, "") && !parse_header(line, "").empty();
    } catch (const std::exception&) {
        return false;
    }
}

Snapshot read_csv(std::string_view text, const std::string& where) {
    Snapshot s;
    Lines lines(text);
    std::string_view line;
    if (!next_header(lines, line, &s, where)) {
        throw Error({"no header line", where, "a line with x, y, z and other columns", "nothing", ""});
    }
    const std::vector<Column> columns = parse_header(line, at_line(where, lines.number()));
    const auto has = [&columns](Column c) {
        return std::find(columns.begin(), columns.end(), c) != columns.end();
    };
    const bool with_softening = has(Column::Softening);
    const bool with_names = has(Column::Name);
    while (lines.next(line)) {
        if (line.empty() || line.front() == '#') {
            continue;
        }
        if (with_softening) {
            s.softening.resize(s.size() + 1);
        }
        if (with_names) {
            s.names.resize(s.size() + 1);
        }
        parse_row(s, line, columns, where, lines.number());
    }
    require_whole(text, s.size(), where);
    return s;
}

std::string encode_csv(const Snapshot& s) {
    std::string text = std::string(before_count).append(std::to_string(s.size())).append(behind_count).append("\n");
    for (const auto& [key, value] : metadata_of(s)) {
        std::string line = "# ";
        line.append(key).append(" = ").append(value);
        std::replace(line.begin(), line.end(), '\n', ' ');
        text += line + "\n";
    }
    text += "id,component,mass,x,y,z,vx,vy,vz";
    text += s.softening.empty() ? "" : ",softening";
    text += s.names.empty() ? "\n" : ",name\n";
    for (std::size_t i = 0; i < s.size(); ++i) {
        append_row(text, s, i);
    }
    return text;
}

} // namespace graft::cli
