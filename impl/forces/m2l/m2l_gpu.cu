// SPDX-License-Identifier: BSD-3-Clause
// M2L on the device, see m2l_gpu.cuh. A warp a group, a cell a lane: 36 sums (softened 56) in registers,
// added over the lanes in a fixed order at the end.
//
// Slots a cell, unsoftened: 12 to read it, 12 for its place, 17 sources, 77 + 9 the derivatives, 7 powers,
// 132 products of source and derivative (no dipoles) and sums: about 280; 360 a lane and group to add up the
// lanes. Bytes a cell: 4 + 64. (Asynchronous copies one step ahead went past the nearest cache: five times
// slower.)
#include "forces/m2l/m2l_gpu.cuh"

#include "forces/frame_gpu.cuh"

#include <cstring>

namespace graft::forces {

namespace {

constexpr int threads = 128, spread_threads = 64;
constexpr unsigned all_lanes = ~0u;

/// 2^e, kept so far inside float's range that products of it are, too.
__device__ __forceinline__ float power_of_two(int e) {
    return __int_as_float((min(max(e, -60), 60) + 127) << 23);
}

/// In four words; through the nearest cache, where the groups beside this one find it again.
__device__ __forceinline__ PackedCell read_cell(const PackedCell* from) {
    float4 word[4];
    for (int i = 0; i < 4; ++i)
        word[i] = reinterpret_cast<const float4*>(from)[i];
    PackedCell cell;
    static_assert(sizeof cell == sizeof word);
    memcpy(&cell, word, sizeof cell);
    return cell;
}

template <bool softened>
__device__ __forceinline__ void add_cell(const PackedCell& cell, const GroupFrame& frame, float eps2,
                                         float* sum) {
    using Body = M2lBody<DeviceOps<float>, device_local_order, softened, false>;
    float u[3] = {-static_cast<float>(fma(cell.x, frame.scale, -frame.centre[0])),
                  -static_cast<float>(fma(cell.y, frame.scale, -frame.centre[1])),
                  -static_cast<float>(fma(cell.z, frame.scale, -frame.centre[2]))};
    const float inverse = root_estimate(fmaf(u[0], u[0], fmaf(u[1], u[1], fmaf(u[2], u[2], eps2))));
    for (float& x : u)
        x *= inverse;
    float w[10];
    packed_sources<softened>(cell, w);
    Body::add(u, inverse, power_of_two(cell.exponent + frame.exponent) * inverse, w, sum);
}

/// This lane's sum, added over the warp; lane k keeps the k-th.
template <bool softened, int... k>
__device__ __forceinline__ void write_sums(float* sum, float* to, std::integer_sequence<int, k...>) {
    const auto add_lanes = [](float& value) {
        for (int step = 16; step > 0; step /= 2)
            value += __shfl_xor_sync(all_lanes, value, step);
    };
    ((is_kept(k, softened) ? add_lanes(sum[k]) : void()), ...);
    if constexpr (!softened)
        complete_terms(device_local_degree, sum);
    const int lane = static_cast<int>(threadIdx.x % 32);
    ((k % 32 == lane ? void(to[k] = sum[k]) : void()), ...);
}

template <int... k>
__device__ __forceinline__ void scale_terms(const float* power, float* value,
                                            std::integer_sequence<int, k...>) {
    ((value[k] *= power[term_order(k)]), ...);
}

/// The polynomial of the `count` cells of a list in a frame (a warp).
template <bool softened>
__device__ __forceinline__ void sum_list(const EvaluationView& v, const GroupFrame& frame,
                                         const int32_t* list, int64_t count, const PackedCell* cells,
                                         float* to) {
    const double length = v.softening.length * frame.scale;
    const float eps2 = softened ? static_cast<float>(length * length) : 0.0f;
    float sum[device_local_terms];
    for (float& value : sum)
        value = 0;
    int64_t e = threadIdx.x % 32;
    int32_t node = e < count ? list[e] : 0;
    while (e < count) {
        const PackedCell cell = read_cell(cells + node);
        e += 32;
        node = e < count ? list[e] : 0; // read while the cell is worked on
        if (cell.a != 0)
            add_cell<softened>(cell, frame, eps2, sum);
    }
    write_sums<softened>(sum, to, std::make_integer_sequence<int, device_local_terms>());
}

template <bool softened>
__global__ __launch_bounds__(threads) void far_kernel(EvaluationView v, TaskView tasks,
                                                      const PackedCell* cells, const ChargeSigns* signs,
                                                      float* expansions) {
    if (backend::stopped(v.status) || signs->one_sign == 0)
        return;
    const int64_t g = (int64_t{blockIdx.x} * threads + threadIdx.x) / 32;
    if (g >= batch_group_count(v))
        return;
    const int64_t end = v.lists.node_offset[g + 1], begin = v.lists.node_offset[g] + v.far.near_count[g];
    if (begin == end)
        return;
    const GroupFrame& frame = tasks.frames[g];
    sum_list<softened>(v, frame, v.lists.nodes + begin, end - begin, cells,
                       expansions + g * device_local_terms);
}

/// Frame of a super group's polynomial: that of the box around its groups (a warp; all lanes get it).
__device__ __forceinline__ GroupFrame frame_around(const EvaluationView& v, int64_t first, int64_t groups) {
    const int64_t k = first + min(static_cast<int64_t>(threadIdx.x % 32), groups - 1);
    geometry::Box box = v.targets.groups[k].target.box;
    for (int step = 16; step > 0; step /= 2)
        for (int a = 0; a < 3; ++a) {
            box.lower[a] = fmin(box.lower[a], __shfl_xor_sync(all_lanes, box.lower[a], step));
            box.upper[a] = fmax(box.upper[a], __shfl_xor_sync(all_lanes, box.upper[a], step));
        }
    const Frame place = make_device_frame<float>(box.lower, box.upper, 0, 0); // far cells: it has extent
    GroupFrame frame{};
    frame.scale = place.scale;
    frame.exponent = static_cast<int16_t>(ilogb(place.scale));
    for (int a = 0; a < 3; ++a)
        frame.centre[a] = place.centre[a] * place.scale;
    return frame;
}

/// A warp a super group.
template <bool softened>
__global__ __launch_bounds__(threads) void shared_kernel(EvaluationView v, const PackedCell* cells,
                                                         GroupFrame* frames, float* expansions) {
    if (backend::stopped(v.status))
        return;
    const int64_t s = (int64_t{blockIdx.x} * threads + threadIdx.x) / 32;
    const int64_t all = *v.targets.group_count,
                  begin = lists::batch_begin(all, v.lists.batch, v.lists.batches),
                  end = lists::batch_begin(all, v.lists.batch + 1, v.lists.batches);
    const int64_t width = int64_t{1} << v.far.shared.log_width;
    const int64_t first = ((begin >> v.far.shared.log_width) + s) * width;
    if (begin == end || first >= end || v.far.shared.count[s] == 0)
        return;
    const int32_t count = v.far.shared.count[s];
    const GroupFrame frame = frame_around(v, first, min(width, all - first));
    sum_list<softened>(v, frame, v.far.shared.nodes + (s + 1) * v.far.shared.room - count, count, cells,
                       expansions + s * device_local_terms);
    if (threadIdx.x % 32 != 0)
        return;
    frames[s] = frame;
    atomicAdd(reinterpret_cast<unsigned long long*>(&v.status->spare[far_cells_word]),
              static_cast<unsigned long long>(count));
}

/// 2^e of a float's size, whatever it is multiplied with.
__device__ __forceinline__ float limited(double power) {
    return static_cast<float>(fmin(power, 1e15));
}

/// A thread a group.
__global__ void __launch_bounds__(spread_threads)
    spread_kernel(EvaluationView v, TaskView tasks, const GroupFrame* frames, const float* shared,
                  float* expansions) {
    const int64_t g = int64_t{blockIdx.x} * spread_threads + threadIdx.x;
    if (backend::stopped(v.status) || g >= batch_group_count(v) || shared_cells(v, g) == 0)
        return;
    const int64_t s = super_of(v, g);
    const GroupFrame& own = tasks.frames[g];
    const double ratio = frames[s].scale / own.scale; // powers of two
    float h[3];
    for (int a = 0; a < 3; ++a)
        h[a] = static_cast<float>(own.centre[a] * ratio - frames[s].centre[a]);
    float terms[device_local_terms], moved[device_local_terms];
    const auto* from = reinterpret_cast<const float4*>(shared + s * device_local_terms);
    auto* to = reinterpret_cast<float4*>(expansions + g * device_local_terms);
    static_assert(device_local_terms % 4 == 0);
#pragma unroll
    for (int i = 0; i < device_local_terms / 4; ++i) {
        const float4 word = from[i];
        terms[4 * i] = word.x, terms[4 * i + 1] = word.y, terms[4 * i + 2] = word.z,
                  terms[4 * i + 3] = word.w;
    }
    PointBody<DeviceOps<float>, device_local_degree>::move(terms, h, moved);
    float power[device_local_degree + 1]; // of units of length
    double value = ratio;
    for (float& p : power)
        p = limited(value), value *= ratio;
    scale_terms(power, moved, std::make_integer_sequence<int, device_local_terms>());
    const bool has_own = near_cells(v, g) != all_cells(v, g);
#pragma unroll
    for (int i = 0; i < device_local_terms / 4; ++i) {
        float4 word = has_own ? to[i] : make_float4(0, 0, 0, 0);
        word.x += moved[4 * i], word.y += moved[4 * i + 1], word.z += moved[4 * i + 2],
            word.w += moved[4 * i + 3];
        to[i] = word;
    }
}

} // namespace

void sum_far(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
             const PackedCell* cells, const ChargeSigns* signs, bool softened, int64_t group_capacity,
             float* expansions) {
    const unsigned blocks = backend::blocks_for(group_capacity * 32, threads);
    if (softened)
        far_kernel<true><<<blocks, threads, 0, queue.stream()>>>(view, tasks, cells, signs, expansions);
    else
        far_kernel<false><<<blocks, threads, 0, queue.stream()>>>(view, tasks, cells, signs, expansions);
    GRAFT_CUDA_LAUNCHED("far cells");
    ++queue.launches;
}

void sum_shared(backend::Queue& queue, const EvaluationView& view, const PackedCell* cells, bool softened,
                int64_t super_capacity, GroupFrame* frames, float* expansions) {
    const unsigned blocks = backend::blocks_for(super_capacity * 32, threads);
    const auto kernel = softened ? shared_kernel<true> : shared_kernel<false>;
    kernel<<<blocks, threads, 0, queue.stream()>>>(view, cells, frames, expansions);
    GRAFT_CUDA_LAUNCHED("far cells of super groups");
    ++queue.launches;
}

void spread_shared(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                   int64_t group_capacity, const GroupFrame* frames, const float* shared, float* expansions) {
    spread_kernel<<<backend::blocks_for(group_capacity, spread_threads), spread_threads, 0, queue.stream()>>>(
        view, tasks, frames, shared, expansions);
    GRAFT_CUDA_LAUNCHED("polynomials of super groups to groups");
    ++queue.launches;
}

} // namespace graft::forces
