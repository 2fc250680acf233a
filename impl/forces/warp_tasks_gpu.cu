// SPDX-License-Identifier: BSD-3-Clause
// Dividing lists into tasks, see warp_tasks_gpu.cuh; task_sums_gpu.cu adds up what they give.
#include "forces/warp_tasks_gpu.cuh"

#include "forces/frame_gpu.cuh"
#include "forces/frame_resolution.hpp"

#include <algorithm>

namespace graft::forces {

namespace {

constexpr unsigned all_lanes = ~0u;
constexpr int threads = 128;

/// Sources of a leaf, a heap being one, and the index of the first.
struct LeafSources {
    uint32_t count;
    int32_t first;
};
__device__ LeafSources find_source(const EvaluationView& v, int32_t index) {
    const tree::Node node = v.sources.nodes[index];
    const bool heap = v.heaps && node.child_count == 0 && node.count > v.sources.leaf;
    return heap ? LeafSources{1, -2 - index}
                : LeafSources{static_cast<uint32_t>(node.count), static_cast<int32_t>(node.first)};
}

/// Sum of the lanes up to this one.
__device__ uint32_t sum_of_lanes(uint32_t value) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(all_lanes, value, step);
        value += lane >= step ? other : 0;
    }
    return value;
}

constexpr int entries_a_lane = 4; // their loads are under way together

/// A warp a group.
__global__ void find_sources_kernel(EvaluationView v, SourceEntry* entries) {
    const int64_t g = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
    if (backend::stopped(v.status) || g >= batch_group_count(v))
        return;
    const int32_t* list = v.lists.leaves + v.lists.leaf_offset[g];
    const auto count = static_cast<int32_t>(v.lists.leaf_offset[g + 1] - v.lists.leaf_offset[g]);
    SourceEntry* to = entries + first_entry(v, g);
    uint32_t before = 0;
    for (int32_t begin = 0; begin < count; begin += 32 * entries_a_lane) {
        LeafSources own[entries_a_lane];
#pragma unroll
        for (int i = 0; i < entries_a_lane; ++i) {
            const int32_t e = begin + 32 * i + static_cast<int32_t>(threadIdx.x % 32);
            own[i] = e < count ? find_source(v, list[e]) : LeafSources{0, 0};
        }
#pragma unroll
        for (int i = 0; i < entries_a_lane; ++i) {
            const int32_t e = begin + 32 * i + static_cast<int32_t>(threadIdx.x % 32);
            const uint32_t sum = sum_of_lanes(own[i].count), start = before + sum - own[i].count;
            if (e < count)
                to[e] = {start, static_cast<uint32_t>(own[i].first) - start};
            before += __shfl_sync(all_lanes, sum, 31);
        }
    }
    if (threadIdx.x % 32 == 0)
        to[count] = {before, static_cast<uint32_t>(INT32_MIN) - before};
}

__global__ void size_sources_kernel(EvaluationView v, int64_t n, float* size) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (backend::stopped(v.status) || i >= n)
        return;
    const double charge = v.sources.charge[i] * v.charge_scale;
    size[i] = size_of(charge);
    if (charge != 0 && fabs(charge) < lightest_charge)
        backend::stop_with(v.status, needs_double);
}

/// Single precision feels nothing of strays beyond 2^40 of a group's frame. Where they are ordinary charges that is 2^-24 of what
/// `most` does to the group, all of which is within longest_most: strays are less than a fifth of the particles.
constexpr double heaviest_stray = 2, longest_most = 0x1p28; // of the mean charge; frame units

__global__ void check_strays_kernel(EvaluationView v, int64_t n) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (backend::stopped(v.status) || i >= n)
        return;
    const double at[3] = {v.sources.x[i], v.sources.y[i], v.sources.z[i]};
    bool inside = true;
    for (int a = 0; a < 3; ++a)
        inside = inside && at[a] >= v.strays.most.lower[a] && at[a] <= v.strays.most.upper[a];
    if (!inside && fabs(v.sources.charge[i]) * v.charge_scale > heaviest_stray)
        backend::stop_with(v.status, needs_double);
}

/// Distance from the box's corner furthest from `point`.
__device__ double furthest(const geometry::Box& box, const double (&point)[3]) {
    double square = 0;
    for (int a = 0; a < 3; ++a) {
        const double far = fmax(point[a] - box.lower[a], box.upper[a] - point[a]);
        square += far * far;
    }
    return sqrt(square);
}

