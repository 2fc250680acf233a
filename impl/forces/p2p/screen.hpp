// SPDX-License-Identifier: BSD-3-Clause
// The smooth part that Ewald's splitting takes off a pair: erf(alpha r) / r up to the cut-off, as
// polynomials.
//
// erf(alpha r)/r is an entire function of r^2, so one polynomial in v = 2 r^2 / cutoff^2 - 1 in [-1, 1] gives
// it or its derivative without exponentials, roots or cases near r = 0. Both are
// completely monotone in r^2: in powers of v their coefficients alternate in sign and add up to the value at
// r = 0, which bounds rounding. Subtracted from 1/r (softened or not) they leave the short-range part; a pair
// at distance zero loses its erf part too, which is Ewald's self term. Numbers are in units of the cut-off.
// Source: Ewald 1921; Boys 1950 for the functions F_n(u) = integral of t^(2n) exp(-u t^2) over [0, 1]:
// erf(alpha r)/r = 2 alpha / sqrt(pi) F_0(alpha^2 r^2).
#pragma once

#include <vector>

namespace graft::forces {

/// Of the polynomials in single precision, over their largest values: rounding alone.
inline constexpr double least_single_error = 1e-8;

class Screen {
  public:
    Screen() = default;
    /// alpha * cutoff in (0, 9]; single_error: of the polynomials in single precision, over their largest values. Throws
    /// Error(memory).
    explicit Screen(double alpha_cutoff, double single_error = least_single_error);

    /// Ascending powers of v, each as short as its precision allows.
    struct Polynomial {
        std::vector<double> full;
        std::vector<float> single;
        template <typename T>
        const std::vector<T>& terms() const {
            if constexpr (sizeof(T) == 4)
                return single;
            else
                return full;
        }
    };

    double alpha_cutoff() const { return alpha_cutoff_; }
    double single_error() const { return single_error_; }
    const Polynomial& potential() const { return potential_; } // cutoff erf(alpha r) / r
    const Polynomial& force() const { return force_; }         // cutoff^3 (-1/r d/dr) of erf(alpha r) / r

  private:
    double alpha_cutoff_ = 0, single_error_ = 0;
    Polynomial potential_, force_;
};

/// No polynomial is longer (alpha * cutoff <= 9).
inline constexpr int max_screen_terms = 96;

/// exp(x^2) erfc(x) for x in [0, largest], as powers of y = slope / (x + shift) + constant in [-1, 1].
struct ScaledErfc {
    static constexpr double shift = 4, largest = 9; // chosen for short polynomials; beyond, exp(-x^2) < 1e-35
    static constexpr double slope = 2 / (1 / shift - 1 / (largest + shift));
    static constexpr double constant = -1 - slope / (largest + shift);
    Screen::Polynomial polynomial;
};
/// The one there is; made at the first call. Throws Error(memory).
const ScaledErfc& scaled_erfc();

} // namespace graft::forces
