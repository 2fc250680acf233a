// SPDX-License-Identifier: BSD-3-Clause
// Partial sums of tasks to fields, see warp_tasks_gpu.cuh.
#include "forces/field_gpu.cuh"
#include "forces/m2l/m2l_gpu.cuh"

namespace graft::forces {

namespace {

__device__ void raise_to(int64_t* word, unsigned long long value) {
    atomicMax(reinterpret_cast<unsigned long long*>(word), value);
}

/// Adds `tasks` slots, `count` apart, in order; four loads are under way together, whatever their number.
template <typename Real>
__device__ void add_slots(const Slot<Real>* slots, int32_t tasks, int32_t count, double (&sum)[4]) {
    constexpr int ahead = 4;
    for (int32_t base = 0; base < tasks; base += ahead, slots += int64_t{ahead} * count) {
        Slot<Real> slot[ahead];
#pragma unroll
        for (int u = 0; u < ahead; ++u)
            if (base + u < tasks)
                slot[u] = slots[int64_t{u} * count];
#pragma unroll
        for (int u = 0; u < ahead; ++u)
            if (base + u < tasks)
                sum[0] += slot[u].x, sum[1] += slot[u].y, sum[2] += slot[u].z, sum[3] += slot[u].potential;
    }
}

constexpr int gather_warps = 8;
constexpr unsigned large_blocks = 256; // for groups of many tasks, a block each

/// Force and potential of a group's polynomial, sum of l_abc x^a y^b z^c / (a! b! c!), at h. As
/// PointBody::add, but nested, z outside y outside x: a term is read once and used at once, where the
/// monomials of that one want more registers than there are.
__device__ __forceinline__ void add_polynomial(const float* l, const float (&h)[3], float (&sum)[4]) {
    constexpr int degree = device_local_degree;
    float by[3][degree + 1]; // h / k
    for (int a = 0; a < 3; ++a)
        for (int k = 1; k <= degree; ++k)
            by[a][k] = h[a] * (1.0f / static_cast<float>(k));
    float all = 0, all_x = 0, all_y = 0, all_z = 0;
#pragma unroll
    for (int c = degree; c >= 0; --c) {
        float plane = 0, plane_x = 0, plane_y = 0; // of this power of z
#pragma unroll
        for (int b = degree - c; b >= 0; --b) {
            float line = l[moments::term_index(degree - b - c, b, c)], line_x = degree - b - c > 0 ? line : 0;
#pragma unroll
            for (int a = degree - b - c - 1; a >= 0; --a) {
                const float term = l[moments::term_index(a, b, c)];
                line = fmaf(line, by[0][a + 1], term);
                if (a > 0)
                    line_x = fmaf(line_x, by[0][a], term);
            }
            const bool first = b == degree - c;
            plane = first ? line : fmaf(plane, by[1][b + 1], line);
            plane_x = first ? line_x : fmaf(plane_x, by[1][b + 1], line_x);
            if (b > 0)
                plane_y = first ? line : fmaf(plane_y, by[1][b], line);
        }
        const bool first = c == degree;
        all = first ? plane : fmaf(all, by[2][c + 1], plane);
        all_x = first ? plane_x : fmaf(all_x, by[2][c + 1], plane_x);
        all_y = first ? plane_y : fmaf(all_y, by[2][c + 1], plane_y);
        if (c > 0)
            all_z = first ? plane : fmaf(all_z, by[2][c], plane);
    }
    sum[0] = all_x, sum[1] = all_y, sum[2] = all_z, sum[3] = all;
}

/// A group's polynomial and one of its targets, read ahead of the slots.
struct Polynomial {
    const float* terms; // null: the group has none
    float h[3];

    __device__ __forceinline__ Polynomial(const EvaluationView& v, int64_t g, bool has_one,
                                          const GroupFrame& frame, int64_t target)
        : terms(has_one ? v.far.expansions + g * device_local_terms : nullptr),
          h{static_cast<float>(fma(v.targets.x[target], frame.scale, -frame.centre[0])),
            static_cast<float>(fma(v.targets.y[target], frame.scale, -frame.centre[1])),
            static_cast<float>(fma(v.targets.z[target], frame.scale, -frame.centre[2]))} {}

