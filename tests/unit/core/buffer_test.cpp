// SPDX-License-Identifier: BSD-3-Clause
// Buffers: accounting, growth, the strong guarantee, errors with their numbers.
#include "core/buffer.hpp"
#include "core/error.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

using namespace graft::core;

TEST(Buffer, CountsAndReusesMemory) {
    Memory memory;
    {
        Buffer<double> buffer(memory, "numbers");
        buffer.resize(1000);
        EXPECT_GE(memory.bytes_held(), 8000);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % Memory::alignment, 0u);
        const int64_t calls = memory.allocations();
        buffer.resize(10);
        buffer.resize(1000);
        EXPECT_EQ(memory.allocations(), calls);
    }
    EXPECT_EQ(memory.bytes_held(), 0);
    EXPECT_GE(memory.bytes_peak(), 8000);
}

TEST(Buffer, PushBackKeepsValuesAndMayPushItsOwnElement) {
    Memory memory;
    Buffer<int> buffer(memory);
    buffer.push_back(7);
    for (int i = 0; i < 1000; ++i)
        buffer.push_back(buffer[0]);
    EXPECT_EQ(buffer.size(), 1001);
    EXPECT_EQ(buffer[1000], 7);
    EXPECT_LT(memory.allocations(), 20);
}

TEST(Buffer, RefusedGrowthKeepsContentsAndNamesTheBuffer) {
    int64_t budget = 1;
    Allocator allocator;
    allocator.user = &budget;
    allocator.allocate = [](void* user, int64_t bytes, int64_t alignment) -> void* {
        return (*static_cast<int64_t*>(user))-- > 0
                   ? std::aligned_alloc(static_cast<size_t>(alignment),
                                        (static_cast<size_t>(bytes) + 63) / 64 * 64)
                   : nullptr;
    };
    allocator.release = [](void*, void* pointer, int64_t) { std::free(pointer); };
    Memory memory(allocator);
    Buffer<int> buffer(memory, "tree nodes");
    buffer.resize(4);
    buffer[3] = 9;
    try {
        buffer.resize_keep(1000);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::memory);
        EXPECT_NE(std::string(error.what()).find("tree nodes"), std::string::npos);
    }
    EXPECT_EQ(buffer.size(), 4);
    EXPECT_EQ(buffer[3], 9);
}
