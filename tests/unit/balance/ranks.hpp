// Test support: ranks as threads, each with memory and an executor of its own.
#pragma once

#include "backend/executor.hpp"
#include "comm/threads.hpp"
#include "core/memory.hpp"

#include <gtest/gtest.h>

#include <functional>
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
