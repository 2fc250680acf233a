// A box's near field by matrix products: gravity and Coulomb in three dimensions, single precision.
//
// A warp takes 16 targets at a time, up to four times over, and 8 sources. Coordinates count from the middle
// of the targets' bounding box, in units of the farthest coordinate (find_frames). Then
//   r^2 = |s|^2 + |t|^2 - 2 s t    one product of 16 x 16 by 16 x 8 halves, each coordinate a sum of two
//   halves,
//                                  squares of three;
//   w = q / r^3                    in the usual registers: root, three products;
//   sum w s, sum w                 two products of 16 x 8 by 8 x 8 in TF32, w and s sums of two such numbers,
// and the gradient is sum w s - t sum w. All sums are of single precision: tensor cores add up single
// numbers, chopped; every 16 sources of a warp's 128 they go to sums that are rounded. Slots a pair: root 1,
// products 3, w's second part 2, watching for close pairs 0.5, potential 1, matrices 0.75, the rest 0.8: 9
// with both, 8 the gradient, 5 the potential, instead of 14, 13 and 8. Targets are rounded up to 16.
//
// r^2 so found is wrong by some 2^-22 of the frame's square, whatever r is. Pairs closer than an eighth of
// the frame (0.19 box sides with the neighbours of a grid) are not taken from it: where the warp meets one,
// and where sources lie among the targets, all pairs of these 8 sources are summed as elsewhere, from
// differences of the caller's coordinates. A warp that meets them more often than not sums everything so.
//
// After Ootomo & Yokota 2022 (doi 10.1177/10943420221090256): single precision from halves with corrections.
#pragma once

#include "kernels/near/device_tiled_blocks.cuh"
#include "kernels/near/device_tiled_kernel.cuh"

#include <cuda_fp16.h>
#include <cuda_pipeline.h>

namespace graft::kernels::near {

/// r^2 counts in the frame's squares times this; where it is 1/4 pairs are close.
inline constexpr float tensor_square = 32;

/// a (16 x 16 halves) times b (16 x 8), fragments as in PTX's mma.m16n8k16.
__device__ __forceinline__ void multiply_halves(float (&d)[4], const uint32_t (&a)[4], uint2 b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
        "{%10,%10,%10,%10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y), "f"(0.0f));
}
/// d += a (16 x 8, TF32) times b (8 x 8), as in mma.m16n8k8. Of a lane of fragment d of multiply_halves:
/// column 2 t is row t of b, column 2 t + 1 is row t + 4.
__device__ __forceinline__ void add_product(float (&d)[4], const float (&a)[4], float2 b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[1])),
          "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b.x)), "r"(__float_as_uint(b.y)));
}
/// The part of a number that TF32 holds.
__device__ __forceinline__ float leading(float a) {
    return __uint_as_float(__float_as_uint(a) & 0xffffe000u);
}
__device__ __forceinline__ uint32_t halves(float low, float high) {
    const __half2 pair = __floats2half2_rn(low, high);
    return reinterpret_cast<const uint32_t&>(pair);
}
__device__ __forceinline__ float low_half(uint32_t pair) {
    return __low2float(reinterpret_cast<const __half2&>(pair));
}
__device__ __forceinline__ float high_half(uint32_t pair) {
    return __high2float(reinterpret_cast<const __half2&>(pair));
}
/// value = both halves of `first` + `rest`.
struct ThreeHalves {
    uint32_t first;
    float rest;
    __device__ __forceinline__ explicit ThreeHalves(float value) {
        const uint32_t high = halves(value, 0);
        const float left = value - low_half(high);
        const uint32_t middle = halves(0, left);
        first = high | middle, rest = left - high_half(middle);
    }
};

/// 32 sources of a warp, as its products read them: lane l holds entries 4 (l % 4) ... + 3 of source l / 4 of
/// r^2's, and component l / 4 of sources 2 (l % 4) and the next.
struct alignas(16) TensorTile {
    uint4 entries[32][2]; // x, y, z: [high, low, high, 1]; [|s|^2 in three, 0]
    float part[4][72];    // [component][source]: high x, y, z, 1, low x, y, z, 0; padded for the banks
    float charge[32];
    float4 point[2][32]; // as they are; of the next 32, too
};
inline constexpr int tensor_warps = model::tile_blocks[model::tensor_kind].threads / 32,
                     tensor_most = model::tile_blocks[model::tensor_kind].most;
struct TensorRoom {
    TensorTile tile[tensor_warps];
    float4 target[tensor_most * model::tensor_targets];
};

template <bool value, bool slope, int tiles>
class TensorLoop {
  public:
    using View = SumView<Precision::fp32>;
    static constexpr int warps = tensor_warps, threads = 32 * warps;

