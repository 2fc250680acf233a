// SPDX-License-Identifier: BSD-3-Clause
// The force of one charge on one target: one template over the kind of number (scalar, SIMD vector, later
// CUDA).
//
// `Ops` is the arithmetic: a Real, a Mask and the operations below. Highway's vectors want their code
// compiled once per SIMD target, so this file is read once per target (its guard follows HWY_TARGET_TOGGLE).
//
// The sums are a = sum q d / r^3 (towards the sources) and p = sum q / r, up to the constant factors
// Ops::force_factor and Ops::potential_factor, which are applied after the sum. A pair at distance zero adds
// nothing to the force, and nothing to the potential unless it is softened: r^2 has a tiny number added
// inside its first multiply-add, which keeps 1/r finite at no cost, and d = 0 does the rest. Source: Springel
// 2005 for the spline (coefficients as in Gadget-2).
#if defined(GRAFT_KERNELS_PAIR_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_KERNELS_PAIR_HPP
#undef GRAFT_KERNELS_PAIR_HPP
#else
#define GRAFT_KERNELS_PAIR_HPP
#endif

#include "forces/softening.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

template <class Real>
struct PairSum {
    Real x, y, z, potential;
};

/// Force and potential inside the spline's support, as factors of q d and q, for u = r / h; exact Newton
/// outside.
template <class Ops, typename Real = typename Ops::Real>
HWY_INLINE void spline_inner(const Ops ops, Real u, Real inverse_h, Real& force, Real& potential) {
    const Real u2 = ops.mul(u, u);
    const Real inverse_h3 = ops.mul(inverse_h, ops.mul(inverse_h, inverse_h));
    const auto near = ops.less(u, ops.set(0.5));
    const Real inverse_u = ops.divide(ops.set(1), ops.max(u, ops.set(0.5))); // used where u >= 0.5 only
    const Real inverse_u3 = ops.mul(inverse_u, ops.mul(inverse_u, inverse_u));
    const Real force_near = ops.fma(u2, ops.fma(u, ops.set(32), ops.set(-38.4)), ops.set(32.0 / 3));
    const Real cubic = ops.fma(u, ops.fma(u, ops.fma(u, ops.set(-32.0 / 3), ops.set(38.4)), ops.set(-48)),
                               ops.set(64.0 / 3));
    const Real force_far = ops.fma(inverse_u3, ops.set(-1.0 / 15), cubic);
    force = ops.mul(inverse_h3, ops.select(near, force_near, force_far));
    const Real potential_near =
        ops.fma(u2, ops.fma(u2, ops.fma(u, ops.set(-6.4), ops.set(9.6)), ops.set(-16.0 / 3)), ops.set(2.8));
    const Real quintic =
        ops.fma(u2,
                ops.fma(u, ops.fma(u, ops.fma(u, ops.set(32.0 / 15), ops.set(-9.6)), ops.set(16)),
                        ops.set(-32.0 / 3)),
                ops.set(3.2));
    const Real potential_far = ops.fma(inverse_u, ops.set(-1.0 / 15), quintic);
    potential = ops.mul(inverse_h, ops.select(near, potential_near, potential_far));
}

/// Nothing is taken off the pair.
struct NoLongRange {
    static constexpr bool present = false;
};
/// What screen.hpp takes off the pair, per unit charge and over the Ops' factors; a pair outside has nothing
/// left.
template <class Ops>
struct LongRange {
    static constexpr bool present = true;
    typename Ops::Mask inside;
    typename Ops::Real force, potential;
};

/// Adds the charge q at distance vector (dx, dy, dz) = source - target to `sum`. `soft` is added to r^2:
/// Ops::tiny, or Plummer's eps_ij^2 (+ tiny); `h` is the spline's support (spline only).
template <Softening kind, bool with_potential, class Ops, typename Real = typename Ops::Real,
          class Long = NoLongRange>
HWY_INLINE void add_pair(const Ops ops, Real dx, Real dy, Real dz, Real q, Real soft, Real h, bool mask_zero,
                         PairSum<Real>& sum, const Long& long_range = {}) {
    const Real r2 = ops.fma(dx, dx, ops.fma(dy, dy, ops.fma(dz, dz, soft)));
    const auto root = ops.root(r2);
    Real force = ops.cube(q, root);
    Real potential = q;
    if constexpr (with_potential) {
        potential = ops.inverse(q, root);
        if (mask_zero) // constant at every call: folded away
            potential = ops.zero_unless(ops.less(ops.set(Ops::tiny), r2), potential);
    }
    if constexpr (kind == Softening::spline) {
        const auto inside = ops.less(r2, ops.mul(h, h));
        if (HWY_UNLIKELY(ops.any(inside))) {
            Real inner_force = q, inner_potential = q;
            const Real inverse_h = ops.divide(ops.set(1), ops.max(h, ops.set(Ops::smallest_length)));
            spline_inner(ops, ops.mul(ops.square_root(r2), inverse_h), inverse_h, inner_force,
                         inner_potential);
            force =
                ops.select(inside, ops.mul(ops.mul(q, inner_force), ops.set(1 / Ops::force_factor)), force);
            if constexpr (with_potential)
                potential = ops.select(
                    inside, ops.mul(ops.mul(q, inner_potential), ops.set(1 / Ops::potential_factor)),
                    potential);
        }
    }
    if constexpr (Long::present) {
        force = ops.zero_unless(long_range.inside, ops.fnma(q, long_range.force, force));
        if constexpr (with_potential)
            potential = ops.zero_unless(long_range.inside, ops.fnma(q, long_range.potential, potential));
    }
    sum.x = ops.fma(force, dx, sum.x);
    sum.y = ops.fma(force, dy, sum.y);
    sum.z = ops.fma(force, dz, sum.z);
    if constexpr (with_potential)
        sum.potential = ops.add(sum.potential, potential);
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
