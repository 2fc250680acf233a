// SPDX-License-Identifier: BSD-3-Clause
// A communicator that breaks when told to: wraps any graft_comm_v1 and makes one call fail, before the
// underlying call is made or after it has completed. For sweeping whole entries over every call they make.
//
// Counted are all calls that a communicator makes for its caller, those on tables split from the wrapped one
// included: barrier, bcast, allreduce, allgatherv, alltoallv, isend, irecv, waitall, split.
#pragma once

#include "comm/failure.hpp"
#include "thread_ranks.hpp"

#include <graft/comm.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace graft::test {

enum class FaultTime { before, after };

/// One rank's fault, and what came of it. Used by that rank's thread only.
struct Fault {
    int64_t at = 0; // the call that fails, counted from 1; 0: none
    FaultTime time = FaultTime::before;
    int64_t calls = 0;
    std::vector<std::string> names; // of the calls so far
    bool fired = false;
    std::shared_ptr<std::atomic<int32_t>>
        call;                   // GRAFT_COMM_CALL_* of the fault that fired on any rank; NULL: not told
    std::mutex* turn = nullptr; // held by the rank, but not while a call is under way (turns.hpp)
};

inline constexpr int32_t injected_status = 4711;

namespace detail {

struct FaultyTable {
    graft_comm_v1 table{};
    graft_comm_v1* inner = nullptr;
    std::shared_ptr<Fault> fault;
    std::string error;
    graft_comm_v1* lost_part = nullptr; // made by a split that then "failed"
};

inline FaultyTable& faulty(void* self) {
    return *static_cast<FaultyTable*>(self);
}

inline int32_t number_of(const char* call) {
    int32_t number = GRAFT_COMM_CALL_BARRIER;
    while (std::string_view(comm::name_of(static_cast<comm::Call>(number))) != call)
        ++number;
    return number;
}

inline int32_t inject(FaultyTable& me, const char* call, const char* when) {
    me.fault->fired = true;
    if (me.fault->call != nullptr) // what is inside has not seen a call that fails before it is made
        *me.fault->call = number_of(call);
    me.error = std::string("injected ") + when + " " + call;
    return injected_status;
}

/// Lets others run while it lives.
class Away {
  public:
    explicit Away(std::mutex* turn) : turn_(turn) {
        if (turn_ != nullptr)
            turn_->unlock();
    }
    ~Away() {
        if (turn_ != nullptr)
            turn_->lock();
    }
    Away(const Away&) = delete;
    Away& operator=(const Away&) = delete;

  private:
    std::mutex* turn_;
};

template <typename Call>
int32_t perhaps(void* self, const char* name, Call&& call) {
    FaultyTable& me = faulty(self);
    me.error.clear();
    me.fault->names.push_back(name);
    const bool now = ++me.fault->calls == me.fault->at;
    if (now && me.fault->time == FaultTime::before)
        return inject(me, name, "before");
    const Away away(me.fault->turn);
    if (const int32_t status = call(*me.inner))
        return status;
    return now ? inject(me, name, "after") : 0;
}

} // namespace detail

/// Takes `inner` over: its free() frees both.
inline graft_comm_v1* make_faulty(graft_comm_v1* inner, const std::shared_ptr<Fault>& fault);

