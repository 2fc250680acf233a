// SPDX-License-Identifier: BSD-3-Clause
// One rank's side of the in-process communicator, and how its functions turn exceptions into statuses.
#pragma once

#include "comm/thread_group.hpp"
#include "core/error.hpp"

#include <graft/comm.h>

#include <memory>
#include <new>
#include <string>
#include <unordered_map>

namespace graft::comm {

/// One rank's side of a group; the table's self. Used by one thread at a time.
struct ThreadRank {
    graft_comm_v1 table{};
    std::shared_ptr<ThreadGroup> group;
    double deadline_s = 0;
    std::unordered_map<int64_t, std::shared_ptr<Transfer>> open; // by request
    int64_t next_request = 1;
    std::string error;
    Call last_call = Call::unknown;
};

inline ThreadRank& of(void* self) {
    return *static_cast<ThreadRank*>(self);
}

/// What messages call this rank.
inline int name(const ThreadRank& me) {
    return me.group->name(me.table.rank);
}

inline void withdraw_all(ThreadRank& me) {
    for (const auto& [request, transfer] : me.open)
        me.group->withdraw(transfer);
    me.open.clear();
}

/// A failing call ends the group: peers may be on their way into the same call and would wait for ever.
inline int32_t lose(ThreadRank& me, core::Status status, const char* text) noexcept {
    try {
        me.error = text;
        me.group->fail(me.error, me.last_call);
        withdraw_all(me);
    } catch (...) {
        return static_cast<int32_t>(core::Status::memory);
    }
    return static_cast<int32_t>(status);
}

/// Runs the body of one of the table's functions: 0, or the status of what it threw.
template <typename Body>
int32_t entry(void* self, Call call, Body&& body) noexcept {
    ThreadRank& me = of(self);
    me.last_call = call;
    try {
        me.error.clear();
        body(me);
        return 0;
    } catch (const core::Error& error) {
        return lose(me, error.status(), error.what());
    } catch (const std::bad_alloc&) {
        return lose(me, core::Status::memory, "out of memory in the in-process communicator");
    } catch (const std::exception& error) {
        return lose(me, core::Status::internal, error.what());
    }
}

inline void require(const ThreadRank& me, bool condition, const char* call, const char* what, int64_t found) {
    if (!condition)
        core::fail(core::Status::argument, "rank %d: %s: %s, found %lld", name(me), call, what,
                   static_cast<long long>(found));
}

inline void require_bytes(const ThreadRank& me, const char* call, const void* data, int64_t bytes) {
    require(me, bytes >= 0, call, "expected 0 bytes or more", bytes);
    require(me, bytes == 0 || data != nullptr, call, "the buffer is NULL though bytes are to go there",
            bytes);
}

inline void require_rank(const ThreadRank& me, const char* call, const char* what, int32_t rank) {
    require(me, rank >= 0 && rank < me.table.size, call, what, rank);
}

} // namespace graft::comm
