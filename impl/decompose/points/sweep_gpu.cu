// SPDX-License-Identifier: BSD-3-Clause
// Samples of cells, and the pass over their records: counts below and in bins, and lists.
//
// Floor of a pass: 4 B of key a record. What is below is counted in registers; bins and lists are made in
// shared memory and added to the cell's once a block, all integers. In a sampled bracket are a few of a
// hundred records, so the reading is what takes time.
#include "decompose/points/point_records_gpu.cuh"

#include <algorithm>

namespace graft::decompose {

namespace {

constexpr int threads = 256;
constexpr int batch = 4;        // keys that a thread has on their way
constexpr int list_room = 2048; // of a block, in shared memory
constexpr int most_bins_shared = 4096;

__global__ void take_samples(const RecordsCell* cells, int64_t count, int64_t each, DeviceRecordArrays from,
                             uint64_t* out) {
    const int64_t slot = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (slot >= count * each)
        return;
    const RecordsCell cell = cells[slot / each];
    const int64_t i = slot % each;
    uint64_t packed = 0xbf800000u; // no_sample
    if (i < cell.room) {
        const int64_t at = cell.begin + (2 * i + 1) * cell.count / (2 * cell.room);
        const uint32_t key = from.keys(cell.axis)[at];
        if (key >= cell.first && key <= cell.last) {
            const float weight = cell.weigh != 0 ? __ull2float_rn(from.weight[at]) : 1.0f;
            packed = uint64_t{key} << 32 | __float_as_uint(__fmul_rn(weight, cell.stands_for));
        }
    }
    out[slot] = packed;
}

/// Arrays of counters; low and high (of 32 bits of the weights) NULL: no weights.
struct Counters {
    unsigned long long *count, *low, *high;
    unsigned long long* listed; // by cell: length of its list so far

    template <bool weighted>
    __device__ void add(int64_t at, unsigned long long n, unsigned long long l, unsigned long long h) const {
        if (n == 0)
            return;
        atomicAdd(count + at, n);
        if (weighted)
            atomicAdd(low + at, l), atomicAdd(high + at, h);
    }
};

/// What one block of the pass shares beside its bins.
struct SweepShared {
    uint32_t key[list_room], place[list_room], size;
    unsigned long long below[3], base;
};

/// A block's bins in shared memory.
struct SharedBins {
    unsigned long long *low, *high;
    uint32_t* count;
    template <bool weighted>
    __device__ static SharedBins at(unsigned long long* memory, int bins) {
        return {memory, memory + bins, reinterpret_cast<uint32_t*>(memory + (weighted ? 2 * bins : 0))};
    }
};

template <bool weighted>
class Sweeper {
  public:
    __device__ Sweeper(const RecordsCell& cell, int32_t number, DeviceRecordArrays from,
                       DeviceRecordArrays list, Counters out, SweepShared& shared, SharedBins bins,
                       bool use_shared)
        : cell_(cell), number_(number), from_(from), list_(list), out_(out), shared_(shared), bins_(bins),
          use_shared_(use_shared) {
        const DeviceRecordArrays source = cell.listed >= 0 ? list : from;
        keys_ = source.keys(cell.axis) + cell.begin;
        weights_ = weighted ? source.weight + cell.begin : nullptr;
    }

    __device__ void run(int64_t begin, int64_t end) {
        clear();
        for (int64_t base = begin; base < end; base += batch * threads) {
            uint32_t key[batch];
#pragma unroll
            for (int j = 0; j < batch; ++j) {
                const int64_t i = base + j * threads + threadIdx.x;
                key[j] = i < end ? keys_[i] : 0;
            }
#pragma unroll
            for (int j = 0; j < batch; ++j) {
                const int64_t i = base + j * threads + threadIdx.x;
                take(key[j], i, i < end);
            }
        }
        add_below();
        __syncthreads();
        add_bins();
        if (cell_.collect != 0)
            write_list();
    }

