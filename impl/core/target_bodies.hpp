// SPDX-License-Identifier: BSD-3-Clause
// What a body stands on that SIMD vectors and CUDA threads share: a header template over `Ops`, the arithmetic
// (forces/vector_ops.hpp, forces/vector_ops_gpu.cuh).
//
// Such a header's namespace stands between GRAFT_BEFORE_BODIES() and GRAFT_AFTER_BODIES() and is
// graft::forces GRAFT_OF_TARGET, or another room's. Highway's vectors want it once per SIMD target, in that target's
// namespace: its guard follows HWY_TARGET_TOGGLE, which for nvcc, that defines none, is a plain guard. The namespace is
// no part of these macros: g++ 14 drops what follows a `#pragma GCC target` within one expansion.
#pragma once

#ifdef __CUDACC__
#include <cuda_runtime.h>
#define GRAFT_BEFORE_BODIES() static_assert(true)
#define GRAFT_AFTER_BODIES() static_assert(true)
#define GRAFT_OF_TARGET
#define GRAFT_BODY __device__ __forceinline__
#define GRAFT_BODY_LAMBDA
#define GRAFT_RARE_BODY __device__ __noinline__ // its registers shall not be those of the loop
#define GRAFT_CALLED_BODY __device__ __noinline__
#else
#include <hwy/highway.h>
#define GRAFT_BEFORE_BODIES() HWY_BEFORE_NAMESPACE()
#define GRAFT_AFTER_BODIES() HWY_AFTER_NAMESPACE()
#define GRAFT_OF_TARGET ::HWY_NAMESPACE
#define GRAFT_BODY HWY_INLINE
#define GRAFT_BODY_LAMBDA HWY_ATTR // of a lambda in a body
#define GRAFT_RARE_BODY HWY_INLINE
#define GRAFT_CALLED_BODY HWY_NOINLINE // its code stands once: what is called by turns must fit into the instruction cache
#endif
