// SPDX-License-Identifier: BSD-3-Clause
// A set of particles at one time, as the `graft` command holds it: structure of arrays, double precision.
// Invariant: all per-particle arrays that are not empty have size() entries; softening and names may be
// empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace graft::cli {

/// What a particle is; the numbers are Gadget's particle types.
enum class Component : std::int32_t { Gas = 0, Halo = 1, Disc = 2, Bulge = 3, Star = 4, Boundary = 5 };

constexpr int component_count = 6;

/// English name of a component ("halo"); "unknown" for a number outside 0..5.
const char* component_name(std::int32_t component) noexcept;

/// What the numbers mean. A factor of 0 says that the scale is free (G = 1 models have no metres).
struct Units {
    double gravitational_constant = 1.0; ///< G in these units
    std::string length = "model";        ///< name, e.g. "AU"
    std::string mass = "model";
    std::string time = "model";
    double length_m = 0.0; ///< metres in one unit of length
    double mass_kg = 0.0;
    double time_s = 0.0;
};

struct Snapshot {
    std::vector<double> x, y, z;
    std::vector<double> vx, vy, vz;
    std::vector<double> mass;
    std::vector<double> softening; ///< Plummer length per particle, or empty
    std::vector<std::int64_t> id;
    std::vector<std::int32_t> component; ///< values of Component
    std::vector<std::string> names;      ///< names of bodies, or empty

    double time = 0.0;
    double box_size = 0.0; ///< edge of the periodic cube [0, box)^3; 0 = open
    Units units;
    double suggested_softening = 0.0; ///< what the maker of the model recommends; 0 = no opinion
    double suggested_time_step = 0.0;
    std::map<std::string, std::string> attributes; ///< free text kept by HDF5 and CSV ("seed", "step"...)
    std::vector<std::string> left_out; ///< what the file had beyond this, by name: for who writes it anew

    std::size_t size() const noexcept { return x.size(); }

    /// Makes room for n particles; new ones are zero, with id = index and component Halo.
    void resize(std::size_t n);

    /// Appends one particle at rest at the origin and returns its index.
    std::size_t append(Component kind, double particle_mass);

    /// Throws Error unless the arrays agree in length and every number is finite and every component known.
    /// `where` names the source in the message. O(n).
    void validate(const std::string& where) const;
};

/// Sums over all particles; masses weight the centre and its velocity. An empty or massless set has centre 0.
struct Barycentre {
    double mass = 0.0;
    double position[3] = {0, 0, 0};
    double velocity[3] = {0, 0, 0};
};

/// Barycentre of the particles [begin, end). O(end - begin).
Barycentre barycentre(const Snapshot& snapshot, std::size_t begin, std::size_t end);

/// Subtracts the barycentre's position and velocity of [begin, end) from those particles.
void move_to_barycentre(Snapshot& snapshot, std::size_t begin, std::size_t end);

/// Reorders the particles so that their ids ascend (stable). O(n log n).
void sort_by_id(Snapshot& snapshot);

/// Reorders every per-particle array: new particle k is old particle order[k].
void reorder(Snapshot& snapshot, const std::vector<std::size_t>& order);

} // namespace graft::cli