    __device__ __forceinline__ TensorLoop(const View& view, const TileBlock& block, int2 check, float4 frame,
                                          TensorRoom& shared)
        : v(view), rows(block.count), first(block.first), m(view.runs.sources[block.box]), meet(check),
          centre(frame), room(shared), tile(shared.tile[threadIdx.x / 32]) {
        if (v.softening_square * (frame.w * frame.w) > 1) // squares have to be halves
            centre.w = rsqrtf(v.softening_square);
        const int32_t own = v.runs.own_first != nullptr ? v.runs.own_first[block.box] : -1;
        self = own < 0 ? INT32_MIN / 2 : own + first - v.boxes.target_offset[block.box];
        to_value = 1 / (centre.w * sqrtf(tensor_square));
        to_slope = to_value * to_value * (1 / sqrtf(tensor_square));
        for (int row = static_cast<int>(threadIdx.x); row < tiles * model::tensor_targets; row += threads)
            room.target[row] = __ldg(reinterpret_cast<const float4*>(v.target) + first + min(row, rows - 1));
        __syncthreads();
#pragma unroll
        for (int i = 0; i < tiles; ++i) {
            set_targets(i);
#pragma unroll
            for (int j = 0; j < 4; ++j)
                product[i][j] = sum[i][j] = 0;
            potential[i][0] = potential[i][1] = 0;
        }
        for (int j = lane; j < 4 * 8; j += 32)
            tile.part[j / 8][3 * 8 + j % 8] = 1, tile.part[j / 8][7 * 8 + j % 8] = 0;
    }
    __device__ __forceinline__ void run(const int2* runs) {
        TileCursor cursor(runs, static_cast<int32_t>(threadIdx.x), m, threads);
        fetch(cursor, 0);
        int turn = 0, tried = 0, close = 0; // groups of 8 sources
#pragma unroll 1
        for (int begin = static_cast<int>(threadIdx.x) / 32 * 32, half = 0; begin < m;
             begin += threads, half ^= 1) {
            __pipeline_wait_prior(0);
            __syncwarp();
            prepare(half);
            __syncwarp();
            fetch(cursor, half ^ 1);
            const int groups = min((m - begin + 7) / 8, 4);
            int from = min(max((meet.x - begin) >> 3, 0), groups);
            int to = max(min((meet.y - begin + 7) >> 3, groups), from);
            if (2 * close > tried + 8)
                from = 0, to = groups;
            if (from < to)
#pragma unroll 1
                for (int i = 0; i < tiles; ++i)
                    add_exactly(i, begin, half, from, to);
#pragma unroll 1
            for (int group = from == 0 ? to : 0; group < groups; group = group + 1 == from ? to : group + 1)
                ++tried, close += add_group(group, begin, half);
            if (slope && (++turn & 3) == 0)
                round_sums();
        }
        __pipeline_wait_prior(0);
        round_sums();
    }
    /// Adds the warps' sums in their order, and writes. All threads.
    __device__ __forceinline__ void finish() {
        constexpr int height = tiles * 16, words = 5;
        static_assert(sizeof(TensorTile) >= height * words * sizeof(float));
        float* const shared = reinterpret_cast<float*>(room.tile);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < tiles; ++i)
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                float* const to = shared + (threadIdx.x / 32 * height + row_of(i, r)) * words;
                float p = potential[i][r], even = sum[i][2 * r], odd = sum[i][2 * r + 1];
                if constexpr (value) {
                    p += __shfl_xor_sync(all_lanes, p, 1);
                    p += __shfl_xor_sync(all_lanes, p, 2);
                    if (t == 2)
                        to[4] = p;
                }
                if constexpr (slope) { // high and low parts of the sources
                    even += __shfl_xor_sync(all_lanes, even, 2);
                    odd += __shfl_xor_sync(all_lanes, odd, 2);
                    if (t < 2)
                        to[2 * t] = even, to[2 * t + 1] = odd;
                }
            }
        __syncthreads();
        for (int row = static_cast<int>(threadIdx.x); row < rows; row += threads)
            write(row, shared + row * words, height * words);
    }

  private:
    const View& v;
    const int rows, first, m;
    const int2 meet;
    float4 centre; // and 1 over the frame's size
    TensorRoom& room;
    TensorTile& tile;
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    int32_t self;             // k of the first target
    float to_value, to_slope; // from sums as elsewhere to the frame's
    uint32_t target[tiles][4];
    float product[tiles][4],
        sum[tiles][4]; // rows g and g + 8; components 2 t and 2 t + 1 of TensorTile::part
    float potential[tiles][2];

    __device__ __forceinline__ int row_of(int i, int r) const {
        return i * 16 + g + 8 * r;
    }
    __device__ __forceinline__ float3 framed(const float4& p) const {
        return make_float3((p.x - centre.x) * centre.w, (p.y - centre.y) * centre.w,
                           (p.z - centre.z) * centre.w);
    }
    static __device__ __forceinline__ float square_of(const float3& p) {
        return (p.x * p.x + p.y * p.y + p.z * p.z) * tensor_square;
    }
    /// Entries beside TensorTile::entries: x, y, z: [-2 high, -2 high, -2 low, |t|^2's]; [1, 1, 1, 0].
    __device__ __forceinline__ void set_targets(int i) {
        const float soft = v.softening_square * (centre.w * centre.w) * tensor_square;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const float3 p = framed(room.target[row_of(i, r)]);
            const ThreeHalves square(square_of(p) + soft);
            const float mine = t == 0 ? p.x : (t == 1 ? p.y : p.z);
            const float high = low_half(halves(mine, 0)), low = mine - high;
            const float part =
                t == 0 ? low_half(square.first) : (t == 1 ? high_half(square.first) : square.rest);
            constexpr float factor = -2 * tensor_square;
            target[i][r] = t < 3 ? halves(factor * high, factor * high) : halves(1, 1);
            target[i][2 + r] = t < 3 ? halves(factor * low, part) : halves(1, 0);
        }
    }
    /// Begins to copy this lane's next source.
    __device__ __forceinline__ void fetch(TileCursor& cursor, int half) {
        float4* const to = &tile.point[half][lane];
        if (cursor.inside())
            __pipeline_memcpy_async(to, v.source + cursor.pos, 16);
        else // far enough not to be close
            *to = make_float4(centre.x + 1 / centre.w, centre.y, centre.z, 0);
        __pipeline_commit();
        cursor.advance();
    }
    __device__ __forceinline__ void prepare(int half) {
        const float4 point = tile.point[half][lane];
        const float3 p = framed(point);
        const uint32_t high_xy = halves(p.x, p.y), high_z = halves(p.z, 1);
        const float3 high = make_float3(low_half(high_xy), high_half(high_xy), low_half(high_z));
        const uint32_t low_xy = halves(p.x - high.x, p.y - high.y), low_z = halves(p.z - high.z, 0);
        const ThreeHalves square(square_of(p));
        constexpr uint32_t first_half = 0xffffu, second_half = 0xffff0000u;
        const uint32_t one = high_z & second_half;
        tile.entries[lane][0] =
            make_uint4((high_xy & first_half) | (low_xy << 16), (high_xy & first_half) | one,
                       (high_xy >> 16) | (low_xy & second_half), (high_xy >> 16) | one);
        tile.entries[lane][1] =
            make_uint4((high_z & first_half) | (low_z << 16), high_z, square.first, halves(square.rest, 0));
        tile.charge[lane] = point.w;
        if constexpr (slope) {
            float* const part = tile.part[lane / 8] + lane % 8;
            part[0] = high.x, part[8] = high.y, part[16] = high.z;
            part[32] = low_half(low_xy), part[40] = high_half(low_xy), part[48] = low_half(low_z);
        }
    }
    /// Whether any of these numbers is 2 or more, infinity or NaN: then, and only then, this bit is set.
    static __device__ __forceinline__ bool any_close(uint32_t bits) {
        return __any_sync(all_lanes, (bits & 0x40000000u) != 0);
    }
    static __device__ __forceinline__ uint32_t bits_of(const float (&y)[4]) {
        return __float_as_uint(y[0]) | __float_as_uint(y[1]) | __float_as_uint(y[2]) | __float_as_uint(y[3]);
    }
    /// 8 sources; whether one of them is close to a target.
    __device__ __forceinline__ bool add_group(int group, int begin, int half) {
        const uint2 entries = reinterpret_cast<const uint2*>(tile.entries[group * 8 + g])[t];
        float y[tiles][4]; // 1 / r, in the frame
        uint32_t bits = 0;
#pragma unroll
        for (int i = 0; i < tiles; ++i) {
            multiply_halves(y[i], target[i], entries);
#pragma unroll
            for (int j = 0; j < 4; ++j)
                y[i][j] = root_estimate(y[i][j]);
            bits |= bits_of(y[i]);
        }
        const bool close = any_close(bits);
        if (close)
            replace_close(y, group, begin, half);
        const float2 q = reinterpret_cast<const float2*>(tile.charge)[group * 4 + t];
        float2 part;
        if constexpr (slope)
            part = reinterpret_cast<const float2*>(tile.part[group])[g * 4 + t];
#pragma unroll
        for (int i = 0; i < tiles; ++i) {
            float w[4], rest[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float one = (j % 2 == 0 ? q.x : q.y) * y[i][j];
                if constexpr (value)
                    potential[i][j / 2] += one;
                w[j] = one * (y[i][j] * y[i][j]);
                rest[j] = w[j] - leading(w[j]);
            }
            if constexpr (slope) {
                add_product(product[i], w, part);
                add_product(product[i], rest, part);
            }
        }
        return close;
    }
    /// Tiles with a close pair are summed exactly, and leave nothing for the products.
    __device__ __forceinline__ void replace_close(float (&y)[tiles][4], int group, int begin, int half) {
        uint32_t which = 0;
#pragma unroll
        for (int i = 0; i < tiles; ++i)
            if (any_close(bits_of(y[i]))) {
                which |= 1u << i;
                y[i][0] = y[i][1] = y[i][2] = y[i][3] = 0;
            }
#pragma unroll 1
        for (int i = 0; i < tiles; ++i)
            if ((which >> i & 1) != 0)
                add_exactly(i, begin, half, group, group + 1);
    }
    __device__ __forceinline__ void round_sums() {
        if constexpr (slope) {
#pragma unroll
            for (int i = 0; i < tiles; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    sum[i][j] += product[i][j], product[i][j] = 0;
        }
    }
    /// Tile i and groups [from, to) of the 32 sources at `begin`, from differences of the caller's
    /// coordinates.
    __device__ __forceinline__ void add_exactly(int i, int begin, int half, int from, int to) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            PointSum<float, 1, 3> s = exact_sums(row_of(i, r), begin, half, from, to);
            float even = 0, odd = 0; // of the lanes that have these components: x and y; z
            if constexpr (slope) {
                float(&sums)[3] = s.gradient[0];
#pragma unroll
                for (int axis = 0; axis < 3; ++axis)
                    sums[axis] += __shfl_xor_sync(all_lanes, sums[axis], 1);
                const float mine = t % 2 == 0 ? sums[0] : sums[2];
                const float x_or_z = mine + __shfl_xor_sync(all_lanes, mine, 2);
                const float y = sums[1] + __shfl_xor_sync(all_lanes, sums[1], 2);
                even = t < 2 ? x_or_z * to_slope : 0, odd = t == 0 ? y * to_slope : 0;
            }
#pragma unroll
            for (int j = 0; j < tiles; ++j) // registers have no index
                if (j == i) {
                    if constexpr (slope)
                        sum[j][2 * r] += even, sum[j][2 * r + 1] += odd;
                    if constexpr (value)
                        potential[j][r] += s.potential[0] * to_value;
                }
        }
    }
    /// Of sources 2 t and 2 t + 1 of each group.
    __device__ __forceinline__ PointSum<float, 1, 3> exact_sums(int row, int begin, int half, int from,
                                                                int to) const {
        const float4 at = room.target[row];
        const DeviceOps<float, true> ops;
        PointSum<float, 1, 3> s = {};
#pragma unroll 2
        for (int group = from; group < to; ++group)
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                const int j = group * 8 + 2 * t + c, k = begin + j;
                const float4 p = tile.point[half][j];
                const float d[3] = {p.x - at.x, p.y - at.y, p.z - at.z};
                const float q[1] = {k != self + row && k < m ? p.w : 0.0f};
                const float r2 = fused(d[2], d[2], fused(d[1], d[1], fused(d[0], d[0], v.softening_square)));
                add_charges<Form::laplace, value, slope>(
                    ops, d, q, radial<Form::laplace, value, slope>(ops, r2, v.constants), s);
            }
        return s;
    }
    __device__ __forceinline__ void write(int row, const float* one, int stride) const {
        float all[5] = {};
#pragma unroll
        for (int w = 0; w < warps; ++w)
#pragma unroll
            for (int c = slope ? 0 : 4; c < (value ? 5 : 4); ++c)
                all[c] += one[w * stride + c];
        const int32_t slot = first + row;
        const int64_t at = v.boxes.target_index != nullptr ? v.boxes.target_index[slot] : slot;
        if constexpr (value)
            write_result<1, 3>(v.results, 0, at, all[4] * (1 / to_value));
        if constexpr (slope) {
            const float3 p = framed(room.target[row]);
            const float back = 1 / to_slope;
            write_result<1, 3>(v.results, 1, at, (all[0] - p.x * all[3]) * back);
            write_result<1, 3>(v.results, 2, at, (all[1] - p.y * all[3]) * back);
            write_result<1, 3>(v.results, 3, at, (all[2] - p.z * all[3]) * back);
        }
    }
};

template <bool value, bool slope, int tiles>
__device__ __forceinline__ void run_tensor_block(const SumView<Precision::fp32>& v, const TileBlock& block,
                                                 int2 check, float4 frame, TensorRoom& room) {
    if constexpr (tiles > 1)
        if (block.targets < tiles)
            return run_tensor_block<value, slope, tiles - 1>(v, block, check, frame, room);
    TensorLoop<value, slope, tiles> loop(v, block, check, frame, room);
    loop.run(v.runs.run + v.runs.offset[block.box]);
    loop.finish();
}

} // namespace graft::kernels::near
