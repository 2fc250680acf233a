// SPDX-License-Identifier: BSD-3-Clause
// The sums over particles and wave vectors, compiled once per SIMD target; ewald_waves.hpp says what they are.
//
// Structure factors: per vector of particles and two k, 6 loads and 8 multiply-adds, the floor of two loads a
// cycle being 3 cycles and that of two multiply-adds 4. Field: per two vectors of particles and one (+k, -k),
// 12 loads (8 of them broadcasts of what weigh_structure made) and 16 multiply-adds.
#include "periodic/ewald_waves.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "periodic/ewald_waves.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "forces/lane_sums.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::periodic::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t wave_block = 256; // particles whose powers stay in cache

/// Powers of exp(2 pi i f) of one block, and scratch behind them.
template <typename T>
struct Powers {
    T* axis[3]; // of each axis: cos, sin of power 0, of power 1, ...
    T* rest;

    Powers(const Waves& waves, const Fractions& p, int64_t first, int64_t count, T* scratch) {
        const double* f[3] = {p.f1 + first, p.f2 + first, p.f3 + first};
        for (int a = 0; a < 3; ++a) {
            axis[a] = scratch;
            const int most = waves.most(a) + (a == 2 ? 1 : 0); // rows are filled up to even counts
            scratch += 2 * wave_block * (most + 1);
            for (int64_t k = 0; k < wave_block; ++k)
                fill(k < count ? f[a][k] : 0.0, most, axis[a] + k);
        }
        rest = scratch;
    }
    static void fill(double f, int most, T* to) {
        const double angle = 6.283185307179586477 * (f - std::round(f));
        const double c = std::cos(angle), s = std::sin(angle);
        double real = 1, imaginary = 0;
        for (int m = 0; m <= most; ++m) {
            to[0] = static_cast<T>(real), to[wave_block] = static_cast<T>(imaginary);
            to += 2 * wave_block;
            const double next = real * c - imaginary * s;
            imaginary = real * s + imaginary * c;
            real = next;
        }
    }
    const T* of(int a, int power) const { return axis[a] + 2 * wave_block * power; }
};

/// exp(2 pi i (i f1 + j f2)) of a vector of particles.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void row_phase(const D d, const Powers<T>& powers, const Waves::Row& row, int64_t at,
                          hn::Vec<D>& real, hn::Vec<D>& imaginary) {
    const T* const x = powers.of(0, row.i) + at;
    const T* const y = powers.of(1, std::abs(row.j)) + at;
    const auto xc = hn::Load(d, x), xs = hn::Load(d, x + wave_block), yc = hn::Load(d, y);
    const auto ys = row.j < 0 ? hn::Neg(hn::Load(d, y + wave_block)) : hn::Load(d, y + wave_block);
    real = hn::NegMulAdd(xs, ys, hn::Mul(xc, yc));
    imaginary = hn::MulAdd(xs, yc, hn::Mul(xc, ys));
}

template <typename T>
void structure(const Waves& waves, const Fractions& particles, const double* charge, T* scratch,
               double* sums) {
    const hn::ScalableTag<T> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    for (int64_t first = 0; first < particles.count; first += wave_block) {
        const int64_t count = std::min(wave_block, particles.count - first);
        const Powers<T> powers(waves, particles, first, count, scratch);
        T* const real = powers.rest;
        T* const imaginary = real + wave_block;
        T* const q = imaginary + wave_block;
        for (int64_t k = 0; k < wave_block; ++k)
            q[k] = k < count ? static_cast<T>(charge[first + k]) : T(0);
        for (const Waves::Row& row : waves.rows()) {
            for (int64_t at = 0; at < wave_block; at += lanes) {
                auto r = hn::Zero(d), i = hn::Zero(d);
                row_phase(d, powers, row, at, r, i);
                hn::Store(hn::Mul(r, hn::Load(d, q + at)), d, real + at);
                hn::Store(hn::Mul(i, hn::Load(d, q + at)), d, imaginary + at);
            }
            for (int k = 0; k < row.count; k += 2) {
                const T* const z = powers.of(2, k);
                const T* const w = powers.of(2, k + 1);
                const auto zero = hn::Zero(d);
                hn::Vec<decltype(d)> one[4] = {zero, zero, zero, zero}, two[4] = {zero, zero, zero, zero};
                for (int64_t at = 0; at < wave_block; at += lanes) {
                    const auto r = hn::Load(d, real + at), i = hn::Load(d, imaginary + at);
                    const auto zc = hn::Load(d, z + at), zs = hn::Load(d, z + wave_block + at);
                    const auto wc = hn::Load(d, w + at), ws = hn::Load(d, w + wave_block + at);
                    one[0] = hn::MulAdd(r, zc, one[0]), one[1] = hn::MulAdd(i, zs, one[1]);
                    one[2] = hn::MulAdd(i, zc, one[2]), one[3] = hn::MulAdd(r, zs, one[3]);
                    two[0] = hn::MulAdd(r, wc, two[0]), two[1] = hn::MulAdd(i, ws, two[1]);
                    two[2] = hn::MulAdd(i, wc, two[2]), two[3] = hn::MulAdd(r, ws, two[3]);
                }
                double* const to = sums + structure_size * (row.first + k);
                forces::HWY_NAMESPACE::add_lane_sums(d, one, 1.0, to);
                forces::HWY_NAMESPACE::add_lane_sums(d, two, 1.0, to + structure_size);
            }
        }
    }
}

