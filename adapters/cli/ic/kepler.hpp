// SPDX-License-Identifier: BSD-3-Clause
// Two-body orbits: elements to positions and velocities and back.
// Source: Danby 1988, Fundamentals of Celestial Mechanics, chapter 6. Angles in radians; any consistent
// units.
#pragma once

namespace graft::cli {

/// Osculating elements. Ellipse: 0 <= eccentricity < 1, semi_major > 0. Hyperbola: eccentricity > 1,
/// semi_major < 0.
struct OrbitalElements {
    double semi_major = 1.0;
    double eccentricity = 0.0;
    double inclination = 0.0;
    double node = 0.0;       ///< longitude of the ascending node
    double pericentre = 0.0; ///< argument of the pericentre
    double mean_anomaly = 0.0;
};

struct OrbitalState {
    double position[3] = {0, 0, 0};
    double velocity[3] = {0, 0, 0};
};

/// E with E - e sin E = M for 0 <= e < 1, to rounding, also as e -> 1 and M -> 0. The result is in [-pi, pi]
/// after M is.
double eccentric_anomaly(double mean_anomaly, double eccentricity);

/// H with e sinh H - H = M for e > 1, to rounding.
double hyperbolic_anomaly(double mean_anomaly, double eccentricity);

/// Mean motion sqrt(mu / |a|^3), radians a unit of time.
double mean_motion(double semi_major, double mu);

/// Position and velocity relative to the centre; mu = G (M + m). Throws Error for elements that are no orbit
/// (e < 0, e = 1, sign of a).
OrbitalState state_of(const OrbitalElements& elements, double mu);

/// The inverse; undefined angles (circular, flat orbits) are 0. Throws Error for a parabola or a radial
/// orbit.
OrbitalElements elements_of(const OrbitalState& state, double mu);

} // namespace graft::cli
