// SPDX-License-Identifier: BSD-3-Clause
// One thread an item; what is a type or a choice at run time is the same for all threads of a launch.
#include "particles/import_arrays_gpu.cuh"

#include "particles/array_view_gpu.cuh"
#include "particles/charge_scale.hpp"

#include <cub/block/block_reduce.cuh>

namespace graft::particles {

namespace {

constexpr int threads = 256;
constexpr int per_thread = 8; // charges a thread adds up
constexpr int64_t partial_block = threads * per_thread;
constexpr int sum_threads = 1024;
constexpr uint64_t no_bad = ~uint64_t{0};

__device__ void note_bad(DeviceImportState* state, ImportArray array, int64_t item) {
    note_first(state, bad_key(static_cast<int>(array), item));
}

struct ImportBatch {
    DeviceView view[most_device_imports];
    double least[most_device_imports], most[most_device_imports];
    double* out[most_device_imports];
    ImportArray array[most_device_imports];
    int count;
    int64_t n, offset;
};

__global__ void clear_kernel(DeviceImportState* state) {
    *state = {no_bad, 0, 0, 0, INFINITY, 1, 0};
}

__global__ void import_kernel(const ImportBatch batch, DeviceImportState* state) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= batch.n)
        return;
#pragma unroll
    for (int a = 0; a < most_device_imports; ++a) {
        if (a >= batch.count)
            break;
        const double value = load_real(batch.view[a], i);
        batch.out[a][i] = value;
        if (!(value >= batch.least[a] && value <= batch.most[a]))
            note_bad(state, batch.array[a], batch.offset + i);
    }
}

__global__ void fill_kernel(double* out, double value, int64_t n) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = value;
}

struct Least {
    __device__ double operator()(double a, double b) const { return fmin(a, b); }
};

__global__ void magnitude_kernel(const double* charge, int64_t n, double* partial) {
    using Reduce = cub::BlockReduce<double, threads>;
    __shared__ typename Reduce::TempStorage storage;
    double sum = 0, net = 0, lightest = INFINITY;
    for (int k = 0; k < per_thread; ++k) {
        const int64_t i = int64_t{blockIdx.x} * partial_block + k * threads + threadIdx.x;
        const double value = i < n ? charge[i] : 0.0;
        sum += fabs(value), net += value;
        lightest = value != 0 ? fmin(lightest, fabs(value)) : lightest;
    }
    sum = Reduce(storage).Sum(sum);
    __syncthreads(); // the storage is free again
    net = Reduce(storage).Sum(net);
    __syncthreads();
    lightest = Reduce(storage).Reduce(lightest, Least());
    if (threadIdx.x == 0) {
        double* const own = partial + blockIdx.x;
        own[0] = sum, own[gridDim.x] = net, own[2 * gridDim.x] = lightest;
    }
}

/// The first bad value, if any, stops the computation, or else a charge lighter than `least`.
__device__ void conclude(const DeviceImportState* state, double least, backend::DeviceStatus* status) {
    const uint64_t first_bad = __ldcg(&state->first_bad);
    if (first_bad == no_bad) {
        if (state->lightest * state->scale < least)
            backend::stop_with(status, too_light);
        return;
    }
    status->first_bad = static_cast<int64_t>(first_bad & ((uint64_t{1} << item_bits) - 1));
    status->bad_array = static_cast<int64_t>(first_bad >> item_bits);
    backend::stop_with(status, backend::bad_value);
}

__global__ void conclude_kernel(const DeviceImportState* state, backend::DeviceStatus* status) {
    conclude(state, 0, status);
}

/// The scale from all blocks' sums, to `state` where `keep`; thread 0 has it.
__device__ double find_scale(const double* partial, int64_t count, bool keep, DeviceImportState* state) {
    using Reduce = cub::BlockReduce<double, sum_threads>;
    __shared__ typename Reduce::TempStorage storage;
    double sum = 0, net = 0, lightest = INFINITY;
    for (int64_t b = threadIdx.x; b < count; b += sum_threads)
        sum += partial[b], net += partial[count + b], lightest = fmin(lightest, partial[2 * count + b]);
    sum = Reduce(storage).Sum(sum);
    __syncthreads(); // the storage is free again
    net = Reduce(storage).Sum(net);
    __syncthreads();
    lightest = keep ? Reduce(storage).Reduce(lightest, Least()) : lightest; // the same choice in all threads of a block
    const double scale = charge_scale(sum);
    if (threadIdx.x == 0 && keep) {
        state->magnitude = sum, state->net = net, state->lightest = lightest;
        state->scale = scale == 0 ? 1 : scale;
        if (scale == 0)
            note_bad(state, ImportArray::charge_sum, 0);
    }
    return scale == 0 ? 1 : scale;
}

__global__ void scale_kernel(const double* partial, int64_t count, DeviceImportState* state) {
    find_scale(partial, count, true, state);
}

__global__ void scale_charges_kernel(double* charge, int64_t n, double least, const DeviceImportState* state,
                                     backend::DeviceStatus* status) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n)
        charge[i] *= state->scale;
    if (i == 0)
        conclude(state, least, status);
}

/// Both at once where there are few sums: every block finds the scale for itself.
constexpr int64_t few_sums = 128;
__global__ void __launch_bounds__(sum_threads)
    scale_few_kernel(const double* partial, int64_t count, double* charge, int64_t n, double least,
                     DeviceImportState* state, backend::DeviceStatus* status) {
    __shared__ double common;
    const int64_t i = int64_t{blockIdx.x} * sum_threads + threadIdx.x;
    const double value = i < n ? charge[i] : 0;
    const double scale = find_scale(partial, count, blockIdx.x == 0, state);
    if (threadIdx.x == 0)
        common = scale;
    __syncthreads();
    if (i < n)
        charge[i] = value * common;
    if (i == 0)
        conclude(state, least, status);
}

