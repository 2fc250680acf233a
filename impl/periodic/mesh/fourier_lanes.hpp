// SPDX-License-Identifier: BSD-3-Clause
// Fast Fourier transforms of several lines at once, a line in each lane. Read once per SIMD target, as forces/lane_sums.hpp.
//
// Stockham's form: each step reads one array and writes another, in order, and no reversal of bits is left to do. Source:
// Cochran et al. 1967, Proc. IEEE 55, 1664.
#if defined(GRAFT_PERIODIC_FOURIER_LANES_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_PERIODIC_FOURIER_LANES_HPP
#undef GRAFT_PERIODIC_FOURIER_LANES_HPP
#else
#define GRAFT_PERIODIC_FOURIER_LANES_HPP
#endif

#include "periodic/mesh/fourier_plan.hpp"

#include <hwy/highway.h>

#include <utility>

HWY_BEFORE_NAMESPACE();
namespace graft::periodic::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Lines that are transformed together: 64 bytes of each of real and imaginary part.
template <typename T>
inline constexpr int64_t lines_at_once = 64 / sizeof(T);

/// Real and imaginary parts of `length` points of lines_at_once lines.
template <typename T>
struct Lines {
    T *real, *imaginary;
};

template <class V>
struct Complex {
    V r, i;
};
template <class V>
HWY_INLINE Complex<V> add(const Complex<V>& a, const Complex<V>& b) {
    return {hn::Add(a.r, b.r), hn::Add(a.i, b.i)};
}
template <class V>
HWY_INLINE Complex<V> subtract(const Complex<V>& a, const Complex<V>& b) {
    return {hn::Sub(a.r, b.r), hn::Sub(a.i, b.i)};
}
/// -i times a.
template <class V>
HWY_INLINE Complex<V> turn(const Complex<V>& a) {
    return {a.i, hn::Neg(a.r)};
}
/// a + factor b.
template <class V>
HWY_INLINE Complex<V> add_scaled(const Complex<V>& a, const V factor, const Complex<V>& b) {
    return {hn::MulAdd(factor, b.r, a.r), hn::MulAdd(factor, b.i, a.i)};
}

/// x becomes its transform of `count` points: sum over k of x_k exp(-2 pi i j k / count).
template <int count, class D, class V>
HWY_INLINE void transform_few(const D d, Complex<V>* x) {
    using T = hn::TFromD<D>;
    if constexpr (count == 2) {
        const Complex<V> sum = add(x[0], x[1]);
        x[1] = subtract(x[0], x[1]);
        x[0] = sum;
    } else if constexpr (count == 4) {
        const Complex<V> a = add(x[0], x[2]), b = subtract(x[0], x[2]);
        const Complex<V> c = add(x[1], x[3]), e = turn(subtract(x[1], x[3]));
        x[0] = add(a, c), x[1] = add(b, e), x[2] = subtract(a, c), x[3] = subtract(b, e);
    } else if constexpr (count == 3) {
        const Complex<V> sum = add(x[1], x[2]), difference = turn(subtract(x[1], x[2]));
        const Complex<V> middle = add_scaled(x[0], hn::Set(d, T(-0.5)), sum);
        const V sine = hn::Set(d, T(0.866025403784438647));
        x[0] = add(x[0], sum);
        x[1] = add_scaled(middle, sine, difference);
        x[2] = add_scaled(middle, hn::Neg(sine), difference);
    } else {
        static_assert(count == 5);
        const V c1 = hn::Set(d, T(0.309016994374947424)), c2 = hn::Set(d, T(-0.809016994374947424));
        const V s1 = hn::Set(d, T(0.951056516295153572)), s2 = hn::Set(d, T(0.587785252292473129));
        const Complex<V> a = add(x[1], x[4]), b = add(x[2], x[3]);
        const Complex<V> e = turn(subtract(x[1], x[4])), f = turn(subtract(x[2], x[3]));
        const Complex<V> one = add_scaled(add_scaled(x[0], c1, a), c2, b), two = add_scaled(add_scaled(x[0], c2, a), c1, b);
        const Complex<V> odd_one{hn::MulAdd(s1, e.r, hn::Mul(s2, f.r)), hn::MulAdd(s1, e.i, hn::Mul(s2, f.i))};
        const Complex<V> odd_two{hn::NegMulAdd(s1, f.r, hn::Mul(s2, e.r)), hn::NegMulAdd(s1, f.i, hn::Mul(s2, e.i))};
        x[0] = add(x[0], add(a, b));
        x[1] = add(one, odd_one), x[4] = subtract(one, odd_one);
        x[2] = add(two, odd_two), x[3] = subtract(two, odd_two);
    }
}

/// One step: `rest` points of stride `stride` are left to be transformed in each of the sequences.
template <int count, typename T>
void fourier_step(const FourierPlan& plan, int rest, int stride, const Lines<T>& from, const Lines<T>& to) {
    const hn::CappedTag<T, lines_at_once<T>> d;
    using V = hn::Vec<decltype(d)>;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    const int parts = rest / count;
    const int64_t run = stride * lines_at_once<T>;
    for (int p = 0; p < parts; ++p) {
        Complex<V> root[count];
        for (int k = 1; k < count; ++k) {
            const auto at = static_cast<size_t>(p) * static_cast<size_t>(k * stride);
            root[k] = {hn::Set(d, static_cast<T>(plan.cosine[at])), hn::Set(d, static_cast<T>(-plan.sine[at]))};
        }
        for (int64_t q = 0; q < run; q += lanes) {
            Complex<V> x[count];
            for (int k = 0; k < count; ++k) {
                const int64_t at = q + run * (p + static_cast<int64_t>(parts) * k);
                x[k] = {hn::Load(d, from.real + at), hn::Load(d, from.imaginary + at)};
            }
            transform_few<count>(d, x);
            const int64_t first = q + run * count * p;
            hn::Store(x[0].r, d, to.real + first), hn::Store(x[0].i, d, to.imaginary + first);
            for (int k = 1; k < count; ++k) {
                const V r = hn::NegMulAdd(x[k].i, root[k].i, hn::Mul(x[k].r, root[k].r));
                const V i = hn::MulAdd(x[k].i, root[k].r, hn::Mul(x[k].r, root[k].i));
                hn::Store(r, d, to.real + first + run * k), hn::Store(i, d, to.imaginary + first + run * k);
            }
        }
    }
}

/// Transforms `lines`, with exp(-2 pi i j k / length); `other` is as large. The outcome stands in `lines`. The inverse,
/// without its 1 / length: with real and imaginary parts swapped.
template <typename T>
void fourier(const FourierPlan& plan, Lines<T>& lines, Lines<T>& other) {
    int rest = plan.length, stride = 1;
    for (const int factor : plan.factors) {
        switch (factor) {
        case 2: fourier_step<2>(plan, rest, stride, lines, other); break;
        case 3: fourier_step<3>(plan, rest, stride, lines, other); break;
        case 4: fourier_step<4>(plan, rest, stride, lines, other); break;
        default: fourier_step<5>(plan, rest, stride, lines, other);
        }
        std::swap(lines, other);
        rest /= factor;
        stride *= factor;
    }
}
template <typename T>
void inverse_fourier(const FourierPlan& plan, Lines<T>& lines, Lines<T>& other) {
    std::swap(lines.real, lines.imaginary), std::swap(other.real, other.imaginary);
    fourier(plan, lines, other);
    std::swap(lines.real, lines.imaginary), std::swap(other.real, other.imaginary);
}

} // namespace graft::periodic::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
