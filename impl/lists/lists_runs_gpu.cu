// SPDX-License-Identifier: BSD-3-Clause
// A warp per group: 128 entries at a time are sorted by their place, merged where they touch, and written.
// Groups with long lists are left to the whole block, eight pieces at a time. See lists_runs_gpu.cuh.
#include "lists/lists_runs_gpu.cuh"

#include "lists/walk_gpu.cuh"

#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_scan.cuh>

namespace graft::lists {

namespace {

constexpr int warps = 8; // a block
constexpr int per_lane = 4, piece = 32 * per_lane;
constexpr int64_t most_by_warp = 12 * piece; // entries
constexpr uint64_t no_entry = ~uint64_t{0};

using Sort = cub::WarpMergeSort<uint64_t, per_lane, 32>;
using Scan = cub::WarpScan<int2>;

struct EncodeInput {
    device::BatchView batch;
    const tree::Node* nodes; // NULL: entries stand for themselves
    const int64_t* offset;
    const int32_t* entries;
};

/// Place and number of items of a list entry in one number that sorts by place.
__device__ uint64_t span_of(const EncodeInput& in, int32_t entry) {
    if (in.nodes == nullptr)
        return static_cast<uint64_t>(entry) << 32 | 1;
    const tree::Node& node = in.nodes[entry];
    return static_cast<uint64_t>(node.first) << 32 | static_cast<uint64_t>(node.count);
}
__device__ int32_t place_of(uint64_t span) {
    return static_cast<int32_t>(span >> 32);
}
__device__ int32_t items_of(uint64_t span) {
    return span == no_entry ? 0 : static_cast<int32_t>(span & 0xffffffff);
}

struct SumBoth {
    __device__ int2 operator()(int2 a, int2 b) const { return {a.x + b.x, a.y + b.y}; }
};

struct Less {
    __device__ bool operator()(uint64_t a, uint64_t b) const { return a < b; }
};

struct Shared {
    Sort::TempStorage sort[warps];
    Scan::TempStorage scan[warps];
    int2 sums[warps];
    bool left[warps]; // groups left to the block
};

/// A sorted piece: which of this lane's spans begin a run, and how many runs and items come before them in
/// the piece and are in all of it.
struct SortedSpans {
    uint64_t span[per_lane];
    bool starts[per_lane];
    int2 below, all;
};

/// Entries [at, end), at most a piece, by one warp.
__device__ SortedSpans sort_piece(const EncodeInput& in, int64_t at, int64_t end, Shared& shared) {
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    SortedSpans made;
    for (int k = 0; k < per_lane; ++k) {
        const int64_t entry = at + k * 32 + lane;
        made.span[k] = entry < end ? span_of(in, in.entries[entry]) : no_entry;
    }
    Sort(shared.sort[warp]).Sort(made.span, Less());
    __syncwarp();
    uint64_t previous = __shfl_up_sync(~0u, made.span[per_lane - 1], 1);
    int2 sum{0, 0};
    for (int k = 0; k < per_lane; ++k) {
        const bool touches =
            (k > 0 || lane > 0) && place_of(previous) + items_of(previous) == place_of(made.span[k]);
        made.starts[k] = made.span[k] != no_entry && !touches;
        sum = SumBoth()(sum, {made.starts[k], items_of(made.span[k])});
        previous = made.span[k];
    }
    Scan(shared.scan[warp]).ExclusiveScan(sum, made.below, int2{0, 0}, SumBoth(), made.all);
    __syncwarp();
    return made;
}

/// Writes a piece's runs behind `before` runs and items.
__device__ void write_piece(const SortedSpans& piece_runs, int2 before, DeviceRun* runs) {
    int2 at = SumBoth()(piece_runs.below, before);
    for (int k = 0; k < per_lane; ++k) {
        if (piece_runs.starts[k])
            runs[at.x++] = {place_of(piece_runs.span[k]), at.y};
        at.y += items_of(piece_runs.span[k]);
    }
}

struct RunOutput {
    int64_t* offset;
    int32_t* count;
    DeviceRun* runs;
};

/// Closes a group that has `made` runs and items.
__device__ void close_group(const RunOutput& out, int64_t g, int64_t begin, int2 made) {
    out.runs[begin + g + made.x] = {0, made.y};
    out.offset[g] = begin + g;
    out.count[g] = made.x;
}

__device__ void encode_with_warp(const EncodeInput& in, const RunOutput& out, int64_t g, Shared& shared) {
    const int64_t begin = in.offset[g], end = in.offset[g + 1];
    int2 made{0, 0};
    for (int64_t at = begin; at < end; at += piece) {
        const SortedSpans sorted = sort_piece(in, at, end, shared);
        write_piece(sorted, made, out.runs + begin + g);
        made = SumBoth()(made, sorted.all);
    }
    if (threadIdx.x % 32 == 0)
        close_group(out, g, begin, made);
}

__device__ void encode_with_block(const EncodeInput& in, const RunOutput& out, int64_t g, Shared& shared) {
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int64_t begin = in.offset[g], end = in.offset[g + 1];
    int2 made{0, 0};
    for (int64_t at = begin; at < end; at += warps * piece) {
        const SortedSpans sorted = sort_piece(in, min(at + warp * piece, end), end, shared);
        if (threadIdx.x % 32 == 0)
            shared.sums[warp] = sorted.all;
        __syncthreads();
        int2 before = made;
        for (int w = 0; w < warps; ++w) {
            made = SumBoth()(made, shared.sums[w]);
            before = w < warp ? made : before;
        }
        write_piece(sorted, before, out.runs + begin + g);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        close_group(out, g, begin, made);
}

__global__ void __launch_bounds__(32 * warps) encode(EncodeInput in, RunOutput out) {
    __shared__ Shared shared;
    if (backend::stopped(in.batch.status))
        return;
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int64_t first = static_cast<int64_t>(blockIdx.x) * warps, g = first + warp;
    const int64_t groups = device::batch_range(in.batch).count;
    if (first >= groups)
        return;
    const bool left = g < groups && in.offset[g + 1] - in.offset[g] > most_by_warp;
    if (threadIdx.x % 32 == 0)
        shared.left[warp] = left;
    if (g < groups && !left)
        encode_with_warp(in, out, g, shared);
    __syncthreads();
    for (int w = 0; w < warps; ++w)
        if (shared.left[w])
            encode_with_block(in, out, first + w, shared);
}

__global__ void decode(device::BatchView batch, const int64_t* run_offset, const int32_t* run_count,
                       const DeviceRun* runs, const int64_t* item_offset, int32_t* items) {
    const int64_t g = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    if (backend::stopped(batch.status) || g >= device::batch_range(batch).count)
        return;
    const DeviceRun* run = runs + run_offset[g];
    int32_t* out = items + item_offset[g];
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int32_t r = 0; r < run_count[g]; ++r)
        for (int32_t k = run[r].before + lane; k < run[r + 1].before; k += 32)
            out[k] = run[r].first + (k - run[r].before);
}

void encode_entries(backend::Queue& queue, const DeviceTargets& targets, const DeviceLists& lists,
                    const tree::Node* nodes, const backend::DeviceBuffer<int64_t>& offset,
                    const backend::DeviceBuffer<int32_t>& entries, DeviceRuns& runs) {
    const int64_t groups = targets.groups.size() / lists.batches + 1;
    runs.offset.resize(groups);
    runs.count.resize(groups);
    runs.runs.resize(entries.size() + groups);
    const EncodeInput in{device::batch_view(queue, targets, lists.batch, lists.batches), nodes, offset.data(),
                         entries.data()};
    encode<<<backend::blocks_for(groups, warps), 32 * warps, 0, queue.stream()>>>(
        in, {runs.offset.data(), runs.count.data(), runs.runs.data()});
    GRAFT_CUDA_LAUNCHED("runs of lists");
    ++queue.launches;
}

} // namespace

void encode_runs(backend::Queue& queue, const tree::DeviceTree& tree, const DeviceTargets& targets,
                 const DeviceLists& lists, DeviceRuns& runs) {
    encode_entries(queue, targets, lists, tree.nodes.data(), lists.leaf_offset, lists.leaves, runs);
}

void encode_node_runs(backend::Queue& queue, const tree::DeviceTree&, const DeviceTargets& targets,
                      const DeviceLists& lists, DeviceRuns& runs) {
    encode_entries(queue, targets, lists, nullptr, lists.node_offset, lists.nodes, runs);
}

void decode_runs(backend::Queue& queue, const DeviceTargets& targets, const DeviceLists& lists,
                 const DeviceRuns& runs, const int64_t* item_offset, int32_t* items) {
    const int64_t groups = targets.groups.size() / lists.batches + 1;
    decode<<<backend::blocks_for(groups * 32, 128), 128, 0, queue.stream()>>>(
        device::batch_view(queue, targets, lists.batch, lists.batches), runs.offset.data(), runs.count.data(),
        runs.runs.data(), item_offset, items);
    GRAFT_CUDA_LAUNCHED("items of runs");
    ++queue.launches;
}

} // namespace graft::lists
