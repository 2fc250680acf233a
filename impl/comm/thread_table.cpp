// The table's functions for threads as ranks: arguments checked, exceptions turned into statuses.
#include "comm/thread_table.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <unordered_map>

namespace graft::comm {

using core::Error;
using core::Status;

namespace {

/// One rank's side of a group; the table's self. Used by one thread at a time.
struct ThreadRank {
    graft_comm_v1 table{};
    std::shared_ptr<ThreadGroup> group;
    double deadline_s = 0;
    std::unordered_map<int64_t, std::shared_ptr<Transfer>> open; // by request
    int64_t next_request = 1;
    std::string error;
};

ThreadRank& of(void* self) {
    return *static_cast<ThreadRank*>(self);
}

/// What messages call this rank.
int name(const ThreadRank& me) {
    return me.group->name(me.table.rank);
}

void withdraw_all(ThreadRank& me) {
    std::vector<std::shared_ptr<Transfer>> transfers;
    for (const auto& [request, transfer] : me.open)
        transfers.push_back(transfer);
    me.open.clear();
    me.group->withdraw(transfers);
}

/// A failing call ends the group: peers may be on their way into the same call and would wait for ever.
int32_t lose(ThreadRank& me, Status status, const char* text) noexcept {
    try {
        me.error = text;
        me.group->fail(me.error);
        withdraw_all(me);
    } catch (...) {
        return static_cast<int32_t>(Status::memory);
    }
    return static_cast<int32_t>(status);
}

template <typename Body>
int32_t entry(void* self, const char* call, Body&& body) noexcept {
    ThreadRank& me = of(self);
    try {
        me.error.clear();
        body(me);
        return 0;
    } catch (const Error& error) {
        return lose(me, error.status(), error.what());
    } catch (const std::bad_alloc&) {
        return lose(me, Status::memory, core::format("rank %d: %s: out of memory", name(me), call).c_str());
    } catch (const std::exception& error) {
        return lose(me, Status::internal, error.what());
    }
}

void require(const ThreadRank& me, bool condition, const char* call, const char* what, int64_t found) {
    if (!condition)
        core::fail(Status::argument, "rank %d: %s: %s, found %lld", name(me), call, what,
                   static_cast<long long>(found));
}

void require_bytes(const ThreadRank& me, const char* call, const void* data, int64_t bytes) {
    require(me, bytes >= 0, call, "expected 0 bytes or more", bytes);
    require(me, bytes == 0 || data != nullptr, call, "the buffer is NULL though bytes are to go there",
            bytes);
}

void require_rank(const ThreadRank& me, const char* call, const char* what, int32_t rank) {
    require(me, rank >= 0 && rank < me.table.size, call, what, rank);
}

void copy(void* to, const void* from, int64_t bytes) {
    if (bytes > 0 && to != from)
        std::memmove(to, from, static_cast<size_t>(bytes));
}

template <typename T>
T combine(T a, T b, int32_t operation) {
    if (operation == GRAFT_COMM_SUM) {
        if constexpr (std::is_integral_v<T>) // wraps, as MPI's does
            return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                                  static_cast<std::make_unsigned_t<T>>(b));
        else
            return a + b;
    }
    return operation == GRAFT_COMM_MIN ? (b < a ? b : a) : (a < b ? b : a);
}

template <typename T>
void combine_all(const ThreadGroup& group, int64_t count, int32_t operation, std::vector<char>& result) {
    result.resize(static_cast<size_t>(count) * sizeof(T));
    T* sum = reinterpret_cast<T*>(result.data());
    std::copy_n(static_cast<const T*>(group.of(0).send), count, sum);
    for (int r = 1; r < group.size(); ++r) {
        const T* more = static_cast<const T*>(group.of(r).send);
        for (int64_t i = 0; i < count; ++i)
            sum[i] = combine(sum[i], more[i], operation);
    }
}

void combine_all(const ThreadGroup& group, int64_t count, int32_t dtype, int32_t operation,
                 std::vector<char>& result) {
    switch (dtype) {
    case GRAFT_F64:
        return combine_all<double>(group, count, operation, result);
    case GRAFT_I32:
        return combine_all<int32_t>(group, count, operation, result);
    case GRAFT_I64:
        return combine_all<int64_t>(group, count, operation, result);
    default:
        return combine_all<uint64_t>(group, count, operation, result);
    }
}

int32_t barrier(void* self) {
    return entry(self, "barrier", [](ThreadRank& me) {
        me.group->collective(me.table.rank, {.call = "barrier"}, me.deadline_s, {}, {});
    });
}

int32_t bcast(void* self, void* data, int64_t bytes, int32_t root) {
    return entry(self, "bcast", [&](ThreadRank& me) {
        require_bytes(me, "bcast", data, bytes);
        require_rank(me, "bcast", "root is no rank", root);
        const Contribution mine = {
            .call = "bcast", .names = {"bytes", "root"}, .agreed = {bytes, root}, .send = data};
        me.group->collective(me.table.rank, mine, me.deadline_s, {}, [&] {
            copy(data, me.group->of(root).send, bytes);
            return std::string();
        });
    });
}

int32_t allreduce(void* self, const void* send, void* receive, int64_t count, int32_t dtype,
                  int32_t operation) {
    return entry(self, "allreduce", [&](ThreadRank& me) {
        require(me, dtype == GRAFT_F64 || dtype == GRAFT_I32 || dtype == GRAFT_I64 || dtype == GRAFT_U64,
                "allreduce", "dtype is not GRAFT_F64, I32, I64 or U64", dtype);
        require(me, operation >= GRAFT_COMM_SUM && operation <= GRAFT_COMM_MAX, "allreduce",
                "operation is not GRAFT_COMM_SUM, MIN or MAX", operation);
        const int64_t bytes = count * (dtype == GRAFT_I32 ? 4 : 8);
        require_bytes(me, "allreduce", send, bytes);
        require_bytes(me, "allreduce", receive, bytes);
        const Contribution mine = {.call = "allreduce",
                                   .names = {"count", "dtype", "operation"},
                                   .agreed = {count, dtype, operation},
                                   .send = send};
        ThreadGroup& group = *me.group;
        group.collective(me.table.rank, mine, me.deadline_s,
                         [&] { combine_all(group, count, dtype, operation, group.combined); }, {});
        copy(receive, group.combined.data(), bytes);
    });
}

std::string mismatch(const ThreadGroup& group, const char* call, int from, int to, int64_t sent,
                     int64_t expected) {
    return core::format("ranks disagree in %s: rank %d sends %lld bytes to rank %d, which expects %lld", call,
                        group.name(from), static_cast<long long>(sent), group.name(to),
                        static_cast<long long>(expected));
}

int32_t allgatherv(void* self, const void* send, int64_t send_bytes, void* receive,
                   const int64_t* receive_bytes, const int64_t* receive_offset) {
    return entry(self, "allgatherv", [&](ThreadRank& me) {
        require_bytes(me, "allgatherv", send, send_bytes);
        const Contribution mine = {.call = "allgatherv", .send = send, .send_bytes = &send_bytes};
        me.group->collective(me.table.rank, mine, me.deadline_s, {}, [&] {
            for (int r = 0; r < me.table.size; ++r) {
                const Contribution& theirs = me.group->of(r);
                if (*theirs.send_bytes != receive_bytes[r])
                    return mismatch(*me.group, "allgatherv", r, me.table.rank, *theirs.send_bytes,
                                    receive_bytes[r]);
                copy(static_cast<char*>(receive) + receive_offset[r], theirs.send, receive_bytes[r]);
            }
            return std::string();
        });
    });
}

int32_t alltoallv(void* self, const void* send, const int64_t* send_bytes, const int64_t* send_offset,
                  void* receive, const int64_t* receive_bytes, const int64_t* receive_offset) {
    return entry(self, "alltoallv", [&](ThreadRank& me) {
        const Contribution mine = {
            .call = "alltoallv", .send = send, .send_bytes = send_bytes, .send_offset = send_offset};
        me.group->collective(me.table.rank, mine, me.deadline_s, {}, [&] {
            for (int step = 0; step < me.table.size; ++step) {
                const int r = (me.table.rank + step) % me.table.size;
                const Contribution& theirs = me.group->of(r);
                const int64_t sent = theirs.send_bytes[me.table.rank];
                if (sent != receive_bytes[r])
                    return mismatch(*me.group, "alltoallv", r, me.table.rank, sent, receive_bytes[r]);
                copy(static_cast<char*>(receive) + receive_offset[r],
                     static_cast<const char*>(theirs.send) + theirs.send_offset[me.table.rank], sent);
            }
            return std::string();
        });
    });
}

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
    return entry(self, "isend", [&](ThreadRank& me) {
        require_message(me, "isend", data, bytes, to, tag, request);
        *request = keep(me, me.group->send(me.table.rank, to, tag, data, bytes));
    });
}

