// A warp per group: 128 entries at a time are sorted by their place, merged where they touch, and written.
// See device_runs.cuh.
#include "lists/device_runs.cuh"

#include "lists/device_walk.cuh"

#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_scan.cuh>

namespace graft::lists {

namespace {

constexpr int warps = 4; // a block
constexpr int per_lane = 4, piece = 32 * per_lane;
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

/// Runs of one sorted piece behind `made` runs and `before` items; returns how many of each it adds.
__device__ int2 write_piece(const uint64_t (&span)[per_lane], Scan::TempStorage& scratch, int32_t made,
                            int32_t before, DeviceRun* runs) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    uint64_t previous = __shfl_up_sync(~0u, span[per_lane - 1], 1);
    bool starts[per_lane];
    int2 sum{0, 0};
    for (int k = 0; k < per_lane; ++k) {
        const bool touches =
            (k > 0 || lane > 0) && place_of(previous) + items_of(previous) == place_of(span[k]);
        starts[k] = span[k] != no_entry && !touches;
        sum = SumBoth()(sum, {starts[k], items_of(span[k])});
        previous = span[k];
    }
    int2 below{0, 0}, all{0, 0};
    Scan(scratch).ExclusiveScan(sum, below, int2{0, 0}, SumBoth(), all);
    below = SumBoth()(below, {made, before});
    for (int k = 0; k < per_lane; ++k) {
        if (starts[k])
            runs[below.x++] = {place_of(span[k]), below.y};
        below.y += items_of(span[k]);
    }
    return all;
}

__global__ void __launch_bounds__(32 * warps)
    encode(EncodeInput in, int64_t* run_offset, int32_t* run_count, DeviceRun* runs) {
    __shared__ Sort::TempStorage sort_scratch[warps];
    __shared__ Scan::TempStorage scan_scratch[warps];
    if (backend::stopped(in.batch.status))
        return;
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    const int64_t g = static_cast<int64_t>(blockIdx.x) * warps + warp;
    if (g >= device::batch_range(in.batch).count)
        return;
    const int64_t begin = in.offset[g], end = in.offset[g + 1];
    DeviceRun* out = runs + begin + g;
    int2 made{0, 0};
    for (int64_t at = begin; at < end; at += piece) {
        uint64_t span[per_lane];
        for (int k = 0; k < per_lane; ++k) {
            const int64_t entry = at + k * 32 + lane;
            span[k] = entry < end ? span_of(in, in.entries[entry]) : no_entry;
        }
        Sort(sort_scratch[warp]).Sort(span, Less());
        __syncwarp();
        made = SumBoth()(made, write_piece(span, scan_scratch[warp], made.x, made.y, out));
        __syncwarp();
    }
    if (lane == 0) {
        out[made.x] = {0, made.y};
        run_offset[g] = begin + g;
        run_count[g] = made.x;
    }
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
        in, runs.offset.data(), runs.count.data(), runs.runs.data());
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
