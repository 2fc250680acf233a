// Partial sums of units to fields, see device_units.cuh.
#include "kernels/device_local.cuh"

namespace graft::kernels {

namespace {

__device__ void raise_to(int64_t* word, unsigned long long value) {
    atomicMax(reinterpret_cast<unsigned long long*>(word), value);
}

struct FieldPointers {
    double *ax, *ay, *az, *potential;
    bool add;

    __device__ void put(int64_t to, const double (&sum)[4], double square, double inverse) const {
        const auto put_one = [=, *this](double* out, double value) {
            out[to] = add ? out[to] + value : value;
        };
        put_one(ax, sum[0] * square);
        put_one(ay, sum[1] * square);
        put_one(az, sum[2] * square);
        if (potential != nullptr)
            put_one(potential, sum[3] * inverse);
    }
};

/// Adds `units` slots, `count` apart, in order; loads go ahead of the sums.
template <typename Real>
__device__ void add_slots(const Slot<Real>* slots, int32_t units, int32_t count, double (&sum)[4]) {
#pragma unroll 8
    for (int32_t u = 0; u < units; ++u) {
        const Slot<Real> slot = slots[int64_t{u} * count];
        sum[0] += slot.x, sum[1] += slot.y, sum[2] += slot.z, sum[3] += slot.potential;
    }
}

constexpr int gather_warps = 8;
constexpr unsigned large_blocks = 256; // for groups of many units, a block each

struct Unscale {
    double square, inverse; // back to the caller's units: force, potential
    __device__ Unscale(const EvaluationView& v, const GroupFrame& frame)
        : square(frame.scale * (frame.scale / v.charge_scale)), inverse(frame.scale / v.charge_scale) {}
};

/// Adds the field of the group's polynomial at one target, where the group has one.
__device__ __forceinline__ void add_polynomial(const EvaluationView& v, int64_t g, const GroupFrame& frame,
                                               int64_t target, bool potential, double (&sum)[4]) {
    if (near_cells(v, g) == all_cells(v, g))
        return;
    using Body = PointBody<DeviceLocalOps, device_local_degree>;
    const float h[3] = {static_cast<float>(fma(v.target_x[target], frame.scale, -frame.centre[0])),
                        static_cast<float>(fma(v.target_y[target], frame.scale, -frame.centre[1])),
                        static_cast<float>(fma(v.target_z[target], frame.scale, -frame.centre[2]))};
    float value[4] = {0, 0, 0, 0};
    const float* terms = v.expansions + g * device_local_terms;
    potential ? Body::add<true>(terms, h, value) : Body::add<false>(terms, h, value);
    for (int i = 0; i < 4; ++i)
        sum[i] += value[i];
}

/// A warp a group of few units.
template <typename Real, bool local>
__device__ void gather_small(const EvaluationView& v, const UnitView& view, int64_t g,
                             const FieldPointers& field) {
    const GroupFrame& frame = view.frames[g];
    const Unscale unscale(v, frame);
    const int32_t units = frame.pairs.units + frame.cells.units;
    const auto* slots = static_cast<const Slot<Real>*>(view.slots) + frame.slot;
    for (int32_t k = threadIdx.x % 32; k < frame.count; k += 32) {
        double sum[4] = {0, 0, 0, 0};
        add_slots(slots + k, units, frame.count, sum);
        if constexpr (local)
            add_polynomial(v, g, frame, frame.first + int64_t{k}, field.potential != nullptr, sum);
        field.put(int64_t{frame.first} + k, sum, unscale.square, unscale.inverse);
    }
}

/// A block a group of many units: a warp for every 32 targets and segment of the units.
template <typename Real, bool local>
__device__ void gather_large(const EvaluationView& v, const UnitView& view, int64_t g,
                             const FieldPointers& field) {
    __shared__ double part[gather_warps][4][32];
    const GroupFrame& frame = view.frames[g];
    const Unscale unscale(v, frame);
    const int32_t units = frame.pairs.units + frame.cells.units, count = frame.count;
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    const int chunks = min(gather_warps, (count + 31) / 32), segments = gather_warps / chunks;
    const int segment = warp / chunks, chunk = warp % chunks;
    const int32_t share = (units + segments - 1) / segments, begin = min(units, segment * share);
    const auto* slots = static_cast<const Slot<Real>*>(view.slots) + frame.slot + int64_t{begin} * count;
    for (int32_t base = 0; base < count; base += 32 * chunks) { // the same for all warps
        const int32_t k = base + chunk * 32 + lane;
        double sum[4] = {0, 0, 0, 0};
        if (k < count && segment < segments)
            add_slots(slots + k, min(share, units - begin), count, sum);
        for (int i = 0; i < 4; ++i)
            part[warp][i][lane] = sum[i];
        __syncthreads();
        if (segment == 0 && k < count) {
            for (int w = warp + chunks; w < segments * chunks; w += chunks)
                for (int i = 0; i < 4; ++i)
                    sum[i] += part[w][i][lane];
            if constexpr (local)
                add_polynomial(v, g, frame, frame.first + int64_t{k}, field.potential != nullptr, sum);
            field.put(int64_t{frame.first} + k, sum, unscale.square, unscale.inverse);
        }
        __syncthreads();
    }
}

/// The first blocks take the groups of many units, the others gather_warps groups each.
template <typename Real, bool local>
__global__ void gather_kernel(EvaluationView v, UnitView view, FieldPointers field) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        raise_to(&v.status->units_needed, max(view.counters->pairs(), view.counters->cells()));
        raise_to(&v.status->slots_needed, view.counters->slots);
    }
    if (backend::stopped(v.status))
        return;
    if (blockIdx.x < large_blocks) {
        for (unsigned i = blockIdx.x; i < view.counters->large; i += large_blocks)
            gather_large<Real, local>(v, view, view.large[i], field);
        return;
    }
    const int64_t g = int64_t{blockIdx.x - large_blocks} * gather_warps + threadIdx.x / 32;
    if (g < batch_group_count(v) && !is_large(view.frames[g]))
        gather_small<Real, local>(v, view, g, field);
}

} // namespace

void gather_slots(backend::Queue& queue, const EvaluationView& view, const UnitView& units,
                  int64_t group_capacity, bool add, DeviceField& field) {
    const FieldPointers out{field.ax.data(), field.ay.data(), field.az.data(),
                            field.potential.empty() ? nullptr : field.potential.data(), add};
    const unsigned blocks = large_blocks + backend::blocks_for(group_capacity, gather_warps);
    if (view.near_count != nullptr)
        gather_kernel<float, true><<<blocks, 32 * gather_warps, 0, queue.stream()>>>(view, units, out);
    else if (view.single_precision)
        gather_kernel<float, false><<<blocks, 32 * gather_warps, 0, queue.stream()>>>(view, units, out);
    else
        gather_kernel<double, false><<<blocks, 32 * gather_warps, 0, queue.stream()>>>(view, units, out);
    GRAFT_CUDA_LAUNCHED("gather_slots");
    ++queue.launches;
}

} // namespace graft::kernels
