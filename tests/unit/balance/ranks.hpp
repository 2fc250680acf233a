// SPDX-License-Identifier: BSD-3-Clause
// Test support: ranks as threads, each with memory and an executor of its own.
#pragma once

#include "backend/executor.hpp"
#include "thread_ranks.hpp"
#include "core/memory.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <vector>

namespace graft::test {

struct Rank {
    comm::Communicator& comm;
    core::Memory& memory;
    backend::Executor executor;
    int rank() const { return comm.rank(); }
    int size() const { return comm.size(); }
};

inline void on_ranks(int size, const std::function<void(Rank&)>& body) {
    comm::run_ranks(size, [&](comm::Communicator& comm) {
        core::Memory memory;
        Rank rank{comm, memory, {memory, 1 + comm.rank() % 2}};
        body(rank);
    });
}

/// An allocator that refuses from its k-th call on.
struct Refusing {
    int64_t left;
    static void* allocate(void* user, int64_t bytes, int64_t alignment) {
        if (static_cast<Refusing*>(user)->left-- <= 0)
            return nullptr;
        return ::operator new(static_cast<size_t>(bytes), std::align_val_t(alignment), std::nothrow);
    }
    static void release(void*, void* pointer, int64_t) {
        ::operator delete(pointer, std::align_val_t(core::Memory::alignment));
    }
    core::Allocator allocator() { return {this, allocate, release}; }
};

/// Status and message that leave `body`; ok when nothing does.
inline std::pair<core::Status, std::string> error_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const core::Error& error) {
        return {error.status(), error.what()};
    }
    return {core::Status::ok, ""};
}

} // namespace graft::test
