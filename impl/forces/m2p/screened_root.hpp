// SPDX-License-Identifier: BSD-3-Clause
// What a cell's expansion needs of erfc(alpha s) / s in place of 1 / s, s^2 = r^2 + eps^2, for one vector of
// distances.
//
// With B_n = (-1/r d/dr)^n erfc(alpha s)/s and x = alpha s,
//     B_n = (2n-1)!! beta_n / s^(2n+1),  beta_0 = erfc(x),  beta_n = beta_(n-1) + gamma_n,
//     gamma_n = 2 x (2 x^2)^(n-1) / (sqrt(pi) (2n-1)!!) exp(-x^2):
// order n of the expansion is multiplied by beta_n, its share of -d/dr by beta_(n+1); all terms are positive,
// all factors in [0, 1]. The kernel is not harmonic:
//     r^2 B_n - (2n-1) B_(n-1) = (2n-1)!! delta_n / s^(2n-1),   delta_n = gamma_n - eps^2/s^2 beta_n.
// The traces of the moments are multiplied by tau_n = -t delta_n, t = rho^2/s^2 (without the screen -delta_n
// is eps^2/s^2). Source: Ewald 1921; the recurrence as in Smith 1982 (CCP5 Newsletter 4, 13). Read once per
// SIMD target, see pair.hpp.
#if defined(GRAFT_KERNELS_SCREENED_ROOT_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_KERNELS_SCREENED_ROOT_HPP
#undef GRAFT_KERNELS_SCREENED_ROOT_HPP
#else
#define GRAFT_KERNELS_SCREENED_ROOT_HPP
#endif

#include "forces/vector_ops.hpp"
#include "forces/p2p/p2p.hpp"
#include "forces/p2p/screen.hpp"

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

/// Of one target and one vector of cells. order -1: nothing, of cells that are not screened.
template <typename T, int order>
struct alignas(64) ScreenedFactors {
    static constexpr int taus = order >= 2 ? order : 1;
    T beta[order + 2][source_pad];
    T tau[taus][source_pad];                    // of n = 2 ... order + 1
    T trace_p[source_pad], trace_w[source_pad]; // order 4: of the twofold trace in P and in W
};
template <typename T>
struct ScreenedFactors<T, -1> {};

/// erfc(x) and exp(-x^2) of x >= 0.
template <typename T, class Ops, typename Real = typename Ops::Real>
HWY_INLINE Real complement(const Ops ops, Real x, Real gauss) {
    const std::vector<T>& terms = scaled_erfc().polynomial.template terms<T>();
    const Real near = hn::Min(x, ops.set(ScaledErfc::largest));
    const Real y = ops.fma(ops.divide(ops.set(1), ops.add(near, ops.set(ScaledErfc::shift))),
                           ops.set(ScaledErfc::slope), ops.set(ScaledErfc::constant));
    Real value = hn::Set(typename Ops::D(), terms.back());
    for (size_t k = terms.size() - 1; k-- > 0;)
        value = ops.fma(value, y, hn::Set(typename Ops::D(), terms[k]));
    return ops.mul(value, gauss);
}

/// x = alpha s; ratio = eps^2 / s^2 (softened only).
template <typename T, int order, bool softened, class Ops, typename Real = typename Ops::Real>
HWY_INLINE void screen_root(const Ops ops, Real x, Real t, Real ratio, ScreenedFactors<T, order>& to) {
    const typename Ops::D d;
    const Real square = ops.mul(x, x), gauss = hn::Exp(d, hn::Neg(square));
    const Real twice = ops.add(square, square);
    Real beta = complement<T>(ops, x, gauss);
    Real gamma = ops.mul(ops.mul(x, gauss), ops.set(1.1283791670955126)); // 2 / sqrt(pi)
    [[maybe_unused]] Real tau[order + 2];
    hn::Store(beta, d, to.beta[0]);
    for (int n = 1; n <= order + 1; ++n) {
        beta = ops.add(beta, gamma);
        hn::Store(beta, d, to.beta[n]);
        if (order >= 2 && n >= 2) {
            const Real minus_delta = softened ? hn::MulSub(ratio, beta, gamma) : hn::Neg(gamma);
            tau[n] = ops.mul(t, minus_delta);
            hn::Store(tau[n], d, to.tau[n - 2]);
        }
        gamma = ops.mul(gamma, ops.mul(twice, ops.set(1.0 / (2 * n + 1))));
    }
    if constexpr (order >= 4) { // t (3/8 tau_3 - 7/8 r^2/s^2 tau_4), t (35/8 tau_4 - 63/8 r^2/s^2 tau_5)
        const Real along = softened ? ops.mul(t, ops.sub(ops.set(1), ratio)) : t;
        hn::Store(
            hn::MulSub(ops.mul(t, tau[3]), ops.set(0.375), ops.mul(ops.mul(along, tau[4]), ops.set(0.875))),
            d, to.trace_p);
        hn::Store(
            hn::MulSub(ops.mul(t, tau[4]), ops.set(4.375), ops.mul(ops.mul(along, tau[5]), ops.set(7.875))),
            d, to.trace_w);
    }
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
