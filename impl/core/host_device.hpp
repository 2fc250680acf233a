// SPDX-License-Identifier: BSD-3-Clause
// GRAFT_HD marks a function that both compilers make: the per-element bodies shared by CPU and CUDA.
#pragma once

#ifdef __CUDACC__
#define GRAFT_HD __host__ __device__
#else
#define GRAFT_HD
#endif