__global__ void mask_kernel(const DeviceView view, int64_t n, uint8_t* active, DeviceImportState* state) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const bool set = i < n && load_integer(view, i) != 0;
    if (i < n)
        active[i] = set;
    const int count = __syncthreads_count(set);
    if (threadIdx.x == 0 && count > 0)
        atomicAdd(reinterpret_cast<unsigned long long*>(&state->active),
                  static_cast<unsigned long long>(count));
}

/// owner[i] = the first entry that names particle i.
__global__ void own_kernel(const DeviceView view, int64_t count, int64_t n, int64_t base, uint32_t* owner,
                           DeviceImportState* state) {
    const int64_t k = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (k >= count)
        return;
    const int64_t given = load_integer(view, k);
    if (given < base || given - base >= n)
        note_bad(state, ImportArray::target_range, k);
    else
        atomicMin(owner + (given - base), static_cast<uint32_t>(k));
}

__global__ void mark_kernel(const DeviceView view, int64_t count, int64_t n, int64_t base,
                            const uint32_t* owner, uint8_t* active, DeviceImportState* state) {
    const int64_t k = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (k >= count)
        return;
    const int64_t i = load_integer(view, k) - base;
    if (i < 0 || i >= n)
        return;
    if (owner[i] != static_cast<uint32_t>(k))
        note_bad(state, ImportArray::target_twice, k);
    active[i] = 1;
}

} // namespace

void clear_imports(backend::Queue& queue, DeviceImportState* state) {
    clear_kernel<<<1, 1, 0, queue.stream()>>>(state);
    GRAFT_CUDA_LAUNCHED("clear_imports");
    ++queue.launches;
}

void import_reals(backend::Queue& queue, int count, const DeviceRealImport* imports, int64_t n,
                  int64_t offset, DeviceImportState* state) {
    if (n == 0 || count == 0)
        return;
    ImportBatch batch{};
    batch.count = count, batch.n = n, batch.offset = offset;
    for (int a = 0; a < count; ++a) {
        batch.view[a] = device_view(imports[a].view);
        batch.least[a] = imports[a].least, batch.most[a] = imports[a].most;
        batch.out[a] = imports[a].out, batch.array[a] = imports[a].array;
    }
    import_kernel<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(batch, state);
    GRAFT_CUDA_LAUNCHED("import_reals");
    ++queue.launches;
}

void fill(backend::Queue& queue, double* out, double value, int64_t n) {
    if (n == 0)
        return;
    fill_kernel<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(out, value, n);
    GRAFT_CUDA_LAUNCHED("fill");
    ++queue.launches;
}

int64_t charge_partials(int64_t n) {
    return 3 * int64_t{backend::blocks_for(n, static_cast<int>(partial_block))};
}

void finish_import(backend::Queue& queue, double* charge, int64_t n, double least, double* partial,
                   DeviceImportState* state) {
    const int64_t count = charge_partials(n) / 3; // blocks, of two sums and the lightest
    const cudaStream_t stream = queue.stream();
    magnitude_kernel<<<static_cast<unsigned>(count), threads, 0, stream>>>(charge, n, partial);
    GRAFT_CUDA_LAUNCHED("sum of magnitudes");
    ++queue.launches;
    if (count <= few_sums) {
        scale_few_kernel<<<backend::blocks_for(n, sum_threads), sum_threads, 0, stream>>>(
            partial, count, charge, n, least, state, queue.status());
        GRAFT_CUDA_LAUNCHED("charge scale");
        ++queue.launches;
        return;
    }
    scale_kernel<<<1, sum_threads, 0, stream>>>(partial, count, state);
    GRAFT_CUDA_LAUNCHED("charge scale");
    scale_charges_kernel<<<backend::blocks_for(n, threads), threads, 0, stream>>>(charge, n, least, state,
                                                                                  queue.status());
    GRAFT_CUDA_LAUNCHED("scale of charges");
    queue.launches += 2;
}

void import_mask(backend::Queue& queue, const ArrayView& view, int64_t n, uint8_t* active,
                 DeviceImportState* state) {
    mask_kernel<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(device_view(view), n, active,
                                                                                 state);
    GRAFT_CUDA_LAUNCHED("import_mask");
    ++queue.launches;
}

void import_targets(backend::Queue& queue, const ArrayView& view, int64_t n, int64_t base, uint32_t* owner,
                    uint8_t* active, DeviceImportState* state) {
    const cudaStream_t stream = queue.stream();
    GRAFT_CUDA(cudaMemsetAsync(owner, 0xff, static_cast<size_t>(n) * sizeof *owner, stream));
    GRAFT_CUDA(cudaMemsetAsync(active, 0, static_cast<size_t>(n), stream));
    const unsigned blocks = backend::blocks_for(view.n, threads);
    own_kernel<<<blocks, threads, 0, stream>>>(device_view(view), view.n, n, base, owner, state);
    GRAFT_CUDA_LAUNCHED("first entries of the target list");
    mark_kernel<<<blocks, threads, 0, stream>>>(device_view(view), view.n, n, base, owner, active, state);
    GRAFT_CUDA_LAUNCHED("import_targets");
    queue.launches += 2;
}

void conclude_imports(backend::Queue& queue, DeviceImportState* state) {
    conclude_kernel<<<1, 1, 0, queue.stream()>>>(state, queue.status());
    GRAFT_CUDA_LAUNCHED("conclude_imports");
    ++queue.launches;
}

} // namespace graft::particles
