// SPDX-License-Identifier: BSD-3-Clause
// The force of one charge on one target in a CUDA thread: pair.hpp and vector_ops.hpp with the GPU's reciprocal
// root.
//
// Issue slots of a pair without softening and potential: float 3 subtractions, 3 + 3 multiply-adds, 3
// products and MUFU.RSQ, 12 + 1; double 16 + MUFU.RSQ64H. The root's estimate is good to 2^-22 in float and
// is taken as it is. In double it has 20 bits, and with e = 1 - r2 y^2 the series
//     (1 - e)^(-3/2) = 1 + 3/2 e + 15/8 e^2,
//     (1 - e)^(-1/2) = 1 + 1/2 e + 3/8 e^2
// end below 2^-56. Meaning of sums, softening and pairs at distance zero: pair.hpp. Only files compiled by
// nvcc include this.
#pragma once

#include "forces/softening.hpp"

#include <cuda_runtime.h>

namespace graft::forces {

/// How r^2 is softened: a constant is added (none, or one Plummer length), the sum of a term of each particle
/// is added, or the spline with the larger support of both particles.
enum class DevicePair { constant, plummer, spline };

/// Added to every r^2, as tiny_square on the CPU.
template <typename T>
__host__ __device__ constexpr T pair_tiny() {
    return sizeof(T) == 4 ? T(1e-20) : T(1e-190);
}

template <typename T>
struct DevicePairSum {
    T x, y, z, potential;
};

__device__ __forceinline__ float fused(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
__device__ __forceinline__ double fused(double a, double b, double c) {
    return __fma_rn(a, b, c);
}
__device__ __forceinline__ float root_estimate(float r2) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(r2));
    return y;
}
__device__ __forceinline__ double root_estimate(double r2) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(r2));
    return y;
}

/// q / r^3 and q / r.
__device__ __forceinline__ void inverse_powers(float r2, float q, float& cube, float& inverse) {
    const float y = root_estimate(r2);
    inverse = q * y;
    cube = inverse * (y * y);
}
__device__ __forceinline__ void inverse_powers(double r2, double q, double& cube, double& inverse) {
    const double y = root_estimate(r2), y2 = y * y;
    const double e = fused(-r2, y2, 1.0);
    const double start = q * y, third = start * y2;
    cube = fused(third * e, fused(e, 1.875, 1.5), third);
    inverse = fused(start * e, fused(e, 0.375, 0.5), start); // not used: not computed
}

/// Factors of q d and q inside the spline's support, u = r / h < 1 (Springel 2005).
template <typename T>
__device__ __noinline__ void spline_factors(T r2, T h, T& force, T& potential) {
    const T inverse_h = T(1) / h, u = sqrt(r2) * inverse_h, u2 = u * u;
    const T inverse_h3 = inverse_h * inverse_h * inverse_h;
    if (u < T(0.5)) {
        force = fused(u2, fused(u, T(32), T(-38.4)), T(32.0 / 3));
        potential = fused(u2, fused(u2, fused(u, T(-6.4), T(9.6)), T(-16.0 / 3)), T(2.8));
    } else {
        const T inverse_u = T(1) / u, inverse_u3 = inverse_u * inverse_u * inverse_u;
        const T cubic = fused(u, fused(u, fused(u, T(-32.0 / 3), T(38.4)), T(-48)), T(64.0 / 3));
        force = fused(inverse_u3, T(-1.0 / 15), cubic);
        const T quintic =
            fused(u2, fused(u, fused(u, fused(u, T(32.0 / 15), T(-9.6)), T(16)), T(-32.0 / 3)), T(3.2));
        potential = fused(inverse_u, T(-1.0 / 15), quintic);
    }
    force *= inverse_h3;
    potential *= inverse_h;
}

/// Adds the charge q at (dx, dy, dz) = source - target to `sum`. `soft` is added to r^2: pair_tiny(), or
/// Plummer's eps_ij^2, at least pair_tiny(); `h` is the spline's support (spline only, >= 0).
template <DevicePair kind, bool with_potential, typename T>
__device__ __forceinline__ void add_pair(T dx, T dy, T dz, T q, T soft, T h, DevicePairSum<T>& sum) {
    const T r2 = fused(dx, dx, fused(dy, dy, fused(dz, dz, soft)));
    T force, potential;
    inverse_powers(r2, q, force, potential);
    if constexpr (with_potential)
        potential = r2 > pair_tiny<T>() ? potential : T(0);
    if constexpr (kind == DevicePair::spline)
        if (r2 < h * h) {
            spline_factors(r2, h, force, potential);
            force *= q;
            potential *= q;
        }
    sum.x = fused(force, dx, sum.x);
    sum.y = fused(force, dy, sum.y);
    sum.z = fused(force, dz, sum.z);
    if constexpr (with_potential)
        sum.potential += potential;
}

/// The kind that a variant needs. One spline length for all is a spline per particle with equal lengths.
inline DevicePair pair_kind(const PairVariant& variant) {
    return variant.softening == Softening::spline
               ? DevicePair::spline
               : (variant.softening == Softening::plummer && variant.per_particle ? DevicePair::plummer
                                                                                  : DevicePair::constant);
}

/// What is added to r^2 where that is one number for all, frame units.
template <typename T>
__device__ __forceinline__ T common_soft(bool plummer, double length, double scale) {
    const double eps = length * scale;
    const T square = static_cast<T>(eps * eps);
    return plummer && square > pair_tiny<T>() ? square : pair_tiny<T>();
}

} // namespace graft::forces
