// SPDX-License-Identifier: BSD-3-Clause
// The coefficients that M2P evaluates, made once per node from its moments.
//
// With x = target - centre, s^2 = x^2 + eps^2, u = rho x / s^2, t = rho^2 / s^2 and E = eps^2 rho^2 / s^4,
// the potential of a node is
//     phi = (1/s) [P(u) + E R(u, t)],
//     P   = Q0 + Q1 u + Q2 u^2 + Q3 u^3 + Q4 u^4,
//     R   = c + c1 u + c2 u^2 + w (7/8 E - 1/2 t),
// Q_l the traceless part of the moments times (2l-1)!!/l!, contracted with u. It is the Taylor series of 1/s:
// with derivatives g_n = (2n-1)!!/s^(2n+1) the traces of the moments meet
//     x^2 g_(n+1) = (2n+1) g_n - eps^2 g_(n+1)
// and leave only terms in eps^2, exact to the order for any eps:
//     c = -tr M2 / 2,   c1 = -3/2 tr M3,   c2 = -15/8 of the traceless part of tr M4,   w = tr tr M4.
// Unsoftened, E = 0 and the traces are not stored. A record is
//     Q0 | Q1: x y z | 2 Q2: xx xy xz yy yz | 3 Q3: xxx xxy xxz xyy xyz yyy yyz
//        | 4 Q4: xxxx xxxy xxxz xxyy xxyz xyyy xyyz yyyy yyyz
// (the other components follow from tracelessness), and softened
//     c | c1: x y z | 2 c2: as Q2 | w,
// each as far as the order goes, filled up to a multiple of record_pad. Above cartesian_order the record is the
// harmonic moments as they are, and cells are not softened.
#pragma once

#include "moments/moments.hpp"

namespace graft::moments {

inline constexpr int record_pad = 4;

/// Numbers of Q_0 ... Q_order, and of harmonic moments.
constexpr int traceless_terms(int order) {
    return harmonic_count(order);
}
/// Numbers of R: 0, 0, 1, 4, 10.
constexpr int trace_terms(int order) {
    return order < 2 ? 0 : (order == 2 ? 1 : (order == 3 ? 4 : 10));
}
/// Numbers from one node's record to the next one's.
constexpr int record_size(int order, bool softened) {
    const int numbers = traceless_terms(order) + (softened ? trace_terms(order) : 0);
    return (numbers + record_pad - 1) / record_pad * record_pad;
}

/// Fills record_size(order, softened) numbers for every node, node-major. T is float or double.
template <typename T>
void fill_expansion(const backend::Executor& executor, const Moments& moments, bool softened,
                    core::Buffer<T>& out);

/// The same for the nodes [begin, end) alone; those before keep their records.
template <typename T>
void extend_expansion(const backend::Executor& executor, const Moments& moments, bool softened, int64_t begin,
                      int64_t end, core::Buffer<T>& out);

} // namespace graft::moments
