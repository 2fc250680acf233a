// SPDX-License-Identifier: BSD-3-Clause
// Host arrays on their way to the device: through page-locked slots, packed by host threads while the slots
// before are on their way.
//
// Invariants: the copies are enqueued in order on the queue's stream; a slot is filled again only after its
// copy has been made, which the host waits for only when all slots are on their way (slot_waits() counts).
// Arrays that are page-locked and contiguous are copied from where they are.
#pragma once

#include "backend/queue_gpu.cuh"
#include "backend/executor.hpp"
#include "particles/array_view.hpp"

#include <cstdint>
#include <vector>

namespace graft::particles {

class DeviceStaging {
  public:
    static constexpr int64_t chunk_items = int64_t{1} << 18;
    static constexpr int most_slots = 24;

    explicit DeviceStaging(backend::DeviceMemory& memory);
    ~DeviceStaging();
    DeviceStaging(const DeviceStaging&) = delete;
    DeviceStaging& operator=(const DeviceStaging&) = delete;

    /// Nothing is on its way any more: the host has waited.
    void restart() noexcept { used_ = 0; }
    /// Copies items [first, first + count) of `count_views` <= 5 host views (one component each) to the
    /// device (enqueued) and returns where they are: contiguous views, valid until the next call is enqueued.
    /// count <= chunk_items. to: where they are to be on the device, at multiples of 256 bytes from there;
    /// NULL: in memory of its own. Throws Error(memory), Error(device).
    void send(backend::Queue& queue, const backend::Executor& executor, int count_views,
              const ArrayView* views, int64_t first, int64_t count, ArrayView* on_device, char* to = nullptr);

    int64_t slot_waits() const noexcept { return slot_waits_; }

  private:
    struct Slot;
    Slot& next_slot(int64_t bytes);
    backend::DeviceMemory& memory_;
    std::vector<Slot*> slots_;
    backend::DeviceBuffer<char> chunk_;
    int64_t used_ = 0, slot_waits_ = 0;
};

/// Is all of `data` page-locked host memory, so that copies from it need no slot? Looks at both ends: a host
/// may have registered a part, and CUDA copies from memory that is registered as a whole or not at all.
bool is_page_locked(const void* data, int64_t bytes);

} // namespace graft::particles
