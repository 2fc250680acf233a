// See device_units.cuh.
#include "kernels/device_units.cuh"

#include "kernels/device_frame.cuh"

#include <algorithm>

namespace graft::kernels {

namespace {

constexpr unsigned all_lanes = ~0u;
constexpr int threads = 128;

__device__ int64_t batch_group_count(const EvaluationView& v) {
    const int64_t groups = *v.group_count;
    return lists::batch_begin(groups, v.batch + 1, v.batches) -
           lists::batch_begin(groups, v.batch, v.batches);
}

__device__ const lists::Group& batch_group(const EvaluationView& v, int64_t g) {
    return v.groups[lists::batch_begin(*v.group_count, v.batch, v.batches) + g];
}

__global__ void find_sources_kernel(EvaluationView v, int64_t capacity, int32_t* counts, int32_t* places) {
    if (backend::stopped(v.status))
        return;
    const int64_t entries = v.leaf_offset[batch_group_count(v)];
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t e = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; e <= capacity; e += step) {
        int32_t count = 0;
        if (e < entries) {
            const int32_t index = v.leaf_list[e];
            const tree::Node node = v.nodes[index];
            const bool heap = v.heaps && node.child_count == 0 && node.count > v.leaf;
            count = heap ? 1 : static_cast<int32_t>(node.count);
            places[e] = heap ? -1 - index : static_cast<int32_t>(node.first);
        }
        counts[e] = count;
    }
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
            const double length = furthest(v.boxes[list[e]], box.lower);
            nearest = length > 0 ? fmin(nearest, length) : nearest;
        }
    };
    look_at(v.leaf_list, v.leaf_offset[g], v.leaf_offset[g + 1]);
    look_at(v.node_list, v.node_offset[g], v.node_offset[g + 1]);
    for (int step = 16; step > 0; step /= 2)
        nearest = fmin(nearest, __shfl_xor_sync(all_lanes, nearest, step));
    return nearest;
}

__device__ Frame make_units_frame(const EvaluationView& v, const geometry::Box& box, double nearest) {
    const double reach = furthest(v.boxes[0], box.lower);
    return v.single_precision ? make_device_frame<float>(box.lower, box.upper, nearest, reach)
                              : make_device_frame<double>(box.lower, box.upper, nearest, reach);
}

__device__ GroupFrame make_group_frame(const EvaluationView& v, int64_t g, const lists::Group& group) {
    const geometry::Box& box = group.target.box;
    const bool point =
        box.lower[0] == box.upper[0] && box.lower[1] == box.upper[1] && box.lower[2] == box.upper[2];
    const Frame place = make_units_frame(v, box, point ? nearest_length(v, g, box) : 0.0);
    GroupFrame frame{};
    frame.scale = place.scale;
    frame.exponent = ilogb(place.scale);
    for (int a = 0; a < 3; ++a)
        frame.centre[a] = place.centre[a] * place.scale;
    frame.first = static_cast<int32_t>(group.first);
    frame.count = static_cast<int32_t>(group.count);
    return frame;
}

struct Cut {
    int64_t total;
    int32_t units, chunk; // units of `chunk` items, the last one shorter
};

/// Items times targets into units of about `interactions`, whole warps of items each.
__device__ Cut cut(int64_t total, int32_t targets, int interactions, int least) {
    const int64_t most = max(int64_t{least}, int64_t{interactions} / targets / 32 * 32);
    const int64_t units = (total + most - 1) / most;
    const int64_t chunk = units > 0 ? ((total + units - 1) / units + 31) / 32 * 32 : 32;
    return {total, static_cast<int32_t>((total + chunk - 1) / chunk), static_cast<int32_t>(chunk)};
}

/// The entry of the group's list that its source s is in.
__device__ int32_t find_entry(const int64_t* position, int64_t entries, int64_t s) {
    int64_t low = 0, high = entries; // position[low] <= position[0] + s < position[high]
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        (position[middle] - position[0] <= s ? low : high) = middle;
    }
    return static_cast<int32_t>(low);
}

/// Takes numbers for the units of a cut and its slots, writes the units (a warp).
__device__ int64_t write_units(const Cut& cut, const GroupFrame& frame, int32_t g, int64_t capacity,
                               int64_t slot_capacity, unsigned long long* unit_counter,
                               unsigned long long* slot_counter, backend::DeviceStatus* status, Unit* units,
                               const int64_t* position, int64_t entries) {
    const int lane = threadIdx.x % 32;
    unsigned long long unit = 0, slot = 0;
    if (lane == 0 && cut.units > 0) {
        unit = atomicAdd(unit_counter, static_cast<unsigned long long>(cut.units));
        slot = atomicAdd(slot_counter, static_cast<unsigned long long>(int64_t{cut.units} * frame.count));
    }
    unit = __shfl_sync(all_lanes, unit, 0), slot = __shfl_sync(all_lanes, slot, 0);
    const auto end = static_cast<int64_t>(unit) + cut.units;
    if (end > capacity || static_cast<int64_t>(slot) + int64_t{cut.units} * frame.count > slot_capacity) {
        backend::stop_with(status, backend::too_small);
        return 0;
    }
    for (int32_t u = lane; u < cut.units; u += 32) {
        const int64_t begin = int64_t{u} * cut.chunk;
        units[unit + u] = {g, static_cast<int32_t>(begin),
                           static_cast<int32_t>(min(cut.total, begin + cut.chunk)),
                           position != nullptr ? find_entry(position, entries, begin) : 0,
                           static_cast<int64_t>(slot) + int64_t{u} * frame.count};
    }
    return static_cast<int64_t>(slot);
}