  private:
    __device__ void clear() {
        for (int b = threadIdx.x; use_shared_ && b < cell_.bins; b += threads) {
            bins_.count[b] = 0;
            if (weighted)
                bins_.low[b] = bins_.high[b] = 0;
        }
        if (threadIdx.x < 3)
            shared_.below[threadIdx.x] = 0;
        if (threadIdx.x == 0)
            shared_.size = 0;
        __syncthreads();
    }

    /// All threads of a warp together; is_here: there is a record.
    __device__ __forceinline__ void take(uint32_t key, int64_t i, bool is_here) {
        const bool counts = is_here && key >= cell_.from_first && key <= cell_.from_last;
        const bool is_below = counts && key < cell_.first;
        const bool within = counts && !is_below && key <= cell_.last && cell_.bins > 0;
        unsigned long long low = 0, high = 0;
        if (weighted && (is_below || within)) {
            const uint64_t w = weights_[i];
            low = w & 0xffffffffu, high = w >> 32;
        }
        if (is_below) {
            ++below_;
            if (weighted)
                below_low_ += low, below_high_ += high;
        }
        if (within)
            add_to_bin((key - cell_.first) >> cell_.shift, low, high);
        if (cell_.collect != 0)
            append(key, static_cast<uint32_t>(i), within);
    }

    __device__ __forceinline__ void add_to_bin(uint32_t bin, unsigned long long low,
                                               unsigned long long high) {
        if (!use_shared_)
            return out_.template add<weighted>(cell_.at + 1 + bin, 1, low, high);
        atomicAdd(bins_.count + bin, 1u);
        if (weighted)
            atomicAdd(bins_.low + bin, low), atomicAdd(bins_.high + bin, high);
    }

    __device__ __forceinline__ void append(uint32_t key, uint32_t place, bool within) {
        const unsigned mask = __ballot_sync(~0u, within);
        if (mask == 0)
            return;
        const int lane = threadIdx.x % 32, leader = __ffs(static_cast<int>(mask)) - 1;
        uint32_t slot = 0;
        if (lane == leader)
            slot = atomicAdd(&shared_.size, static_cast<uint32_t>(__popc(mask)));
        slot = __shfl_sync(~0u, slot, leader) + __popc(mask & ((1u << lane) - 1));
        if (!within)
            return;
        if (slot < list_room)
            shared_.key[slot] = key, shared_.place[slot] = place;
        else // a heap of keys, or a wide bracket
            list(static_cast<int64_t>(atomicAdd(out_.listed + number_, 1ull)), key, place);
    }

    __device__ void list(int64_t at, uint32_t key, uint32_t place) {
        list_.keys(cell_.axis)[cell_.begin + at] = key;
        list_.index[cell_.begin + at] = place;
        if (weighted)
            list_.weight[cell_.begin + at] = weights_[place];
    }

    __device__ void add_below() {
        unsigned long long sums[3] = {below_, below_low_, below_high_};
        for (int k = 0; k < (weighted ? 3 : 1); ++k) {
            for (int offset = 16; offset > 0; offset /= 2)
                sums[k] += __shfl_xor_sync(~0u, sums[k], offset);
            if (threadIdx.x % 32 == 0 && sums[k] != 0)
                atomicAdd(&shared_.below[k], sums[k]);
        }
    }

    __device__ void add_bins() {
        if (threadIdx.x == 0)
            out_.template add<weighted>(cell_.at, shared_.below[0], shared_.below[1], shared_.below[2]);
        for (int b = threadIdx.x; use_shared_ && b < cell_.bins; b += threads)
            out_.template add<weighted>(cell_.at + 1 + b, bins_.count[b], weighted ? bins_.low[b] : 0,
                                        weighted ? bins_.high[b] : 0);
    }

    __device__ void write_list() {
        const uint32_t kept = shared_.size < list_room ? shared_.size : list_room;
        if (threadIdx.x == 0)
            shared_.base = atomicAdd(out_.listed + number_, static_cast<unsigned long long>(kept));
        __syncthreads();
        for (uint32_t k = threadIdx.x; k < kept; k += threads)
            list(static_cast<int64_t>(shared_.base) + k, shared_.key[k], shared_.place[k]);
    }

