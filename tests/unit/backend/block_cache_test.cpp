// SPDX-License-Identifier: BSD-3-Clause
// Blocks kept for the next owner: classes, which block is given out, the bound.
#include "backend/block_cache.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace graft::backend {
namespace {

TEST(BlockCache, classes_hold_what_is_asked_and_waste_a_fifth_at_most) {
    EXPECT_EQ(BlockCache::block_bytes(0), 512);
    EXPECT_EQ(BlockCache::block_bytes(512), 512);
    EXPECT_EQ(BlockCache::block_bytes(513), 640);
    EXPECT_EQ(BlockCache::block_bytes(1024), 1024);
    EXPECT_EQ(BlockCache::block_bytes(1025), 1280);
    int64_t last = 0;
    for (int64_t bytes = 512; bytes < (int64_t{1} << 40); bytes += 1 + bytes / 97) {
        const int64_t block = BlockCache::block_bytes(bytes);
        EXPECT_GE(block, bytes);
        EXPECT_LE(block - bytes, block / 5);
        EXPECT_EQ(BlockCache::block_bytes(block), block);
        EXPECT_GE(block, last);
        last = block;
    }
}

/// Numbers stand for addresses.
void* at(int64_t number) {
    return reinterpret_cast<void*>(number);
}

TEST(BlockCache, gives_the_newest_block_of_the_class_once) {
    BlockCache cache(100000);
    EXPECT_EQ(cache.take(512), nullptr);
    EXPECT_TRUE(cache.keep({at(1), 512}).empty());
    EXPECT_TRUE(cache.keep({at(2), 640}).empty());
    EXPECT_TRUE(cache.keep({at(3), 512}).empty());
    EXPECT_EQ(cache.bytes(), 512 + 640 + 512);
    EXPECT_EQ(cache.take(768), nullptr);
    EXPECT_EQ(cache.take(512), at(3));
    EXPECT_EQ(cache.take(512), at(1));
    EXPECT_EQ(cache.take(512), nullptr);
    EXPECT_EQ(cache.bytes(), 640);
    EXPECT_EQ(cache.clear().size(), 1u);
    EXPECT_EQ(cache.bytes(), 0);
    EXPECT_EQ(cache.take(640), nullptr);
}

TEST(BlockCache, the_oldest_go_at_the_bound_and_large_blocks_are_not_kept) {
    BlockCache cache(4096);
    const std::vector<Block> refused = cache.keep({at(9), 1280});
    ASSERT_EQ(refused.size(), 1u);
    EXPECT_EQ(refused[0].pointer, at(9));
    EXPECT_EQ(cache.bytes(), 0);
    for (int64_t k = 1; k <= 8; ++k)
        EXPECT_TRUE(cache.keep({at(k), 512}).empty());
    const std::vector<Block> gone = cache.keep({at(10), 1024});
    ASSERT_EQ(gone.size(), 2u);
    EXPECT_EQ(gone[0].pointer, at(1));
    EXPECT_EQ(gone[1].pointer, at(2));
    EXPECT_EQ(cache.bytes(), 4096);
}

TEST(BlockCache, random_use_loses_no_block) {
    std::mt19937_64 random(3);
    BlockCache cache(1 << 20);
    std::map<void*, int64_t> held, kept; // by the caller, by the cache
    int64_t made = 0;
    for (int turn = 0; turn < 20000; ++turn) {
        if (random() % 2 == 0 || held.empty()) {
            const int64_t bytes = BlockCache::block_bytes(static_cast<int64_t>(random() % 100000));
            void* const found = cache.take(bytes);
            if (found != nullptr) {
                ASSERT_EQ(kept.at(found), bytes);
                kept.erase(found);
            }
            held[found != nullptr ? found : at(++made)] = bytes;
        } else {
            const auto one = std::next(held.begin(), static_cast<std::ptrdiff_t>(random() % held.size()));
            kept[one->first] = one->second;
            for (const Block& gone : cache.keep({one->first, one->second}))
                ASSERT_EQ(kept.erase(gone.pointer), 1u);
            held.erase(one);
        }
        int64_t bytes = 0;
        for (const auto& [pointer, size] : kept)
            bytes += size;
        ASSERT_EQ(cache.bytes(), bytes);
        ASSERT_LE(cache.bytes(), 1 << 20);
    }
    EXPECT_LT(made, 5000) << "half of 10,000 and more were not used again";
}

} // namespace
} // namespace graft::backend
