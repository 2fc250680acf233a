// SPDX-License-Identifier: BSD-3-Clause
// liu2022's 1-D kernels (section 4.1): a thread a pair of target leaf and source node or leaf.
//
// Our target leaves are the groups. A thread goes through the targets of its group; for each it sums over its
// one source and adds the sum with one atomic write (three or four numbers). Atomics add in any order: the
// last bits differ from run to run.
#pragma once

#include "study/papers/paper_lists_gpu.cuh"

namespace graft::study {

/// Pairs (target[k], source[k]), k < count, or < *device_count where that is not null. target: groups.
struct PaperPairs {
    const int32_t *target, *source;
    int64_t count;
    const int64_t* device_count;
};

/// What a study leaves out, to see what it costs.
enum class PaperWrites : int32_t { atomic = 0, plain = 1 };

/// Enqueue the kernels for `capacity` pairs, `threads` a block (his optimum: 256).
void launch_leaf_pairs_1d(cudaStream_t stream, int threads, bool potential, const PaperView& view,
                          const PaperPairs& pairs, int64_t capacity,
                          PaperWrites writes = PaperWrites::atomic);
void launch_node_pairs_1d(cudaStream_t stream, int threads, int order, bool potential, const PaperView& view,
                          const PaperPairs& pairs, int64_t capacity,
                          PaperWrites writes = PaperWrites::atomic);

} // namespace graft::study
