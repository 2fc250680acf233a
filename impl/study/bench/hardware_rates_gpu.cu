// SPDX-License-Identifier: BSD-3-Clause
// What the hardware can do: bandwidths of the device's memory, issue rates, launches; see bench_table.hpp.
#include "backend/guard_gpu.cuh"
#include "core/timer.hpp"
#include "study/bench/bench_table_gpu.cuh"

namespace graft::study {

namespace {

using backend::check;
using backend::DeviceBuffer;
using backend::DeviceMemory;
using backend::Queue;

constexpr int threads = 256;
constexpr int loads = 8;     // of 16 bytes, in flight a thread
constexpr int rounds = 2048; // of the arithmetic loops
constexpr int64_t array_bytes = int64_t{1} << 30;

/// Every thread reads `loads` vectors, a warp's neighbours beside each other; nothing is written in truth.
__global__ void read_array(const uint4* array, int64_t vectors, uint32_t* sink) {
    const int64_t first = int64_t{blockIdx.x} * threads * loads + threadIdx.x;
    uint32_t any = 0;
#pragma unroll
    for (int k = 0; k < loads; ++k) {
        const int64_t i = first + k * threads;
        if (i < vectors) {
            const uint4 v = __ldcs(array + i);
            any |= v.x | v.y | v.z | v.w;
        }
    }
    if (any == 0xffffffffu) // never: the array is zero
        *sink = any;
}

__global__ void copy_array(const uint4* from, uint4* to, int64_t vectors) {
    const int64_t first = int64_t{blockIdx.x} * threads * loads + threadIdx.x;
    uint4 v[loads];
#pragma unroll
    for (int k = 0; k < loads; ++k)
        if (first + k * threads < vectors)
            v[k] = __ldcs(from + first + k * threads);
#pragma unroll
    for (int k = 0; k < loads; ++k)
        if (first + k * threads < vectors)
            __stcs(to + first + k * threads, v[k]);
}

__device__ inline float root(float x) {
    float r;
    asm volatile("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

/// 12 chains of multiply-adds a thread: more than latency times units at full occupancy.
template <typename T>
__global__ void multiply_add(T factor, T term, T* sink) {
    T a[12];
    for (int k = 0; k < 12; ++k)
        a[k] = static_cast<T>(threadIdx.x + k);
#pragma unroll 4
    for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int k = 0; k < 12; ++k)
            a[k] = a[k] * factor + term;
    T sum = 0;
    for (int k = 0; k < 12; ++k)
        sum += a[k];
    if (sum == static_cast<T>(-1)) // never: all terms are positive
        *sink = sum;
}

/// As multiply_add<float>, with `roots` reciprocal roots a round; adds: 12 or none.
template <int roots, bool adds>
__global__ void mix(float factor, float term, float* sink) {
    float a[12], r[4];
    for (int k = 0; k < 12; ++k)
        a[k] = static_cast<float>(threadIdx.x + k);
    for (int k = 0; k < 4; ++k)
        r[k] = static_cast<float>(threadIdx.x + 1 + k);
#pragma unroll 4
    for (int round = 0; round < rounds; ++round) {
        if constexpr (adds)
#pragma unroll
            for (int k = 0; k < 12; ++k)
                a[k] = a[k] * factor + term;
#pragma unroll
        for (int k = 0; k < roots; ++k)
            r[(round + k) & 3] = root(r[(round + k) & 3]);
    }
    float sum = r[0] + r[1] + r[2] + r[3];
    for (int k = 0; k < 12; ++k)
        sum += a[k];
    if (sum == -1.0f)
        *sink = sum;
}

__global__ void empty() {}

void measure_memory(Queue& queue, DeviceTimer& timer, int repetitions, DeviceRates& rates) {
    const int64_t bytes = std::min(array_bytes, queue.memory().bytes_free() / 4) / 16 * 16;
    DeviceBuffer<uint4> from(queue.memory(), "bench array"), to(queue.memory(), "bench array");
    DeviceBuffer<uint32_t> sink(queue.memory(), "bench sum");
    const int64_t vectors = bytes / 16;
    from.resize(vectors), to.resize(vectors), sink.resize(1);
    GRAFT_CUDA(cudaMemsetAsync(from.data(), 0, static_cast<size_t>(bytes), queue.stream()));
    const unsigned blocks = backend::blocks_for(vectors, threads * loads);
    const double read_s = timer.best_of(repetitions, [&] {
        read_array<<<blocks, threads, 0, queue.stream()>>>(from.data(), vectors, sink.data());
        GRAFT_CUDA_LAUNCHED("read_array");
    });
    const double copy_s = timer.best_of(repetitions, [&] {
        copy_array<<<blocks, threads, 0, queue.stream()>>>(from.data(), to.data(), vectors);
        GRAFT_CUDA_LAUNCHED("copy_array");
    });
    const double driver_s = timer.best_of(repetitions, [&] {
        GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(), static_cast<size_t>(bytes),
                                   cudaMemcpyDeviceToDevice, queue.stream()));
    });
    rates.read_bytes_per_s = static_cast<double>(bytes) / read_s;
    const int64_t piece = std::min<int64_t>(vectors, (4 << 20) / 16), pieces = vectors / piece;
    const double pieces_s = timer.best_of(repetitions, [&] {
        for (int64_t k = 0; k < pieces; ++k)
            read_array<<<backend::blocks_for(piece, threads * loads), threads, 0, queue.stream()>>>(
                from.data() + k * piece, piece, sink.data());
        GRAFT_CUDA_LAUNCHED("read_array");
    });
    rates.kernel_s = std::max(0.0, pieces_s - read_s) / static_cast<double>(pieces);
    rates.copy_bytes_per_s = 2 * static_cast<double>(bytes) / std::min(copy_s, driver_s);
}

void measure_arithmetic(Queue& queue, DeviceTimer& timer, int repetitions, DeviceRates& rates) {
    DeviceBuffer<double> sink(queue.memory(), "bench sum");
    sink.resize(1);
    float* single = reinterpret_cast<float*>(sink.data());
    const auto blocks = static_cast<unsigned>(queue.multiprocessors() * 8 * 4); // four full waves
    const double lanes = static_cast<double>(blocks) * threads * rounds;
    const cudaStream_t stream = queue.stream();
    const double fp32_s = timer.best_of(repetitions, [&] {
        multiply_add<float><<<blocks, threads, 0, stream>>>(0.5f, 1.0f, single);
        GRAFT_CUDA_LAUNCHED("multiply_add<float>");
    });
    const double fp64_s = timer.best_of(repetitions, [&] {
        multiply_add<double><<<blocks, threads, 0, stream>>>(0.5, 1.0, sink.data());
        GRAFT_CUDA_LAUNCHED("multiply_add<double>");
    });
    const double mix_s = timer.best_of(repetitions, [&] {
        mix<1, true><<<blocks, threads, 0, stream>>>(0.5f, 1.0f, single);
        GRAFT_CUDA_LAUNCHED("mix");
    });
    const double root_s = timer.best_of(repetitions, [&] {
        mix<4, false><<<blocks, threads, 0, stream>>>(0.5f, 1.0f, single);
        GRAFT_CUDA_LAUNCHED("roots");
    });
    rates.fma_fp32_per_s = 12 * lanes / fp32_s;
    rates.fma_fp64_per_s = 12 * lanes / fp64_s;
    rates.mix_per_s = lanes / mix_s;
    rates.rsqrt_per_s = 4 * lanes / root_s;
}

void launch_empty(Queue& queue, int times) {
    for (int k = 0; k < times; ++k) {
        empty<<<1, 32, 0, queue.stream()>>>();
        GRAFT_CUDA_LAUNCHED("empty");
    }
}

/// By the host's clock: it is the host that launches and waits.
void measure_launches(Queue& queue, int repetitions, DeviceRates& rates) {
    constexpr int many = 1000, some = 100;
    launch_empty(queue, many);
    queue.wait();
    rates.launch_s = rates.wait_s = 1e30;
    for (int round = 0; round < repetitions; ++round) {
        core::Timer timer;
        launch_empty(queue, many);
        queue.wait();
        rates.launch_s = std::min(rates.launch_s, timer.lap() / many);
        for (int k = 0; k < some; ++k) {
            launch_empty(queue, 1);
            queue.wait();
        }
        rates.wait_s = std::min(rates.wait_s, timer.seconds() / some);
    }
}

} // namespace

int32_t measure_rates(int32_t device, int32_t repetitions, DeviceRates* rates, backend::DeviceError* error) {
    return backend::guarded_device(error, [&] {
        GRAFT_CUDA(cudaSetDevice(device));
        DeviceMemory memory(device);
        Queue queue(memory, nullptr);
        DeviceTimer timer(queue);
        *rates = {};
        measure_memory(queue, timer, repetitions, *rates);
        measure_arithmetic(queue, timer, repetitions, *rates);
        measure_launches(queue, repetitions, *rates);
    });
}

} // namespace graft::study
