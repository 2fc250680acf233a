// SPDX-License-Identifier: BSD-3-Clause
// M2P: every target of a block against the multipole expansion of every cell of a list.
//
// Cells stand in the lanes of a vector and targets are broadcast, as in p2p.hpp. Centres and lengths are in
// frame units; cell_rows.hpp makes the rows of coefficients from the records of moments/expansion.hpp. Results as
// in p2p.hpp: a = grad(phi), p = phi, in frame units, added to double arrays.
#pragma once

#include "forces/p2p/p2p.hpp"
#include "moments/moment_terms.hpp"

#include <algorithm>
#include <cstdint>

namespace graft::forces {

/// Cells in blocks of source_pad: row k of block b is at rows[(b * row_count + k) * source_pad]. The last block is filled up
/// by cells of zero coefficients away from all targets.
template <typename T>
struct Cells {
    const T* rows = nullptr;
    int64_t count = 0;
    int64_t padded() const { return (count + source_pad - 1) / source_pad * source_pad; }
};

/// What a call of m2p wants: softening none or plummer (a spline's cells are beyond its support: none).
struct CellVariant {
    int order = 4;
    bool softened = false;
    bool per_particle = false;
    bool potential = false;
    bool screened = false; // the short-range part of a lattice sum; not with lengths per particle
    bool traces() const { return softened || screened; } // what the records and rows must hold
};

// Rows: the centre, the length rho that the coefficients are in units of, 1 / rho, softening_term() of the
// cell, and the coefficients. The gradient of order l is a traceless polynomial of degree l - 1 in u, and
// each component of it has its own row for every function of a basis of such polynomials (m2p.cpp): 5 of
// degree 2, 7 of degree 3.
inline constexpr int row_x = 0, row_y = 1, row_z = 2, row_rho = 3, row_inverse_rho = 4, row_softening = 5;
inline constexpr int row_charge = 6;
inline constexpr int row_dipole = 7;        // 3: x y z
inline constexpr int row_quadrupole = 10;   // 6: xx xy xz yy yz zz
inline constexpr int row_octupole = 16;     // 3 components of 5
inline constexpr int row_hexadecapole = 31; // 3 components of 7
/// Rows up to the gradient's last; softened and screened cells go on with c | c1: x y z | 2 c2: xx xy xz yy
/// yz zz | w. Above moments::cartesian_order: the record as it is, from row_charge on.
constexpr int gradient_rows(int order) {
    if (moments::is_harmonic(order))
        return row_charge + moments::harmonic_count(order);
    return order == 0 ? row_dipole
                      : (order == 1 ? row_quadrupole
                                    : (order == 2 ? row_octupole : (order == 3 ? row_hexadecapole : 52)));
}
constexpr int trace_rows(int order) {
    return order < 2 ? 0 : (order == 2 ? 1 : (order == 3 ? 4 : 11));
}
constexpr int row_count(int order, bool traces) {
    return gradient_rows(order) + (traces ? trace_rows(order) : 0);
}

/// Adds the field of the cells at the targets. `length` is Plummer's eps in frame units. Sums are kept in T
/// over `chunk` cells, then added up in double (chunk <= 0: over all of them). Cost: cells.padded() *
/// targets.count, about 105 vector instructions at order 4, 65 at order 3, 40 at order 2.
template <typename T>
void m2p(const CellVariant& variant, double length, const Cells<T>& cells, const Targets<T>& targets,
         int64_t chunk, const FieldSums& sums);
/// The same for a screened variant: erfc(alpha s) / s in place of 1 / s, s^2 = r^2 + eps^2, at any distance.
/// alpha in frame units. Cost: about 60 instructions more.
template <typename T>
void m2p_screened(const CellVariant& variant, double length, double alpha, const Cells<T>& cells,
                  const Targets<T>& targets, int64_t chunk, const FieldSums& sums);

/// The cells of one sum in T: `chunk` in whole vectors, or all of them.
template <typename T>
int64_t whole(const Cells<T>& cells, int64_t chunk) {
    return chunk <= 0 ? std::max(source_pad, cells.padded()) : (chunk + source_pad - 1) / source_pad * source_pad;
}

} // namespace graft::forces
