// SPDX-License-Identifier: BSD-3-Clause
// Reads tables of orbital elements and fills in missing masses.
#include "ic/orbit_table.hpp"

#include "snapshot/csv.hpp"
#include "snapshot/error.hpp"
#include "snapshot/file_io.hpp"

#include <cmath>
#include <map>
#include <numbers>

namespace graft::cli {

namespace {

using Columns = std::map<std::string, std::size_t>;

// One line with its place, for messages.
struct Line {
    const std::vector<std::string>& fields;
    const Columns& columns;
    const std::string& where;
    std::size_t number;

    const std::string* field(const char* column) const {
        const auto found = columns.find(column);
        return found == columns.end() || fields[found->second].empty() ? nullptr : &fields[found->second];
    }
    std::optional<double> number_in(const char* column) const {
        const std::string* text = field(column);
        return text == nullptr ? std::nullopt : std::optional(parse_csv_number(*text, where, number, column));
    }
    double required(const char* column) const {
        const std::optional<double> value = number_in(column);
        if (!value) {
            fail(std::string("column '") + column + "' is empty", "a number");
        }
        return *value;
    }
    [[noreturn]] void fail(const std::string& what, const std::string& expected) const {
        throw Error(
            {what, where + ":" + std::to_string(number), expected, "", "correct or remove that line"});
    }
};

Columns parse_header(std::string_view text, const std::string& where) {
    Columns columns;
    for (const std::string& field : split_csv_line(text)) {
        columns.emplace(field, columns.size());
    }
    for (const char* needed : {"a", "e", "i", "om", "w", "ma", "epoch", "mass", "name"}) {
        if (columns.count(needed) == 0) {
            throw Error({"no table of orbital elements", where, std::string("a column '") + needed + "'",
                         "'" + std::string(text.substr(0, 80)) + "'",
                         "columns are e,a,i,om,w,ma,epoch,H,albedo,diameter,mass,class,name,central_body"});
        }
    }
    return columns;
}

OrbitRow parse_row(const Line& line) {
    OrbitRow row;
    const std::string* name = line.field("name");
    row.name = name == nullptr ? "body " + std::to_string(line.number) : *name;
    row.semi_major_au = line.required("a");
    row.eccentricity = line.required("e");
    row.inclination_deg = line.number_in("i").value_or(0.0);
    row.node_deg = line.number_in("om").value_or(0.0);
    row.pericentre_deg = line.number_in("w").value_or(0.0);
    row.mean_anomaly_deg = line.number_in("ma").value_or(0.0);
    row.epoch_jd = line.number_in("epoch").value_or(row.epoch_jd);
    row.mass_kg = line.number_in("mass");
    row.absolute_magnitude = line.number_in("H");
    row.albedo = line.number_in("albedo");
    row.diameter_km = line.number_in("diameter");
    if (const std::string* centre = line.field("central_body")) {
        row.central_body = *centre;
    }
    if (const std::string* kind = line.field("class")) {
        row.kind = *kind;
    }
    const bool orbit = row.eccentricity >= 0.0 && row.eccentricity != 1.0 &&
                       (row.eccentricity < 1.0) == (row.semi_major_au > 0.0) && row.semi_major_au != 0.0;
    if (!orbit) {
        line.fail("elements of '" + row.name + "' are no orbit", "0 <= e < 1 and a > 0, or e > 1 and a < 0");
    }
    if (row.mass_kg && *row.mass_kg < 0.0) {
        line.fail("negative mass", "0 or more");
    }
    return row;
}

} // namespace

std::vector<OrbitRow> read_orbit_table(std::string_view text, const std::string& where) {
    std::vector<OrbitRow> rows;
    std::optional<Columns> columns;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        if (line.find_first_not_of(" \t\r") == std::string_view::npos || line.front() == '#') {
            continue;
        }
        if (!columns) {
            columns = parse_header(line, where);
            continue;
        }
        const std::vector<std::string> fields = split_csv_line(line);
        const Line here{fields, *columns, where, number};
        if (fields.size() != columns->size()) {
            here.fail("wrong number of fields (" + std::to_string(fields.size()) + ")",
                      std::to_string(columns->size()));
        }
        rows.push_back(parse_row(here));
    }
    if (rows.empty()) {
        throw Error(
            {"table of orbital elements is empty", where, "a header line and one body or more", "none", ""});
    }
    return rows;
}

