// SPDX-License-Identifier: BSD-3-Clause
// See block_cache.hpp.
#include "backend/block_cache.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace graft::backend {

int64_t BlockCache::block_bytes(int64_t bytes) {
    constexpr int64_t least = 512;
    if (bytes <= least)
        return least;
    const int64_t octave = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes - 1)));
    const int64_t step = octave / 4; // classes octave + 1 ... 4 steps
    return (bytes + step - 1) / step * step;
}

void* BlockCache::take(int64_t block_bytes) {
    const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(),
                                    [&](const Block& block) { return block.bytes == block_bytes; });
    if (found == blocks_.rend())
        return nullptr;
    void* const pointer = found->pointer;
    bytes_ -= block_bytes;
    blocks_.erase(std::next(found).base());
    return pointer;
}

std::vector<Block> BlockCache::keep(Block block) {
    if (block.bytes > most_bytes_ / 4)
        return {block};
    blocks_.reserve(blocks_.size() + 1); // what can throw comes first
    int64_t left = bytes_;
    auto last = blocks_.begin(); // of those that go
    for (; left + block.bytes > most_bytes_; ++last)
        left -= last->bytes;
    std::vector<Block> gone(blocks_.begin(), last);
    blocks_.erase(blocks_.begin(), last);
    blocks_.push_back(block);
    bytes_ = left + block.bytes;
    return gone;
}

std::vector<Block> BlockCache::clear() {
    bytes_ = 0;
    return std::exchange(blocks_, {});
}

} // namespace graft::backend
