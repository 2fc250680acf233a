// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic behind radial.hpp for Highway vectors. Read once per instruction set, see forces/p2p/pair.hpp.
//
// The fast root and its series are those of forces/vector_ops.hpp, with the estimate set to 0 where the pair is at
// distance zero. exp and log are Highway's (error bounds 1 and 4 ulp by its documentation). sine_cosine:
// Cody-Waite reduction by pi/2 in three parts, then the polynomials of the Cephes library (sinf, cosf, sin,
// cos); error below 2 ulp of 1 for |x| <= 8000 in float and 1e9 in double (tested).
#if defined(GRAFT_KERNELS_NEAR_VECTOR_MATH_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_KERNELS_NEAR_VECTOR_MATH_HPP
#undef GRAFT_KERNELS_NEAR_VECTOR_MATH_HPP
#else
#define GRAFT_KERNELS_NEAR_VECTOR_MATH_HPP
#endif

#include "near/close_pairs.hpp"
#include "forces/vector_ops.hpp"

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::near::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// `cubes`: 1/r^3 is taken of what inverse_root and powers give.
template <typename T, bool cubes = false>
struct NearOps {
    using Fast = forces::HWY_NAMESPACE::VectorOps<T>;
    using D = typename Fast::D;
    using Real = typename Fast::Real;
    using Mask = typename Fast::Mask;
    using DI = hn::RebindToSigned<D>;
    using Index = hn::Vec<DI>;
    using TI = hn::TFromD<DI>;
    static constexpr double value_factor = Fast::potential_factor, slope_factor = Fast::force_factor;

    static HWY_INLINE Real set(double v) { return hn::Set(D(), static_cast<T>(v)); }
    static HWY_INLINE Real add(Real a, Real b) { return hn::Add(a, b); }
    static HWY_INLINE Real sub(Real a, Real b) { return hn::Sub(a, b); }
    static HWY_INLINE Real mul(Real a, Real b) { return hn::Mul(a, b); }
    static HWY_INLINE Real fma(Real a, Real b, Real c) { return hn::MulAdd(a, b, c); }
    static HWY_INLINE Real fnma(Real a, Real b, Real c) { return hn::NegMulAdd(a, b, c); }
    static HWY_INLINE Real min(Real a, Real b) { return hn::Min(a, b); }
    static HWY_INLINE Real max(Real a, Real b) { return hn::Max(a, b); }
    static HWY_INLINE Mask less(Real a, Real b) { return hn::Lt(a, b); }
    static HWY_INLINE Mask both(Mask a, Mask b) { return hn::And(a, b); }
    static HWY_INLINE Real select(Mask mask, Real a, Real b) { return hn::IfThenElse(mask, a, b); }
    static HWY_INLINE Real zero_unless(Mask mask, Real a) { return hn::IfThenElseZero(mask, a); }

    /// The estimate of 1/sqrt(r2), 0 at distance zero.
    static HWY_INLINE Real estimate(Real r2) {
        constexpr T least = cubes ? least_cubed<T> : least_normal<T>;
        return hn::IfThenElseZero(hn::Ge(r2, hn::Set(D(), least)), Fast::estimate(r2));
    }
    static HWY_INLINE typename Fast::Root root(Real r2, Real y) {
        const Real y2 = mul(y, y);
        return {y, y2, fnma(r2, y2, set(slope_factor != 1 ? 5.0 / 3 : 1))};
    }
    static HWY_INLINE Real inverse_root(Real r2) {
        return mul(Fast::inverse(set(1), root(r2, estimate(r2))), set(value_factor));
    }
    template <bool value, bool slope>
    static HWY_INLINE void powers_from(Real r2, Real y, Real& first, Real& third) {
        const auto polished = root(r2, y);
        if constexpr (value)
            first = Fast::inverse(set(1), polished);
        if constexpr (slope)
            third = Fast::cube(set(1), polished);
    }
    template <bool value, bool slope>
    static HWY_INLINE void powers(Real r2, Real& first, Real& third) {
        powers_from<value, slope>(r2, estimate(r2), first, third);
    }
    template <bool value, bool slope>
    static HWY_INLINE void softened_powers(Real r2, Real& first, Real& third) {
        powers_from<value, slope>(r2, Fast::estimate(r2), first, third);
    }
    static HWY_INLINE Real exp(Real a) { return hn::Exp(D(), a); }
    static HWY_INLINE Real log(Real a) { return hn::Log(D(), a); }