std::vector<OrbitRow> read_orbit_table_file(const std::string& path) {
    const std::vector<std::byte> bytes = read_file(path);
    return read_orbit_table({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

double diameter_from_magnitude_km(double absolute_magnitude, double albedo) {
    return 1329.0 * std::pow(10.0, -absolute_magnitude / 5.0) / std::sqrt(albedo);
}

double density_from_albedo(double albedo) {
    return albedo < 0.1 ? 1380.0 : albedo <= 0.2 ? 2710.0 : 5320.0;
}

double mass_of_row_kg(const OrbitRow& row) {
    if (row.mass_kg) {
        return *row.mass_kg;
    }
    const double albedo = row.albedo.value_or(0.14);
    if (!(albedo > 0.0) || (!row.diameter_km && !row.absolute_magnitude)) {
        throw Error({"no mass for body '" + row.name + "'", "table of orbital elements",
                     "a mass, a diameter, or H with a positive albedo", "", "fill in one of these columns"});
    }
    const double diameter_km =
        row.diameter_km ? *row.diameter_km : diameter_from_magnitude_km(*row.absolute_magnitude, albedo);
    const double diameter_m = 1000.0 * diameter_km;
    return density_from_albedo(albedo) * std::numbers::pi / 6.0 * diameter_m * diameter_m * diameter_m;
}

const std::string& built_in_orbit_table() {
    static const std::string table = R"(# Rounded mean elements at J2000 (ecliptic), for examples and tests.
e,a,i,om,w,ma,epoch,H,albedo,diameter,mass,class,name,central_body
0.20563593,0.38709927,7.00498,48.33077,29.12703,174.79253,2451545,,,,3.3011e23,PLA,Mercury,Sun
0.00677672,0.72333566,3.39468,76.67984,54.92262,50.37663,2451545,,,,4.8673e24,PLA,Venus,Sun
0.01671123,1.00000261,0.00005,174.873,288.06468,357.52689,2451545,,,,5.9722e24,PLA,Earth,Sun
0.0933941,1.52371034,1.84969,49.55954,286.49683,19.3902,2451545,,,,6.4169e23,PLA,Mars,Sun
0.04838624,5.202887,1.3044,100.47391,274.25457,19.66796,2451545,,,,1.89813e27,PLA,Jupiter,Sun
0.05386179,9.53667594,2.48599,113.66242,338.93645,317.35537,2451545,,,,5.6832e26,PLA,Saturn,Sun
0.04725744,19.18916464,0.77264,74.01693,96.93735,142.28383,2451545,,,,8.6811e25,PLA,Uranus,Sun
0.00859048,30.06992276,1.77004,131.78423,273.18054,259.91521,2451545,,,,1.0241e26,PLA,Neptune,Sun
0.2488273,39.48211675,17.14001,110.30394,113.76498,14.86012,2451545,,,,1.3029e22,DWA,Pluto,Sun
0.0549,0.00256955,5.145,125.08,318.15,135.27,2451545,,,,7.3458e22,SAT,Luna,Earth
0.0151,0.00006268,26.0,84.8,342.4,345.8,2451545,,,,1.0619e16,SAT,Phobos,Mars
0.0041,0.0028195,2.2,337.2,65.5,342.0,2451545,,,,8.9297e22,SAT,Io,Jupiter
0.0094,0.004486,1.8,332.7,255.3,171.0,2451545,,,,4.7986e22,SAT,Europa,Jupiter
0.0013,0.0071552,2.2,343.2,317.5,317.5,2451545,,,,1.4815e23,SAT,Ganymede,Jupiter
0.0074,0.0125851,2.0,337.9,16.1,181.4,2451545,,,,1.0757e23,SAT,Callisto,Jupiter
0.0288,0.0081676,27.7,169.1,164.0,163.7,2451545,,,,1.3452e23,SAT,Titan,Saturn
0.00002,0.0023714,129.6,213.2,262.0,21.0,2451545,,,,2.139e22,SAT,Triton,Neptune
0.0002,0.00011674,112.9,227.4,188.0,257.9,2451545,,,,1.5864e21,SAT,Charon,Pluto
0.002,0.0003255,112.9,227.4,223.0,319.0,2451545,,,,4.5e16,SAT,Nix,Pluto
)";
    return table;
}

} // namespace graft::cli
