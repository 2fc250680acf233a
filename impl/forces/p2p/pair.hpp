// SPDX-License-Identifier: BSD-3-Clause
// The force of one charge on one target: one template over the arithmetic, `Ops`, for SIMD vectors and CUDA
// threads (body.hpp).
//
// The sums are a = sum q d / r^3 (towards the sources) and p = sum q / r, up to the constant factors
// Ops::force_factor and Ops::potential_factor, which are applied after the sum. A pair at distance zero adds
// nothing to the force, and nothing to the potential unless it is softened: r^2 has a tiny number added
// inside its first multiply-add, which keeps 1/r finite at no cost, and d = 0 does the rest. Source: Springel
// 2005 for the spline (coefficients as in Gadget-2). How 1/r^3 and 1/r are made of an estimate is the
// architecture's own: Ops::root, cube, inverse.
#if defined(GRAFT_KERNELS_PAIR_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_KERNELS_PAIR_HPP
#undef GRAFT_KERNELS_PAIR_HPP
#else
#define GRAFT_KERNELS_PAIR_HPP
#endif

#include "forces/body.hpp"
#include "forces/softening.hpp"

GRAFT_BEFORE_BODIES();
namespace graft::forces GRAFT_OF_TARGET {

template <class Real>
struct PairSum {
    Real x, y, z, potential;
};

/// Of q d and of q.
template <class Real>
struct PairFactors {
    Real force, potential;
};

/// Within the spline's support, times h^3 and h; u = r / h < 1/2, u2 its square.
template <class Ops, typename Real = typename Ops::Real>
GRAFT_BODY PairFactors<Real> spline_near(const Ops ops, Real u, Real u2) {
    return {
        ops.fma(u2, ops.fma(u, ops.set(32), ops.set(-38.4)), ops.set(32.0 / 3)),
        ops.fma(u2, ops.fma(u2, ops.fma(u, ops.set(-6.4), ops.set(9.6)), ops.set(-16.0 / 3)), ops.set(2.8))};
}
/// The same for u >= 1/2.
template <class Ops, typename Real = typename Ops::Real>
GRAFT_BODY PairFactors<Real> spline_far(const Ops ops, Real u, Real u2) {
    const Real inverse_u = ops.divide(ops.set(1), ops.idle_lanes_at_least(u, 0.5));
    const Real inverse_u3 = ops.mul(inverse_u, ops.mul(inverse_u, inverse_u));
    const Real cubic = ops.fma(u, ops.fma(u, ops.fma(u, ops.set(-32.0 / 3), ops.set(38.4)), ops.set(-48)),
                               ops.set(64.0 / 3));
    const Real quintic =
        ops.fma(u2,
                ops.fma(u, ops.fma(u, ops.fma(u, ops.set(32.0 / 15), ops.set(-9.6)), ops.set(16)),
                        ops.set(-32.0 / 3)),
                ops.set(3.2));
    return {ops.fma(inverse_u3, ops.set(-1.0 / 15), cubic), ops.fma(inverse_u, ops.set(-1.0 / 15), quintic)};
}

/// Of the lanes where r < h; in the others some number.
template <class Ops, typename Real = typename Ops::Real>
GRAFT_RARE_BODY PairFactors<Real> spline_factors(const Ops ops, Real r2, Real h) {
    const Real inverse_h = ops.divide(ops.set(1), ops.idle_lanes_at_least(h, Ops::smallest_length));
    const Real inverse_h3 = ops.mul(inverse_h, ops.mul(inverse_h, inverse_h));
    const Real u = ops.mul(ops.square_root(r2), inverse_h), u2 = ops.mul(u, u);
    const auto near = ops.less(u, ops.set(0.5));
    PairFactors<Real> of_u;
    if constexpr (Ops::one_lane) {
        of_u = near ? spline_near(ops, u, u2) : spline_far(ops, u, u2);
    } else {
        const PairFactors<Real> a = spline_near(ops, u, u2), b = spline_far(ops, u, u2);
        of_u = {ops.select(near, a.force, b.force), ops.select(near, a.potential, b.potential)};
    }
    return {ops.mul(inverse_h3, of_u.force), ops.mul(inverse_h, of_u.potential)};
}

/// q / r^3 and q / r, softened, over the Ops' factors. r2: with what softens it; h: the spline's support;
/// mask_zero: pairs at distance zero have no potential.
template <bool spline, bool with_potential, bool mask_zero, class Ops, typename Real = typename Ops::Real>
GRAFT_BODY PairFactors<Real> pair_factors(const Ops ops, Real r2, Real q, Real h) {
    const auto root = ops.root(r2);
    PairFactors<Real> pair{ops.cube(q, root), q};
    if constexpr (with_potential) {
        pair.potential = ops.inverse(q, root);
        if constexpr (mask_zero)
            pair.potential = ops.zero_unless(ops.less(ops.set(Ops::tiny), r2), pair.potential);
    }
    if constexpr (spline) {
        const auto inside = ops.less(r2, ops.mul(h, h));
        if (ops.any_rarely(inside)) {
            const PairFactors<Real> inner = spline_factors(ops, r2, h);
            pair.force = ops.select(
                inside, ops.mul(ops.mul(q, inner.force), ops.set(1 / Ops::force_factor)), pair.force);
            if constexpr (with_potential)
                pair.potential = ops.select(
                    inside, ops.mul(ops.mul(q, inner.potential), ops.set(1 / Ops::potential_factor)),
                    pair.potential);
        }
    }
    return pair;
}

/// Nothing is taken off the pair.
struct NoLongRange {
    static constexpr bool present = false;
};
/// What screen.hpp takes off the pair, per unit charge and over the Ops' factors; a pair outside has nothing
/// left. (On GPUs it has no charge from the beginning and adds to a virial, too: screen_gpu.cuh.)
template <class Ops>
struct LongRange {
    static constexpr bool present = true;
    typename Ops::Mask inside;
    typename Ops::Real force, potential;
};

/// Adds the charge q at distance vector (dx, dy, dz) = source - target to `sum`. `soft` is added to r^2:
/// Ops::tiny, or Plummer's eps_ij^2, at least tiny; h >= 0 and mask_zero as above.
template <bool spline, bool with_potential, bool mask_zero, class Ops, typename Real = typename Ops::Real,
          class Long = NoLongRange>
GRAFT_BODY void add_pair(const Ops ops, Real dx, Real dy, Real dz, Real q, Real soft, Real h,
                         PairSum<Real>& sum, const Long& long_range = {}) {
    const Real r2 = ops.fma(dx, dx, ops.fma(dy, dy, ops.fma(dz, dz, soft)));
    PairFactors<Real> pair = pair_factors<spline, with_potential, mask_zero>(ops, r2, q, h);
    if constexpr (Long::present) {
        pair.force = ops.zero_unless(long_range.inside, ops.fnma(q, long_range.force, pair.force));
        if constexpr (with_potential)
            pair.potential =
                ops.zero_unless(long_range.inside, ops.fnma(q, long_range.potential, pair.potential));
    }
    sum.x = ops.fma(pair.force, dx, sum.x);
    sum.y = ops.fma(pair.force, dy, sum.y);
    sum.z = ops.fma(pair.force, dz, sum.z);
    if constexpr (with_potential)
        sum.potential = ops.add(sum.potential, pair.potential);
}

} // namespace graft::forces GRAFT_OF_TARGET
GRAFT_AFTER_BODIES();
#endif
