// SPDX-License-Identifier: BSD-3-Clause
// Messages, parts and the rest of the table for threads as ranks. thread_collectives.cpp has the collectives.
#include "comm/thread_table.hpp"

#include "comm/thread_rank.hpp"

#include <algorithm>
#include <numeric>

namespace graft::comm {

using core::Status;

namespace {

int64_t keep(ThreadRank& me, std::shared_ptr<Transfer> transfer) {
    me.open.emplace(me.next_request, std::move(transfer));
    return me.next_request++;
}

void require_message(const ThreadRank& me, const char* call, const void* data, int64_t bytes, int32_t peer,
                     int32_t tag, const int64_t* request) {
    require_bytes(me, call, data, bytes);
    require_rank(me, call, "the peer is no rank", peer);
    require(me, tag >= 0 && tag < 32768, call, "the tag must be 0 ... 32767", tag);
    require(me, request != nullptr, call, "request must not be NULL", 0);
}

int32_t isend(void* self, const void* data, int64_t bytes, int32_t to, int32_t tag, int64_t* request) {
    return entry(self, Call::isend, [&](ThreadRank& me) {
        require_message(me, "isend", data, bytes, to, tag, request);
        *request = keep(me, me.group->send(me.table.rank, to, tag, data, bytes));
    });
}

int32_t irecv(void* self, void* data, int64_t bytes, int32_t from, int32_t tag, int64_t* request) {
    return entry(self, Call::irecv, [&](ThreadRank& me) {
        require_message(me, "irecv", data, bytes, from, tag, request);
        *request = keep(me, me.group->receive(from, me.table.rank, tag, data, bytes));
    });
}

int32_t waitall(void* self, int64_t count, int64_t* requests) {
    return entry(self, Call::waitall, [&](ThreadRank& me) {
        for (int64_t i = 0; i < count; ++i) {
            const auto found = me.open.find(requests[i]);
            require(me, found != me.open.end(), "waitall", "no such request, or waited for already",
                    requests[i]);
            me.group->wait(me.table.rank, *found->second, me.deadline_s);
            me.open.erase(found);
        }
    });
}

/// Groups of equal colour, seats by (key, rank).
void make_parts(ThreadGroup& group) {
    const size_t size = static_cast<size_t>(group.size());
    std::vector<int> order(size);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return std::pair(group.of(a).colour, group.of(a).key) <
               std::pair(group.of(b).colour, group.of(b).key);
    });
    group.seats.assign(size, {});
    for (size_t begin = 0, end = 0; begin < size; begin = end) {
        const int32_t colour = group.of(order[begin]).colour;
        while (end < size && group.of(order[end]).colour == colour)
            ++end;
        if (colour < 0)
            continue;
        std::vector<int> names;
        for (size_t i = begin; i < end; ++i)
            names.push_back(group.name(order[i]));
        const auto part = std::make_shared<ThreadGroup>(std::move(names));
        group.adopt(part);
        for (size_t i = begin; i < end; ++i)
            group.seats[static_cast<size_t>(order[i])] = {part, static_cast<int>(i - begin)};
    }
}

/// Beyond the table's contract: a negative colour means "in no part", and *part becomes NULL.
int32_t split(void* self, int32_t colour, int32_t key, graft_comm_v1** part) {
    return entry(self, Call::split, [&](ThreadRank& me) {
        require(me, part != nullptr, "split", "part must not be NULL", 0);
        *part = nullptr;
        ThreadGroup& group = *me.group;
        group.collective(me.table.rank, {.call = Call::split, .colour = colour, .key = key}, me.deadline_s,
                         [&] { make_parts(group); }, {});
        const Seat seat = std::move(group.seats[static_cast<size_t>(me.table.rank)]);
        if (seat.part)
            *part = make_thread_table(seat.part, seat.rank, me.deadline_s);
    });
}

void free_table(graft_comm_v1* table) {
    const std::unique_ptr<ThreadRank> me(&of(table->self));
    withdraw_all(*me);
    me->group->leave(me->table.rank);
}

const char* error_text(void* self) {
    return of(self).error.c_str();
}

int32_t set_deadline(void* self, double seconds) {
    return entry(self, Call::unknown, [&](ThreadRank& me) {
        if (!(seconds >= 0))
            core::fail(Status::argument, "rank %d: set_deadline: expected 0 s or more, found %g", name(me),
                       seconds);
        me.deadline_s = seconds;
    });
}

void fail(void* self, const char* text) {
    ThreadRank& me = of(self);
    lose(me, Status::communication,
         core::format("rank %d gave up: %s", name(me), text != nullptr ? text : "").c_str());
}

int32_t failed_call(void* self) {
    return static_cast<int32_t>(of(self).group->failed_call());
}

} // namespace

graft_comm_v1* make_thread_table(const std::shared_ptr<ThreadGroup>& group, int rank, double deadline_s) {
    auto made = std::make_unique<ThreadRank>();
    made->group = group;
    made->deadline_s = deadline_s;
    made->table = {.struct_size = sizeof(graft_comm_v1),
                   .flags = GRAFT_COMM_DEVICE_AWARE, // of messages: isend, irecv
                   .self = made.get(),
                   .rank = rank,
                   .size = group->size(),
                   .comm_barrier = thread_barrier,
                   .comm_bcast = thread_bcast,
                   .comm_allreduce = thread_allreduce,
                   .comm_allgatherv = thread_allgatherv,
                   .comm_alltoallv = thread_alltoallv,
                   .comm_isend = isend,
                   .comm_irecv = irecv,
                   .comm_waitall = waitall,
                   .comm_split = split,
                   .comm_free = free_table,
                   .comm_error_text = error_text,
                   .comm_set_deadline = set_deadline,
                   .comm_fail = fail,
                   .comm_time_s = nullptr,
                   .comm_failed_call = failed_call,
                   .reserved = {}};
    return &made.release()->table;
}

} // namespace graft::comm
