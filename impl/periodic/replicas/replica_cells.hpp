// SPDX-License-Identifier: BSD-3-Clause
// The cells of a periodic box, so that a particle meets low orders only: moments of each cell's particles go into those of
// the box (M2M), and the polynomial of the box's field into one about each cell's centre (L2L).
//
// Both are exact but for what a cell's order leaves out: of w = x - y, within the diagonal D of the box, a cell of 8 an edge
// moves x or y by D / 16 at most, and of a term w^l what is left out is of (D / 16)^(order + 1) w^(l - order - 1).
// Conventions: replica_field.hpp.
#pragma once

#include "backend/executor.hpp"
#include "geometry/lattice.hpp"
#include "particles/problem.hpp"

#include <complex>
#include <vector>

namespace graft::periodic {

class ReplicaCells {
  public:
    static constexpr int per_edge = 8, count = per_edge * per_edge * per_edge;
    /// Fewer particles meet all orders of the box sooner.
    static constexpr int64_t least_particles = 16384;
    /// Of cells, for errors of the field of about this share of the typical one.
    static int order_for(double accuracy) { return accuracy >= 1e-5 ? 8 : 12; }

    /// Of a box whose moments are about `centre`, in this unit of length.
    void set(const geometry::Lattice& lattice, const geometry::Vec3& centre, double unit, int order);
    int order() const { return order_; }

    /// To `moments`, sum of q R_lm(-y) up to the order `most`, of this rank's particles. Same bits for any number of
    /// threads.
    void sum(const backend::Executor& executor, const particles::Problem& problem, int most,
             std::complex<double>* moments) const;

    /// The cells' polynomials, from that of the box, which ends at `most`.
    void hand_down(const backend::Executor& executor, const std::complex<double>* polynomial, int most);
    /// That of the cell of (x, y, z), and the place in it.
    const std::complex<double>* polynomial_at(double x, double y, double z, geometry::Vec3& place) const;

  private:
    int cell_at(double x, double y, double z) const;
    geometry::Vec3 place_in(int cell, double x, double y, double z) const;

    geometry::Lattice lattice_;
    geometry::Vec3 centre_;
    double unit_ = 1;
    int order_ = 0, terms_ = 1;
    std::vector<geometry::Vec3> centres_; // in units, from that of the box
    std::vector<std::complex<double>> polynomials_;
};

} // namespace graft::periodic
