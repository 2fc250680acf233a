// SPDX-License-Identifier: BSD-3-Clause
// See staging_gpu.cuh.
#include "particles/staging_gpu.cuh"

#include "particles/staging.hpp"

#include <algorithm>

namespace graft::particles {

struct DeviceStaging::Slot {
    explicit Slot(backend::DeviceMemory& memory) : bytes(memory, "staging of host arrays") {
        GRAFT_CUDA(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
    }
    ~Slot() { (void)cudaEventDestroy(copied); }
    backend::PinnedBuffer<char> bytes;
    cudaEvent_t copied = nullptr;
};

namespace {

int64_t rounded(int64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

bool is_contiguous(const ArrayView& view) {
    return view.item_stride == element_size(view.type);
}

} // namespace

namespace {

bool is_page_locked_at(const void* data) {
    cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return attributes.type == cudaMemoryTypeHost;
}

} // namespace

bool is_page_locked(const void* data, int64_t bytes) {
    return is_page_locked_at(data) &&
           (bytes <= 1 || is_page_locked_at(static_cast<const char*>(data) + bytes - 1));
}

DeviceStaging::DeviceStaging(backend::DeviceMemory& memory)
    : memory_(memory), chunk_(memory, "host arrays on the device") {}

DeviceStaging::~DeviceStaging() {
    for (Slot* slot : slots_)
        delete slot;
}

DeviceStaging::Slot& DeviceStaging::next_slot(int64_t bytes) {
    const size_t place = static_cast<size_t>(used_ % most_slots);
    if (place == slots_.size())
        slots_.push_back(new Slot(memory_));
    Slot& slot = *slots_[place];
    if (used_ >= most_slots && cudaEventQuery(slot.copied) != cudaSuccess) {
        (void)cudaGetLastError();
        GRAFT_CUDA(cudaEventSynchronize(slot.copied));
        ++slot_waits_;
    }
    ++used_;
    slot.bytes.resize(bytes);
    return slot;
}

void DeviceStaging::send(backend::Queue& queue, const backend::Executor& executor, int count_views,
                         const ArrayView* views, int64_t first, int64_t count, ArrayView* on_device,
                         char* to) {
    int64_t offset[6] = {0};
    for (int a = 0; a < count_views; ++a)
        offset[a + 1] = offset[a] + rounded(count * element_size(views[a].type));
    const int64_t bytes = offset[count_views];
    if (to == nullptr) {
        chunk_.resize(std::max(chunk_.size(), bytes));
        to = chunk_.data();
    }
    Slot& slot = next_slot(bytes);
    char* const pinned = slot.bytes.data();
    bool direct[5] = {};
    PackItem items[5];
    int packed = 0;
    for (int a = 0; a < count_views; ++a) {
        direct[a] = is_contiguous(views[a]) &&
                    is_page_locked(views[a].at(first), count * element_size(views[a].type));
        if (!direct[a])
            items[packed++] = {views[a], pinned + offset[a]};
    }
    pack(executor, packed, items, first, count);
    for (int a = 0; a < count_views; ++a) {
        const int64_t size = element_size(views[a].type);
        char* const at = to + offset[a];
        GRAFT_CUDA(cudaMemcpyAsync(at, direct[a] ? views[a].at(first) : pinned + offset[a],
                                   static_cast<size_t>(count * size), cudaMemcpyHostToDevice,
                                   queue.stream()));
        on_device[a] = {at, views[a].type, 1, count, size, size, MemorySpace::device};
    }
    GRAFT_CUDA(cudaEventRecord(slot.copied, queue.stream()));
}

} // namespace graft::particles
