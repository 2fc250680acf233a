// SPDX-License-Identifier: BSD-3-Clause
// What a body stands on that SIMD vectors and CUDA threads share: a header template over `Ops`, the arithmetic
// (vector_ops.hpp, vector_ops_gpu.cuh).
//
// Such a header stands between GRAFT_BODIES_BEGIN and GRAFT_BODIES_END. Highway's vectors want it once per SIMD
// target, in that target's namespace: its guard follows HWY_TARGET_TOGGLE, which for nvcc, that defines none, is
// a plain guard.
#pragma once

#ifdef __CUDACC__
#include <cuda_runtime.h>
#define GRAFT_BODIES_BEGIN namespace graft::forces {
#define GRAFT_BODIES_END }
#define GRAFT_BODY __device__ __forceinline__
#define GRAFT_RARE_BODY __device__ __noinline__ // its registers shall not be those of the loop
#else
#include <hwy/highway.h>
#define GRAFT_BODIES_BEGIN                                                                                   \
    HWY_BEFORE_NAMESPACE();                                                                                  \
    namespace graft::forces::HWY_NAMESPACE {
#define GRAFT_BODIES_END                                                                                     \
    }                                                                                                        \
    HWY_AFTER_NAMESPACE();
#define GRAFT_BODY HWY_INLINE
#define GRAFT_RARE_BODY HWY_INLINE
#endif

namespace graft::forces {

/// Added to every r^2: what keeps a pair at distance zero finite, and 1/r^3 too. Frame coordinates are of
/// size 1.
template <typename T>
inline constexpr double tiny_square = sizeof(T) == 4 ? 1e-20 : 1e-190;
template <typename T>
inline constexpr double tiny_length = sizeof(T) == 4 ? 1e-10 : 1e-95;

} // namespace graft::forces
