// SPDX-License-Identifier: BSD-3-Clause
// Packed cells on their way to shared memory, one a lane.
//
// Four lanes read a cell together: the memory takes some 3e10 requests a second of different cells, whether
// 16 bytes of a cell are asked for or all 64.
#pragma once

#include "forces/m2p/packed_cell.hpp"

#include <cuda_pipeline.h>

#include <cstddef>
#include <cstdint>

namespace graft::forces {

/// In shared memory, of one warp.
class CellQueue {
  public:
    /// Begins to read the lanes' cells, where node >= 0; all lanes together, when all have taken the last.
    __device__ __forceinline__ void ask(const PackedCell* cells, int32_t node) {
        const int lane = static_cast<int>(threadIdx.x % 32), item = lane / words, part = lane % words;
#pragma unroll
        for (int i = 0; i < 32; i += 32 / words) {
            const int32_t of = max(__shfl_sync(~0u, node, i + item), 0);
            __pipeline_memcpy_async(word_ + place(i + item, part),
                                    reinterpret_cast<const float4*>(cells + of) + part, sizeof(float4));
        }
        __pipeline_commit();
    }
    /// This lane's cell, waited for; some cell where node < 0. All lanes together.
    __device__ __forceinline__ PackedCell take() const {
        __pipeline_wait_prior(0);
        __syncwarp(); // other lanes have read parts of it
        const int item = static_cast<int>(threadIdx.x % 32);
        const float4 xy = word_[place(item, 0)], za = word_[place(item, 1)], q = word_[place(item, 2)],
                     rest = word_[place(item, 3)];
        // Field by field: a copy of the whole would go by way of local memory.
        PackedCell cell;
        cell.x = real(xy.x, xy.y), cell.y = real(xy.z, xy.w), cell.z = real(za.x, za.y);
        cell.a = za.z, cell.exponent = __float_as_int(za.w);
        cell.quadrupole[0] = q.x, cell.quadrupole[1] = q.y, cell.quadrupole[2] = q.z;
        cell.quadrupole[3] = q.w, cell.quadrupole[4] = rest.x, cell.quadrupole[5] = rest.y;
        cell.trace = rest.z, cell.root_charge = rest.w;
        return cell;
    }

  private:
    static constexpr int words = sizeof(PackedCell) / sizeof(float4);
    static_assert(words == 4 && offsetof(PackedCell, a) == 24 && offsetof(PackedCell, quadrupole) == 32 &&
                  offsetof(PackedCell, trace) == 56);
    __device__ static double real(float low, float high) {
        return __hiloint2double(__float_as_int(high), __float_as_int(low));
    }
    /// Eight lanes that read the same part of their cells find it in different banks.
    __device__ static int place(int item, int part) {
        return item * words + (part ^ (item / 2 % words));
    }
    float4 word_[32 * words];
};

} // namespace graft::forces
