// SPDX-License-Identifier: BSD-3-Clause
// M2L by order: the kernels are m2l_kernel.hpp (orders 0 to 4) and m2l_harmonic.hpp.
#include "forces/m2l/m2l.hpp"

#include "forces/m2l/m2l_harmonic.hpp"

namespace graft::forces {

template <typename T>
void m2l(const CellVariant& v, double length, const M2lSources<T>& cells, LocalExpansion& local) {
    if (moments::is_harmonic(v.order))
        return m2l_harmonic(v.order, cells, local);
    v.softened ? m2l_of<T, true>(v.order, length, cells, local) : m2l_of<T, false>(v.order, length, cells, local);
}
template void m2l(const CellVariant&, double, const M2lSources<float>&, LocalExpansion&);
template void m2l(const CellVariant&, double, const M2lSources<double>&, LocalExpansion&);

} // namespace graft::forces
