// SPDX-License-Identifier: BSD-3-Clause
// See look_at_sums_gpu.cuh. One read of every sum.
#include "near/plan/look_at_sums_gpu.cuh"

#include "near/structure_parts_gpu.cuh"

#include <algorithm>

namespace graft::near {

namespace {

constexpr int threads = 256, most_blocks = 512;

/// As spread_sums() has it.
template <typename T>
__device__ double result_of(const LookedField<T>& field, const int32_t* numbers, int64_t place) {
    const double value = static_cast<double>(field.sums[place]) * field.units / scale_of(field.scale);
    return field.add ? particles::load_real(field.to, numbers != nullptr ? numbers[place] : place) + value : value;
}

/// A row of blocks a field; the last block of all says what the first bad sum would be.
template <typename T>
__global__ void look_kernel(const LookedFields<T> fields, const int32_t* places, const int32_t* numbers, int64_t n,
                            LookedSums* found) {
    const LookedField<T>& field = fields.field[blockIdx.y];
    for (int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x; k < n && field.sums != nullptr;
         k += int64_t{gridDim.x} * threads) {
        const int64_t place = places != nullptr ? places[k] : k;
        const double value = result_of(field, numbers, place);
        if (!(field.to.size == 4 ? isfinite(static_cast<float>(value)) : isfinite(value)))
            atomicMin(&found->first, static_cast<unsigned long long>(blockIdx.y) << 40 |
                                         static_cast<unsigned long long>(place));
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x != 0 || atomicAdd(&found->blocks, 1u) + 2 != gridDim.x * gridDim.y)
        return;
    __threadfence();
    const unsigned long long first = __ldcg(&found->first);
    if (first == ~0ull)
        return;
    found->value = result_of(fields.field[first >> 40], numbers, static_cast<int64_t>(first & ((1ull << 40) - 1)));
}

} // namespace

template <typename T>
void look_at_sums(backend::Queue& queue, const LookedFields<T>& fields, int32_t count, const int32_t* places,
                  const int32_t* numbers, int64_t n, LookedSums* found) {
    GRAFT_CUDA(cudaMemsetAsync(found, 0xff, sizeof *found, queue.stream()));
    if (n == 0 || count == 0)
        return;
    const unsigned blocks = std::min(backend::blocks_for(n, threads), static_cast<unsigned>(most_blocks));
    look_kernel<<<dim3(blocks, static_cast<unsigned>(count)), threads, 0, queue.stream()>>>(fields, places, numbers,
                                                                                            n, found);
    GRAFT_CUDA_LAUNCHED("look at sums");
    ++queue.launches;
}
template void look_at_sums(backend::Queue&, const LookedFields<float>&, int32_t, const int32_t*, const int32_t*,
                           int64_t, LookedSums*);
template void look_at_sums(backend::Queue&, const LookedFields<double>&, int32_t, const int32_t*, const int32_t*,
                           int64_t, LookedSums*);

} // namespace graft::near
