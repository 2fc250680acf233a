// SPDX-License-Identifier: BSD-3-Clause
// What a periodic box leaves of a pair, in a CUDA thread: the pair of pair_gpu.cuh less screen.hpp's
// polynomials, within the cut-off.
//
// Issue slots of a pair in float without potential: 12 + MUFU.RSQ of the open pair, 1 for the unsoftened r^2,
// 1 for v, 3 for the cut-off, and one multiply-add a term (15 of them at an accuracy of 1e-6): 33. The terms
// are kernel parameters: with a count known to the compiler they are operands from constant memory and cost
// nothing to load.
#pragma once

#include "forces/p2p/pair_gpu.cuh"
#include "forces/p2p/screen.hpp"

#include <vector>

namespace graft::forces {

/// The polynomials of a Screen in units of a frame. Behind the counts: zeros.
template <typename T>
struct ScreenTerms {
    T slope = 0, offset = -1; // v = slope r^2 + offset, that is 2 s^2 / cutoff^2 - 1 with s^2 = r^2 + eps^2
    int force_count = 1, potential_count = 1;
    T force[max_screen_terms] = {}, potential[max_screen_terms] = {};
};

/// `cutoff` and `softening` (Plummer's eps of the long-range part) in units of the frame.
template <typename T>
ScreenTerms<T> make_screen_terms(const Screen& screen, double cutoff, double softening) {
    ScreenTerms<T> to;
    const double inverse = 1 / cutoff;
    to.slope = static_cast<T>(2 * inverse * inverse);
    to.offset = static_cast<T>(2 * inverse * inverse * softening * softening - 1);
    const auto copy = [](const std::vector<T>& terms, double factor, T* values) {
        for (size_t k = 0; k < terms.size(); ++k)
            values[k] = static_cast<T>(factor * static_cast<double>(terms[k]));
        return static_cast<int>(terms.size());
    };
    to.force_count = copy(screen.force().terms<T>(), inverse * inverse * inverse, to.force);
    to.potential_count = copy(screen.potential().terms<T>(), inverse, to.potential);
    return to;
}

/// Horner for `pairs` pairs at once: their chains overlap. terms 0: `count` of them.
template <int terms, int pairs, typename T>
__device__ __forceinline__ void screen_values(const T* term, int count, const T (&v)[pairs],
                                              T (&value)[pairs]) {
    const int top = (terms > 0 ? terms : count) - 1;
#pragma unroll
    for (int p = 0; p < pairs; ++p)
        value[p] = term[top];
    const auto step = [&](int k) {
        const T next = term[k];
#pragma unroll
        for (int p = 0; p < pairs; ++p)
            value[p] = fused(value[p], v[p], next);
    };
    if constexpr (terms > 0) {
#pragma unroll
        for (int k = terms - 2; k >= 0; --k)
            step(k);
    } else {
#pragma unroll 4
        for (int k = top - 1; k >= 0; --k)
            step(k);
    }
}

/// Sums of one target; q d d / r^3 for the virial.
template <typename T>
struct ScreenedSum {
    T value[10]; // x y z, potential, then xx yy zz xy xz yz
};

/// Adds charges q at (dx, dy, dz) = source - target, `pairs` pairs at once; r2 without softening; soft and h
/// as add_pair's. `offset`: of the screen's v.
template <DevicePair kind, bool with_potential, bool with_virial, int terms, int pairs, typename T>
__device__ __forceinline__ void add_screened(const ScreenTerms<T>& screen, T offset, const T (&dx)[pairs],
                                             const T (&dy)[pairs], const T (&dz)[pairs], const T (&r2)[pairs],
                                             const T (&q)[pairs], const T (&soft)[pairs], const T (&h)[pairs],
                                             ScreenedSum<T>* const (&sum)[pairs]) {
    T v[pairs], inner[pairs], off[pairs], off_potential[pairs];
#pragma unroll
    for (int p = 0; p < pairs; ++p) {
        v[p] = fused(r2[p], screen.slope, offset);
        inner[p] = v[p] < T(1) ? q[p] : T(0); // beyond the cut-off: no charge, and no branch around the terms
        v[p] = v[p] < T(1) ? v[p] : T(1);
    }
    screen_values<terms>(screen.force, screen.force_count, v, off);
    if constexpr (with_potential)
        screen_values<terms>(screen.potential, screen.potential_count, v, off_potential);
#pragma unroll
    for (int p = 0; p < pairs; ++p) {
        const T softened = r2[p] + soft[p];
        const PairFactors<T> pair = pair_factors<kind == DevicePair::spline, with_potential, true>(
            DeviceOps<T>(), softened, inner[p], h[p]);
        const T force = fused(-inner[p], off[p], pair.force);
        T* const to = sum[p]->value;
        if constexpr (with_virial) {
            const T fx = force * dx[p], fy = force * dy[p], fz = force * dz[p];
            to[0] += fx, to[1] += fy, to[2] += fz;
            to[4] = fused(fx, dx[p], to[4]), to[5] = fused(fy, dy[p], to[5]);
            to[6] = fused(fz, dz[p], to[6]), to[7] = fused(fx, dy[p], to[7]);
            to[8] = fused(fx, dz[p], to[8]), to[9] = fused(fy, dz[p], to[9]);
        } else {
            to[0] = fused(force, dx[p], to[0]);
            to[1] = fused(force, dy[p], to[1]);
            to[2] = fused(force, dz[p], to[2]);
        }
        if constexpr (with_potential)
            to[3] += fused(-inner[p], off_potential[p], pair.potential);
    }
}

} // namespace graft::forces
