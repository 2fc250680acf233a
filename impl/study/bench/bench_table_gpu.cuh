// SPDX-License-Identifier: BSD-3-Clause
// Timing on the device for the measurements of bench_table.hpp.
#pragma once

#include "backend/queue_gpu.cuh"
#include "study/bench/bench_table.hpp"

#include <algorithm>

namespace graft::study {

/// A pair of events on a queue.
class DeviceTimer {
  public:
    explicit DeviceTimer(backend::Queue& queue) : queue_(queue) {
        GRAFT_CUDA(cudaEventCreate(&begin_));
        const cudaError_t made = cudaEventCreate(&end_);
        if (made != cudaSuccess)
            (void)cudaEventDestroy(begin_);
        GRAFT_CUDA(made);
    }
    ~DeviceTimer() {
        (void)cudaEventDestroy(begin_);
        (void)cudaEventDestroy(end_);
    }
    DeviceTimer(const DeviceTimer&) = delete;
    DeviceTimer& operator=(const DeviceTimer&) = delete;

    /// Seconds of work(), which enqueues; waits for it.
    template <typename Work>
    double seconds_of(Work&& work) {
        GRAFT_CUDA(cudaEventRecord(begin_, queue_.stream()));
        work();
        GRAFT_CUDA(cudaEventRecord(end_, queue_.stream()));
        queue_.wait();
        float milliseconds = 0;
        GRAFT_CUDA(cudaEventElapsedTime(&milliseconds, begin_, end_));
        return 1e-3 * static_cast<double>(milliseconds);
    }
    /// The best of `repetitions`, after one that does not count.
    template <typename Work>
    double best_of(int repetitions, Work&& work) {
        double best = (seconds_of(work), 1e30);
        for (int round = 0; round < repetitions; ++round)
            best = std::min(best, seconds_of(work));
        return best;
    }

  private:
    backend::Queue& queue_;
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Of hardware_rates_gpu.cu and link_rates_gpu.cu, as the table has them.
int32_t measure_rates(int32_t device, int32_t repetitions, DeviceRates* rates, backend::DeviceError* error);
int32_t measure_link(int32_t device, int32_t repetitions, int32_t most, LinkRate* rates, int32_t* count,
                     backend::DeviceError* error);
int32_t measure_peer(int32_t device, int32_t other, int32_t repetitions, double* bytes_per_s,
                     backend::DeviceError* error);
/// Of bench_direct_gpu.cu.
int32_t measure_pairs(int32_t device, const PairsRequest* request, PairsRate* rate,
                      backend::DeviceError* error);
/// Of cloud_points_gpu.cu.
int32_t make_cloud(int32_t device, const CloudRequest* request, void* columns, backend::DeviceError* error);
int32_t fill_bytes(int32_t device, void* to, int32_t byte, int64_t bytes, backend::DeviceError* error);
/// Of bench_orb_gpu.cu.
int32_t measure_orb(const DeviceOrbBench* request, char* text, int64_t room, backend::DeviceError* error);

} // namespace graft::study
