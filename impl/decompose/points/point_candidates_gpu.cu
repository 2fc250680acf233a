// SPDX-License-Identifier: BSD-3-Clause
// The records that may be a cell's crossing point, as candidates for the exact stage (exact_cut.hpp).
//
// Floor: the keys of the cells' lists (or of small cells), and 32 B a candidate over the link.
#include "decompose/points/point_records_gpu.cuh"

#include "core/error.hpp"
#include "decompose/ordering.hpp"

#include <algorithm>

namespace graft::decompose {

namespace {

constexpr int threads = 256;
constexpr int64_t staged_most = int64_t{1} << 17; // candidates that come along with their numbers

__global__ void __launch_bounds__(threads)
    write_candidates(DeviceQuestion<RecordsCell> question, DeviceRecordArrays from, DeviceRecordArrays list,
                     DeviceCoordinates places, unsigned long long* found, Candidate* out) {
    const auto block = static_cast<int32_t>(blockIdx.x);
    const int32_t number = question.find(block);
    const RecordsCell cell = question.cell[number];
    const bool on_list = cell.listed >= 0;
    const int64_t size = on_list ? cell.listed : cell.count;
    const int64_t begin = int64_t{block - question.first[number]} * question.chunk;
    const int64_t end = begin + question.chunk < size ? begin + question.chunk : size;
    const uint32_t* const keys = (on_list ? list : from).keys(cell.axis) + cell.begin;
    for (int64_t i = begin + threadIdx.x; i < end; i += threads) {
        const uint32_t key = keys[i];
        if (key < cell.first || key > cell.last || key < cell.from_first || key > cell.from_last)
            continue;
        const auto slot = static_cast<int64_t>(atomicAdd(found + number, 1ull));
        if (slot >= cell.room)
            continue;
        const int64_t record = cell.begin + (on_list ? list.index[cell.begin + i] : i);
        const uint32_t item = from.index[record];
        out[cell.at + slot] = {ordered_image(places.at(cell.axis, item)), ordered_id(places.id_of(item)),
                               from.weight != nullptr ? from.weight[record] : 1, cell.slot};
    }
}

int64_t records_of(const RecordsCell& cell) {
    return cell.listed >= 0 ? cell.listed : cell.count;
}

int64_t room_of(const RecordsCell* cells, int64_t count) {
    return count > 0 ? cells[count - 1].at + cells[count - 1].room : 0;
}

constexpr int64_t words_each = sizeof(Candidate) / 8;

} // namespace

void RecordsEngine::find_few(int side, const RecordsCell* cells, int64_t count, int64_t* found) {
    int64_t records = 0, blocks = 0;
    for (int64_t c = 0; c < count; ++c)
        records += records_of(cells[c]);
    const auto asked = ask(cells, count, chunk_for(records), blocks, records_of);
    const int64_t room = room_of(cells, count);
    answer.resize(count + room * words_each);
    GRAFT_CUDA(cudaMemsetAsync(answer.data(), 0, static_cast<size_t>(answer.size()) * 8, queue.stream()));
    if (blocks > 0) {
        write_candidates<<<static_cast<unsigned>(blocks), threads, 0, queue.stream()>>>(
            asked, arrays(side), arrays(1 - side), places(),
            reinterpret_cast<unsigned long long*>(answer.data()),
            reinterpret_cast<Candidate*>(answer.data() + count));
        GRAFT_CUDA_LAUNCHED("write_candidates");
        ++queue.launches;
    }
    const uint64_t* const numbers = fetch_answer(room <= staged_most ? answer.size() : count);
    for (int64_t c = 0; c < count; ++c) {
        found[c] = static_cast<int64_t>(numbers[c]);
        if (found[c] > cells[c].room)
            core::fail(core::Status::internal, "ORB on the device: %lld candidates where %lld were expected",
                       static_cast<long long>(found[c]), static_cast<long long>(cells[c].room));
    }
}

void RecordsEngine::fetch_few(const RecordsCell* cells, int64_t count, const int64_t* found, Candidate* out) {
    const bool staged = room_of(cells, count) <= staged_most;
    const auto* const here = reinterpret_cast<const Candidate*>(host_answer.data() + count);
    const auto* const there = reinterpret_cast<const Candidate*>(answer.data() + count);
    for (int64_t c = 0; c < count; ++c) {
        if (staged)
            std::copy_n(here + cells[c].at, found[c], out);
        else
            transfer.fetch(out, there + cells[c].at, found[c] * int64_t{sizeof(Candidate)});
        out += found[c];
    }
}

} // namespace graft::decompose
