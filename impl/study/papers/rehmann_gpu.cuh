// SPDX-License-Identifier: BSD-3-Clause
// rehmann2022's ORB on the GPU, as he describes it: bisection by the host on counts of the device, chapter 6.
//
// Coordinates in single precision, columns or rows; `count <= cut` goes left. The kernels are his listings 9,
// 10 and 11 and section 6.7 (which he did not finish): see rehmann_kernels_gpu.cu. Kept for comparison
// only: nothing chooses it by itself. Partition takes places by atomics, so the order in a part differs from
// run to run; counts and cuts do not.
#pragma once

#include "backend/queue_gpu.cuh"
#include "study/bench/bench_orb.hpp"

#include <cstdint>
#include <string>

namespace graft::study {

/// A cell's share for one block: elements [begin, end) of `in`, `stride` floats apart.
struct RehmannBlock {
    const float* in;
    uint32_t begin, end, cell;
};

/// Coordinates a, at x[a][i * stride].
struct RehmannPoints {
    float* x[3];
    int64_t stride;
};

/// Counts of elements <= cut[cell]: one number a block. NaN as cut: the block has nothing to do.
void rehmann_count_cell(backend::Queue& queue, const float* in, int64_t stride, int64_t n, float cut,
                        uint32_t* out, int threads, int items); // blocks_of(n) numbers
void rehmann_count_level(backend::Queue& queue, const RehmannBlock* blocks, int64_t count, int64_t stride,
                         const float* cuts, uint32_t* out, int threads);
void rehmann_count_warp(backend::Queue& queue, const RehmannBlock* blocks, int64_t count, int64_t stride,
                        const float* cuts, uint32_t* out, int threads, int items);
/// Reads n words and does nothing else: the bound.
void rehmann_read(backend::Queue& queue, const float* in, int64_t n, uint32_t* out);
/// column[i] = the block's coordinate i, for all blocks.
void rehmann_make_axis(backend::Queue& queue, const RehmannBlock* blocks, int64_t count, int64_t stride,
                       float* column, int threads);
/// place[i]: where point i goes among its cell's (NULL: not wanted); to: coordinates there (x[0] NULL: not
/// wanted). next: two counters a cell, left and right, zero before; left_count[cell] = points <= cut.
void rehmann_partition(backend::Queue& queue, const RehmannBlock* blocks, int64_t count, const float* cuts,
                       const RehmannPoints& from, const RehmannPoints& to, uint32_t* place,
                       const uint32_t* cell_begin, const uint32_t* left_count, uint32_t* next, int threads);
/// to[place[i]] = from[i] over a range.
void rehmann_permute(backend::Queue& queue, const float* from, float* to, int64_t stride,
                     const uint32_t* place, int64_t begin, int64_t end);

/// The measurement; verified when asked for.
std::string bench_rehmann(const DeviceOrbBench& request);

} // namespace graft::study
