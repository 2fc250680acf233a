// SPDX-License-Identifier: BSD-3-Clause
// A rank's records on the device: what the answers of point_records_table.hpp are made from.
//
// Memory a point: 24 B of coordinates, 2 x 16 B of keys and indices, 4 B of the final order, 16 B of weights
// and 8 B of ids where there are any. A question is a table of cells sent along; the blocks of a grid find
// theirs by their number (first[cell] = its first block). Each answer is one wait.
#pragma once

#include "decompose/array_transfer_gpu.cuh"
#include "decompose/points/point_records_table.hpp"

#include <cstdint>
#include <vector>

namespace graft::decompose {

/// The arrays of records; weight NULL: 1 each. In those of lists, index is the place in the cell.
struct DeviceRecordArrays {
    uint32_t* key[3];
    uint32_t* index;
    uint64_t* weight;
    __device__ uint32_t* keys(int axis) const { return axis == 0 ? key[0] : axis == 1 ? key[1] : key[2]; }
};

/// The points by index, as the host has them.
struct DeviceCoordinates {
    const double* x[3];
    const int64_t* id; // NULL: id_base + index
    int64_t id_base;
    __device__ double at(int axis, uint32_t item) const {
        return (axis == 0 ? x[0] : axis == 1 ? x[1] : x[2])[item];
    }
    __device__ int64_t id_of(uint32_t item) const { return id != nullptr ? id[item] : id_base + item; }
};

/// The cells of a question on the device, and which block works on which.
template <typename Cell>
struct DeviceQuestion {
    const Cell* cell;
    const int32_t* first; // cells + 1
    int32_t cells;
    int32_t chunk; // records a block
    /// The cell of a block: the last one with first <= block (those without blocks share theirs).
    __device__ int32_t find(int32_t block) const {
        int32_t low = 0, high = cells;
        while (high - low > 1) {
            const int32_t middle = low + (high - low) / 2;
            (first[middle] <= block ? low : high) = middle;
        }
        return low;
    }
};

struct RecordsEngine {
    explicit RecordsEngine(int device);

    void start(const RecordsStart& start);
    void sample(int side, const RecordsCell* cells, int64_t count, int64_t each, uint64_t* out);
    void sweep(int side, const RecordsCell* cells, int64_t count, int64_t counters, RecordSum* out);
    void find_few(int side, const RecordsCell* cells, int64_t count, int64_t* found);
    void fetch_few(const RecordsCell* cells, int64_t count, const int64_t* found, Candidate* out);
    void split(int side, const RecordsCut* cuts, int64_t count, int64_t* left);
    void finish(const int64_t* part_end, int32_t parts, int32_t* owner, int32_t* order_out);

    DeviceRecordArrays arrays(int side) const;
    DeviceCoordinates places() const;
    /// Sends the cells; blocks of `chunk` records each, `blocks` of them in all. size(cell): its records.
    template <typename Cell, typename Size>
    DeviceQuestion<Cell> ask(const Cell* cells, int64_t count, int32_t chunk, int64_t& blocks, Size&& size);
    /// Records a block for so many in all: enough blocks for the device, few enough to sum up.
    int32_t chunk_for(int64_t records) const;
    /// Words of the answer; the host's copy of them, after the wait that it makes.
    uint64_t* clear_answer(int64_t words);
    const uint64_t* fetch_answer(int64_t words);

    backend::DeviceMemory memory;
    backend::Queue queue;
    HostTransfer transfer;
    backend::DeviceBuffer<double> x[3];
    backend::DeviceBuffer<int64_t> id;
    backend::DeviceBuffer<uint32_t> key[2][3], index[2];
    backend::DeviceBuffer<uint64_t> weight[2];
    backend::DeviceBuffer<int32_t> order;
    backend::DeviceBuffer<char> question;
    backend::PinnedBuffer<char> host_question;
    backend::DeviceBuffer<uint64_t> answer;
    backend::PinnedBuffer<uint64_t> host_answer;
    backend::DeviceBuffer<int32_t> tiles; // of split(): points left of the cut, then their sums
    int64_t n = 0, id_base = 0;
    int dimension = 3, most_shared = 0;
    bool has_id = false, weighted = false;
};

template <typename Cell, typename Size>
DeviceQuestion<Cell> RecordsEngine::ask(const Cell* cells, int64_t count, int32_t chunk, int64_t& blocks,
                                        Size&& size) {
    const int64_t cell_bytes = count * int64_t{sizeof(Cell)}, bytes = cell_bytes + (count + 1) * 4;
    question.resize(bytes);
    host_question.resize(bytes);
    auto* const cell = reinterpret_cast<Cell*>(host_question.data());
    auto* const first = reinterpret_cast<int32_t*>(host_question.data() + cell_bytes);
    blocks = 0;
    for (int64_t c = 0; c < count; ++c) {
        cell[c] = cells[c];
        first[c] = static_cast<int32_t>(blocks);
        blocks += (size(cells[c]) + chunk - 1) / chunk;
    }
    first[count] = static_cast<int32_t>(blocks);
    GRAFT_CUDA(cudaMemcpyAsync(question.data(), host_question.data(), static_cast<size_t>(bytes),
                               cudaMemcpyHostToDevice, queue.stream()));
    return {reinterpret_cast<const Cell*>(question.data()),
            reinterpret_cast<const int32_t*>(question.data() + cell_bytes), static_cast<int32_t>(count),
            chunk};
}

} // namespace graft::decompose
