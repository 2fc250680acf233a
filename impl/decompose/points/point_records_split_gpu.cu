// SPDX-License-Identifier: BSD-3-Clause
// The cut of all cells of a level: records into the other arrays, in order, each to its child's side.
//
// Floor: 4 B of key to count; then 16 B (2-D: 12) of keys and index read and written, 8 B of weight each way
// where there is one; children that are parts get their indices only. A tile of 2,048 records ranks them by
// ballots; rows of 32 leave in two runs.
#include "decompose/points/point_records_gpu.cuh"

#include "backend/primitives_gpu.cuh"

namespace graft::decompose {

namespace {

constexpr int threads = 256, rows = 8, tile = threads * rows;
constexpr int warps = threads / 32;
static_assert(tile == 2048, "RecordsEngine::start makes room for tiles of 2048");

__device__ __forceinline__ bool goes_left(const RecordsCut& cut, uint32_t key, const uint32_t* index,
                                          const DeviceCoordinates& places) {
    if (key != cut.key)
        return key < cut.key;
    const uint32_t item = *index;
    return is_left(cut.cut, places.at(cut.axis, item), places.id_of(item));
}

/// left[tile] = its records left of the cut.
__global__ void __launch_bounds__(threads)
    count_tiles(DeviceQuestion<RecordsCut> question, DeviceRecordArrays from, DeviceCoordinates places,
                int32_t* left) {
    __shared__ int32_t sum;
    const auto block = static_cast<int32_t>(blockIdx.x);
    const int32_t number = question.find(block);
    const RecordsCut cut = question.cell[number];
    const int64_t begin = int64_t{block - question.first[number]} * tile;
    const uint32_t* const keys = from.keys(cut.axis) + cut.begin;
    const uint32_t* const index = from.index + cut.begin;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    uint32_t key[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        const int64_t i = begin + r * threads + threadIdx.x;
        key[r] = i < cut.count ? keys[i] : 0;
    }
    int32_t mine = 0;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        const int64_t i = begin + r * threads + threadIdx.x;
        const bool is_left = i < cut.count && goes_left(cut, key[r], index + i, places);
        mine += __popc(__ballot_sync(~0u, is_left));
    }
    if (threadIdx.x % 32 == 0)
        atomicAdd(&sum, mine);
    __syncthreads();
    if (threadIdx.x == 0)
        left[block] = sum;
}

/// left[c] = records of cell c left of its cut, from the sums over tiles.
__global__ void count_cells(DeviceQuestion<RecordsCut> question, const int32_t* before, uint64_t* left) {
    const auto c = static_cast<int32_t>(blockIdx.x * threads + threadIdx.x);
    if (c < question.cells)
        left[c] = static_cast<uint64_t>(before[question.first[c + 1]] - before[question.first[c]]);
}

/// Warp w of a block has records [256 w, 256 w + 256) of the tile, 32 a row.
template <bool weighted>
__global__ void __launch_bounds__(threads)
    move_records(DeviceQuestion<RecordsCut> question, DeviceRecordArrays from, DeviceRecordArrays to,
                 int32_t* order, int dimension, DeviceCoordinates places, const int32_t* before) {
    __shared__ int32_t lefts[warps];
    const auto block = static_cast<int32_t>(blockIdx.x);
    const int32_t number = question.find(block), first = question.first[number];
    const RecordsCut cut = question.cell[number];
    const int64_t start = int64_t{block - first} * tile;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int64_t mine = start + warp * 32 * rows + lane; // row r: 32 r behind it
    const bool keep = cut.left_is_part == 0 || cut.right_is_part == 0;
    uint32_t key[3][rows], index[rows];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const bool wanted = axis < dimension && (keep || axis == cut.axis);
        const uint32_t* const keys = from.key[axis] + cut.begin;
#pragma unroll
        for (int r = 0; r < rows; ++r)
            key[axis][r] = wanted && mine + 32 * r < cut.count ? keys[mine + 32 * r] : 0;
    }
#pragma unroll
    for (int r = 0; r < rows; ++r)
        index[r] = mine + 32 * r < cut.count ? from.index[cut.begin + mine + 32 * r] : 0;
    uint32_t ballot[rows];
    int32_t sum = 0;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        const uint32_t k = cut.axis == 0 ? key[0][r] : cut.axis == 1 ? key[1][r] : key[2][r];
        const bool is_left = mine + 32 * r < cut.count && goes_left(cut, k, &index[r], places);
        ballot[r] = __ballot_sync(~0u, is_left);
        sum += __popc(ballot[r]);
    }
    if (lane == 0)
        lefts[warp] = sum;
    __syncthreads();
    const int64_t cell_left = before[question.first[number + 1]] - before[first];
    int64_t ahead = before[block] - before[first]; // records of the cell to the left, before this row
    for (int w = 0; w < warp; ++w)
        ahead += lefts[w];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        const int64_t at = mine + 32 * r;
        const int64_t left_before = ahead + __popc(ballot[r] & ((1u << lane) - 1));
        ahead += __popc(ballot[r]);
        if (at >= cut.count)
            continue;
        const bool is_left = ((ballot[r] >> lane) & 1) != 0;
        const int64_t target = cut.begin + (is_left ? left_before : cell_left + at - left_before);
        if ((is_left ? cut.left_is_part : cut.right_is_part) != 0) {
            order[target] = static_cast<int32_t>(index[r]);
            continue;
        }
#pragma unroll
        for (int axis = 0; axis < 3; ++axis)
            if (axis < dimension)
                to.key[axis][target] = key[axis][r];
        to.index[target] = index[r];
        if (weighted)
            to.weight[target] = from.weight[cut.begin + at];
    }
}

} // namespace

void RecordsEngine::split(int side, const RecordsCut* cuts, int64_t count, int64_t* left) {
    int64_t blocks = 0;
    const auto asked = ask(cuts, count, tile, blocks, [](const RecordsCut& cut) { return cut.count; });
    tiles.resize(2 * (blocks + 1));
    int32_t* const counts = tiles.data();
    int32_t* const before = counts + blocks + 1;
    const auto grid = static_cast<unsigned>(blocks);
    answer.resize(count);
    GRAFT_CUDA(cudaMemsetAsync(counts + blocks, 0, 4, queue.stream()));
    if (blocks > 0) {
        count_tiles<<<grid, threads, 0, queue.stream()>>>(asked, arrays(side), places(), counts);
        GRAFT_CUDA_LAUNCHED("count_tiles");
    }
    backend::exclusive_sum(queue, counts, before, blocks + 1);
    count_cells<<<backend::blocks_for(count, threads), threads, 0, queue.stream()>>>(asked, before,
                                                                                     answer.data());
    GRAFT_CUDA_LAUNCHED("count_cells");
    if (blocks > 0) {
        const auto move = weighted ? move_records<true> : move_records<false>;
        move<<<grid, threads, 0, queue.stream()>>>(asked, arrays(side), arrays(1 - side), order.data(),
                                                   dimension, places(), before);
        GRAFT_CUDA_LAUNCHED("move_records");
    }
    queue.launches += 3;
    const uint64_t* const numbers = fetch_answer(count);
    for (int64_t c = 0; c < count; ++c)
        left[c] = static_cast<int64_t>(numbers[c]);
}

} // namespace graft::decompose
