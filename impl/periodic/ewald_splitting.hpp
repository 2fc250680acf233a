// SPDX-License-Identifier: BSD-3-Clause
// How a lattice sum is split: alpha, the cut-off of the pairs and that of the wave vectors, for an accuracy.
//
// rms force errors of random charges after Kolafa & Perram 1992 (Mol. Sim. 9, 351): 2 Q / sqrt(N r_c V)
// exp(-alpha^2 r_c^2) of the pairs left out, 2 Q alpha / L sqrt(1 / (pi K N)) exp(-(pi K / alpha L)^2) of the
// waves, Q = sum q^2. Their sum may be `accuracy` times the typical force Q / N (N / V)^(2/3) of two
// neighbours. Of all cut-offs that do, the one is taken that a plain model of the work finds cheapest: all
// pairs within the cut-off, which costs N^1.5 in all, or the tree's cells within it, which lets the cut-off
// grow and costs about N log N. With a mesh in place of the waves (mesh/mesh_choice.hpp) the cut-off shrinks, and both do.
#pragma once

#include "geometry/lattice.hpp"
#include "periodic/mesh/mesh_choice.hpp"

#include <cstdint>
#include <vector>

namespace graft::periodic {

/// How many times as many particles are around a particle as in a uniform box, by radius.
struct Crowding {
    static constexpr int steps = 24; // radii largest / 2^(k/2), k = 0 ...
    double largest = 0;              // radius; 0: uniform
    std::vector<double> factor;      // of each radius, >= 1: particles within it of a particle, over those of a uniform box
    std::vector<double> charge;      // the same of |charge|
    /// At most that of the next smaller radius; 1 in a uniform box.
    double at(double radius) const;
    bool operator==(const Crowding&) const = default;
};

/// What the tree's cells may be used for, and cost.
struct CellModel {
    bool allowed = false;
    int order = 2;
    double opening = 0.85; // radius / distance of an accepted cell, at most
    double error = 0;      // error MAC: of a cell, over the typical field; 0: the opening angle alone
    double accuracy =
        0; // of the splitting, where cells are used: their own error is above it; 0: as for all pairs
    double cost = 10;  // of a cell and a target, in units of a particle and a wave vector
    double leaf = 0;   // most particles of one; 0: chosen
    double direct = 3; // cells of so many particles are summed pair by pair
    double group = 64;
    bool operator==(const CellModel&) const = default;
};

/// What a mesh in place of the sum over wave vectors may be used for, and costs.
struct MeshModel {
    bool allowed = false, only = false; // only: whatever it costs
    int64_t most_points = 1 << 20;      // along an edge
    double particle[3] = {300, 450, 620}; // of splines of order 4, 6, 8, in units of a particle and a wave vector
    double point = 18;                    // of the mesh
    bool operator==(const MeshModel&) const = default;
};

struct EwaldInput {
    geometry::Lattice lattice;
    int64_t particles = 0;
    double square_sum = 0; // of the charges
    double accuracy = 1e-6;
    double alpha = 0;        // 0: free
    double host_cutoff = 0;  // pairs_elsewhere, alpha 0: where the host's pairs end
    bool pairs_elsewhere = false; // the host's: the waves alone are to be had, and cost
    double least_cutoff = 0; // of pairs: the largest softening length
    bool all_pairs = false;  // every image is met whole (method direct); else only what the cut-off needs
    double pair_cost = 5;    // of a pair, in units of a particle and a wave vector
    double leaf = 16;
    double group = 64; // tree: targets that share a list, the cut-off being met around all of them
    CellModel cells;
    MeshModel mesh;
    Crowding crowding;
    bool operator==(const EwaldInput&) const = default;
};

struct EwaldSplit {
    double alpha = 1, cutoff = 1; // of pairs
    double largest_wave = 0;      // largest |k|
    MeshChoice mesh;              // in place of the sum over waves, if it has an order
    bool cells = false;           // within the cut-off, the tree's cells; else all pairs
    int leaf = 32;                // most particles of a leaf that suit them
    double accuracy = 0;          // that it was made for, of the typical force: beside cells and a mesh more than was asked
};

/// Cost: some ten thousand operations. No status: accuracies that cannot be had become the best there are.
EwaldSplit split_ewald(const EwaldInput& problem);

/// The typical force of EwaldInput per charge squared: Q / N (N / V)^(2/3), over sqrt(Q / N) it is that on
/// a charge of 1.
double typical_field(const EwaldInput& problem);
/// That of a neighbour, of so many particles in a volume.
double field_of_neighbours(double square_sum, int64_t particles, double volume);

} // namespace graft::periodic
