// SPDX-License-Identifier: BSD-3-Clause
// Weights of points on the device, with the bits that weights.hpp gives on the CPU (compiled without fused
// multiply-adds).
//
// Floor: the costs are read three times, the weights written once.
#include "decompose/weights_gpu.cuh"

#include "decompose/weights.hpp"

namespace graft::decompose {

namespace {

constexpr int threads = 256;

/// What the three passes leave: largest cost (its bits order like the cost), sums in two halves.
struct CostSums {
    unsigned long long largest, low, high;
};

__global__ void find_largest(const double* cost, int64_t n, CostSums* sums, uint64_t* bad,
                             backend::DeviceStatus* status) {
    unsigned long long most = 0;
    const int64_t stride = int64_t{gridDim.x} * threads;
    for (int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x; i < n; i += stride) {
        const double c = cost[i];
        if (!(c >= 0) || c - c != 0) {
            atomicMax(reinterpret_cast<unsigned long long*>(bad),
                      ~(static_cast<unsigned long long>(i) | 3ull << 60));
            backend::stop_with(status, backend::bad_value);
        } else {
            most = max(most, static_cast<unsigned long long>(__double_as_longlong(c + 0.0)));
        }
    }
    for (int offset = 16; offset > 0; offset /= 2)
        most = max(most, __shfl_xor_sync(~0u, most, offset));
    if (threadIdx.x % 32 == 0)
        atomicMax(&sums->largest, most);
}

__device__ void add(unsigned long long low, unsigned long long high, unsigned long long* to) {
    for (int offset = 16; offset > 0; offset /= 2) {
        low += __shfl_xor_sync(~0u, low, offset);
        high += __shfl_xor_sync(~0u, high, offset);
    }
    if (threadIdx.x % 32 == 0)
        atomicAdd(to, low), atomicAdd(to + 1, high);
}

__global__ void sum_costs(const double* cost, int64_t n, CostSums* sums, backend::DeviceStatus* status) {
    const double largest = __longlong_as_double(static_cast<long long>(sums->largest));
    unsigned long long low = 0, high = 0;
    if (largest > 0 && !backend::stopped(status)) {
        double scale1, scale2;
        WeightScale::set_scale(WeightScale::cost_exponent(largest), scale1, scale2);
        const int64_t stride = int64_t{gridDim.x} * threads;
        for (int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x; i < n; i += stride) {
            const uint64_t units = static_cast<uint64_t>(cost[i] * scale1 * scale2);
            low += units & 0xffffffffu, high += units >> 32;
        }
    }
    add(low, high, &sums->low);
}

__global__ void write_weights(const double* cost, int64_t n, double mix, const CostSums* sums,
                              uint64_t* weight, unsigned long long* total, backend::DeviceStatus* status) {
    if (backend::stopped(status))
        return;
    const WeightScale scale(__longlong_as_double(static_cast<long long>(sums->largest)), static_cast<Wide>(n),
                            static_cast<Wide>(sums->low) + (static_cast<Wide>(sums->high) << 32), mix);
    unsigned long long low = 0, high = 0;
    const int64_t stride = int64_t{gridDim.x} * threads;
    for (int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x; i < n; i += stride) {
        const uint64_t w = scale.of(cost[i]);
        weight[i] = w;
        low += w & 0xffffffffu, high += w >> 32;
    }
    add(low, high, total);
}

} // namespace

void orb_weights(backend::Queue& queue, const double* cost, int64_t n, double mix, uint64_t* scratch,
                 uint64_t* weight) {
    GRAFT_CUDA(cudaMemsetAsync(scratch, 0, 6 * sizeof(uint64_t), queue.stream()));
    auto* sums = reinterpret_cast<CostSums*>(scratch + 2);
    auto* total = reinterpret_cast<unsigned long long*>(scratch);
    const auto blocks = static_cast<unsigned>(
        std::min<int64_t>(backend::blocks_for(n, 4 * threads), 8 * int64_t{queue.multiprocessors()}));
    find_largest<<<blocks, threads, 0, queue.stream()>>>(cost, n, sums, scratch + 5, queue.status());
    GRAFT_CUDA_LAUNCHED("find_largest");
    sum_costs<<<blocks, threads, 0, queue.stream()>>>(cost, n, sums, queue.status());
    GRAFT_CUDA_LAUNCHED("sum_costs");
    write_weights<<<blocks, threads, 0, queue.stream()>>>(cost, n, mix, sums, weight, total, queue.status());
    GRAFT_CUDA_LAUNCHED("write_weights");
    queue.launches += 3;
}

} // namespace graft::decompose
