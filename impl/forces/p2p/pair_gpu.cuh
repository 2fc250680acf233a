// SPDX-License-Identifier: BSD-3-Clause
// The pair in a CUDA thread: pair.hpp with the arithmetic of vector_ops_gpu.cuh, and how a call softens it.
//
// Issue slots of a pair without softening and potential: float 3 subtractions, 3 + 3 multiply-adds, 3
// products and MUFU.RSQ, 12 + 1; double 16 + MUFU.RSQ64H. Only files compiled by nvcc include this.
#pragma once

#include "forces/p2p/pair.hpp"
#include "forces/vector_ops_gpu.cuh"

namespace graft::forces {

/// How r^2 is softened: a constant is added (none, or one Plummer length), the sum of a term of each particle
/// is added, or the spline with the larger support of both particles.
enum class DevicePair { constant, plummer, spline };

/// add_pair() of a kind; a pair at distance zero has a potential where softening leaves it one.
template <DevicePair kind, bool with_potential, typename T>
__device__ __forceinline__ void add_pair_of(T dx, T dy, T dz, T q, T soft, T h, PairSum<T>& sum) {
    add_pair<kind == DevicePair::spline, with_potential, true>(DeviceOps<T>(), dx, dy, dz, q, soft, h, sum);
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