/// How near or large the nearest sources of targets at one place are, or infinity (a warp; the same in all
/// lanes).
__device__ double nearest_length(const EvaluationView& v, int64_t g, const geometry::Box& box) {
    double nearest = INFINITY;
    const auto look_at = [&](const int32_t* list, int64_t begin, int64_t end) {
        for (int64_t e = begin + threadIdx.x % 32; e < end; e += 32) {
            const double length = furthest(v.sources.boxes[list[e]], box.lower);
            nearest = length > 0 ? fmin(nearest, length) : nearest;
        }
    };
    look_at(v.lists.leaves, v.lists.leaf_offset[g], v.lists.leaf_offset[g + 1]);
    look_at(v.lists.nodes, v.lists.node_offset[g], v.lists.node_offset[g + 1]);
    for (int step = 16; step > 0; step /= 2)
        nearest = fmin(nearest, __shfl_xor_sync(all_lanes, nearest, step));
    return nearest;
}

/// Whether powers of the distance of a group's nearest cell leave single precision, as a source far beyond it
/// has made the frame small (a thread: hardly any group has its list looked at).
__device__ bool cells_too_close(const EvaluationView& v, int64_t g, const geometry::Box& box, double nearest,
                                const Frame& frame) {
    constexpr double least = 0x1p-10;
    if (frame.scale >= least * make_device_frame<float>(box.lower, box.upper, nearest, 0).scale)
        return false;
    if (shared_cells(v, g) > 0) // their polynomial would come from a frame of ordinary size
        return true;
    bool any = false;
    for (int64_t e = v.lists.node_offset[g]; e < v.lists.node_offset[g + 1]; ++e) {
        const int32_t node = v.lists.nodes[e];
        const double at[3] = {v.expansions.cx[node], v.expansions.cy[node], v.expansions.cz[node]};
        double square = 0;
        for (int a = 0; a < 3; ++a) {
            const double gap = fmax(fmax(box.lower[a] - at[a], at[a] - box.upper[a]), 0.0) * frame.scale;
            square += gap * gap;
        }
        any = any || square < least * least;
    }
    return any;
}

/// Stops where single precision has none.
__device__ Frame make_units_frame(const EvaluationView& v, int64_t g, const lists::Target& target, double nearest) {
    const geometry::Box& box = target.box;
    const bool ignores_strays = v.single_precision && v.strays.any;
    const double reach = furthest(ignores_strays ? v.strays.most : v.sources.boxes[0], box.lower);
    const double longest = v.softening.of_nodes != nullptr ? fmax(v.softening.of_nodes[0], target.softening)
                                                           : v.softening.longest;
    if (!v.single_precision) {
        if (reach > 0 && longest > 0x1p200 * reach)
            backend::stop_with(v.status, softened_beyond_range);
        return make_device_frame<double>(box.lower, box.upper, nearest, reach, longest);
    }
    const Frame frame = make_device_frame<float>(box.lower, box.upper, nearest, reach);
    if (softened_too_far(frame, longest) || cells_too_close(v, g, box, nearest, frame) ||
        (ignores_strays && reach * frame.scale > longest_most))
        backend::stop_with(v.status, needs_double);
    return frame;
}

/// A warp's groups at one place ask for their nearest sources, one after the other.
__device__ double nearest_of_points(const EvaluationView& v, int64_t g, bool is_point,
                                    const geometry::Box& box) {
    double own = 0;
    for (unsigned waiting = __ballot_sync(all_lanes, is_point); waiting != 0; waiting &= waiting - 1) {
        const int lane = __ffs(static_cast<int>(waiting)) - 1;
        const int64_t of = __shfl_sync(all_lanes, g, lane);
        const double nearest = nearest_length(v, of, batch_group(v, of).target.box);
        own = static_cast<int>(threadIdx.x % 32) == lane ? nearest : own;
    }
    return own;
}

/// Most items of a task. A lane of the fast kernels then adds at most 512 of them in single precision before
/// the sum goes to a slot, which is added in double: as often as the CPU's mixed precision does. Up to 32
/// targets four lanes are a part and an eighth of 4,096 items is theirs; more targets have fewer items anyway
/// (65,536 interactions, parts of p > 4 lanes have more than 4 p targets, a lane p / 32 of the items). Cells,
/// up to seven targets a lane: 3.5 p targets, at most 585.
constexpr int most_items = 4096;

/// Items times targets into tasks of about `interactions`, whole warps of items each.
__device__ ListTasks divide(int64_t items, int32_t targets, int interactions, int least) {
    const auto total = static_cast<uint32_t>(items); // a list's: below 2^31
    const auto most = static_cast<uint32_t>(min(most_items, max(least, interactions / targets / 32 * 32)));
    const uint32_t tasks = (total + most - 1) / most;
    const uint32_t chunk = tasks > 0 ? ((total + tasks - 1) / tasks + 31) / 32 * 32 : 32;
    return {static_cast<int32_t>(total), static_cast<int32_t>(chunk),
            static_cast<int32_t>((total + chunk - 1) / chunk), 0};
}