/// Sums of one row at two vectors of particles.
template <class V>
struct RowSum {
    V u[2], v[2]; // real and imaginary
};

template <typename T>
void field(const Waves& waves, const T* weighted, const Fractions& particles, T* scratch, double* potential,
           double* d1, double* d2, double* d3) {
    const hn::ScalableTag<T> d;
    using V = hn::Vec<decltype(d)>;
    constexpr double turn = -6.283185307179586477;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    for (int64_t first = 0; first < particles.count; first += wave_block) {
        const int64_t count = std::min(wave_block, particles.count - first);
        const Powers<T> powers(waves, particles, first, count, scratch);
        T* const out = powers.rest;
        std::fill(out, out + 4 * wave_block, T(0));
        for (const Waves::Row& row : waves.rows())
            for (int64_t at = 0; at < wave_block; at += 2 * lanes) {
                const V zero = hn::Zero(d);
                RowSum<V> sum[2] = {{{zero, zero}, {zero, zero}}, {{zero, zero}, {zero, zero}}};
                const T* w = weighted + wave_size * row.first;
                const T* z = powers.of(2, 0) + at;
                for (int k = 0; k < row.count; ++k, w += wave_size, z += 2 * wave_block)
                    for (int p = 0; p < 2; ++p) {
                        const auto c = hn::Load(d, z + p * lanes),
                                   s = hn::Load(d, z + wave_block + p * lanes);
                        RowSum<V>& to = sum[p];
                        to.u[0] = hn::MulAdd(hn::Set(d, w[1]), s, hn::MulAdd(hn::Set(d, w[0]), c, to.u[0]));
                        to.u[1] = hn::MulAdd(hn::Set(d, w[3]), s, hn::MulAdd(hn::Set(d, w[2]), c, to.u[1]));
                        to.v[0] = hn::MulAdd(hn::Set(d, w[5]), s, hn::MulAdd(hn::Set(d, w[4]), c, to.v[0]));
                        to.v[1] = hn::MulAdd(hn::Set(d, w[7]), s, hn::MulAdd(hn::Set(d, w[6]), c, to.v[1]));
                    }
                for (int p = 0; p < 2; ++p) {
                    V r = zero, i = zero;
                    T* const here = out + at + p * lanes;
                    row_phase(d, powers, row, at + p * lanes, r, i);
                    const V turned = hn::MulAdd(r, sum[p].u[1], hn::Mul(i, sum[p].u[0]));
                    const V values[4] = {hn::NegMulAdd(i, sum[p].u[1], hn::Mul(r, sum[p].u[0])),
                                         hn::Mul(turned, hn::Set(d, static_cast<T>(row.i))),
                                         hn::Mul(turned, hn::Set(d, static_cast<T>(row.j))),
                                         hn::MulAdd(r, sum[p].v[1], hn::Mul(i, sum[p].v[0]))};
                    for (int c = 0; c < 4; ++c)
                        hn::Store(hn::Add(hn::Load(d, here + c * wave_block), values[c]), d,
                                  here + c * wave_block);
                }
            }
        for (int64_t k = 0; k < count; ++k) {
            if (potential != nullptr)
                potential[first + k] += static_cast<double>(out[k]);
            d1[first + k] += turn * static_cast<double>(out[wave_block + k]);
            d2[first + k] += turn * static_cast<double>(out[2 * wave_block + k]);
            d3[first + k] += turn * static_cast<double>(out[3 * wave_block + k]);
        }
    }
}

void structure_float(const Waves& waves, const Fractions& p, const double* q, float* scratch, double* sums) {
    structure(waves, p, q, scratch, sums);
}
void structure_double(const Waves& waves, const Fractions& p, const double* q, double* scratch,
                      double* sums) {
    structure(waves, p, q, scratch, sums);
}
void field_float(const Waves& waves, const float* weighted, const Fractions& p, float* scratch,
                 double* potential, double* d1, double* d2, double* d3) {
    field(waves, weighted, p, scratch, potential, d1, d2, d3);
}
void field_double(const Waves& waves, const double* weighted, const Fractions& p, double* scratch,
                  double* potential, double* d1, double* d2, double* d3) {
    field(waves, weighted, p, scratch, potential, d1, d2, d3);
}

} // namespace graft::periodic::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::periodic {

HWY_EXPORT(structure_float);
HWY_EXPORT(structure_double);
HWY_EXPORT(field_float);
HWY_EXPORT(field_double);

template <>
void add_structure<float>(const Waves& waves, const Fractions& p, const double* q, float* scratch,
                          double* sums) {
    HWY_DYNAMIC_DISPATCH(structure_float)(waves, p, q, scratch, sums);
}
template <>
void add_structure<double>(const Waves& waves, const Fractions& p, const double* q, double* scratch,
                           double* sums) {
    HWY_DYNAMIC_DISPATCH(structure_double)(waves, p, q, scratch, sums);
}
template <>
void add_waves<float>(const Waves& waves, const float* weighted, const Fractions& p, float* scratch,
                      double* potential, double* d1, double* d2, double* d3) {
    HWY_DYNAMIC_DISPATCH(field_float)(waves, weighted, p, scratch, potential, d1, d2, d3);
}
template <>
void add_waves<double>(const Waves& waves, const double* weighted, const Fractions& p, double* scratch,
                       double* potential, double* d1, double* d2, double* d3) {
    HWY_DYNAMIC_DISPATCH(field_double)(waves, weighted, p, scratch, potential, d1, d2, d3);
}

} // namespace graft::periodic
#endif
