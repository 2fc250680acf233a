// SPDX-License-Identifier: BSD-3-Clause
// See use_variants_gpu.cuh.
#include "study/papers/use_variants_gpu.cuh"

#include "study/papers/liu_fed_lists_gpu.cuh"
#include "study/papers/paper_variants_gpu.cuh"

namespace graft::study {

namespace {

std::unique_ptr<forces::Feed> make_feed(backend::DeviceMemory& memory) {
    return std::make_unique<FedEvaluator>(memory);
}

constexpr forces::Variants papers = {evaluate_block_per_group,   evaluate_pairs_1d,          evaluate_tiles_2d, make_feed,
                                     launch_direct_stage<float>, launch_direct_stage<double>};

} // namespace

void use_variants() {
    forces::variants = &papers;
}

} // namespace graft::study
