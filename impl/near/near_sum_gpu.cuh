// SPDX-License-Identifier: BSD-3-Clause
// What all summing kernels of the near field share: the arithmetic of a CUDA thread, the precisions, points
// and results, and the sums of one target.
//
// Formulas: radial.hpp. Softening is added to r^2 inside its first multiply-add, which costs nothing: laplace
// and softened are one form here. checked: a pair may be at distance zero, or closer than cubes can be told
// (close_pairs.hpp); without it a slot or two less.
// Roots: MUFU.RSQ as it is in float (2^-22.9); in double its 20 bits and a series, forces/vector_ops_gpu.cuh.
// Only files compiled by nvcc include this.
#pragma once

#include "backend/queue_gpu.cuh"
#include "forces/vector_ops_gpu.cuh"
#include "near/close_pairs.hpp"
#include "near/copies/collect.hpp"
#include "near/radial.hpp"
#include "near/structure_gpu.cuh"

namespace graft::near {

/// A precision's types: of arrays, of pairs, of sums.
template <Precision precision>
struct Numbers;
template <>
struct Numbers<Precision::fp32> {
    using Stored = float;
    using Real = float;
    using Total = float;
};
template <>
struct Numbers<Precision::mixed> {
    using Stored = double;
    using Real = float;
    using Total = double;
};
template <>
struct Numbers<Precision::fp64> {
    using Stored = double;
    using Real = double;
    using Total = double;
};

/// cubes: 1/r^3 is taken.
template <typename T, bool checked, bool cubes>
struct DeviceOps {
    using Real = T;
    static constexpr T least = cubes ? least_cubed<T> : least_normal<T>; // squares of distances that count
    template <typename Number>
    __device__ __forceinline__ static T set(Number v) {
        return static_cast<T>(v);
    }
    __device__ __forceinline__ static T add(T a, T b) { return a + b; }
    __device__ __forceinline__ static T sub(T a, T b) { return a - b; }
    __device__ __forceinline__ static T mul(T a, T b) { return a * b; }
    __device__ __forceinline__ static T fma(T a, T b, T c) { return forces::fused(a, b, c); }
    __device__ __forceinline__ static T fnma(T a, T b, T c) { return forces::fused(-a, b, c); }
    __device__ __forceinline__ static T min(T a, T b) { return a < b ? a : b; }
    __device__ __forceinline__ static T max(T a, T b) { return a < b ? b : a; }
    __device__ __forceinline__ static bool less(T a, T b) { return a < b; }
    __device__ __forceinline__ static bool both(bool a, bool b) { return a && b; }
    __device__ __forceinline__ static T zero_unless(bool mask, T a) { return mask ? a : T(0); }
    __device__ __forceinline__ static T square_root(T a) { return sqrt(a); }
    __device__ __forceinline__ static T estimate(T r2) {
        const T y = forces::root_estimate(r2);
        return !checked || r2 >= least ? y : T(0);
    }
    __device__ __forceinline__ static T inverse_root(T r2) {
        const T y = estimate(r2);
        if constexpr (sizeof(T) == 4) {
            return y;
        } else {
            return forces::inverse_series(y, forces::fused(-r2 * y, y, 1.0));
        }
    }
    template <bool value, bool slope>
    __device__ __forceinline__ static void powers(T r2, T& first, T& third) {
        const T y = estimate(r2), y2 = y * y, cube = y * y2;
        if constexpr (sizeof(T) == 4) {
            first = y, third = cube;
        } else {
            const T e = forces::fused(-r2, y2, 1.0);
            first = forces::inverse_series(y, e); // not used: not computed
            third = forces::cube_series(cube, e);
        }
    }
    template <bool value, bool slope>
    __device__ __forceinline__ static void softened_powers(T r2, T& first, T& third) {
        powers<value, slope>(r2, first, third);
    }
    __device__ __forceinline__ static float exp(float a) { return expf(a); }
    __device__ __forceinline__ static double exp(double a) { return ::exp(a); }
    __device__ __forceinline__ static float log(float a) { return logf(a); }
    __device__ __forceinline__ static double log(double a) { return ::log(a); }
    __device__ __forceinline__ static void sine_cosine(float a, float& s, float& c) { sincosf(a, &s, &c); }
    __device__ __forceinline__ static void sine_cosine(double a, double& s, double& c) { sincos(a, &s, &c); }
    __device__ __forceinline__ static int32_t floor_index(T a) { return static_cast<int32_t>(a); } // a >= 0
    __device__ __forceinline__ static T real_of(int32_t index) { return static_cast<T>(index); }
    __device__ __forceinline__ static T knot(const T* table, int32_t index, int k) {
        return __ldg(table + 4 * int64_t{index} + k);
    }
};

inline constexpr int most_pass = 4; // components of one pass over the pairs

/// Where the sums go, caller's order; NULL: not wanted.
template <typename T>
struct Results {
    T* potential[most_pass];
    T* gradient[most_pass][3];
    T factor, gradient_factor;
    bool add; // to what is there
};

/// What a summing kernel reads. Precision's types.
template <Precision precision>
struct SumView {
    using Stored = typename Numbers<precision>::Stored;
    using Real = typename Numbers<precision>::Real;
    StructureView boxes;
    RunsView runs;
    const Point<Stored>* target; // by slot
    const Point<Stored>* source;
    const Stored* charge; // component c of slot s: charge[c * charge_stride + s]
    int64_t charge_stride;
    int32_t first_component, components; // of this pass
    int32_t first, count;                // targets (or boxes) of this launch
    Real softening_square;
    Constants<Real> constants;
    Results<Stored> results;
};

/// The sums of one target: runs of pairs in Real, added up in Total.
template <Form form, Precision precision, int components, bool slope, int dimension = 3>
struct TargetSum {
    using Real = typename Numbers<precision>::Real;
    using Total = typename Numbers<precision>::Total;
    static constexpr bool two_levels = sizeof(Real) != sizeof(Total);
    static constexpr int values = components * (slope ? 1 + dimension : 1);
    PointSum<Real, components, dimension> now;
    Total total[two_levels ? values : 1];