__device__ int class_of(int32_t targets) {
    const int32_t block = min(targets, 32 * most_targets_a_lane);
    const int part = part_lanes(block, most_targets_a_lane);
    return task_classes - (block + part - 1) / part;
}

__device__ GroupFrame make_group_frame(const EvaluationView& v, const TaskSize& size, int64_t g,
                                       const SourceEntry* entries, const lists::Group& group,
                                       double nearest) {
    GroupFrame frame{};
    const Frame place = make_units_frame(v, g, group.target, nearest);
    frame.scale = place.scale;
    frame.exponent = static_cast<int16_t>(ilogb(place.scale));
    for (int a = 0; a < 3; ++a)
        frame.centre[a] = place.centre[a] * place.scale;
    frame.first = static_cast<int32_t>(group.first);
    frame.count = static_cast<int32_t>(group.count);
    frame.task_class = static_cast<int8_t>(class_of(frame.count));
    frame.all_coarse = v.single_precision && nearest > 0 && nearest * place.scale < frame_resolution;
    const uint32_t pairs = entries[first_entry(v, g + 1) - 1].start;
    frame.pairs = divide(pairs, frame.count, size.pair_interactions, size.least);
    frame.cells = divide(near_cells(v, g), frame.count, size.cell_interactions, size.least);
    return frame;
}

/// What a block of groups takes from the counters, first counted in the block.
struct BlockCounts {
    unsigned long long slots, pairs, cells, far_cells;
    unsigned int pair_tasks[task_classes], cell_tasks[task_classes];
};

/// Turns a block's counts into where its numbers begin. Interactions are whole numbers below 2^53: the same
/// sum in any order.
__device__ void take_numbers(BlockCounts& block, TaskCounters& c, backend::DeviceStatus* status) {
    const int t = static_cast<int>(threadIdx.x);
    if (t < task_classes) {
        block.pair_tasks[t] = atomicAdd(&c.pair_tasks[t], block.pair_tasks[t]);
        block.cell_tasks[t] = atomicAdd(&c.cell_tasks[t], block.cell_tasks[t]);
    } else if (t == 32) {
        block.slots = atomicAdd(&c.slots, block.slots);
    } else if (t == 64) {
        atomicAdd(&status->pairs, static_cast<double>(block.pairs));
        atomicAdd(&status->cells, static_cast<double>(block.cells));
        if (block.far_cells > 0)
            atomicAdd(reinterpret_cast<unsigned long long*>(&status->spare[far_cells_word]), block.far_cells);
    }
}

using Wide = unsigned long long;

/// Sum of the lanes' values, in all lanes.
__device__ Wide sum_of_warp(Wide value) {
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(all_lanes, value, step);
    return value;
}

/// Where this lane's `value` numbers begin, if the warp takes its own from the counter: one addition a warp,
/// as shared memory adds 64 bits by comparing again and again.
__device__ Wide take_of(Wide& counter, Wide value) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    Wide sum = value;
    for (int step = 1; step < 32; step *= 2) {
        const Wide other = __shfl_up_sync(all_lanes, sum, step);
        sum += lane >= step ? other : 0;
    }
    Wide begin = 0;
    if (lane == 31 && sum > 0)
        begin = atomicAdd(&counter, sum);
    return __shfl_sync(all_lanes, begin, 31) + sum - value;
}

__device__ void add_of_warp(Wide& counter, Wide value) {
    const Wide sum = sum_of_warp(value);
    if (threadIdx.x % 32 == 0 && sum > 0)
        atomicAdd(&counter, sum);
}

