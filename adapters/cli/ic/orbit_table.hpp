// SPDX-License-Identifier: BSD-3-Clause
// Tables of orbital elements: one body a row, each around another one.
//
// CSV with a header line; columns a (AU), e, i, om, w, ma (degrees), epoch (Julian date), mass (kg), name are
// needed in the header; H, albedo, diameter (km), class, central_body (default Sun) are optional, and any
// field but a, e and name may be empty. om is the longitude of the node, w the argument of the pericentre, ma
// the mean anomaly at the epoch.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graft::cli {

struct OrbitRow {
    std::string name;
    std::string central_body = "Sun";
    std::string kind; ///< column class: PLA, DWA, SAT...
    double semi_major_au = 0.0;
    double eccentricity = 0.0;
    double inclination_deg = 0.0;
    double node_deg = 0.0;
    double pericentre_deg = 0.0;
    double mean_anomaly_deg = 0.0;
    double epoch_jd = 2451545.0; ///< J2000 when the field is empty
    std::optional<double> mass_kg, absolute_magnitude, albedo, diameter_km;
};

/// Rows of a CSV text. Throws Error with line and column. O(length).
std::vector<OrbitRow> read_orbit_table(std::string_view text, const std::string& where);

/// The same from a file.
std::vector<OrbitRow> read_orbit_table_file(const std::string& path);

/// A small table of our own, from rounded public mean elements (J2000): the planets, Pluto and large moons.
/// For examples and tests, not for ephemerides.
const std::string& built_in_orbit_table();

/// D = 1329 km 10^(-H/5) / sqrt(albedo) (Fowler & Chillemi 1992).
double diameter_from_magnitude_km(double absolute_magnitude, double albedo);

/// 1.38, 2.71, 5.32 g/cm^3 for an albedo below 0.1, up to 0.2, above (C, S and M types; Krasinsky et al.
/// 2002), in kg/m^3.
double density_from_albedo(double albedo);

/// The row's mass, or the one that its diameter, or magnitude and albedo, imply. An unknown albedo counts as
/// 0.14 when H is known (IAU's mean). Throws Error when there is nothing to go by.
double mass_of_row_kg(const OrbitRow& row);

} // namespace graft::cli
