// SPDX-License-Identifier: BSD-3-Clause
// Blocks of memory that one owner gave back and the next one takes: what a driver gives costs tens of
// microseconds a block (page-locked: hundreds), and a near-field plan has two dozen.
//
// Invariants: blocks have sizes of a few classes, and a request is met by a block of its own class or not at
// all; what is kept never exceeds the bound, the oldest go first. Plain host code: who keeps blocks says how
// they are freed. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace graft::backend {

struct Block {
    void* pointer = nullptr;
    int64_t bytes = 0; // its class
};

class BlockCache {
  public:
    explicit BlockCache(int64_t most_bytes) : most_bytes_(most_bytes) {}
    /// Bytes of a block for `bytes`: at least 512, four classes an octave, so that at most a fifth is unused.
    static int64_t block_bytes(int64_t bytes);
    /// Takes out the newest block of this class; NULL: there is none. O(blocks).
    void* take(int64_t block_bytes);
    /// Keeps a block; returns those that must be freed for it, itself where it is above a quarter of the
    /// bound.
    std::vector<Block> keep(Block block);
    /// Takes out everything, to be freed or forgotten.
    std::vector<Block> clear();
    int64_t bytes() const noexcept { return bytes_; }
    int64_t most_bytes() const noexcept { return most_bytes_; }

  private:
    std::vector<Block> blocks_; // oldest first
    int64_t most_bytes_, bytes_ = 0;
};

} // namespace graft::backend