namespace detail {

inline void fill_collectives(graft_comm_v1& table) {
    table.comm_barrier = [](void* self) {
        return perhaps(self, "barrier", [](graft_comm_v1& inner) { return inner.comm_barrier(inner.self); });
    };
    table.comm_bcast = [](void* self, void* data, int64_t bytes, int32_t root) {
        return perhaps(self, "bcast",
                       [=](graft_comm_v1& inner) { return inner.comm_bcast(inner.self, data, bytes, root); });
    };
    table.comm_allreduce = [](void* self, const void* send, void* receive, int64_t count, int32_t dtype,
                         int32_t operation) {
        return perhaps(self, "allreduce", [=](graft_comm_v1& inner) {
            return inner.comm_allreduce(inner.self, send, receive, count, dtype, operation);
        });
    };
    table.comm_allgatherv = [](void* self, const void* send, int64_t send_bytes, void* receive,
                          const int64_t* receive_bytes, const int64_t* receive_offset) {
        return perhaps(self, "allgatherv", [=](graft_comm_v1& inner) {
            return inner.comm_allgatherv(inner.self, send, send_bytes, receive, receive_bytes, receive_offset);
        });
    };
    table.comm_alltoallv = [](void* self, const void* send, const int64_t* send_bytes, const int64_t* send_offset,
                         void* receive, const int64_t* receive_bytes, const int64_t* receive_offset) {
        return perhaps(self, "alltoallv", [=](graft_comm_v1& inner) {
            return inner.comm_alltoallv(inner.self, send, send_bytes, send_offset, receive, receive_bytes,
                                   receive_offset);
        });
    };
    table.comm_split = [](void* self, int32_t colour, int32_t key, graft_comm_v1** part) {
        graft_comm_v1* made = nullptr;
        const int32_t status = perhaps(
            self, "split", [&](graft_comm_v1& inner) { return inner.comm_split(inner.self, colour, key, &made); });
        if (status != 0)
            faulty(self).lost_part = made; // freed with the whole: its peers see the fault, not a freed part
        *part = status == 0 && made != nullptr ? make_faulty(made, faulty(self).fault) : nullptr;
        return status;
    };
}

inline void fill_messages(graft_comm_v1& table) {
    table.comm_isend = [](void* self, const void* data, int64_t bytes, int32_t to, int32_t tag, int64_t* request) {
        return perhaps(self, "isend", [=](graft_comm_v1& inner) {
            return inner.comm_isend(inner.self, data, bytes, to, tag, request);
        });
    };
    table.comm_irecv = [](void* self, void* data, int64_t bytes, int32_t from, int32_t tag, int64_t* request) {
        return perhaps(self, "irecv", [=](graft_comm_v1& inner) {
            return inner.comm_irecv(inner.self, data, bytes, from, tag, request);
        });
    };
    table.comm_waitall = [](void* self, int64_t count, int64_t* requests) {
        return perhaps(self, "waitall",
                       [=](graft_comm_v1& inner) { return inner.comm_waitall(inner.self, count, requests); });
    };
}

inline void fill_rest(graft_comm_v1& table, const graft_comm_v1& inner) {
    table.comm_free = [](graft_comm_v1* table) {
        const std::unique_ptr<FaultyTable> me(&faulty(table->self));
        if (me->lost_part != nullptr)
            me->lost_part->comm_free(me->lost_part);
        me->inner->comm_free(me->inner);
    };
    table.comm_error_text = [](void* self) -> const char* {
        FaultyTable& me = faulty(self);
        if (!me.error.empty() || me.inner->comm_error_text == nullptr)
            return me.error.c_str();
        return me.inner->comm_error_text(me.inner->self);
    };
    if (inner.comm_set_deadline != nullptr)
        table.comm_set_deadline = [](void* self, double seconds) {
            return faulty(self).inner->comm_set_deadline(faulty(self).inner->self, seconds);
        };
    if (inner.comm_fail != nullptr)
        table.comm_fail = [](void* self, const char* text) {
            faulty(self).inner->comm_fail(faulty(self).inner->self, text);
        };
    if (inner.comm_failed_call != nullptr)
        table.comm_failed_call = [](void* self) -> int32_t {
            const FaultyTable& me = faulty(self);
            const int32_t injected = me.fault->call != nullptr ? me.fault->call->load() : 0;
            return injected != 0 ? injected : me.inner->comm_failed_call(me.inner->self);
        };
    if (inner.comm_time_s != nullptr)
        table.comm_time_s = [](void* self) { return faulty(self).inner->comm_time_s(faulty(self).inner->self); };
}

} // namespace detail

inline graft_comm_v1* make_faulty(graft_comm_v1* inner, const std::shared_ptr<Fault>& fault) {
    auto made = std::make_unique<detail::FaultyTable>();
    made->inner = inner;
    made->fault = fault;
    made->table.struct_size = sizeof(graft_comm_v1);
    made->table.flags = inner->flags;
    made->table.self = made.get();
    made->table.rank = inner->rank;
    made->table.size = inner->size;
    detail::fill_collectives(made->table);
    detail::fill_messages(made->table);
    detail::fill_rest(made->table, *inner);
    return &made.release()->table;
}

/// What became of each rank.
struct FaultyRun {
    std::vector<std::exception_ptr> errors;     // that left the body; NULL: none
    std::vector<std::shared_ptr<Fault>> faults; // of each rank; only the chosen one's may have fired
};

/// Runs body(table) on `size` thread ranks, whose tables count calls; the `at`-th call on `rank` fails.
inline FaultyRun run_faulty(int size, int rank, int64_t at, FaultTime time,
                            const std::function<void(graft_comm_v1*)>& body, double deadline_s = 10) {
    FaultyRun run;
    std::vector<graft_comm_v1*> tables = comm::create_thread_ranks(size, deadline_s);
    const auto call = std::make_shared<std::atomic<int32_t>>(0);
    for (size_t r = 0; r < tables.size(); ++r) {
        run.faults.push_back(std::make_shared<Fault>());
        run.faults.back()->call = call;
        if (static_cast<int>(r) == rank) {
            run.faults.back()->at = at;
            run.faults.back()->time = time;
        }
        tables[r] = make_faulty(tables[r], run.faults.back());
    }
    run.errors = comm::run_tables(tables, body);
    for (graft_comm_v1* table : tables)
        table->comm_free(table);
    return run;
}

/// Calls check(run, rank, at, time, is_last) for every call of every rank failing before and after. Unless
/// the body ends with Communicator::conclude(), a rank whose last call fails after it has completed is alone
/// with its error: its peers have finished.
inline void sweep_faults(
    int size, const std::function<void(graft_comm_v1*)>& body,
    const std::function<void(const FaultyRun&, int rank, int64_t at, FaultTime time, bool is_last)>& check,
    double deadline_s = 10) {
    const FaultyRun clean = run_faulty(size, -1, 0, FaultTime::before, body, deadline_s);
    for (const std::exception_ptr& error : clean.errors)
        if (error)
            std::rethrow_exception(error);
    for (int rank = 0; rank < size; ++rank) {
        const int64_t calls = clean.faults[static_cast<size_t>(rank)]->calls;
        for (int64_t at = 1; at <= calls; ++at)
            for (const FaultTime time : {FaultTime::before, FaultTime::after})
                check(run_faulty(size, rank, at, time, body, deadline_s), rank, at, time, at == calls);
    }
}

} // namespace graft::test
