// SPDX-License-Identifier: BSD-3-Clause
// The smooth part of a lattice sum, over wave vectors: structure factors of the sources, and their field at
// targets.
//
//     phi(x) = sum over k != 0 of 4 pi / (V k^2) exp(-k^2 / 4 alpha^2) Re(conj(S(k)) exp(i k x)),
//     S(k)   = sum over the sources of q exp(i k x).
//
// With Plummer's softening eps the sum is that of erf(alpha s) / s, s^2 = r^2 + eps^2. As
//     erf(alpha s) / s = 2 / sqrt(pi) times the integral of exp(-t^2 (r^2 + eps^2)) over t in [0, alpha],
// the weight of k becomes
//     pi / V times the integral of exp(-eps^2 / w - k^2 w / 4) over w > 1 / alpha^2.
//
// Half of the vectors (the others are their opposites) stand in rows of fixed (i, j); of a row, +k and -k are
// taken together: they share all products of sines and cosines, so that a particle and a vector cost 2
// multiply-adds for S and 4 for potential and field. Particles stand in the lanes; phases are powers of
// exp(2 pi i f), f the coordinate in units of the edge vector, so that a tilted box costs nothing more.
// Source: Ewald 1921; Kolafa & Perram 1992 for the sums' errors.
#pragma once

#include "geometry/lattice.hpp"
#include "periodic/plummer_waves.hpp"

#include <cstdint>
#include <vector>

namespace graft::periodic {

class Waves {
  public:
    struct Row {
        int i, j;
        int64_t first; // of its values: k = 0 ... count - 1
        int count;     // even: the last may have no weight
    };
    Waves() = default;
    /// All vectors up to |k| = largest (1 / length, without the 2 pi of the integers' definition: k = 2 pi
    /// g); softening is Plummer's eps, 0 for none.
    Waves(const geometry::Lattice& lattice, double alpha, double largest, double softening = 0);

    const std::vector<Row>& rows() const { return rows_; }
    double plus(int64_t value) const {
        return plus_[static_cast<size_t>(value)];
    } // weight of (i, j, k), doubled
    double minus(int64_t value) const {
        return minus_[static_cast<size_t>(value)];
    } // of (i, j, -k); 0: not in the sum
    int64_t value_count() const { return static_cast<int64_t>(plus_.size()); }
    int most(int axis) const { return most_[axis]; }
    int64_t vector_count() const { return vectors_; } // of the half space
    const geometry::Lattice& lattice() const { return lattice_; }
    double alpha() const { return alpha_; }
    double softening() const { return softening_; }
    /// What a uniform background of charge 1 adds where pairs end at `cutoff`, times the volume.
    Background background(double cutoff) const;
    /// What the sum lacks of a unit charge's own energy.
    OwnTerms own_terms() const;
    /// Of one vector, k^2 = square > 0: 4 pi / (V k^2) exp(-k^2 / 4 alpha^2), softened.
    double weight(double square) const;
    double plain_weight(double square) const; // not softened
    /// -d/d(k^2) of the weight over the weight.
    double slope(double square) const;

    /// Of Plummer's softening: what the weight of k is multiplied by. Costs hundreds of operations; 1 where there is none.
    double factor(double square) const;

  private:
    geometry::Lattice lattice_;
    double alpha_ = 0, largest_ = 0, softening_ = 0;
    int most_[3] = {0, 0, 0};
    std::vector<Row> rows_;
    std::vector<double> plus_, minus_;
    int64_t vectors_ = 0;
};

/// Numbers per value of the structure factors: sums over q of cos cos, sin sin, sin cos, cos sin of (i f1 + j
/// f2), (k f3).
inline constexpr int structure_size = 4;
/// Numbers per value of what add_waves reads.
inline constexpr int wave_size = 8;

/// Particles by their fractions f1, f2, f3.
struct Fractions {
    const double *f1 = nullptr, *f2 = nullptr, *f3 = nullptr;
    int64_t count = 0;
};

/// T values that the two functions below need as scratch, aligned to 64 bytes.
int64_t wave_scratch(const Waves& waves);

/// Adds structure_size sums per value. T: float or double, of the products; sums over 64 particles go on in
/// double. Cost: see above. Equal bits for equal input on equal SIMD targets.
template <typename T>
void add_structure(const Waves& waves, const Fractions& particles, const double* charge, T* scratch,
                   double* sums);

/// The structure factors, weighted, in the form of add_waves: wave_size numbers a value.
template <typename T>
void weigh_structure(const Waves& waves, const double* sums, T* weighted);

/// Adds the potential (may be NULL) and its derivatives by f1, f2, f3 at the particles.
template <typename T>
void add_waves(const Waves& waves, const T* weighted, const Fractions& particles, T* scratch,
               double* potential, double* d1, double* d2, double* d3);

/// One half of sum q phi, and its derivative by the strain (xx yy zz xy xz yz), of these structure factors.
struct WaveEnergy {
    double energy = 0, virial[6] = {};
    /// That of the wave 2 pi g, whose weight has this slope.
    void add(const geometry::Vec3& g, double of_wave, double slope);
};
WaveEnergy wave_energy(const Waves& waves, const double* sums);

} // namespace graft::periodic
