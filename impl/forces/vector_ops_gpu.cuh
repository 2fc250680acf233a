// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of a CUDA thread, as vector_ops.hpp is that of SIMD vectors. Only files compiled by nvcc include
// this.
//
// The root's estimate is good to 2^-22 in float and is taken as it is. In double it has 20 bits, and with
// e = 1 - r2 y^2 the series
//     (1 - e)^(-3/2) = 1 + 3/2 e + 15/8 e^2,
//     (1 - e)^(-1/2) = 1 + 1/2 e + 3/8 e^2
// end below 2^-56.
#pragma once

#include "forces/body.hpp"

namespace graft::forces {

/// tiny_square as a T.
template <typename T>
__host__ __device__ constexpr T pair_tiny() {
    return static_cast<T>(tiny_square<T>);
}

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

/// What an estimate's power becomes, e = 1 - r2 y^2: y to 1 / r, y^3 to 1 / r^3, and so multiples of them.
template <typename T>
GRAFT_BODY T inverse_series(T start, T e) {
    return fused(start * e, fused(e, T(0.375), T(0.5)), start);
}
template <typename T>
GRAFT_BODY T cube_series(T start, T e) {
    return fused(start * e, fused(e, T(1.875), T(1.5)), start);
}

template <typename T>
struct DeviceOps {
    using Real = T;
    using Mask = bool;
    static constexpr bool one_lane = true;
    static constexpr double force_factor = 1, potential_factor = 1;
    static constexpr double tiny = tiny_square<T>, smallest_length = tiny_length<T>;
    struct Root {
        T y, rest; // estimate, and 1 - r2 y^2 (double only)
    };

    static GRAFT_BODY T set(double v) { return static_cast<T>(v); }
    static GRAFT_BODY T add(T a, T b) { return a + b; }
    static GRAFT_BODY T sub(T a, T b) { return a - b; }
    static GRAFT_BODY T mul(T a, T b) { return a * b; }
    static GRAFT_BODY T divide(T a, T b) { return a / b; }
    static GRAFT_BODY T fma(T a, T b, T c) { return fused(a, b, c); }
    static GRAFT_BODY T fms(T a, T b, T c) { return fused(a, b, -c); }
    static GRAFT_BODY T fnma(T a, T b, T c) { return fused(-a, b, c); }
    static GRAFT_BODY T square_root(T a) { return sqrt(a); }
    static GRAFT_BODY bool less(T a, T b) { return a < b; }
    static GRAFT_BODY bool any_rarely(bool mask) { return mask; }
    static GRAFT_BODY T select(bool mask, T a, T b) { return mask ? a : b; }
    static GRAFT_BODY T zero_unless(bool mask, T a) { return mask ? a : T(0); }
    /// No lane goes along that does not ask.
    static GRAFT_BODY T idle_lanes_at_least(T a, double) { return a; }

    static GRAFT_BODY Root root(T r2) {
        const T y = root_estimate(r2);
        return {y, sizeof(T) == 8 ? fused(-r2, y * y, T(1)) : T(0)};
    }
    /// q / r^3
    static GRAFT_BODY T cube(T q, const Root& r) {
        const T start = q * r.y * (r.y * r.y);
        return sizeof(T) == 4 ? start : cube_series(start, r.rest);
    }
    /// q / r
    static GRAFT_BODY T inverse(T q, const Root& r) {
        const T start = q * r.y;
        return sizeof(T) == 4 ? start : inverse_series(start, r.rest);
    }
    /// 1 / r
    static GRAFT_BODY T inverse_root(T r2) { return inverse(T(1), root(r2)); }
};

} // namespace graft::forces
