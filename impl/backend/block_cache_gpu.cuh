// SPDX-License-Identifier: BSD-3-Clause
// The library's cache of device memory and page-locked host memory, one a GPU, for what is made and destroyed
// again and again: owners of a DeviceMemory with a KeepsBlocks.
//
// Invariants: only memory of the device's primary context is kept, and forgotten when the host has reset that
// context; what is kept stays below most_bytes(), leaves others a quarter of the device's memory, and goes
// back to the driver as soon as any allocation of Graft's fails, and with the process. What is kept is in no
// work's use: its owner's had ended when it came, so that nothing here waits for the device, and hosts may
// capture graphs. Thread-safe.
#pragma once

#include "backend/block_cache.hpp"
#include "backend/queue_gpu.cuh"
#include "backend/context_id_gpu.cuh"

#include <mutex>

namespace graft::backend {

class DeviceCache {
  public:
    static DeviceCache& of(int device);
    /// What is kept at most: a thirty-second part of the device's memory, 256 MB at least; of page-locked
    /// memory 256 MB.
    int64_t most_bytes(bool pinned) const { return (pinned ? pinned_ : on_device_).most_bytes(); }
    /// Whether blocks of so many bytes are kept: up to a quarter of the bound.
    bool keeps(int64_t bytes, bool pinned) const { return bytes <= most_bytes(pinned) / 4; }
    /// Bytes of the block that stands for `bytes`; of those that are not kept: themselves.
    int64_t footprint(int64_t bytes, bool pinned) const {
        return keeps(bytes, pinned) ? BlockCache::block_bytes(bytes) : bytes;
    }

    /// A block of footprint() bytes of the context; NULL: there is none.
    void* take(bool pinned, int64_t bytes, const ContextMark& context);
    /// A block that no work on the device uses, of the current context. False: the caller frees it, as where
    /// it is large and less than a quarter of the device's memory is free.
    bool keep(bool pinned, Block block, const ContextMark& context) noexcept;
    /// Gives everything back to the driver; how many bytes that were. Makes no context.
    int64_t clear() noexcept;
    int64_t bytes(bool pinned) const;
    /// Of the device's memory, what clear() would give back: nothing of a context that is gone.
    int64_t reclaimable() const;

    explicit DeviceCache(int device);
    DeviceCache(const DeviceCache&) = delete;
    DeviceCache& operator=(const DeviceCache&) = delete;

  private:
    BlockCache& list(bool pinned) { return pinned ? pinned_ : on_device_; }
    void enter(const ContextMark& context); // forgets blocks of another one

    mutable std::mutex mutex_;
    ContextMark context_;
    BlockCache on_device_, pinned_;
};

/// While it lives, what `memory` releases goes to its device's cache once the owner's work has ended, and
/// what it allocates comes from there where a block fits. Made before the first allocation and destroyed
/// after the last release; the memory's bytes count whole blocks. Not thread-safe, like its memory.
class KeepsBlocks {
  public:
    explicit KeepsBlocks(DeviceMemory& memory);
    ~KeepsBlocks();
    KeepsBlocks(const KeepsBlocks&) = delete;
    KeepsBlocks& operator=(const KeepsBlocks&) = delete;

    /// That of a memory; NULL: it keeps nothing.
    static KeepsBlocks* of(const DeviceMemory& memory) noexcept;
    /// The owner enqueues work from now on, as it does at first: blocks that it releases wait for at_rest().
    void at_work() noexcept { rests_ = false; }
    /// All that the owner has enqueued has ended: what waits goes to the cache, as what it releases from now
    /// on.
    void at_rest() noexcept;
    /// As the cache's, in the current context, which must be the device's.
    void* take(bool pinned, int64_t bytes);
    bool keep(bool pinned, Block block) noexcept;
    /// Gives the blocks that wait for at_rest() back to the driver, which waits for the work; how many.
    int64_t clear() noexcept;
    /// Whether the memory's blocks went with their context: what is left of their owner must be forgotten
    /// without a call of CUDA, since addresses of another context may be the same.
    bool lost() const noexcept { return context_.gone(); }

  private:
    struct Waiting {
        bool pinned;
        Block block;
    };
    DeviceMemory& memory_;
    std::vector<Waiting> waiting_;
    bool rests_ = false;
    ContextMark context_; // whose blocks they are; not known: none taken yet, or the driver does not tell
    bool of_one_context_ = true;
};

} // namespace graft::backend
