// SPDX-License-Identifier: BSD-3-Clause
// The near field's kernels as functions of the distance, and what a pair adds to the sums: one template over the
// arithmetic, `Ops`, for plain numbers (near_pair.hpp), SIMD vectors (tiles/vector_math.hpp) and CUDA threads
// (core/target_bodies.hpp).
//
// d = source - target, r = |d|; value = K(r), slope = -K'(r)/r, so that the gradient with respect to the
// target is the sum of q slope d. A pair at distance zero: y = 1/r is 0 then by Ops::inverse_root, which makes
// both 0 where K is singular. `Ops` is the arithmetic: set, add, sub, mul, fma (a b + c), fnma (c - a b), min,
// max, less, select, zero_unless, inverse_root, powers, softened_powers, exp, log, sine_cosine,
// floor_index, knot. Sums of the two laplace forms are to be multiplied by Ops::value_factor and
// Ops::slope_factor afterwards (1 for plain numbers): powers() may leave a constant factor out.
#if defined(GRAFT_NEAR_RADIAL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_NEAR_RADIAL_HPP
#undef GRAFT_NEAR_RADIAL_HPP
#else
#define GRAFT_NEAR_RADIAL_HPP
#endif

#include "core/target_bodies.hpp"
#include "near/near_pair.hpp"

GRAFT_BEFORE_BODIES();
namespace graft::near GRAFT_OF_TARGET {

template <class Real>
struct Radial {
    Real value, slope, value_imaginary, slope_imaginary; // the last two: helmholtz only
};

template <Form form, bool value, bool slope, class Ops, class Number, typename Real = typename Ops::Real>
GRAFT_BODY Radial<Real> radial(const Ops& ops, Real r2, const Constants<Number>& c) {
    Radial<Real> k{};
    if constexpr (form == Form::laplace) {
        ops.template powers<value, slope>(r2, k.value, k.slope);
    } else if constexpr (form == Form::softened) {
        ops.template softened_powers<value, slope>(ops.add(r2, ops.set(c.softening_square)), k.value, k.slope);
    } else if constexpr (form == Form::logarithm) {
        const Real y = ops.inverse_root(r2);
        if constexpr (value)
            k.value = ops.zero_unless(ops.less(ops.set(0), y), ops.mul(ops.set(-0.5), ops.log(r2)));
        if constexpr (slope)
            k.slope = ops.mul(y, y);
    } else if constexpr (form == Form::yukawa) {
        const Real y = ops.inverse_root(r2), kr = ops.mul(ops.set(c.wave_number), ops.mul(r2, y));
        k.value = ops.mul(y, ops.exp(ops.sub(ops.set(0), kr)));
        if constexpr (slope) // (1 + kappa r) / r^2
            k.slope = ops.mul(ops.mul(k.value, ops.fma(ops.set(c.wave_number), ops.mul(r2, y), ops.set(1))),
                              ops.mul(y, y));
    } else if constexpr (form == Form::helmholtz) {
        const Real y = ops.inverse_root(r2), kr = ops.mul(ops.set(c.wave_number), ops.mul(r2, y));
        Real sine, cosine;
        ops.sine_cosine(kr, sine, cosine);
        k.value = ops.mul(cosine, y), k.value_imaginary = ops.mul(sine, y);
        if constexpr (slope) { // K (1/r^2 - i k/r)
            const Real y2 = ops.mul(y, y), ky = ops.mul(ops.set(c.wave_number), y);
            k.slope = ops.fma(k.value, y2, ops.mul(k.value_imaginary, ky));
            k.slope_imaginary = ops.fnma(k.value, ky, ops.mul(k.value_imaginary, y2));
        }
    } else { // table: cubics between knots, the first one continued to the left, 0 beyond the last knot
        const Real y = ops.inverse_root(r2), r = ops.mul(r2, y);
        const Real t = ops.mul(ops.sub(r, ops.set(c.table_begin)), ops.set(c.table_inverse_step));
        const Real last = ops.set(c.table_last);
        const auto index = ops.floor_index(ops.min(ops.max(t, ops.set(0)), ops.sub(last, ops.set(1))));
        const Real u = ops.sub(t, ops.real_of(index));
        const auto counts = ops.both(ops.less(ops.set(c.least_square), r2), ops.less(t, last));
        const Real a = ops.knot(c.table, index, 0), b = ops.knot(c.table, index, 1);
        const Real e = ops.knot(c.table, index, 2), f = ops.knot(c.table, index, 3);
        if constexpr (value)
            k.value = ops.zero_unless(counts, ops.fma(ops.fma(ops.fma(f, u, e), u, b), u, a));
        if constexpr (slope) {
            const Real two = ops.add(e, e), three = ops.mul(f, ops.set(3));
            const Real derivative = ops.mul(ops.fma(ops.fma(three, u, two), u, b), ops.set(c.table_inverse_step));
            k.slope = ops.zero_unless(counts, ops.mul(ops.sub(ops.set(0), y), derivative));
        }
    }
    return k;
}

/// Sums of one target: `components` potentials and gradients.
template <class Real, int components, int dimension>
struct PointSum {
    Real potential[components], gradient[components][dimension];
};

/// Adds what charges q at distance vector d contribute.
template <Form form, bool value, bool slope, int components, int dimension, class Ops,
          typename Real = typename Ops::Real>
GRAFT_BODY void add_charges(const Ops& ops, const Real (&d)[dimension], const Real (&q)[components],
                            const Radial<Real>& k, PointSum<Real, components, dimension>& sum) {
    if constexpr (form == Form::helmholtz) {
        static_assert(components % 2 == 0, "charges of helmholtz are pairs");
        for (int p = 0; p < components; p += 2) {
            const Real a = q[p], b = q[p + 1];
            if constexpr (value) {
                sum.potential[p] = ops.fnma(b, k.value_imaginary, ops.fma(a, k.value, sum.potential[p]));
                sum.potential[p + 1] =
                    ops.fma(b, k.value, ops.fma(a, k.value_imaginary, sum.potential[p + 1]));
            }
            if constexpr (slope) {
                const Real real = ops.fnma(b, k.slope_imaginary, ops.mul(a, k.slope));
                const Real imaginary = ops.fma(b, k.slope, ops.mul(a, k.slope_imaginary));
                for (int axis = 0; axis < dimension; ++axis) {
                    sum.gradient[p][axis] = ops.fma(real, d[axis], sum.gradient[p][axis]);
                    sum.gradient[p + 1][axis] = ops.fma(imaginary, d[axis], sum.gradient[p + 1][axis]);
                }
            }
        }
    } else {
        for (int p = 0; p < components; ++p) {
            if constexpr (value)
                sum.potential[p] = ops.fma(q[p], k.value, sum.potential[p]);
            if constexpr (slope) {
                const Real weight = ops.mul(q[p], k.slope);
                for (int axis = 0; axis < dimension; ++axis)
                    sum.gradient[p][axis] = ops.fma(weight, d[axis], sum.gradient[p][axis]);
            }
        }
    }
}

} // namespace graft::near GRAFT_OF_TARGET
GRAFT_AFTER_BODIES();

#endif
