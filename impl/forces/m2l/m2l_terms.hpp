// SPDX-License-Identifier: BSD-3-Clause
// The mathematics of local expansions, term by term at compile time: M2L and L2P on the CPU and the GPU are
// made of it.
//
// With s^2 = |R|^2 + eps^2 and u = R / s the derivatives of 1/s at R are
//     d^a (1/s) = s^-(1+|a|) T_a(u),   T_a = T_a^0,
//     T_0^n     = (-1)^n (2n-1)!!,
//     T_(a+x)^n = u_x T_a^(n+1) + a_x T_(a-x)^(n+1)
// (the scheme of McMurchie & Davidson 1978 for Hermite integrals, with f_n of 1/s in its place): no number
// but powers of 1/s leaves the size of 1, whatever the units. Terms as in moments/moment_terms.hpp.
#pragma once

#include "core/host_device.hpp"
#include "moments/moment_terms.hpp"

#include <algorithm>

namespace graft::forces {

/// Order of the local expansion (degree of the potential's polynomial) that goes with cells of `order`: far
/// cells' products of source and local terms are kept up to this order in all. One more makes an M2L of order
/// 2 a third longer, but leaves 1.6 times fewer cells near than order + 2 at the same error.
constexpr int local_order(int order) {
    return order + 3;
}
inline constexpr int max_local_order = local_order(moments::max_order);
inline constexpr int max_local_terms = std::max(moments::term_count(local_order(moments::cartesian_order)),
                                                moments::harmonic_count(max_local_order));

/// The term with this index.
constexpr moments::Term local_term(int index) {
    int order = 0;
    while (moments::term_count(order) <= index)
        ++order;
    int rest = index - moments::term_count(order - 1), b_and_c = 0;
    while ((b_and_c + 1) * (b_and_c + 2) / 2 <= rest)
        ++b_and_c;
    rest -= b_and_c * (b_and_c + 1) / 2;
    return {static_cast<int8_t>(order - b_and_c), static_cast<int8_t>(b_and_c - rest),
            static_cast<int8_t>(rest)};
}
constexpr int term_order(int index) {
    const moments::Term t = local_term(index);
    return t.a + t.b + t.c;
}
/// The term that is lower by one along `axis`, twice: how T follows from the level before.
struct Step {
    int axis = 0, lower = 0, lowest = -1; // lowest -1: none
    int factor = 0;
};
/// Along the axis with the least power, z among equals: fewest operations, as lowest is then mostly missing
/// or has the factor 1, and of the levels before only terms without z are wanted.
constexpr Step step_of(int index) {
    const moments::Term t = local_term(index);
    const int power[3] = {t.a, t.b, t.c};
    int axis = -1;
    for (int a = 2; a >= 0; --a)
        if (power[a] > 0 && (axis < 0 || power[a] < power[axis]))
            axis = a;
    const int x = axis == 0, y = axis == 1, z = axis == 2, along = power[axis];
    return {axis, moments::term_index(t.a - x, t.b - y, t.c - z),
            along > 1 ? moments::term_index(t.a - 2 * x, t.b - 2 * y, t.c - 2 * z) : -1, along - 1};
}
constexpr int sum_index(int a, int b) {
    const moments::Term s = local_term(a), t = local_term(b);
    return moments::term_index(s.a + t.a, s.b + t.b, s.c + t.c);
}
/// Unsoftened, derivatives of 1/s are harmonic: those of z^2 and more follow from the others, which alone are
/// summed.
constexpr bool is_kept(int index, bool softened) {
    return softened || local_term(index).c < 2;
}
/// (-1)^n (2n-1)!!
constexpr double radial_constant(int n) {
    double value = 1;
    for (int k = 1; k <= n; ++k)
        value *= -(2 * k - 1);
    return value;
}

/// The terms of an unsoftened expansion that are not summed: L_(a+zz) = -L_(a+xx) - L_(a+yy).
template <typename T>
GRAFT_HD constexpr void complete_terms(int degree, T* value) {
    for (int l = 2; l <= degree; ++l)
        for (int c = 2; c <= l; ++c)
            for (int b = 0; b + c <= l; ++b) {
                const int a = l - b - c;
                value[moments::term_index(a, b, c)] = -value[moments::term_index(a + 2, b, c - 2)] -
                                                      value[moments::term_index(a, b + 2, c - 2)];
            }
}

} // namespace graft::forces
