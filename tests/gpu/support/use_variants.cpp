// SPDX-License-Identifier: BSD-3-Clause
// Tests link the GPU halves of the rooms by themselves: the papers' kernels are beside ours, as in libgraft_cuda_study.so.
#include "study/papers/use_variants_gpu.cuh"

namespace {

[[maybe_unused]] const bool used = (graft::study::use_variants(), true);

} // namespace
