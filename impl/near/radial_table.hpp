// SPDX-License-Identifier: BSD-3-Clause
// The radial table as the loops read it: the cubic of each interval.
#pragma once

#include "near/near_pair.hpp"

#include <cstdint>

namespace graft::near {

/// Coefficients of the cubic Hermite polynomials, 4 an interval, lowest power first, in u = (r - x_k)/step
/// from 0 to 1. `out` has 4 (knots - 1) places.
template <typename V>
void table_coefficients(const RadialTable& table, V* out) {
    for (size_t k = 0; k + 1 < table.value.size(); ++k) {
        const double f = table.value[k], g = table.value[k + 1];
        const double df = table.step * table.derivative[k], dg = table.step * table.derivative[k + 1];
        V* c = out + 4 * k;
        c[0] = static_cast<V>(f);
        c[1] = static_cast<V>(df);
        c[2] = static_cast<V>(3 * (g - f) - 2 * df - dg);
        c[3] = static_cast<V>(2 * (f - g) + df + dg);
    }
}

/// What the loops read, for a kernel and a precision; `coefficients` as made above, or NULL.
template <typename V>
Constants<V> constants_of(const Sums& sums, const V* coefficients) {
    const KernelOptions& kernel = sums.kernel;
    Constants<V> c;
    c.softening_square = static_cast<V>(kernel.softening * kernel.softening);
    c.wave_number = static_cast<V>(kernel.wave_number);
    c.third_axis = static_cast<V>(sums.dimension == 3 ? 1 : 0);
    if (kernel.kernel == Kernel::table) {
        c.table_begin = static_cast<V>(kernel.table.begin);
        c.table_inverse_step = static_cast<V>(1 / kernel.table.step);
        c.table_last = static_cast<V>(kernel.table.value.size() - 1);
        c.least_square = kernel.table.begin > 0 ? least_normal<V> : V(-1);
        c.table = coefficients;
    }
    return c;
}

} // namespace graft::near
