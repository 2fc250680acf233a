// SPDX-License-Identifier: BSD-3-Clause
// Makers of initial conditions. Each is deterministic: the same options give the same particles on every
// machine (up to the last bit of the C library's sin, log and pow). Model units with G = 1 unless said
// otherwise; every maker sets units, suggested softening and time step, and records its options as
// attributes. All throw Error for options outside their range. Cost O(n) unless said otherwise.
#pragma once

#include "snapshot/snapshot.hpp"

#include <cstddef>
#include <cstdint>

namespace graft::cli {

struct PlummerOptions {
    std::size_t n = 10000;
    std::uint64_t seed = 42;
    double mass = 1.0;         ///< total
    double scale_radius = 1.0; ///< Plummer's a
    double mass_fraction =
        1.0; ///< radii hold this fraction of the unlimited model; 1: no cut (0.999 is usual)
};
/// Plummer sphere in equilibrium, isotropic (Aarseth, Henon & Wielen 1974). One Halo component.
Snapshot make_plummer(const PlummerOptions& options);

struct HernquistOptions {
    std::size_t n = 10000;
    std::uint64_t seed = 42;
    double mass = 1.0;
    double scale_radius = 1.0;
    double mass_fraction = 0.99; ///< the model reaches far out: 0.99 ends at 198 scale radii
};
/// Hernquist sphere in equilibrium, isotropic: speeds from his distribution function (1990, equation 17).
Snapshot make_hernquist(const HernquistOptions& options);

struct CubeOptions {
    std::size_t n = 10000;
    std::uint64_t seed = 42;
    double mass = 1.0;
    double edge = 1.0;
    bool periodic = false; ///< sets the snapshot's box; the cube is [0, edge)^3 either way
};
/// Uniform random points at rest in a cube.
Snapshot make_cube(const CubeOptions& options);

struct ColdSphereOptions {
    std::size_t n = 10000;
    std::uint64_t seed = 42;
    double mass = 1.0;
    double radius = 1.0;
    double virial_ratio = 0.0; ///< 2K/|W| with isotropic Gaussian velocities; 0: at rest
};
/// Uniform sphere, at rest or warm: the collapse test (W = -3GM^2/5R of the continuous sphere sets the
/// scale).
Snapshot make_cold_sphere(const ColdSphereOptions& options);

struct ClusteredOptions {
    std::size_t n = 10000;
    std::uint64_t seed = 42;
    double mass = 1.0;
    double edge = 1.0;
    double slope = 1.8;          ///< two-point function xi ~ r^-slope; 0.5 to 2.5
    std::size_t clusters = 64;   ///< top-level spheres placed uniformly
    double cluster_radius = 0.4; ///< of a top-level sphere, in edges
};
/// Hierarchically clustered points at rest in a periodic cube (Soneira & Peebles 1978): every sphere holds
/// two spheres smaller by lambda = 2^(1/(3-slope)), down to one particle.
Snapshot make_clustered(const ClusteredOptions& options);

struct GalaxyOptions {
    std::size_t n = 100000; ///< all three parts together, particles of equal mass
    std::uint64_t seed = 42;
    double disc_mass = 1.0;
    double bulge_mass = 1.0;
    double halo_mass = 4.0;
    double disc_scale = 1.0;   ///< exponential length R_d
    double disc_height = 0.15; ///< z_0 of sech^2(z/z_0)
    double bulge_scale = 0.3;  ///< Hernquist's a
    double bulge_cut = 3.0;    ///< density times exp(-(r/cut)^2)
    double halo_scale = 4.0;
    double halo_cut = 25.0;
    double toomre_q = 1.5;   ///< at two disc scale lengths
    double softening = 0.03; ///< Plummer length that the equilibrium is made for
};
/// Disc, bulge and halo in mutual equilibrium, in the order Halo, Disc, Bulge. See ic/galaxy.cpp for the
/// method. About 1 s and then 10 us a particle.
Snapshot make_galaxy(const GalaxyOptions& options);

/// Throws Error unless `ok`; `option` names the culprit, `allowed` its range.
void require_option(bool ok, const char* maker, const char* option, const char* allowed, double found);

} // namespace graft::cli
