// SPDX-License-Identifier: BSD-3-Clause
// Tipsy reader and writer. All sizes are checked against the length of the input before anything is
// allocated.
#include "snapshot/tipsy.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>

namespace graft::cli {

namespace {

constexpr std::size_t padded_header_bytes = 32;
constexpr std::size_t bare_header_bytes = 28;
constexpr std::uint64_t gas_bytes = 12 * 4;
constexpr std::uint64_t dark_bytes = 9 * 4;
constexpr std::uint64_t star_bytes = 11 * 4;

struct Header {
    double time = 0.0;
    std::int32_t total = 0, dimensions = 0, gas = 0, dark = 0, star = 0;
    ByteOrder order = ByteOrder::Little;

    bool plausible() const noexcept {
        const std::int64_t sum = std::int64_t{gas} + dark + star;
        return dimensions == 3 && gas >= 0 && dark >= 0 && star >= 0 && sum == total;
    }
    std::uint64_t body_bytes() const noexcept {
        return static_cast<std::uint64_t>(gas) * gas_bytes + static_cast<std::uint64_t>(dark) * dark_bytes +
               static_cast<std::uint64_t>(star) * star_bytes;
    }
};

Header load_header(Bytes bytes, ByteOrder order) {
    Cursor cursor(bytes, order, "tipsy header");
    Header header;
    header.order = order;
    header.time = cursor.next<double>();
    header.total = cursor.next<std::int32_t>();
    header.dimensions = cursor.next<std::int32_t>();
    header.gas = cursor.next<std::int32_t>();
    header.dark = cursor.next<std::int32_t>();
    header.star = cursor.next<std::int32_t>();
    return header;
}

std::optional<Header> find_header(Bytes bytes) {
    if (bytes.size() < bare_header_bytes) {
        return std::nullopt;
    }
    for (const ByteOrder order : {ByteOrder::Little, ByteOrder::Big}) {
        const Header header = load_header(bytes, order);
        if (header.plausible()) {
            return header;
        }
    }
    return std::nullopt;
}

std::size_t header_length(const Header& header, Bytes bytes, const std::string& where) {
    if (bytes.size() == padded_header_bytes + header.body_bytes()) {
        return padded_header_bytes;
    }
    // Without padding the first mass stands in its place; zeros there are the padding of a file that lost 4
    // bytes.
    if (bytes.size() == bare_header_bytes + header.body_bytes() &&
        (header.total == 0 ||
         load_number<std::int32_t>(bytes.data() + bare_header_bytes, header.order) != 0)) {
        return bare_header_bytes;
    }
    const bool is_short = bytes.size() < padded_header_bytes + header.body_bytes();
    throw Error({is_short ? "truncated tipsy file" : "tipsy file is longer than its header says", where,
                 std::to_string(padded_header_bytes + header.body_bytes()) + " bytes for " +
                     std::to_string(header.gas) + " gas, " + std::to_string(header.dark) + " dark and " +
                     std::to_string(header.star) + " star particles",
                 std::to_string(bytes.size()) + " bytes", "make or fetch the file again"});
}

// Reads the seven numbers that every record begins with.
void read_common(Cursor& cursor, Snapshot& s, std::size_t i) {
    for (auto* field : {&s.mass, &s.x, &s.y, &s.z, &s.vx, &s.vy, &s.vz}) {
        (*field)[i] = static_cast<double>(cursor.next<float>());
    }
}

using Names = std::initializer_list<const char*>;

/// Fields that a snapshot has no place for: read past, and named where a particle has another number than 0.
void read_past(Cursor& cursor, const Names& names, std::set<std::string>& seen) {
    for (const char* name : names) {
        if (cursor.next<float>() != 0.0F) {
            seen.insert(name);
        }
    }
}

void read_records(Cursor& cursor, Snapshot& s, std::size_t& at, std::int32_t count, Component kind,
                  const Names& before_eps, const Names& after_eps) {
    std::set<std::string> seen;
    for (std::int32_t k = 0; k < count; ++k, ++at) {
        read_common(cursor, s, at);
        read_past(cursor, before_eps, seen);
        s.softening[at] = static_cast<double>(cursor.next<float>());
        read_past(cursor, after_eps, seen);
        s.component[at] = static_cast<std::int32_t>(kind);
    }
    for (const std::string& name : seen) {
        s.left_out.push_back(component_name(static_cast<std::int32_t>(kind)) + (": " + name));
    }
}

float narrow(double value, const char* field) {
    const float result = static_cast<float>(value);
    if (!std::isfinite(result)) {
        throw Error({std::string("number in '") + field + "' does not fit tipsy's single precision", "",
                     "at most 3.4e38", std::to_string(value), "write HDF5, or use other units"});
    }
    return result;
}

void write_record(std::vector<std::byte>& to, const Snapshot& s, std::size_t i, ByteOrder order,
                  std::size_t zeros_before, std::size_t zeros_after) {
    const double eps = s.softening.empty() ? s.suggested_softening : s.softening[i];
    const auto put = [&](double value, const char* field) { store_number(to, narrow(value, field), order); };
    put(s.mass[i], "mass");
    put(s.x[i], "x");
    put(s.y[i], "y");
    put(s.z[i], "z");
    put(s.vx[i], "vx");
    put(s.vy[i], "vy");
    put(s.vz[i], "vz");
    to.insert(to.end(), 4 * zeros_before, std::byte{0});
    put(eps, "softening");
    to.insert(to.end(), 4 * zeros_after, std::byte{0});
}

enum class Kind { Gas, Dark, Star };

Kind tipsy_kind(std::int32_t component) {
    switch (static_cast<Component>(component)) {
    case Component::Gas:
        return Kind::Gas;
    case Component::Halo:
    case Component::Boundary:
        return Kind::Dark;
    default:
        return Kind::Star;
    }
}

struct Counts {
    std::int32_t of[3] = {0, 0, 0};
};

Counts count_kinds(const Snapshot& s) {
    if (s.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        throw Error({"too many particles for tipsy", "", "at most 2147483647", std::to_string(s.size()),
                     "write HDF5"});
    }
    Counts counts;
    for (const std::int32_t component : s.component) {
        ++counts.of[static_cast<int>(tipsy_kind(component))];
    }
    return counts;
}

void write_header(std::vector<std::byte>& to, const Snapshot& s, const Counts& counts, ByteOrder order) {
    store_number(to, s.time, order);
    store_number(to, static_cast<std::int32_t>(s.size()), order);
    store_number(to, std::int32_t{3}, order);
    for (const std::int32_t count : counts.of) {
        store_number(to, count, order);
    }
    store_number(to, std::int32_t{0}, order);
}

} // namespace

bool looks_like_tipsy(Bytes bytes) noexcept {
    try {
        return find_header(bytes.first(std::min(bytes.size(), padded_header_bytes))).has_value();
    } catch (const Error&) {
        return false;
    }
}

Snapshot read_tipsy(Bytes bytes, const std::string& where) {
    const std::optional<Header> header = find_header(bytes);
    if (!header) {
        throw Error({"no tipsy header", where, "time, n, 3, ngas, ndark, nstar in either byte order",
                     std::to_string(bytes.size()) + " bytes of something else",
                     "name the format if it is another one"});
    }
    const std::size_t start = header_length(*header, bytes, where);
    Snapshot s;
    s.time = header->time;
    s.resize(static_cast<std::size_t>(header->total));
    s.softening.resize(s.size());
    Cursor cursor(bytes.subspan(start), header->order, where);
    std::size_t at = 0;
    read_records(cursor, s, at, header->gas, Component::Gas, {"rho", "temperature"}, {"metals", "phi"});
    read_records(cursor, s, at, header->dark, Component::Halo, {}, {"phi"});
    read_records(cursor, s, at, header->star, Component::Star, {"metals", "tform"}, {"phi"});
    return s;
}

std::vector<std::byte> encode_tipsy(const Snapshot& s, ByteOrder order) {
    const Counts counts = count_kinds(s);
    std::vector<std::byte> bytes;
    bytes.reserve(padded_header_bytes + s.size() * gas_bytes);
    write_header(bytes, s, counts, order);
    const struct {
        Kind kind;
        std::size_t zeros_before, zeros_after;
    } passes[] = {{Kind::Gas, 2, 2}, {Kind::Dark, 0, 1}, {Kind::Star, 2, 1}};
    for (const auto& pass : passes) {
        for (std::size_t i = 0; i < s.size(); ++i) {
            if (tipsy_kind(s.component[i]) == pass.kind) {
                write_record(bytes, s, i, order, pass.zeros_before, pass.zeros_after);
            }
        }
    }
    return bytes;
}

} // namespace graft::cli