/// A warp a group.
__global__ void cut_units_kernel(EvaluationView v, UnitSize size, GroupFrame* frames, Unit* pairs,
                                 Unit* cells, UnitView view) {
    if (backend::stopped(v.status))
        return;
    const int64_t g = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
    if (g >= batch_group_count(v))
        return;
    const lists::Group& group = batch_group(v, g);
    GroupFrame frame = make_group_frame(v, g, group);
    const int64_t first = v.leaf_offset[g], last = v.leaf_offset[g + 1];
    const int64_t* position = view.sources.position + first;
    const Cut pair_cut =
        cut(position[last - first] - position[0], frame.count, size.pair_interactions, size.least);
    const Cut cell_cut =
        cut(v.node_offset[g + 1] - v.node_offset[g], frame.count, size.cell_interactions, size.least);
    UnitCounters* c = view.counters;
    frame.pair_units = pair_cut.units, frame.cell_units = cell_cut.units;
    const auto number = static_cast<int32_t>(g);
    frame.pair_slot = write_units(pair_cut, frame, number, view.unit_capacity, view.slot_capacity,
                                  &c->pair_units, &c->slots, v.status, pairs, position, last - first);
    frame.cell_slot = write_units(cell_cut, frame, number, view.unit_capacity, view.slot_capacity,
                                  &c->cell_units, &c->slots, v.status, cells, nullptr, 0);
    if (threadIdx.x % 32 == 0) {
        frames[g] = frame;
        // whole numbers below 2^53: the same sum in any order
        atomicAdd(&v.status->pairs, static_cast<double>(pair_cut.total * frame.count));
        atomicAdd(&v.status->cells, static_cast<double>(cell_cut.total * frame.count));
    }
}

__device__ void raise_to(int64_t* word, unsigned long long value) {
    atomicMax(reinterpret_cast<unsigned long long*>(word), value);
}

template <typename Real>
__device__ void add_slots(const Slot<Real>* slots, int32_t units, int32_t count, double (&sum)[4]) {
    for (int32_t u = 0; u < units; ++u) {
        const Slot<Real> slot = slots[int64_t{u} * count];
        sum[0] += slot.x, sum[1] += slot.y, sum[2] += slot.z, sum[3] += slot.potential;
    }
}

struct FieldPointers {
    double *ax, *ay, *az, *potential;
};

/// A warp a group.
template <typename Real>
__global__ void gather_kernel(EvaluationView v, UnitView view, bool add, FieldPointers field) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        raise_to(&v.status->units_needed, max(view.counters->pair_units, view.counters->cell_units));
        raise_to(&v.status->slots_needed, view.counters->slots);
    }
    if (backend::stopped(v.status))
        return;
    const int64_t g = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
    if (g >= batch_group_count(v))
        return;
    const GroupFrame frame = view.frames[g];
    const double q = 1 / v.charge_scale, square = frame.scale * frame.scale * q;
    const auto* slots = static_cast<const Slot<Real>*>(view.slots);
    for (int32_t k = threadIdx.x % 32; k < frame.count; k += 32) {
        double sum[4] = {0, 0, 0, 0};
        add_slots(slots + frame.pair_slot + k, frame.pair_units, frame.count, sum);
        add_slots(slots + frame.cell_slot + k, frame.cell_units, frame.count, sum);
        const int64_t to = int64_t{frame.first} + k;
        const auto put = [=](double* out, double value) { out[to] = add ? out[to] + value : value; };
        put(field.ax, sum[0] * square);
        put(field.ay, sum[1] * square);
        put(field.az, sum[2] * square);
        if (field.potential != nullptr)
            put(field.potential, sum[3] * (frame.scale * q));
    }
}

} // namespace

void find_sources(backend::Queue& queue, const EvaluationView& view, int64_t capacity, int32_t* counts,
                  int32_t* places) {
    const unsigned blocks = std::min(backend::blocks_for(capacity + 1, 256), 16u * queue.multiprocessors());
    find_sources_kernel<<<blocks, 256, 0, queue.stream()>>>(view, capacity, counts, places);
    GRAFT_CUDA_LAUNCHED("find_sources");
    ++queue.launches;
}

void cut_units(backend::Queue& queue, const EvaluationView& view, const UnitSize& size,
               int64_t group_capacity, GroupFrame* frames, Unit* pairs, Unit* cells, const UnitView& units) {
    cut_units_kernel<<<backend::blocks_for(group_capacity * 32, threads), threads, 0, queue.stream()>>>(
        view, size, frames, pairs, cells, units);
    GRAFT_CUDA_LAUNCHED("cut_units");
    ++queue.launches;
}

void gather_slots(backend::Queue& queue, const EvaluationView& view, const UnitView& units,
                  int64_t group_capacity, bool add, DeviceField& field) {
    const FieldPointers out{field.ax.data(), field.ay.data(), field.az.data(),
                            field.potential.empty() ? nullptr : field.potential.data()};
    const unsigned blocks = backend::blocks_for(group_capacity * 32, threads);
    if (view.single_precision)
        gather_kernel<float><<<blocks, threads, 0, queue.stream()>>>(view, units, add, out);
    else
        gather_kernel<double><<<blocks, threads, 0, queue.stream()>>>(view, units, add, out);
    GRAFT_CUDA_LAUNCHED("gather_slots");
    ++queue.launches;
}

} // namespace graft::kernels
