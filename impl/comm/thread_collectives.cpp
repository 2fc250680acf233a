// SPDX-License-Identifier: BSD-3-Clause
// The collectives of threads as ranks, and reduction in rank order.
#include "comm/thread_rank.hpp"
#include "comm/thread_table.hpp"

#include <algorithm>
#include <cstring>

namespace graft::comm {

using core::Status;

namespace {

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

constexpr int64_t staged_bytes = 65536; // of the largest broadcast that passes through a buffer

std::string mismatch(const ThreadGroup& group, const char* call, int from, int to, int64_t sent,
                     int64_t expected) {
    return core::format("ranks disagree in %s: rank %d sends %lld bytes to rank %d, which expects %lld", call,
                        group.name(from), static_cast<long long>(sent), group.name(to),
                        static_cast<long long>(expected));
}

} // namespace

int32_t thread_barrier(void* self) {
    return entry(self, Call::barrier, [](ThreadRank& me) {
        me.group->collective(me.table.rank, {.call = Call::barrier}, me.deadline_s, {}, {});
    });
}

int32_t thread_bcast(void* self, void* data, int64_t bytes, int32_t root) {
    return entry(self, Call::bcast, [&](ThreadRank& me) {
        require_bytes(me, "bcast", data, bytes);
        require_rank(me, "bcast", "root is no rank", root);
        const Contribution mine = {
            .call = Call::bcast, .names = {"bytes", "root"}, .agreed = {bytes, root}, .send = data};
        ThreadGroup& group = *me.group;
        if (bytes <= staged_bytes) { // one meeting instead of two
            group.collective(me.table.rank, mine, me.deadline_s,
                             [&] {
                                 const char* first = static_cast<const char*>(group.of(root).send);
                                 group.combined.assign(first, first + bytes);
                             },
                             {});
            copy(data, group.combined.data(), bytes);
            return;
        }
        group.collective(me.table.rank, mine, me.deadline_s, {}, [&] {
            copy(data, group.of(root).send, bytes);
            return std::string();
        });
    });
}

int32_t thread_allreduce(void* self, const void* send, void* receive, int64_t count, int32_t dtype,
                         int32_t operation) {
    return entry(self, Call::allreduce, [&](ThreadRank& me) {
        require(me, dtype == GRAFT_F64 || dtype == GRAFT_I32 || dtype == GRAFT_I64 || dtype == GRAFT_U64,
                "allreduce", "dtype is not GRAFT_F64, I32, I64 or U64", dtype);
        require(me, operation >= GRAFT_COMM_SUM && operation <= GRAFT_COMM_MAX, "allreduce",
                "operation is not GRAFT_COMM_SUM, MIN or MAX", operation);
        const int64_t bytes = count * (dtype == GRAFT_I32 ? 4 : 8);
        require_bytes(me, "allreduce", send, bytes);
        require_bytes(me, "allreduce", receive, bytes);
        const Contribution mine = {.call = Call::allreduce,
                                   .names = {"count", "dtype", "operation"},
                                   .agreed = {count, dtype, operation},
                                   .send = send};
        ThreadGroup& group = *me.group;
        group.collective(me.table.rank, mine, me.deadline_s,
                         [&] { combine_all(group, count, dtype, operation, group.combined); }, {});
        copy(receive, group.combined.data(), bytes);
    });
}

int32_t thread_allgatherv(void* self, const void* send, int64_t send_bytes, void* receive,
                          const int64_t* receive_bytes, const int64_t* receive_offset) {
    return entry(self, Call::allgatherv, [&](ThreadRank& me) {
        require_bytes(me, "allgatherv", send, send_bytes);
        const Contribution mine = {.call = Call::allgatherv, .send = send, .send_bytes = &send_bytes};
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

int32_t thread_alltoallv(void* self, const void* send, const int64_t* send_bytes, const int64_t* send_offset,
                         void* receive, const int64_t* receive_bytes, const int64_t* receive_offset) {
    return entry(self, Call::alltoallv, [&](ThreadRank& me) {
        const Contribution mine = {
            .call = Call::alltoallv, .send = send, .send_bytes = send_bytes, .send_offset = send_offset};
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

} // namespace graft::comm