    static HWY_INLINE Index floor_index(Real a) { return hn::ConvertTo(DI(), a); } // a >= 0
    static HWY_INLINE Real real_of(Index index) { return hn::ConvertTo(D(), index); }
    static HWY_INLINE Real knot(const T* table, Index index, int k) {
        return hn::GatherIndex(D(), table + k, hn::ShiftLeft<2>(index));
    }

    static HWY_INLINE void sine_cosine(Real x, Real& sine, Real& cosine) {
        // the nearest multiple of pi/2 by adding and taking away 1.5 2^(bits of the mantissa)
        const Real magic = set(sizeof(T) == 4 ? 12582912.0 : 6755399441055744.0);
        const Real shifted = fma(x, set(0.63661977236758134308), magic);
        const Index quadrant = hn::BitCast(DI(), shifted);
        const Real n = sub(shifted, magic);
        Real s, c;
        if constexpr (sizeof(T) ==
                      4) { // pi/2 in parts of 11 + 11 + 24 bits: products with n <= 2^13 are exact
            const Real u = fnma(n, set(7.54978995489188216e-8),
                                fnma(n, set(4.837512969970703125e-4), fnma(n, set(1.5703125), x)));
            const Real z = mul(u, u);
            s = fma(
                mul(fma(fma(z, set(-1.9515295891e-4), set(8.3321608736e-3)), z, set(-1.6666654611e-1)), z), u,
                u);
            c = fma(mul(fma(fma(z, set(2.443315711809948e-5), set(-1.388731625493765e-3)), z,
                            set(4.166664568298827e-2)),
                        z),
                    z, fma(z, set(-0.5), set(1)));
        } else {
            const Real u =
                fnma(n, set(5.39030285815811905290e-15),
                     fnma(n, set(7.54978941586159635335e-8), fnma(n, set(1.57079625129699707031), x)));
            const Real z = mul(u, u);
            Real p = fma(z, set(1.58962301576546568060e-10), set(-2.50507477628578072866e-8));
            p = fma(fma(fma(fma(p, z, set(2.75573136213857245213e-6)), z, set(-1.98412698295895385996e-4)), z,
                        set(8.33333333332211858878e-3)),
                    z, set(-1.66666666666666307295e-1));
            s = fma(mul(p, z), u, u);
            Real w = fma(z, set(-1.13585365213876817300e-11), set(2.08757008419747316778e-9));
            w = fma(fma(fma(fma(w, z, set(-2.75573141792967388112e-7)), z, set(2.48015872888517045348e-5)), z,
                        set(-1.38888888888730564116e-3)),
                    z, set(4.16666666666665929218e-2));
            c = fma(mul(w, z), z, fma(z, set(-0.5), set(1)));
        }
        const Index one = hn::Set(DI(), TI{1}), two = hn::Set(DI(), TI{2});
        const Mask odd = hn::RebindMask(D(), hn::Eq(hn::And(quadrant, one), one));
        constexpr int to_sign = 8 * sizeof(T) - 2; // bit 1 of the quadrant is the sign
        const Real sine_sign = hn::BitCast(D(), hn::ShiftLeft<to_sign>(hn::And(quadrant, two)));
        const Real cosine_sign =
            hn::BitCast(D(), hn::ShiftLeft<to_sign>(hn::And(hn::Add(quadrant, one), two)));
        sine = hn::Xor(hn::IfThenElse(odd, c, s), sine_sign);
        cosine = hn::Xor(hn::IfThenElse(odd, s, c), cosine_sign);
    }
};

} // namespace graft::near::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