    /// Adds the field at the target.
    __device__ __forceinline__ void add_to(double (&sum)[4]) const {
        if (terms == nullptr)
            return;
        float value[4];
        add_polynomial(terms, h, value);
        for (int i = 0; i < 4; ++i)
            sum[i] += value[i];
    }
};

/// Asks for a group's polynomial, which is wanted behind the slots.
__device__ __forceinline__ void ask_for_polynomial(const EvaluationView& v, int64_t g) {
    const float* from = v.far.expansions + g * device_local_terms + threadIdx.x % 8 * 8; // sectors
    if (threadIdx.x % 32 * 8 < device_local_terms)
        asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
}

/// Group g of few tasks, by `chunks` warps of which this is number `chunk`.
template <typename Real, bool local>
__device__ __forceinline__ void gather_small(const EvaluationView& v, const TaskView& view,
                                             const GroupFrame& frame, int64_t g, bool with_polynomial,
                                             int chunk, int chunks, const FieldPointers& field) {
    const int32_t all = frame.pairs.tasks + frame.cells.tasks;
    const auto* slots = static_cast<const Slot<Real>*>(view.slots) + frame.slot;
    const auto lane = static_cast<int32_t>(threadIdx.x % 32);
    const Unscale unscale(field, frame);
    for (int32_t base = chunk * 32; base < frame.count; base += chunks * 32) { // the same for all lanes
        const bool there = base + lane < frame.count;
        const int32_t k = there ? base + lane : frame.count - 1;
        const int64_t to = field.place_of(frame.first + int64_t{k});
        double sum[4] = {0, 0, 0, 0};
        const bool has_pairs = frame.coarse != 0 && frame.is_coarse(k);
        const int32_t skip = has_pairs ? frame.pairs.tasks : 0;
        const auto* own = slots + int64_t{skip} * frame.count + k;
        if constexpr (local) {
            const Polynomial polynomial(v, g, with_polynomial, frame, frame.first + int64_t{k});
            add_slots(own, all - skip, frame.count, sum);
            polynomial.add_to(sum);
        } else {
            add_slots(own, all - skip, frame.count, sum);
        }
        if (field.records != nullptr)
            field.put_records(there, to, sum, unscale.square, has_pairs);
        else if (there)
            field.put(to, sum, unscale.square, unscale.inverse, field.add | has_pairs);
    }
}

/// A block a group of many tasks: a warp for every 32 targets and segment of the tasks.
template <typename Real, bool local>
__device__ void gather_large(const EvaluationView& v, const TaskView& view, int64_t g,
                             const FieldPointers& field) {
    __shared__ double part[gather_warps][4][32];
    const GroupFrame& frame = view.frames[g];
    const Unscale unscale(field, frame);
    const bool with_polynomial = local && has_polynomial(v, g);
    const int32_t tasks = frame.pairs.tasks + frame.cells.tasks, count = frame.count;
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    const int chunks = min(gather_warps, (count + 31) / 32), segments = gather_warps / chunks;
    const int segment = warp / chunks, chunk = warp % chunks;
    const int32_t share = (tasks + segments - 1) / segments, begin = min(tasks, segment * share);
    const auto* slots = static_cast<const Slot<Real>*>(view.slots) + frame.slot;
    for (int32_t base = 0; base < count; base += 32 * chunks) { // the same for all warps
        const int32_t k = base + chunk * 32 + lane;
        double sum[4] = {0, 0, 0, 0};
        const bool has_pairs = frame.coarse != 0 && k < count && frame.is_coarse(k);
        const int32_t from = has_pairs ? max(begin, frame.pairs.tasks) : begin;
        if (k < count && segment < segments)
            add_slots(slots + int64_t{from} * count + k, min(begin + share, tasks) - from, count, sum);
        for (int i = 0; i < 4; ++i)
            part[warp][i][lane] = sum[i];
        __syncthreads();
        if (segment == 0 && k < count) {
            for (int w = warp + chunks; w < segments * chunks; w += chunks)
                for (int i = 0; i < 4; ++i)
                    sum[i] += part[w][i][lane];
            if constexpr (local)
                Polynomial(v, g, with_polynomial, frame, frame.first + int64_t{k}).add_to(sum);
            field.put(field.place_of(frame.first + int64_t{k}), sum, unscale.square, unscale.inverse,
                      field.add | has_pairs);
        }
        __syncthreads();
    }
}

/// The first blocks take the groups of many tasks; the others' warps 32 targets each of the other groups,
/// 2^log_chunks warps a group.
template <typename Real, bool local>
__global__ void __launch_bounds__(32 * gather_warps, 3)
    gather_kernel(EvaluationView v, TaskView view, int log_chunks, FieldPointers field) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        raise_to(&v.status->tasks_needed, max(view.counters->pairs(), view.counters->cells()));
        raise_to(&v.status->slots_needed, view.counters->slots);
    }
    if (blockIdx.x < large_blocks) {
        if (backend::stopped(v.status))
            return;
        for (unsigned i = blockIdx.x; i < view.counters->large; i += large_blocks)
            gather_large<Real, local>(v, view, view.large[i], field);
        return;
    }
    const int64_t warp = int64_t{blockIdx.x - large_blocks} * gather_warps + threadIdx.x / 32;
    const int64_t g = warp >> log_chunks;
    if ((g >= batch_group_count(v)) | backend::stopped(v.status))
        return;
    const GroupFrame frame = view.frames[g];
    if constexpr (local)
        ask_for_polynomial(v, g);
    const bool with_polynomial = local && has_polynomial(v, g);
    const int chunks = 1 << log_chunks;
    if (!is_large(frame))
        gather_small<Real, local>(v, view, frame, g, with_polynomial, static_cast<int>(warp) & (chunks - 1),
                                  chunks, field);
}

} // namespace

void gather_slots(backend::Queue& queue, const DeviceEvaluation& how, const EvaluationView& view,
                  const TaskView& tasks, int64_t group_capacity, const int32_t* origin, DeviceField& field) {
    const FieldPointers out(field, view, how, origin);
    const int log_chunks =
        view.far.near_count != nullptr ? 2 : 1; // groups of 128 where there are polynomials
    const unsigned blocks = large_blocks + backend::blocks_for(group_capacity << log_chunks, gather_warps);
    if (view.far.near_count != nullptr)
        gather_kernel<float, true>
            <<<blocks, 32 * gather_warps, 0, queue.stream()>>>(view, tasks, log_chunks, out);
    else if (view.single_precision)
        gather_kernel<float, false>
            <<<blocks, 32 * gather_warps, 0, queue.stream()>>>(view, tasks, log_chunks, out);
    else
        gather_kernel<double, false>
            <<<blocks, 32 * gather_warps, 0, queue.stream()>>>(view, tasks, log_chunks, out);
    GRAFT_CUDA_LAUNCHED("gather_slots");
    ++queue.launches;
}

} // namespace graft::forces
