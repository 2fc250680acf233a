// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of Highway vectors, with a fast reciprocal root.
//
// The fast root: y0 is the hardware's estimate of 1/sqrt(r2) (14 bits with AVX-512, 12 bits before),
// e = 1 - r2 y0^2 its error, and (1-e)^(-3/2), (1-e)^(-1/2) as series give 1/r^3 and 1/r; y0 is not polished.
// Terms kept: the first dropped one is below 3e-8 relative in float and 6e-16 in double. Read once per SIMD
// target, see pair.hpp.
#if defined(GRAFT_KERNELS_OPS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_KERNELS_OPS_HPP
#undef GRAFT_KERNELS_OPS_HPP
#else
#define GRAFT_KERNELS_OPS_HPP
#endif

#include "core/instruction_sets.hpp"
#include "forces/body.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
struct VectorOps {
    using D = hn::ScalableTag<T>;
    using Real = hn::Vec<D>;
    using Mask = hn::Mask<D>;
    static constexpr bool one_lane = false;
    static constexpr bool fast = GRAFT_X86_VECTORS;
    static constexpr bool wide = GRAFT_AVX512; // 14-bit estimates
    static constexpr double force_factor = fast && sizeof(T) == 4 && wide ? 1.5 : 1;
    static constexpr double potential_factor = fast && sizeof(T) == 4 && wide ? 0.5 : 1;
    static constexpr double tiny = tiny_square<T>, smallest_length = tiny_length<T>;
    struct Root {
        Real y, y2, rest; // estimate, its square, and r2 y^2 or 1 - r2 y^2
    };

    static HWY_INLINE Real set(double v) { return hn::Set(D(), static_cast<T>(v)); }
    static HWY_INLINE Real add(Real a, Real b) { return hn::Add(a, b); }
    static HWY_INLINE Real sub(Real a, Real b) { return hn::Sub(a, b); }
    static HWY_INLINE Real mul(Real a, Real b) { return hn::Mul(a, b); }
    static HWY_INLINE Real divide(Real a, Real b) { return hn::Div(a, b); }
    static HWY_INLINE Real fma(Real a, Real b, Real c) { return hn::MulAdd(a, b, c); }
    static HWY_INLINE Real fms(Real a, Real b, Real c) { return hn::MulSub(a, b, c); }
    static HWY_INLINE Real fnma(Real a, Real b, Real c) { return hn::NegMulAdd(a, b, c); }
    static HWY_INLINE Real max(Real a, Real b) { return hn::Max(a, b); }
    static HWY_INLINE Real square_root(Real a) { return hn::Sqrt(a); }
    static HWY_INLINE Mask less(Real a, Real b) { return hn::Lt(a, b); }
    static HWY_INLINE bool any_rarely(Mask mask) { return HWY_UNLIKELY(!hn::AllFalse(D(), mask)); }
    static HWY_INLINE Real select(Mask mask, Real a, Real b) { return hn::IfThenElse(mask, a, b); }
    static HWY_INLINE Real zero_unless(Mask mask, Real a) { return hn::IfThenElseZero(mask, a); }
    /// `a`, no less than `least`: lanes that go along, and whose result nobody takes, stay among the numbers.
    static HWY_INLINE Real idle_lanes_at_least(Real a, double least) { return max(a, set(least)); }

    static HWY_INLINE Real estimate(Real r2) {
        if constexpr (!fast) {
            return hn::Div(set(1), hn::Sqrt(r2));
        } else if constexpr (sizeof(T) == 4) {
            return hn::ApproximateReciprocalSqrt(r2);
        } else {
#if GRAFT_AVX512
            return Real{_mm512_rsqrt14_pd(r2.raw)};
#else // through float, of r2 = m 4^k with m in [0.5, 2): no lane's bits hang on another's, nor on the unit of length
            const hn::RebindToUnsigned<D> bits;
            const auto given = hn::BitCast(bits, r2);
            const auto exponent = hn::And(given, hn::Set(bits, uint64_t{0x7FE} << 52u)); // of 4^k, with its bias
            const auto m = hn::Add(hn::Sub(given, exponent), hn::Set(bits, uint64_t{0x3FE} << 52u));
            const auto scale = hn::Sub(hn::Set(bits, uint64_t{0x5FE} << 52u), hn::ShiftRight<1>(exponent)); // 2^-k
            const hn::Rebind<float, D> narrow;
            const auto root = hn::ApproximateReciprocalSqrt(hn::DemoteTo(narrow, hn::BitCast(D(), m)));
            return hn::Mul(hn::PromoteTo(D(), root), hn::BitCast(D(), scale));
#endif
        }
    }

    static HWY_INLINE Root root(Real r2) {
        const Real y = estimate(r2);
        const Real y2 = mul(y, y);
        if constexpr (force_factor != 1)
            return {y, y2, fnma(r2, y2, set(5.0 / 3))}; // 2/3 + e
        return {y, y2, fnma(r2, y2, set(1))};           // e
    }
    /// q / (r^3 force_factor)
    static HWY_INLINE Real cube(Real q, Root r) {
        const Real start = mul(mul(q, r.y), r.y2);
        if constexpr (!fast)
            return start;
        else if constexpr (sizeof(T) == 4 && wide)
            return mul(start, r.rest);
        Real series = sizeof(T) == 4 ? fma(r.rest, set(1.875), set(1.5))
                                     : fma(r.rest, wide ? set(2.1875) : higher_force(r.rest), set(1.875));
        if constexpr (sizeof(T) == 8)
            series = fma(r.rest, series, set(1.5));
        return mul(start, fma(r.rest, series, set(1)));
    }
    /// q / (r potential_factor)
    static HWY_INLINE Real inverse(Real q, Root r) {
        const Real start = mul(q, r.y);
        if constexpr (!fast)
            return start;
        else if constexpr (sizeof(T) == 4 && wide)
            return mul(start, add(r.rest, set(4.0 / 3))); // 2 + e
        Real series = sizeof(T) == 4 ? fma(r.rest, set(0.375), set(0.5))
                                     : fma(r.rest, wide ? set(0.3125) : higher_potential(r.rest), set(0.375));
        if constexpr (sizeof(T) == 8)
            series = fma(r.rest, series, set(0.5));
        return mul(start, fma(r.rest, series, set(1)));
    }
    /// 1 / r to full precision.
    static HWY_INLINE Real inverse_root(Real r2) {
        return mul(inverse(set(1), root(r2)), set(potential_factor));
    }

  private:
    // 12-bit estimates want one term more in double
    static HWY_INLINE Real higher_force(Real e) {
        return fma(e, set(2.4609375), set(2.1875));
    }
    static HWY_INLINE Real higher_potential(Real e) {
        return fma(e, set(0.2734375), set(0.3125));
    }
};

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
