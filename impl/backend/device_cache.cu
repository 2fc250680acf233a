// See device_cache.cuh.
#include "backend/device_cache.cuh"

#include "backend/device_guard.cuh"

#include <map>

namespace graft::backend {

namespace {

constexpr int64_t bound_of(bool pinned) {
    return pinned ? DeviceCache::most_pinned_bytes : DeviceCache::most_device_bytes;
}

void free_blocks(bool pinned, const std::vector<Block>& blocks) {
    for (const Block& block : blocks)
        (void)(pinned ? cudaFreeHost(block.pointer) : cudaFree(block.pointer));
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
    : device_(device), on_device_(most_device_bytes), pinned_(most_pinned_bytes) {}

int64_t DeviceCache::footprint(int64_t bytes, bool pinned) {
    return bytes > bound_of(pinned) / 4 ? bytes : BlockCache::block_bytes(bytes);
}

void DeviceCache::enter(const ContextMark& context) {
    if (context == context_)
        return;
    (void)on_device_.clear(), (void)pinned_.clear(); // went with their context
    context_ = context;
}

void* DeviceCache::take(bool pinned, int64_t bytes, const ContextMark& context) {
    const std::lock_guard<std::mutex> lock(mutex_);
    enter(context);
    void* const pointer = list(pinned).take(bytes);
    if (pointer == nullptr || !in_use_)
        return pointer;
    if (cudaDeviceSynchronize() == cudaSuccess) {
        in_use_ = false;
        return pointer;
    }
    (void)cudaGetLastError(); // as while somebody captures a graph there
    (void)list(pinned).keep({pointer, bytes});
    return nullptr;
}

bool DeviceCache::keep(bool pinned, Block block, const ContextMark& context) noexcept {
    try {
        const std::lock_guard<std::mutex> lock(mutex_);
        enter(context);
        if (block.bytes > bound_of(pinned) / 4)
            return false;
        free_blocks(pinned, list(pinned).keep(block));
        in_use_ = true;
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
    return of_one_context_ && context_.known() && works_in_primary() && current_mark() == context_ &&
           DeviceCache::of(memory_.device()).keep(pinned, block, context_);
}

} // namespace graft::backend
