// SPDX-License-Identifier: BSD-3-Clause
// What the CUDA backend stands on: checked calls, a queue of work, and the status words that kernels leave for the
// host.
//
// Invariants: every CUDA call goes through check(); nothing here waits for the device but functions that say
// so. A kernel that finds a buffer too small or the input bad writes a status word and leaves its output
// unfinished but within bounds; later kernels look at the stop word first. Only files compiled by nvcc include
// this.
#pragma once

#include "backend/memory_cap_gpu.cuh"
#include "core/error.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace graft::backend {

/// Throws Error(device), or Error(memory) when the device has none left, with the call's text and CUDA's.
void check(cudaError_t error, const char* call);
#define GRAFT_CUDA(call) ::graft::backend::check((call), #call)
/// After a kernel launch: its configuration errors.
#define GRAFT_CUDA_LAUNCHED(name) ::graft::backend::check(cudaGetLastError(), "launch of " name)

/// What kernels tell the host, one 64-bit word each. `*_needed` words are written by every computation, also
/// where all fitted; the host compares them with the capacities after the computation and repeats it with
/// larger buffers. Words are zero at the start of a computation, first_bad is -1.
struct DeviceStatus {
    uint64_t stop;        // a StopReason: kernels that see it return at once, outputs stay untouched
    int64_t first_bad;    // index of the first particle whose data cannot be used; stop = bad_value
    int64_t bad_array;    // which array it was in (particles room)
    int64_t nodes_needed; // = nodes of the tree
    int64_t leaves, levels;
    int64_t groups_needed;                            // = groups of targets
    int64_t node_entries_needed, leaf_entries_needed; // of the largest batch of groups
    int64_t tasks_needed; // pieces of work of the largest batch (the kernels of tasks)
    int64_t slots_needed;                             // their partial sums
    int64_t rekey;        // cells whose particles share all 63 key bits but not one place; stop = deep_cell
    int64_t stack_needed; // walk
    double pairs, cells;  // interactions, as evaluated
    int64_t spare[16];
};
enum StopReason : uint64_t { go = 0, bad_value = 1, too_small = 2, deep_cell = 3 };

/// First reason wins.
__device__ inline void stop_with(DeviceStatus* status, StopReason reason) {
    atomicCAS(reinterpret_cast<unsigned long long*>(&status->stop), 0ull,
              static_cast<unsigned long long>(reason));
}
/// As earlier kernels left it. A plain read, which L1 keeps (a volatile one by every warp of a large grid
/// made the keys kernel at 1e6 particles take 23.5 us instead of 18.8).
__device__ inline bool stopped(const DeviceStatus* status) {
    return status->stop != 0;
}

/// The stream that work goes to, and what goes with it. Borrowed stream: the host's, never synchronised or
/// destroyed here.
class Queue {
  public:
    /// stream NULL: a stream of its own (non-blocking). Throws Error(device).
    Queue(DeviceMemory& memory, cudaStream_t stream);
    ~Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    cudaStream_t stream() const noexcept { return stream_; }
    void borrow(cudaStream_t stream) noexcept; // NULL: back to its own
    DeviceMemory& memory() const noexcept { return *memory_; }
    int multiprocessors() const noexcept { return multiprocessors_; }
    DeviceStatus* status() const noexcept { return status_.data(); } // on the device
    /// Zeroes the status words (enqueued).
    void clear_status();
    /// Copies the status words to pinned memory (enqueued); valid after wait().
    void fetch_status();
    const DeviceStatus& fetched_status() const noexcept { return *host_status_.data(); }
    /// Waits for all work so far. The only function of the rooms that waits.
    void wait();

    /// Scratch for one library call (CUB); valid until the next scratch() of this queue is enqueued.
    void* scratch(int64_t bytes);

    int64_t waits() const noexcept { return waits_; } // how often wait() was called: steady state adds none
    int64_t launches = 0;                             // kernels enqueued, counted by launch_blocks()

  private:
    DeviceMemory* memory_;
    cudaStream_t own_ = nullptr, stream_ = nullptr;
    int multiprocessors_ = 0;
    DeviceBuffer<DeviceStatus> status_;
    PinnedBuffer<DeviceStatus> host_status_;
    DeviceBuffer<char> scratch_;
    int64_t waits_ = 0;
};

/// Blocks of `threads` for n items, at least 1.
inline unsigned blocks_for(int64_t n, int threads) {
    return static_cast<unsigned>(n > 0 ? (n + threads - 1) / threads : 1);
}

} // namespace graft::backend