    __device__ __forceinline__ void clear() {
        clear_now();
        if constexpr (two_levels)
            for (int v = 0; v < values; ++v)
                total[v] = 0;
    }
    __device__ __forceinline__ void clear_now() {
#pragma unroll
        for (int v = 0; v < values; ++v)
            value(v) = 0;
    }
    /// Value v: potential of component v, then the gradients.
    __device__ __forceinline__ Real& value(int v) {
        return v < components ? now.potential[v]
                              : now.gradient[(v - components) / dimension][(v - components) % dimension];
    }
    /// To be called every 16 pairs or so.
    __device__ __forceinline__ void flush() {
        if constexpr (two_levels) {
#pragma unroll
            for (int v = 0; v < values; ++v)
                total[v] += static_cast<Total>(value(v));
            clear_now();
        }
    }
    __device__ __forceinline__ Total& result(int v) {
        if constexpr (two_levels)
            return total[v];
        else
            return value(v);
    }
    template <bool checked>
    __device__ __forceinline__ void add(const Real (&d)[dimension], const Real (&q)[components],
                                        Real softening, const Constants<Real>& constants) {
        Real r2 = forces::fused(d[0], d[0], softening);
#pragma unroll
        for (int axis = 1; axis < dimension; ++axis)
            r2 = forces::fused(d[axis], d[axis], r2);
        const DeviceOps<Real, checked, slope && has_cube(form)> ops;
        const auto k = radial<form, true, slope>(ops, r2, constants);
        add_charges<form, true, slope>(ops, d, q, k, now);
    }
};

/// Writes value v of a target's sums.
template <int components, int dimension, typename T, typename Total>
__device__ __forceinline__ void write_result(const Results<T>& results, int v, int64_t at, Total sum) {
    T* const to = v < components
                      ? results.potential[v]
                      : results.gradient[(v - components) / dimension][(v - components) % dimension];
    if (to != nullptr) {
        const T value = (v < components ? results.factor : results.gradient_factor) * static_cast<T>(sum);
        to[at] = results.add ? to[at] + value : value;
    }
}

} // namespace graft::near
