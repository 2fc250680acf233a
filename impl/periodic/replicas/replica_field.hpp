// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes by replicas: near images of the box act as they are, and this is the field of all the
// others, and of the uniform background, by moments of the whole box.
//
// Images at lattice vectors n with |n| >= reach act on a target at distance w from a source by
//
//     psi(w) = sum over l of sum over m of a_lm R_lm(w) + 2 pi |w|^2 / 3 V,
//     a_lm   = conj(sum over these n of I_lm(n)),
//
// R, I the regular and irregular solid harmonics with which
//
//     1 / |n - w| = sum of conj(R_lm(w)) I_lm(n),
//     R_lm(x - y) = sum of R_l'm'(x) R_(l-l')(m-m')(-y):
//
// one M2L of the box's moments sum q R_lm(-y), then a polynomial at each target. The sums over n are
// Ewald's, differentiated (conducting boundary); odd l vanish. Everything up to an order is kept; what is
// left out falls as (|w| / reach)^(order + 2). Sources: Nijboer & De Wette 1957 (Physica 23, 309);
// Challacombe, White & Head-Gordon 1997 (J. Chem. Phys. 107, 10131); Hobson's theorem for derivatives of
// radial functions; van Gelderen 1998 for R and I.
#pragma once

#include "backend/executor.hpp"
#include "comm/communicator.hpp"
#include "geometry/lattice.hpp"
#include "particles/problem.hpp"
#include "periodic/replicas/replica_cells.hpp"

#include <complex>
#include <optional>
#include <vector>

namespace graft::periodic {

class DistantImages {
  public:
    static constexpr int most_order = 20, least_order = 4;

    /// Lattice vectors nearer than a length, (0, 0, 0) first; reach: the length of the shortest that are
    /// left.
    struct Near {
        std::vector<geometry::Vec3> shifts;
        double reach = 0;
    };
    static Near near_images(const geometry::Lattice& lattice, double length);
    /// About how many they are.
    static double near_count(const geometry::Lattice& lattice, double length);
    /// Longest diagonal of the cell.
    static double diagonal(const geometry::Lattice& lattice);

    /// The coefficients a_lm with all images that are not near. Cost: some ten million operations for each reach that
    /// was not chosen in this lattice before. Throws Error(memory).
    void choose(const geometry::Lattice& lattice, Near near);
    const Near& near() const { return near_; }
    int order() const { return order_; }
    /// Even, least_order to most_order; holds from the next sum() on.
    void set_order(int order) { order_ = order; }

    /// New particles, `all_particles` on all ranks; `accuracy` of their field, for which many of them are taken in cells.
    void begin(int64_t all_particles, double accuracy);
    /// Collective. Moments of all ranks' sources, where they are not known to this order, and the polynomial of their
    /// field.
    void sum(comm::Communicator& comm, const backend::Executor& executor, const particles::Problem& problem);
    /// Collective. About the rms error of the field that leaving out higher orders makes: the larger of what
    /// the last two orders say at some targets, and of what they would for charges at random places.
    /// square_sum: of the charges.
    double error(comm::Communicator& comm, const particles::Problem& problem, double square_sum) const;
    /// The latter alone, of any order.
    double random_error(int order, double square_sum) const;

    /// Adds the field at the targets. origin: as Solver::origin_. Same bits for any number of threads.
    void add(const backend::Executor& executor, const particles::Problem& problem, bool with_potential,
             const int32_t* origin, particles::RawField& field);
    /// The field at any place.
    geometry::Vec3 field_at(const geometry::Vec3& at) const;
    /// Derivative by the strain of half the sum of q phi, without that by the places: xx yy zz xy xz yz.
    void lattice_strain(double (&virial)[6]) const;

  private:
    using Complex = std::complex<double>;
    static constexpr int terms = (most_order + 1) * (most_order + 2) / 2; // m >= 0
    struct Coefficients { // of the images beyond a reach
        double reach;
        std::vector<Complex> value; // a_lm, then its derivative by each of six strains
        std::vector<double> random; // rms field of a unit charge, by l
    };
    struct Field {
        double x = 0, y = 0, z = 0, potential = 0;
    };
    double ratio_of(int order) const;
    void find_coefficients(const geometry::Lattice& lattice, Coefficients& found) const;
    static void find_random(const geometry::Lattice& lattice, double unit, Coefficients& found);
    void translate(const Complex* coefficients, int least, int most, Complex* polynomial) const;
    void measure(comm::Communicator& comm, const backend::Executor& executor, const particles::Problem& problem);
    static Field at_point(const Complex* polynomial, int order, const geometry::Vec3& at);
    void add_background(const geometry::Vec3& at, Field& field) const;
    geometry::Vec3 in_units(const geometry::Vec3& at) const;

    const Coefficients& now() const { return known_[used_]; }

    std::optional<geometry::Lattice> lattice_;
    std::vector<Coefficients> known_; // in this lattice
    size_t used_ = 0;
    int order_ = most_order, known_order_ = -1; // of the polynomial; of the moments
    bool in_cells_ = false;
    int cell_order_ = 0;
    ReplicaCells cells_;
    Near near_;
    double unit_ = 1;       // length: coordinates are in it
    double background_ = 0; // 2 pi / 3 V
    geometry::Vec3 centre_{0, 0, 0};
    std::vector<Complex> moments_, polynomial_;
    double charge_ = 0, square_[4] = {}; // sum q, q x, q y, q z, q r^2
};

} // namespace graft::periodic
