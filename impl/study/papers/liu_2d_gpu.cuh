// SPDX-License-Identifier: BSD-3-Clause
// liu2022's 2-D kernels (section 4.2): a block a target leaf and BX source nodes or leaves.
//
// Threads (x, y): those with x = 0 load a target, those with y = 0 a source; each thread then works on one
// target and one source (a leaf: all its particles, from global memory); the threads with x = 0 add up the
// sums of their BX neighbours and write them with one atomic. BY is the largest leaf; groups larger than BY
// go round.
#pragma once

#include "study/papers/paper_lists_gpu.cuh"

namespace graft::study {

/// Work in chunks of BX sources of one group. From buffers: chunk c acts on group target[c] and has the
/// sources source[c BX ... (c + 1) BX), -1 where there are fewer. From lists (target null): chunk_begin[g] is
/// the first chunk of group g of the batch, `source` the list and `offset` its offsets.
struct PaperChunks {
    const int32_t *target, *source;
    int64_t count;
    const int32_t* chunk_begin;
    const int64_t* offset;
};

/// Enqueues the kernel for `blocks` chunks at most; BX BY <= 1,024 (his optimum: BX 16, BY 32).
void launch_tiles_2d(cudaStream_t stream, bool leaves, int block_x, int block_y, int order, bool potential,
                     const PaperView& view, const PaperChunks& chunks, int64_t blocks);

} // namespace graft::study
