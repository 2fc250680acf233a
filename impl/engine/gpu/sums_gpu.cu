// SPDX-License-Identifier: BSD-3-Clause
// One thread a target; sums of a block in a fixed order.
#include "engine/gpu/sums_gpu.cuh"

#include <cub/block/block_reduce.cuh>

namespace graft::engine {

namespace {

constexpr int threads = 256;
constexpr int per_thread = 8;
constexpr int64_t sum_block = threads * per_thread;

// A computation that has stopped may have written neither fields nor the origins of targets: nothing here
// looks at them then.
__global__ void self_kernel(forces::Softening kind, const DeviceTargetSources s, double* potential,
                            int64_t n, const backend::DeviceStatus* status) {
    const int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (k >= n || backend::stopped(status))
        return;
    const int64_t i = s.origin != nullptr ? s.origin[k] : k;
    const double length = s.softening != nullptr ? s.softening[i] : s.softening_length;
    if (length > 0)
        potential[k] =
            __dadd_rn(potential[k], -__dmul_rn(s.charge[i], forces::self_potential(kind, length)));
}

struct Sums {
    double value[device_sum_count];
};

struct AddSums {
    __device__ Sums operator()(const Sums& a, const Sums& b) const {
        Sums sum;
        for (int c = 0; c < device_sum_count; ++c)
            sum.value[c] = a.value[c] + b.value[c];
        return sum;
    }
};

struct FieldArrays {
    const double *ax, *ay, *az, *potential;
};

__device__ void add_target(const DeviceTargetSources& s, const FieldArrays& f, int64_t k, Sums& sums) {
    const int64_t i = s.origin != nullptr ? s.origin[k] : k;
    const double q = s.charge[i];
    const bool given = s.has_centre;
    const double x = s.x[i] - (given ? s.centre[0] : s.x[0]), y = s.y[i] - (given ? s.centre[1] : s.y[0]),
                 z = s.z[i] - (given ? s.centre[2] : s.z[0]);
    const double fx = q * f.ax[k], fy = q * f.ay[k], fz = q * f.az[k];
    double* v = sums.value;
    v[0] += x * fx, v[1] += y * fy, v[2] += z * fz;
    v[3] += 0.5 * (x * fy + y * fx), v[4] += 0.5 * (x * fz + z * fx), v[5] += 0.5 * (y * fz + z * fy);
    v[6] += f.potential != nullptr ? 0.5 * q * f.potential[k] : 0;
}

struct AddTarget {
    DeviceTargetSources s;
    FieldArrays f;
    __device__ void operator()(int64_t k, Sums& sums) const { add_target(s, f, k, sums); }
};

struct AddForce {
    DeviceTargetSources s;
    FieldArrays f;
    int64_t targets;
    __device__ void operator()(int64_t k, Sums& sums) const {
        double* v = sums.value;
        v[5] += s.charge[k] != 0;
        if (k >= targets)
            return;
        const double q = s.charge[s.origin != nullptr ? s.origin[k] : k];
        v[0] += q * f.ax[k], v[1] += q * f.ay[k], v[2] += q * f.az[k];
        v[3] += fabs(q), v[4] += q != 0;
    }
};

template <typename Add>
__global__ void __launch_bounds__(threads)
    sum_kernel(const Add add, int64_t n, double* partial, const backend::DeviceStatus* status) {
    if (backend::stopped(status))
        return;
    using Reduce = cub::BlockReduce<Sums, threads>;
    __shared__ typename Reduce::TempStorage storage;
    Sums sums{};
    for (int j = 0; j < per_thread; ++j) {
        const int64_t k = int64_t{blockIdx.x} * sum_block + j * threads + threadIdx.x;
        if (k < n)
            add(k, sums);
    }
    sums = Reduce(storage).Reduce(sums, AddSums());
    if (threadIdx.x == 0)
        for (int c = 0; c < device_sum_count; ++c)
            partial[int64_t{blockIdx.x} * device_sum_count + c] = sums.value[c];
}

__global__ void __launch_bounds__(threads)
    total_kernel(const double* partial, int64_t blocks, double* totals, const backend::DeviceStatus* status) {
    if (backend::stopped(status))
        return;
    using Reduce = cub::BlockReduce<Sums, threads>;
    __shared__ typename Reduce::TempStorage storage;
    Sums sums{};
    for (int64_t b = threadIdx.x; b < blocks; b += threads)
        for (int c = 0; c < device_sum_count; ++c)
            sums.value[c] += partial[b * device_sum_count + c];
    sums = Reduce(storage).Reduce(sums, AddSums());
    if (threadIdx.x == 0)
        for (int c = 0; c < device_sum_count; ++c)
            totals[c] = sums.value[c];
}

__global__ void take_off_kernel(const DeviceTargetSources s, const double* net, double* ax, double* ay, double* az,
                                int64_t targets, const backend::DeviceStatus* status) {
    const int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (k >= targets || backend::stopped(status) || !(net[3] > 0 && net[4] == net[5]))
        return;
    const double q = s.charge[s.origin != nullptr ? s.origin[k] : k];
    const double share = q != 0 ? copysign(1 / net[3], q) : 0;
    ax[k] -= share * net[0], ay[k] -= share * net[1], az[k] -= share * net[2];
}

__global__ void remember_kernel(const FieldArrays f, const int32_t* origin, int64_t n, double* last,
                                const backend::DeviceStatus* status) {
    const int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (k < n && !backend::stopped(status))
        last[origin != nullptr ? origin[k] : k] = norm3d(f.ax[k], f.ay[k], f.az[k]);
}

__global__ void compose_kernel(const int32_t* outer, const int32_t* inner, int64_t n, int32_t* out,
                               const backend::DeviceStatus* status) {
    const int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (k < n && !backend::stopped(status))
        out[k] = outer[inner[k]];
}

struct GatherArrays {
    const double* from[gathered_arrays];
    double* to[gathered_arrays];
};

__global__ void gather_kernel(const int32_t* index, int64_t n, const GatherArrays arrays,
                              const backend::DeviceStatus* status) {
    const int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (k >= n || backend::stopped(status))
        return;
    for (int a = 0; a < gathered_arrays; ++a)
        if (arrays.from[a] != nullptr)
            arrays.to[a][k] = arrays.from[a][index[k]];
}

/// Over fixed blocks, which are added in a fixed order.
template <typename Add>
void sum_items(backend::Queue& queue, const Add& add, int64_t n, double* partial, double* totals) {
    const unsigned blocks = backend::blocks_for(n, static_cast<int>(sum_block));
    if (blocks > 0) {
        sum_kernel<<<blocks, threads, 0, queue.stream()>>>(add, n, partial, queue.status());
        GRAFT_CUDA_LAUNCHED("sums of blocks");
        ++queue.launches;
    }
    total_kernel<<<1, threads, 0, queue.stream()>>>(partial, blocks, totals, queue.status());
    GRAFT_CUDA_LAUNCHED("sums");
    ++queue.launches;
}

FieldArrays arrays_of(const forces::DeviceField& field) {
    return {field.ax.data(), field.ay.data(), field.az.data(),
            field.potential.empty() ? nullptr : field.potential.data()};
}

} // namespace

void remove_self_potential(backend::Queue& queue, forces::Softening kind, const DeviceTargetSources& sources,
                           forces::DeviceField& field, int64_t n) {
    self_kernel<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(
        kind, sources, field.potential.data(), n, queue.status());
    GRAFT_CUDA_LAUNCHED("self potentials");
    ++queue.launches;
}

int64_t sum_partials(int64_t n) {
    return device_sum_count * int64_t{backend::blocks_for(n, static_cast<int>(sum_block))};
}

void sum_virial(backend::Queue& queue, const DeviceTargetSources& sources, const forces::DeviceField& field,
                int64_t n, double* partial, double* totals) {
    sum_items(queue, AddTarget{sources, arrays_of(field)}, n, partial, totals);
}

void sum_net_force(backend::Queue& queue, const DeviceTargetSources& sources, const forces::DeviceField& field,
                   int64_t targets, int64_t n, double* partial, double* net) {
    sum_items(queue, AddForce{sources, arrays_of(field), targets}, n, partial, net);
}

void take_off_net_force(backend::Queue& queue, const DeviceTargetSources& sources, const double* net, forces::DeviceField& field,
              int64_t targets) {
    if (targets == 0)
        return;
    take_off_kernel<<<backend::blocks_for(targets, threads), threads, 0, queue.stream()>>>(
        sources, net, field.ax.data(), field.ay.data(), field.az.data(), targets, queue.status());
    GRAFT_CUDA_LAUNCHED("net force");
    ++queue.launches;
}

void remember_field(backend::Queue& queue, const forces::DeviceField& field, const int32_t* origin,
                    int64_t n, double* last) {
    remember_kernel<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(arrays_of(field), origin,
                                                                                     n, last, queue.status());
    GRAFT_CUDA_LAUNCHED("history of accelerations");
    ++queue.launches;
}

void compose(backend::Queue& queue, const int32_t* outer, const int32_t* inner, int64_t n, int32_t* out) {
    compose_kernel<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(outer, inner, n, out,
                                                                                    queue.status());
    GRAFT_CUDA_LAUNCHED("origins of targets");
    ++queue.launches;
}

void gather(backend::Queue& queue, const int32_t* index, int64_t n, const double* const (&from)[gathered_arrays],
            double* const (&to)[gathered_arrays]) {
    GatherArrays arrays;
    for (int a = 0; a < gathered_arrays; ++a)
        arrays.from[a] = from[a], arrays.to[a] = to[a];
    gather_kernel<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(index, n, arrays,
                                                                                   queue.status());
    GRAFT_CUDA_LAUNCHED("gather of targets");
    ++queue.launches;
}

} // namespace graft::engine
