// SPDX-License-Identifier: BSD-3-Clause
// Hazards for racecheck to find, one a kernel: sanitize.py runs this to see that what it leaves out leaves
// these in. Each thread reads what another one wrote to shared memory, without a barrier between.
#include <cuda_runtime.h>

#include <cstdio>

namespace {

constexpr int threads = 128;

__device__ int neighbour() {
    return static_cast<int>(threadIdx.x + 37) % threads; // of another warp
}

__global__ void named_memory(int* out) {
    __shared__ int shared[threads];
    shared[threadIdx.x] = out[threadIdx.x];
    out[threadIdx.x] = shared[neighbour()];
}

__global__ void dynamic_memory(int* out) {
    extern __shared__ int shared[];
    shared[threadIdx.x] = out[threadIdx.x];
    out[threadIdx.x] = shared[neighbour()];
}

/// By addresses that may be of any memory: the machine code does not name shared memory.
__global__ void through_a_pointer(int* out, int* other) {
    __shared__ int shared[threads];
    volatile int* const memory = other == nullptr ? shared : other;
    memory[threadIdx.x] = out[threadIdx.x];
    out[threadIdx.x] = memory[neighbour()];
}

__global__ void without_shared_memory(int* out) {
    out[threadIdx.x] += 1;
}

} // namespace

int main() {
    int* out = nullptr;
    if (cudaMalloc(&out, threads * sizeof(int)) != cudaSuccess)
        return 1;
    cudaMemset(out, 0, threads * sizeof(int));
    named_memory<<<1, threads>>>(out);
    dynamic_memory<<<1, threads, threads * sizeof(int)>>>(out);
    through_a_pointer<<<1, threads>>>(out, nullptr);
    without_shared_memory<<<1, threads>>>(out);
    const cudaError_t error = cudaDeviceSynchronize();
    std::printf("%s\n", cudaGetErrorString(error));
    return error == cudaSuccess ? 0 : 1;
}
