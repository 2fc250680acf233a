// SPDX-License-Identifier: BSD-3-Clause
// Transfers between host and device, and between devices, by size; see bench_table.hpp.
#include "backend/guard_gpu.cuh"
#include "study/bench/best_of.hpp"
#include "core/timer.hpp"
#include "study/bench/bench_table_gpu.cuh"

#include <vector>

namespace graft::study {

namespace {

using backend::check;
using backend::DeviceBuffer;
using backend::DeviceMemory;
using backend::PinnedBuffer;
using backend::Queue;

constexpr int64_t smallest_bytes = 4 << 10, largest_bytes = int64_t{256} << 20;

/// Seconds of one transfer, launched and waited for: the best of some; small ones are tried more often.
double transfer_s(Queue& queue, void* to, const void* from, int64_t bytes, int repetitions) {
    const auto once_s = [&] {
        const core::Timer timer;
        GRAFT_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, queue.stream()));
        queue.wait();
        return timer.seconds();
    };
    (void)once_s(); // warms up
    if (bytes > 1 << 20)
        return study::best_of(repetitions, once_s);
    double best_s = once_s();
    for (int round = 1; round < 20 * repetitions; ++round)
        best_s = std::min(best_s, once_s());
    return best_s;
}

/// Lets `device` reach `other` while it lives, unless it could before.
class PeerAccess {
  public:
    PeerAccess(int device, int other) : other_(other) {
        int possible = 0;
        GRAFT_CUDA(cudaDeviceCanAccessPeer(&possible, device, other));
        if (possible == 0)
            return;
        const cudaError_t made = cudaDeviceEnablePeerAccess(other, 0);
        if (made == cudaErrorPeerAccessAlreadyEnabled)
            (void)cudaGetLastError();
        else
            GRAFT_CUDA(made);
        mine_ = made == cudaSuccess;
    }
    ~PeerAccess() {
        if (mine_)
            (void)cudaDeviceDisablePeerAccess(other_);
    }
    PeerAccess(const PeerAccess&) = delete;
    PeerAccess& operator=(const PeerAccess&) = delete;

  private:
    int other_;
    bool mine_ = false;
};

} // namespace

int32_t measure_link(int32_t device, int32_t repetitions, int32_t most, LinkRate* rates, int32_t* count,
                     backend::DeviceError* error) {
    return backend::guarded_device(error, [&] {
        GRAFT_CUDA(cudaSetDevice(device));
        DeviceMemory memory(device);
        Queue queue(memory, nullptr);
        DeviceBuffer<char> there(memory, "bench transfer");
        PinnedBuffer<char> pinned(memory, "bench transfer");
        there.resize(largest_bytes), pinned.resize(largest_bytes);
        std::vector<char> pageable(static_cast<size_t>(largest_bytes), 1); // touched, and never pinned
        std::fill(pinned.data(), pinned.data() + largest_bytes, char{1});
        *count = 0;
        for (int64_t bytes = smallest_bytes; bytes <= largest_bytes && *count < most; bytes *= 4) {
            const auto rate = [&](void* to, const void* from) {
                return static_cast<double>(bytes) / transfer_s(queue, to, from, bytes, repetitions);
            };
            rates[(*count)++] = {bytes, rate(there.data(), pinned.data()), rate(pinned.data(), there.data()),
                                 rate(there.data(), pageable.data()), rate(pageable.data(), there.data())};
        }
    });
}

int32_t measure_peer(int32_t device, int32_t other, int32_t repetitions, double* bytes_per_s,
                     backend::DeviceError* error) {
    return backend::guarded_device(error, [&] {
        GRAFT_CUDA(cudaSetDevice(other));
        DeviceMemory far_memory(other), memory(device);
        DeviceBuffer<char> far(far_memory, "bench transfer");
        far.resize(largest_bytes);
        GRAFT_CUDA(cudaSetDevice(device));
        const PeerAccess access(device, other);
        Queue queue(memory, nullptr);
        DeviceTimer timer(queue);
        DeviceBuffer<char> near(memory, "bench transfer");
        near.resize(largest_bytes);
        const double seconds = timer.best_of(repetitions, [&] {
            GRAFT_CUDA(cudaMemcpyPeerAsync(near.data(), device, far.data(), other,
                                           static_cast<size_t>(largest_bytes), queue.stream()));
        });
        *bytes_per_s = static_cast<double>(largest_bytes) / seconds;
    });
}

} // namespace graft::study
