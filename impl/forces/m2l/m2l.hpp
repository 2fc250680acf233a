// SPDX-License-Identifier: BSD-3-Clause
// M2L and L2P for groups: the field of cells that are far away compared with the group, as one polynomial
// about the group's centre, evaluated at every target.
//
// A cell meets a group of n targets once instead of n times: about 260 vector operations at order 2 against
// 40 n of M2P. What M2P cannot be spared is the near side, where the polynomial would be the larger error;
// lists/far_cells.hpp says which. Expansion: potential
//     L(h) = sum over |beta| <= local_order(order) of L_beta h^beta / beta!,   h = target - centre;
// products of source and local terms are kept up to that order in all.
// Sources: Dehnen 2002 (J. Comput. Phys. 179, 27), section 3 (Cartesian M2L); peers.md's "no M2L/L2P" is what
// it goes past.
#pragma once

#include "core/buffer.hpp"
#include "forces/frame.hpp"
#include "forces/m2l/m2l_terms.hpp"
#include "forces/m2p/m2p.hpp"
#include "moments/expansion.hpp"

#include <array>
#include <cstdint>

namespace graft::forces {

/// Coefficients L_beta in frame units, of the first term_count(local_order(order)) terms, or as m2l_harmonic.hpp says.
struct LocalExpansion {
    std::array<double, max_local_terms> value{};
    double centre[3] = {0, 0, 0}; // in the frame
};

/// Cells packed for M2L: rows of numbers, one column a cell.
template <typename T>
class M2lSources {
  public:
    static constexpr int64_t capacity = 128;
    /// From one row to the next: more than a power of two, for the cache's sets.
    static constexpr int64_t stride = capacity + source_pad;
    explicit M2lSources(core::Memory& memory) : values_(memory, "M2L cells") {}

    /// Packs `count` <= capacity nodes; `expansion` as for CellBuffer::fill. variant.per_particle is not for
    /// M2L.
    void fill(const moments::Moments& moments, const T* expansion, const int32_t* nodes, int64_t count,
              const Frame& frame, const CellVariant& variant);
    const T* row(int k) const { return values_.data() + k * stride; } // x y z rho, then the records
    int64_t count() const { return padded_; }                         // a multiple of source_pad

  private:
    core::Buffer<T> values_;
    int64_t padded_ = 0;
};

/// Adds the cells' field to the expansion. `length` is Plummer's eps in frame units (variant.softened).
template <typename T>
void m2l(const CellVariant& variant, double length, const M2lSources<T>& cells, LocalExpansion& local);

/// The same of each kind of cells, which impl/instances.cmake makes.
template <typename T, bool softened>
void m2l_of(int order, double length, const M2lSources<T>& cells, LocalExpansion& local);
template <>
void m2l_of<float, false>(int order, double length, const M2lSources<float>& cells, LocalExpansion& local);
template <>
void m2l_of<float, true>(int order, double length, const M2lSources<float>& cells, LocalExpansion& local);
template <>
void m2l_of<double, false>(int order, double length, const M2lSources<double>& cells, LocalExpansion& local);
template <>
void m2l_of<double, true>(int order, double length, const M2lSources<double>& cells, LocalExpansion& local);

/// Adds the expansion's field at the targets. Cost: about 6 term_count(local_order) operations a target, in
/// double.
template <typename T>
void l2p(const CellVariant& variant, const LocalExpansion& local, const Targets<T>& targets,
         const FieldSums& sums);

} // namespace graft::forces