    const RecordsCell& cell_;
    int32_t number_;
    DeviceRecordArrays from_, list_;
    Counters out_;
    SweepShared& shared_;
    SharedBins bins_;
    bool use_shared_;
    const uint32_t* keys_;
    const uint64_t* weights_;
    unsigned long long below_ = 0, below_low_ = 0, below_high_ = 0;
};

template <bool weighted>
__global__ void __launch_bounds__(threads)
    sweep_cells(DeviceQuestion<RecordsCell> question, DeviceRecordArrays from, DeviceRecordArrays list,
                Counters out, int bins_in_shared) {
    extern __shared__ unsigned long long memory[];
    __shared__ SweepShared shared;
    const auto block = static_cast<int32_t>(blockIdx.x);
    const int32_t number = question.find(block);
    const RecordsCell cell = question.cell[number];
    const int64_t size = cell.listed >= 0 ? cell.listed : cell.count;
    const int64_t begin = int64_t{block - question.first[number]} * question.chunk;
    const int64_t end = begin + question.chunk < size ? begin + question.chunk : size;
    const bool use_shared = cell.bins <= bins_in_shared;
    Sweeper<weighted>(cell, number, from, list, out, shared,
                      SharedBins::at<weighted>(memory, use_shared ? cell.bins : 0), use_shared)
        .run(begin, end);
}

int64_t records_of(const RecordsCell& cell) {
    return cell.listed >= 0 ? cell.listed : cell.count;
}

template <bool weighted>
void launch_sweep(backend::Queue& queue, const DeviceQuestion<RecordsCell>& question, int64_t blocks,
                  DeviceRecordArrays from, DeviceRecordArrays list, Counters out, int bins, int most_shared) {
    constexpr int each = weighted ? 20 : 4;
    const int room = (most_shared - static_cast<int>(sizeof(SweepShared)) - 1024) / each;
    const int in_shared = std::min({bins, room, most_bins_shared});
    const auto bytes = static_cast<size_t>(std::max(in_shared, 1)) * each;
    GRAFT_CUDA(cudaFuncSetAttribute(sweep_cells<weighted>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(bytes)));
    sweep_cells<weighted><<<static_cast<unsigned>(blocks), threads, bytes, queue.stream()>>>(
        question, from, list, out, in_shared);
    GRAFT_CUDA_LAUNCHED("sweep_cells");
    ++queue.launches;
}

} // namespace

void RecordsEngine::sample(int side, const RecordsCell* cells, int64_t count, int64_t each, uint64_t* out) {
    int64_t blocks = 0;
    const auto asked = ask(cells, count, 1 << 20, blocks, records_of);
    answer.resize(count * each);
    take_samples<<<backend::blocks_for(count * each, threads), threads, 0, queue.stream()>>>(
        asked.cell, count, each, arrays(side), answer.data());
    GRAFT_CUDA_LAUNCHED("take_samples");
    ++queue.launches;
    std::copy_n(fetch_answer(count * each), count * each, out);
}

void RecordsEngine::sweep(int side, const RecordsCell* cells, int64_t count, int64_t counters,
                          RecordSum* out) {
    int64_t records = 0, blocks = 0;
    int bins = 0;
    for (int64_t c = 0; c < count; ++c)
        records += records_of(cells[c]), bins = std::max(bins, cells[c].bins);
    const auto asked = ask(cells, count, chunk_for(records), blocks, records_of);
    const int64_t words = (weighted ? 3 : 1) * counters;
    auto* const memory = reinterpret_cast<unsigned long long*>(clear_answer(words + count));
    const Counters sums{memory, memory + counters, memory + 2 * counters, memory + words};
    const auto launch = weighted ? launch_sweep<true> : launch_sweep<false>;
    if (blocks > 0)
        launch(queue, asked, blocks, arrays(side), arrays(1 - side), sums, bins, most_shared);
    const uint64_t* const found = fetch_answer(words);
    for (int64_t i = 0; i < counters; ++i)
        out[i] = {found[i], weighted ? found[counters + i] : 0, weighted ? found[2 * counters + i] : 0};
}

} // namespace graft::decompose