/// A thread a group.
__global__ void frame_kernel(EvaluationView v, TaskSize size, GroupFrame* frames, TaskView view) {
    __shared__ BlockCounts block;
    if (backend::stopped(v.status))
        return;
    if (threadIdx.x == 0)
        block = BlockCounts{};
    __syncthreads();
    const int64_t g = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const bool valid = g < batch_group_count(v);
    const lists::Group group = valid ? batch_group(v, g) : lists::Group{};
    const geometry::Box& box = group.target.box;
    const bool point =
        valid && box.lower[0] == box.upper[0] && box.lower[1] == box.upper[1] && box.lower[2] == box.upper[2];
    const double nearest = nearest_of_points(v, g, point, box);
    GroupFrame frame{};
    Wide targets = 0, far = 0;
    if (valid) {
        frame = make_group_frame(v, size, g, view.entries, group, nearest);
        targets = static_cast<Wide>(frame.count);
        frame.pairs.task = atomicAdd(&block.pair_tasks[frame.task_class], frame.pairs.tasks);
        frame.cells.task = atomicAdd(&block.cell_tasks[frame.task_class], frame.cells.tasks);
        far = static_cast<Wide>(all_cells(v, g) - frame.cells.total);
    }
    frame.slot =
        static_cast<int64_t>(take_of(block.slots, targets * (frame.pairs.tasks + frame.cells.tasks)));
    add_of_warp(block.pairs, targets * frame.pairs.total);
    add_of_warp(block.cells, targets * frame.cells.total);
    if (v.far.near_count != nullptr)
        add_of_warp(block.far_cells, far);
    __syncthreads();
    take_numbers(block, *view.counters, v.status);
    __syncthreads();
    if (valid) {
        frame.pairs.task += block.pair_tasks[frame.task_class];
        frame.cells.task += block.cell_tasks[frame.task_class];
        frame.slot += static_cast<int64_t>(block.slots);
        frames[g] = frame;
        if (is_large(frame))
            view.large[atomicAdd(&view.counters->large, 1u)] = static_cast<int32_t>(g);
    }
}

/// A warp a group: its tasks, where they fit.
__global__ void write_kernel(EvaluationView v, TaskView view, Task* pairs, Task* cells) {
    const TaskCounters& c = *view.counters;
    const unsigned pair_total = c.pairs(), cell_total = c.cells();
    if (static_cast<int64_t>(max(pair_total, cell_total)) > view.task_capacity ||
        static_cast<int64_t>(c.slots) > view.slot_capacity) {
        if (blockIdx.x == 0 && threadIdx.x == 0)
            backend::stop_with(v.status, backend::too_small);
        return;
    }
    const int64_t g = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
    if (backend::stopped(v.status) || g >= batch_group_count(v))
        return;
    const GroupFrame& frame = view.frames[g];
    const int64_t entries = v.lists.leaf_offset[g + 1] - v.lists.leaf_offset[g];
    const auto write = [&](const ListTasks& list, const unsigned int* classes, int64_t slot, bool is_pairs,
                           Task* to) {
        to += TaskCounters::sum(classes, frame.task_class) + list.task;
        for (int32_t u = threadIdx.x % 32; u < list.tasks; u += 32) {
            const int32_t begin = u * list.chunk;
            to[u] = {static_cast<int32_t>(g), begin, min(list.total, begin + list.chunk),
                     is_pairs && begin > 0
                         ? find_entry(view.entries + first_entry(v, g), entries, static_cast<uint32_t>(begin))
                         : 0,
                     slot + int64_t{u} * frame.count};
        }
    };
    write(frame.pairs, c.pair_tasks, frame.slot, true, pairs);
    write(frame.cells, c.cell_tasks, frame.slot + int64_t{frame.pairs.tasks} * frame.count, false, cells);
}

} // namespace

void find_sources(backend::Queue& queue, const EvaluationView& view, int64_t group_capacity,
                  SourceEntry* entries) {
    find_sources_kernel<<<backend::blocks_for(group_capacity * 32, threads), threads, 0, queue.stream()>>>(
        view, entries);
    GRAFT_CUDA_LAUNCHED("find_sources");
    ++queue.launches;
}

void size_sources(backend::Queue& queue, const EvaluationView& view, int64_t n, float* size) {
    size_sources_kernel<<<backend::blocks_for(n, 256), 256, 0, queue.stream()>>>(view, n, size);
    GRAFT_CUDA_LAUNCHED("size_sources");
    ++queue.launches;
}

void check_strays(backend::Queue& queue, const EvaluationView& view, int64_t n) {
    check_strays_kernel<<<backend::blocks_for(n, 256), 256, 0, queue.stream()>>>(view, n);
    GRAFT_CUDA_LAUNCHED("check_strays");
    ++queue.launches;
}

void make_tasks(backend::Queue& queue, const EvaluationView& view, const TaskSize& size,
                int64_t group_capacity, GroupFrame* frames, Task* pairs, Task* cells, const TaskView& tasks) {
    frame_kernel<<<backend::blocks_for(group_capacity, threads), threads, 0, queue.stream()>>>(view, size,
                                                                                               frames, tasks);
    GRAFT_CUDA_LAUNCHED("frames of groups");
    write_kernel<<<backend::blocks_for(group_capacity * 32, threads), threads, 0, queue.stream()>>>(
        view, tasks, pairs, cells);
    GRAFT_CUDA_LAUNCHED("tasks of groups");
    queue.launches += 2;
}

} // namespace graft::forces
