// The coefficients that M2P evaluates, made once per node from its moments.
//
// With x = target - centre, s^2 = x^2 + eps^2, u = rho x / s^2 and t = rho^2 / s^2, the potential of a node is
//   phi = (1/s) P(u, t),  P = A0 - t b0 + t^2 c0 + (A1 - t B1) u + (A2 - t B2) u^2 + A3 u^3 + A4 u^4,
// A_l symmetric tensors contracted with u, from the Taylor series of 1/s (Plummer softening; exact to the order).
// Without softening t u-terms can be folded in: the A_l are made traceless instead and b, B, c vanish.
// A record is A0, A1 (3), A2 (6), A3 (10), A4 (15) as far as the order goes, numbered as in terms.hpp; softened records
// go on with b0, c0, B1 (3), B2 (6).
#pragma once

#include "moments/moments.hpp"

namespace graft::moments {

inline constexpr int trace_terms = 11;
constexpr int record_size(int order, bool softened) { return term_count(order) + (softened ? trace_terms : 0); }

/// Fills record_size(order, softened) numbers for every node, node-major. T is float or double.
template <typename T>
void fill_expansion(const backend::Executor& executor, const Moments& moments, bool softened, core::Buffer<T>& out);

} // namespace graft::moments