int32_t irecv(void* self, void* data, int64_t bytes, int32_t from, int32_t tag, int64_t* request) {
    return entry(self, "irecv", [&](ThreadRank& me) {
        require_message(me, "irecv", data, bytes, from, tag, request);
        *request = keep(me, me.group->receive(from, me.table.rank, tag, data, bytes));
    });
}

int32_t waitall(void* self, int64_t count, int64_t* requests) {
    return entry(self, "waitall", [&](ThreadRank& me) {
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
    return entry(self, "split", [&](ThreadRank& me) {
        require(me, part != nullptr, "split", "part must not be NULL", 0);
        *part = nullptr;
        ThreadGroup& group = *me.group;
        group.collective(me.table.rank, {.call = "split", .colour = colour, .key = key}, me.deadline_s,
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
    return entry(self, "set_deadline", [&](ThreadRank& me) {
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

} // namespace

graft_comm_v1* make_thread_table(const std::shared_ptr<ThreadGroup>& group, int rank, double deadline_s) {
    auto made = std::make_unique<ThreadRank>();
    made->group = group;
    made->deadline_s = deadline_s;
    made->table = {.struct_size = sizeof(graft_comm_v1),
                   .flags = 0,
                   .self = made.get(),
                   .rank = rank,
                   .size = group->size(),
                   .barrier = barrier,
                   .bcast = bcast,
                   .allreduce = allreduce,
                   .allgatherv = allgatherv,
                   .alltoallv = alltoallv,
                   .isend = isend,
                   .irecv = irecv,
                   .waitall = waitall,
                   .split = split,
                   .free = free_table,
                   .error_text = error_text,
                   .set_deadline = set_deadline,
                   .fail = fail,
                   .time_s = nullptr,
                   .reserved = {}};
    return &made.release()->table;
}

} // namespace graft::comm
