// SPDX-License-Identifier: BSD-3-Clause
// Bodies on orbits around each other, and the asteroid belt.
//
// Frame: that of the elements (usually the ecliptic of J2000), origin and velocity of the barycentre of all
// bodies. Units: AU, day, and solar masses or kg; G in those units is in the snapshot's metadata. Time 0 is
// the common epoch, in the attribute epoch_jd.
#pragma once

#include "ic/orbit_table.hpp"
#include "snapshot/snapshot.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace graft::cli {

constexpr double astronomical_unit_m = 149597870700.0; // IAU 2012
constexpr double day_s = 86400.0;
constexpr double gravitational_constant_si = 6.6743e-11; // CODATA 2018
constexpr double sun_gm_si = 1.32712440018e20;           // DE405
constexpr double sun_mass_kg = sun_gm_si / gravitational_constant_si;

enum class MassUnit { Sun, Kilogram };

struct OrbitOptions {
    std::optional<double>
        epoch_jd; ///< common epoch; default: the commonest of the table (the earliest of equals)
    MassUnit mass_unit = MassUnit::Sun;
    /// Public tables give Charon's orbit about the barycentre of Pluto and Charon (a = 17,500 km, not 19,600
    /// km), and so do we take it; false: relative to Pluto, like any other moon.
    bool charon_about_barycentre = true;
};

/// The Sun (always added) and all rows: bodies in the order of
/// the table, the Sun first, component Star, with names. A row whose central_body is Pluto orbits the
/// barycentre of Pluto and Charon when both are there. Different epochs are brought to the common one by the
/// two-body mean motion. Throws Error for unknown or circular central bodies and equal names. O(n log n).
Snapshot make_orbits(const std::vector<OrbitRow>& rows, const OrbitOptions& options);

struct BeltOptions {
    std::size_t n = 10000; ///< asteroids, beside the bodies of the table; up to 100 million
    std::uint64_t seed = 42;
    double inner_au = 2.1;
    double outer_au = 3.3;
    double brightest_magnitude = 3.3; ///< H of the largest
    double faintest_magnitude = 18.0; ///< H of the smallest
    OrbitOptions orbits;
};

/// make_orbits(rows) and n asteroids (component Boundary, no names) around the Sun: see ic/belt.cpp for the
/// distributions and their sources. O(n).
Snapshot make_belt(const std::vector<OrbitRow>& rows, const BeltOptions& options);

} // namespace graft::cli
