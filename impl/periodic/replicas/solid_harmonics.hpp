// SPDX-License-Identifier: BSD-3-Clause
// Regular solid harmonics R_lm = r^l P_lm(cos theta) exp(i m phi) / (l + m)!, by recurrence.
//
//     R_(l+1)(l+1) = -(x + i y) / (2l + 2) R_ll
//     R_(l+1)m     = ((2l + 1) z R_lm - r^2 R_(l-1)m) / ((l + 1)^2 - m^2)
//     R_l(-m)      = (-1)^m conj(R_lm)
//
// Derivatives:
//
//     d/dz R_lm            = R_(l-1)m
//     (d/dx + i d/dy) R_lm = R_(l-1)(m+1)
//     (d/dx - i d/dy) R_lm = -R_(l-1)(m-1)
//
// Source: van Gelderen 1998, DEOS Progress Letter 98.1, 57.
#pragma once

#include <complex>
#include <cstdlib>

namespace graft::periodic {

/// Where (l, m), m >= 0, stands.
constexpr int harmonic_at(int l, int m) {
    return l * (l + 1) / 2 + m;
}

/// 1 / ((l + 1)^2 - m^2) at harmonic_at(l, m): divisions would be most of the time.
template <typename Real>
struct HarmonicInverses {
    static constexpr int most = 20;
    Real of[harmonic_at(most, most)] = {};
    constexpr HarmonicInverses() {
        for (int l = 0; l < most; ++l)
            for (int m = 0; m <= l; ++m)
                of[harmonic_at(l, m)] = Real(1) / static_cast<Real>((l + 1) * (l + 1) - m * m);
    }
};
template <typename Real>
inline constexpr HarmonicInverses<Real> harmonic_inverses;

/// All with m >= 0 up to l = most, at most 20. Real and imaginary parts by hand: std::complex looks for infinities at
/// each product.
template <typename Real>
void solid_harmonics(Real x, Real y, Real z, int most, std::complex<Real>* r) {
    const Real square = x * x + y * y + z * z;
    r[0] = 1;
    for (int l = 0; l < most; ++l) {
        for (int m = 0; m <= l; ++m) {
            const Real over = harmonic_inverses<Real>.of[harmonic_at(l, m)], a = (2 * l + 1) * z * over;
            const std::complex<Real> one = r[harmonic_at(l, m)];
            const std::complex<Real> two = m < l ? r[harmonic_at(l - 1, m)] : std::complex<Real>(0);
            r[harmonic_at(l + 1, m)] = {a * one.real() - square * over * two.real(),
                                        a * one.imag() - square * over * two.imag()};
        }
        const std::complex<Real> top = r[harmonic_at(l, l)];
        const Real over = Real(-1) / static_cast<Real>(2 * l + 2);
        r[harmonic_at(l + 1, l + 1)] = {over * (x * top.real() - y * top.imag()),
                                        over * (x * top.imag() + y * top.real())};
    }
}

/// Of any m; 0 where there is none.
template <typename Real>
std::complex<Real> any_harmonic(const std::complex<Real>* r, int l, int m) {
    if (l < 0 || std::abs(m) > l)
        return 0;
    if (m >= 0)
        return r[harmonic_at(l, m)];
    const std::complex<Real> value = std::conj(r[harmonic_at(l, -m)]);
    return m % 2 == 0 ? value : -value;
}

} // namespace graft::periodic
