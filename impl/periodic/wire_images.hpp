// SPDX-License-Identifier: BSD-3-Clause
// What a lattice with a vacuum on both sides of a wire (images along one axis) has too much: the field of the
// wire's images across the vacuum, and of the uniform background.
//
// Images across the vacuum act by their charge per length alone (waves along the wire decay within the
// vacuum), so this is a sum in two dimensions. In a square cell with edge L a row of unit charges at the
// origin has the potential, in complex u = (x + i y) / L and over the period p along the wire,
//
//     -2 ln |u| - 2 ln(Gamma(1/4)^2 / (2 sqrt(pi))) + pi |u|^2 + 2 Re sum over n = 4, 8, ... of G_n u^n / n,
//
// G_n the sum of w^-n over the other points w of the lattice of Gaussian integers (Kronecker's limit formula;
// Weierstrass's zeta). All but the logarithm is taken off, as a polynomial of the target's u with moments of
// the sources: exact but for the end of the series, (|u - v| max)^n. The zero of the potential is put where
// -2 q ln(d / p) / p is 0. Sources: Apostol, Modular Functions and Dirichlet Series, 1.11 (G_n) and 3;
// Tornberg 2016, Adv. Comput. Math. 42, 227 for other ways.
#pragma once

#include "comm/communicator.hpp"
#include "particles/problem.hpp"

#include <complex>
#include <vector>

namespace graft::periodic {

class WireImages {
  public:
    /// Largest distance of two points across the wire over the edge of the square cell that the series is
    /// good for.
    static constexpr double most_reach = 0.8;

    /// Collective. Sums the moments of all ranks' sources: a wire along `axis` with this period in a square
    /// cell with this edge, `middle` of sources and targets along the axes x, y, z; reach: as most_reach;
    /// accuracy: of a force over the typical one. Throws Error(memory).
    void prepare(comm::Communicator& comm, const particles::Problem& problem, int axis, double period, double edge,
                 const double (&middle)[3], double reach, double accuracy);

    /// Takes the field off that of the lattice sum at the targets. origin: as Solver::origin_. O(targets
    /// terms).
    void take_off(const particles::Problem& problem, bool with_potential, const int32_t* origin,
                  particles::RawField& field) const;
    /// Half of what is added to sum q phi, and its derivative by the strain along the wire, the square cell
    /// not being strained.
    double energy() const;
    double strain_along() const;

    /// Axes across the wire, in ascending order.
    static int across(int axis, int which) { return which == 0 ? (axis == 0 ? 1 : 0) : (axis == 2 ? 1 : 2); }

  private:
    using Complex = std::complex<double>;
    double constant() const;
    int axis_ = 2;
    double period_ = 1, edge_ = 1, middle_[3] = {0, 0, 0};
    double spread_ = 0;                    // sum q |u|^2
    std::vector<Complex> moments_, terms_; // sum q u^m; coefficients of the polynomial
};

} // namespace graft::periodic
