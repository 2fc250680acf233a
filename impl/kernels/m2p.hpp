// M2P: every target of a block against the multipole expansion of every cell of a list.
//
// Cells stand in the lanes of a vector and targets are broadcast, as in p2p.hpp. Centres and lengths are in frame units;
// coefficients are those of moments/expansion.hpp, one array per coefficient.
// Results as in p2p.hpp: a = grad(phi), p = phi, in frame units, added to double arrays.
#pragma once

#include "kernels/p2p.hpp"

#include <cstdint>

namespace graft::kernels {

template <typename T>
struct Cells {
    const T *x = nullptr, *y = nullptr, *z = nullptr; // centres
    const T* rho = nullptr;          // the length that the coefficients are in units of
    const T* s = nullptr;            // softening_term() of the cell; per-particle Plummer only
    const T* coefficients = nullptr; // number k of cell j at coefficients[k * stride + j]
    int64_t stride = 0;
    int64_t count = 0; // a multiple of source_pad, padded by cells of zero coefficients away from all targets
};

/// What a call of m2p wants: softening none or plummer (a spline's cells are beyond its support: none).
struct CellVariant {
    int order = 4;
    bool softened = false;
    bool per_particle = false;
    bool potential = false;
};

/// Adds the field of the cells at the targets. `length` is Plummer's eps in frame units. Sums are kept in T over `chunk`
/// cells, then added up in double (chunk <= 0: over all of them). Cost: cells.count * targets.count, about 120 vector
/// instructions at order 4, 60 at order 3, 35 at order 2.
template <typename T>
void m2p(const CellVariant& variant, double length, const Cells<T>& cells, const Targets<T>& targets, int64_t chunk,
         const FieldSums& sums);

} // namespace graft::kernels
