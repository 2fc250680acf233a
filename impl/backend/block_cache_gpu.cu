// SPDX-License-Identifier: BSD-3-Clause
// See block_cache_gpu.cuh.
#include "backend/block_cache_gpu.cuh"

#include "backend/guard_gpu.cuh"

#include <algorithm>
#include <map>
#include <utility>

namespace graft::backend {

namespace {

constexpr int64_t least_device_bytes = int64_t{256} << 20, pinned_bytes = int64_t{256} << 20;
constexpr int64_t share_of_device = 32, share_of_others = 4;
// To ask what is free takes a part of what such a block costs.
constexpr int64_t large_bytes = int64_t{32} << 20;

/// Whether the current context's device has room for others beside what is kept.
bool others_have_room() {
    size_t free = 0, total = 0;
    return cudaMemGetInfo(&free, &total) == cudaSuccess && free >= total / share_of_others;
}

void free_block(bool pinned, const Block& block) {
    (void)(pinned ? cudaFreeHost(block.pointer) : cudaFree(block.pointer));
}

void free_blocks(bool pinned, const std::vector<Block>& blocks) {
    for (const Block& block : blocks)
        free_block(pinned, block);
}

struct Keepers {
    std::mutex mutex;
    std::map<const DeviceMemory*, KeepsBlocks*> of;
};
/// Never destroyed, like the caches: a global of the host may release its plan after the library's own.
Keepers& keepers() {
    static Keepers& all = *new Keepers;
    return all;
}

} // namespace

DeviceCache& DeviceCache::of(int device) {
    static std::mutex& mutex = *new std::mutex;
    static std::map<int, DeviceCache>& caches = *new std::map<int, DeviceCache>;
    const std::lock_guard<std::mutex> lock(mutex);
    return caches.try_emplace(device, device).first->second;
}

DeviceCache::DeviceCache(int device)
    : on_device_(std::max(least_device_bytes, total_memory(device) / share_of_device)),
      pinned_(pinned_bytes) {}

void DeviceCache::enter(const ContextMark& context) {
    if (context == context_)
        return;
    (void)on_device_.clear(), (void)pinned_.clear(); // went with their context
    context_ = context;
}

void* DeviceCache::take(bool pinned, int64_t bytes, const ContextMark& context) {
    const std::lock_guard<std::mutex> lock(mutex_);
    enter(context);
    return list(pinned).take(bytes);
}

bool DeviceCache::keep(bool pinned, Block block, const ContextMark& context) noexcept {
    try {
        const std::lock_guard<std::mutex> lock(mutex_);
        enter(context);
        if (!keeps(block.bytes, pinned) || (!pinned && block.bytes >= large_bytes && !others_have_room()))
            return false;
        free_blocks(pinned, list(pinned).keep(block));
        return true;
    } catch (...) { // no host memory for the list
        return false;
    }
}

int64_t DeviceCache::clear() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    const KeepsDevice keeps;
    make_current(context_.context);
    if (current_mark() != context_) {
        enter({});
        return 0;
    }
    const int64_t bytes = on_device_.bytes() + pinned_.bytes();
    free_blocks(false, on_device_.clear()), free_blocks(true, pinned_.clear());
    (void)cudaGetLastError();
    return bytes;
}

int64_t DeviceCache::reclaimable() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return context_.gone() ? 0 : on_device_.bytes();
}

int64_t DeviceCache::bytes(bool pinned) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return (pinned ? pinned_ : on_device_).bytes();
}

KeepsBlocks::KeepsBlocks(DeviceMemory& memory) : memory_(memory) {
    const std::lock_guard<std::mutex> lock(keepers().mutex);
    keepers().of.emplace(&memory, this);
}

KeepsBlocks::~KeepsBlocks() {
    (void)clear();
    const std::lock_guard<std::mutex> lock(keepers().mutex);
    keepers().of.erase(&memory_);
}

KeepsBlocks* KeepsBlocks::of(const DeviceMemory& memory) noexcept {
    const std::lock_guard<std::mutex> lock(keepers().mutex);
    const auto found = keepers().of.find(&memory);
    return found != keepers().of.end() ? found->second : nullptr;
}

void* KeepsBlocks::take(bool pinned, int64_t bytes) {
    if (!works_in_primary())
        return nullptr;
    const ContextMark context = current_mark();
    if (context_.known() && context != context_)
        of_one_context_ = false; // the host has reset the device: blocks of both kinds are about
    context_ = context;
    return of_one_context_ && context.known() ? DeviceCache::of(memory_.device()).take(pinned, bytes, context)
                                              : nullptr;
}

bool KeepsBlocks::keep(bool pinned, Block block) noexcept {
    const bool its_own =
        of_one_context_ && context_.known() && works_in_primary() && current_mark() == context_;
    if (!its_own || !DeviceCache::of(memory_.device()).keeps(block.bytes, pinned))
        return false;
    if (rests_)
        return DeviceCache::of(memory_.device()).keep(pinned, block, context_);
    try {
        waiting_.push_back({pinned, block});
        return true;
    } catch (...) { // no host memory for the list
        return false;
    }
}

void KeepsBlocks::at_rest() noexcept {
    rests_ = true;
    if (waiting_.empty())
        return;
    (void)use_device(memory_.device());
    for (const Waiting& one : std::exchange(waiting_, {}))
        if (!keep(one.pinned, one.block) && !lost())
            free_block(one.pinned, one.block);
}

int64_t KeepsBlocks::clear() noexcept {
    int64_t bytes = 0;
    if (waiting_.empty() || lost())
        return bytes;
    (void)use_device(memory_.device());
    for (const Waiting& one : std::exchange(waiting_, {})) {
        free_block(one.pinned, one.block);
        bytes += one.block.bytes;
    }
    return bytes;
}

} // namespace graft::backend
