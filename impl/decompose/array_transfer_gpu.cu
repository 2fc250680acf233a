// SPDX-License-Identifier: BSD-3-Clause
// See array_transfer_gpu.cuh.
#include "decompose/array_transfer_gpu.cuh"

#include "backend/host_copy.hpp"
#include "particles/staging_gpu.cuh"

#include <algorithm>

namespace graft::decompose {

namespace {

constexpr int64_t piece_bytes = int64_t{16} << 20;
constexpr int64_t small_bytes = int64_t{1} << 18; // the driver's own way does

void start_copy(backend::Queue& queue, void* to, const void* from, int64_t bytes, cudaMemcpyKind kind) {
    if (bytes > 0)
        GRAFT_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, queue.stream()));
}

} // namespace

HostTransfer::HostTransfer(backend::Queue& queue)
    : queue_(queue), piece_{backend::PinnedBuffer<char>(queue.memory(), "staging of ORB"),
                            backend::PinnedBuffer<char>(queue.memory(), "staging of ORB")} {
    for (cudaEvent_t& event : done_)
        GRAFT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
}

HostTransfer::~HostTransfer() {
    for (cudaEvent_t event : done_)
        (void)cudaEventDestroy(event);
}

void HostTransfer::copy(void* to, const void* from, int64_t bytes) {
    backend::copy_by_threads(backend::Executor{host_, threads_}, to, from, bytes);
}

void HostTransfer::send(void* to, const void* from, int64_t bytes) {
    if (bytes <= small_bytes || particles::is_page_locked(from, bytes))
        return start_copy(queue_, to, from, bytes, cudaMemcpyHostToDevice);
    for (int64_t at = 0; at < bytes; at += piece_bytes) {
        const int64_t size = std::min(piece_bytes, bytes - at);
        const int k = next_;
        next_ = 1 - next_;
        if (busy_[k])
            GRAFT_CUDA(cudaEventSynchronize(done_[k]));
        piece_[k].resize(piece_bytes);
        copy(piece_[k].data(), static_cast<const char*>(from) + at, size);
        start_copy(queue_, static_cast<char*>(to) + at, piece_[k].data(), size, cudaMemcpyHostToDevice);
        GRAFT_CUDA(cudaEventRecord(done_[k], queue_.stream()));
        busy_[k] = true;
    }
}

void HostTransfer::fetch(void* to, const void* from, int64_t bytes) {
    if (bytes <= small_bytes || particles::is_page_locked(to, bytes)) {
        start_copy(queue_, to, from, bytes, cudaMemcpyDeviceToHost);
        return queue_.wait();
    }
    const int64_t pieces = (bytes + piece_bytes - 1) / piece_bytes;
    for (int64_t p = 0; p <= pieces; ++p) { // piece p leaves the device while p - 1 is emptied
        if (p < pieces) {
            const int k = static_cast<int>(p % 2);
            piece_[k].resize(piece_bytes);
            start_copy(queue_, piece_[k].data(), static_cast<const char*>(from) + p * piece_bytes,
                       std::min(piece_bytes, bytes - p * piece_bytes), cudaMemcpyDeviceToHost);
            GRAFT_CUDA(cudaEventRecord(done_[k], queue_.stream()));
        }
        if (p == 0)
            continue;
        const int64_t at = (p - 1) * piece_bytes;
        const int k = static_cast<int>((p - 1) % 2);
        GRAFT_CUDA(cudaEventSynchronize(done_[k]));
        copy(static_cast<char*>(to) + at, piece_[k].data(), std::min(piece_bytes, bytes - at));
    }
    busy_[0] = busy_[1] = false;
}

} // namespace graft::decompose
