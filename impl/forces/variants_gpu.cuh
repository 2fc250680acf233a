// SPDX-License-Identifier: BSD-3-Clause
// Kernels beside ours that another library brings: libgraft_cuda_study.so has the papers' (study/papers), libgraft_cuda.so none.
#pragma once

#include "forces/direct/direct_gpu.cuh"
#include "forces/evaluate_gpu.cuh"
#include "forces/fed_report.hpp"

#include <memory>

namespace graft::forces {

/// Scratch of variants, kept between calls; one a DeviceEvaluator.
struct VariantBuffers {
    explicit VariantBuffers(backend::DeviceMemory& memory)
        : integers(memory, "kernel variants, numbers"), reals(memory, "kernel variants, sums") {}
    backend::DeviceBuffer<int32_t> integers;
    backend::DeviceBuffer<double> reals;
};

/// A variant that takes lists from the host, buffer after buffer.
class Feed {
  public:
    virtual ~Feed() = default;
    /// As DeviceEvaluator::evaluate(), so many interactions a kernel. Waits.
    virtual void evaluate(backend::Queue& queue, const DeviceEvaluation& how, int64_t buffer, const tree::DeviceTree& tree,
                          const moments::DeviceMoments& moments, const lists::DeviceTargets& targets,
                          const lists::DeviceLists& lists, DeviceField& field) = 0;
    /// Of the last evaluate().
    virtual const FedReport& report() const = 0;
};

struct Variants {
    /// As DeviceEvaluator::evaluate().
    using Evaluate = void(VariantBuffers& work, backend::Queue& queue, const DeviceEvaluation& how,
                          const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                          const lists::DeviceTargets& targets, const lists::DeviceLists& lists,
                          DeviceField& field);
    /// Stages of all pairs: a target a thread, one part, one frame for all. `packed`: room for sources then targets (each
    /// aligned to 32 bytes).
    template <typename T>
    using Stage = void(backend::Queue& queue, DirectStage stage, int threads, bool potential, DirectSource<T>* packed,
                       const DirectInput& input);

    Evaluate *block_per_group, *pairs_1d, *tiles_2d; // as DeviceKernel
    std::unique_ptr<Feed> (*make_feed)(backend::DeviceMemory& memory);
    Stage<float>* stage_fp32;
    Stage<double>* stage_fp64;
};

/// NULL: none. Set once, by the library that has them, when it is opened.
inline const Variants* variants = nullptr;

/// Throws Error(unsupported) where there are none.
inline const Variants& require_variants() {
    if (variants == nullptr)
        core::fail(core::Status::unsupported,
                   "this GPU library has our own kernels only; those of the papers are in libgraft_cuda_study.so");
    return *variants;
}

} // namespace graft::forces
