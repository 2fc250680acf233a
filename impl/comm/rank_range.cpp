// SPDX-License-Identifier: BSD-3-Clause
// The functions of a range's table, on messages of the whole.
#include "comm/rank_range.hpp"

#include "core/error.hpp"

#include <graft/types.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace graft::comm {

using core::Status;

struct Range::Table {
    graft_comm_v1 table{};
    Communicator* whole = nullptr;
    int first = 0, count = 1, rank = 0;
    std::vector<char> scratch;
    std::string error;

    void send(const void* data, int64_t bytes, int to) {
        Request request = whole->isend(data, bytes, first + to, range_tag);
        whole->wait_all(1, &request);
    }
    void receive(void* data, int64_t bytes, int from) {
        Request request = whole->irecv(data, bytes, first + from, range_tag);
        whole->wait_all(1, &request);
    }
    void exchange(const void* out, int64_t out_bytes, int to, void* in, int64_t in_bytes, int from) {
        Request requests[2] = {whole->irecv(in, in_bytes, first + from, range_tag),
                               whole->isend(out, out_bytes, first + to, range_tag)};
        whole->wait_all(2, requests);
    }
    char* room(int64_t bytes) {
        if (static_cast<int64_t>(scratch.size()) < bytes)
            scratch.resize(static_cast<size_t>(bytes));
        return scratch.data();
    }
    template <typename Body>
    static int32_t caught(void* object, Body&& body) noexcept;
    void fill_collectives();
    void fill_messages();

    void barrier();
    void broadcast(char* data, int64_t bytes, int root);
    void allreduce(char* data, int64_t bytes, int64_t count_of_values, int32_t dtype, int32_t operation);
    void allgather(const char* send, char* receive, const int64_t* bytes, const int64_t* offset);
    void alltoall(const char* send_data, const int64_t* send_bytes, const int64_t* send_offset,
                  char* receive_data, const int64_t* receive_bytes, const int64_t* receive_offset);
};

void refuse_type(int32_t dtype) {
    core::fail(Status::argument, "allreduce: type %d is none of F64, I32, I64, U64", dtype);
}

namespace {

template <typename T>
void combine_values(char* into, const char* other, int64_t count, int32_t operation) {
    T* const a = reinterpret_cast<T*>(into);
    const T* const b = reinterpret_cast<const T*>(other);
    for (int64_t i = 0; i < count; ++i)
        a[i] = operation == GRAFT_COMM_SUM   ? static_cast<T>(a[i] + b[i])
               : operation == GRAFT_COMM_MIN ? std::min(a[i], b[i])
                                             : std::max(a[i], b[i]);
}

/// into = other (operation) into; sums of two numbers have the same bits either way round.
void combine(char* into, const char* other, int64_t count, int32_t dtype, int32_t operation) {
    switch (dtype) {
    case GRAFT_F64:
        return combine_values<double>(into, other, count, operation);
    case GRAFT_I32:
        return combine_values<int32_t>(into, other, count, operation);
    case GRAFT_I64:
        return combine_values<int64_t>(into, other, count, operation);
    case GRAFT_U64:
        return combine_values<uint64_t>(into, other, count, operation);
    default:
        refuse_type(dtype);
    }
}

int64_t bytes_of(int32_t dtype) {
    return dtype == GRAFT_I32 ? 4 : 8;
}

} // namespace

void Range::Table::barrier() {
    char out = 0, in = 0;
    for (int64_t distance = 1; distance < count; distance *= 2)
        exchange(&out, 0, static_cast<int>((rank + distance) % count), &in, 0,
                 static_cast<int>((rank - distance % count + count) % count));
}

void Range::Table::broadcast(char* data, int64_t bytes, int root) {
    const int relative = (rank - root + count) % count;
    int64_t mask = 1;
    for (; mask < count; mask *= 2)
        if ((relative & mask) != 0) {
            receive(data, bytes, static_cast<int>((relative - mask + root) % count));
            break;
        }
    for (mask /= 2; mask > 0; mask /= 2)
        if (relative + mask < count)
            send(data, bytes, static_cast<int>((relative + mask + root) % count));
}

/// The ranks beyond a power of two hand their numbers to a neighbour first and get the result last.
void Range::Table::allreduce(char* data, int64_t bytes, int64_t values, int32_t dtype, int32_t operation) {
    int power = 1;
    while (power <= count / 2)
        power *= 2;
    const int rest = count - power;
    char* const other = room(bytes);
    if (rank < 2 * rest && rank % 2 == 0) {
        send(data, bytes, rank + 1);
        receive(data, bytes, rank + 1);
        return;
    }
    const auto rank_of = [&](int place) { return place < rest ? 2 * place + 1 : place + rest; };
    const int place = rank < 2 * rest ? rank / 2 : rank - rest;
    if (rank < 2 * rest) {
        receive(other, bytes, rank - 1);
        combine(data, other, values, dtype, operation);
    }
    for (int mask = 1; mask < power; mask *= 2) {
        const int partner = rank_of(place ^ mask);
        exchange(data, bytes, partner, other, bytes, partner);
        combine(data, other, values, dtype, operation);
    }
    if (rank < 2 * rest)
        send(data, bytes, rank - 1);
}

/// All blocks to rank 0 along a binomial tree, one behind the other; then to everybody.
void Range::Table::allgather(const char* mine, char* target, const int64_t* bytes, const int64_t* offset) {
    std::vector<int64_t> before(static_cast<size_t>(count) + 1, 0);
    for (int r = 0; r < count; ++r)
        before[static_cast<size_t>(r) + 1] = before[static_cast<size_t>(r)] + bytes[r];
    char* const packed = room(before.back());
    const auto block = [&](int64_t from, int64_t ranks) {
        const int64_t end = std::min<int64_t>(count, from + ranks);
        return before[static_cast<size_t>(end)] - before[static_cast<size_t>(from)];
    };
    if (bytes[rank] > 0)
        std::memcpy(packed + before[static_cast<size_t>(rank)], mine, static_cast<size_t>(bytes[rank]));
    for (int64_t mask = 1; mask < count; mask *= 2) {
        if ((rank & mask) != 0) {
            send(packed + before[static_cast<size_t>(rank)], block(rank, mask),
                 static_cast<int>(rank - mask));
            break;
        }
        if (rank + mask < count)
            receive(packed + before[static_cast<size_t>(rank + mask)], block(rank + mask, mask),
                    static_cast<int>(rank + mask));
    }
    broadcast(packed, before.back(), 0);
    for (int r = 0; r < count; ++r)
        if (bytes[r] > 0)
            std::memcpy(target + offset[r], packed + before[static_cast<size_t>(r)],
                        static_cast<size_t>(bytes[r]));
}

void Range::Table::alltoall(const char* out, const int64_t* send_bytes, const int64_t* send_offset, char* in,
                            const int64_t* receive_bytes, const int64_t* receive_offset) {
    std::vector<Request> requests;
    for (int distance = 0; distance < count; ++distance) {
        const int from = (rank - distance + count) % count;
        if (receive_bytes[from] > 0)
            requests.push_back(
                whole->irecv(in + receive_offset[from], receive_bytes[from], first + from, range_tag));
    }
    for (int distance = 0; distance < count; ++distance) {
        const int to = (rank + distance) % count;
        if (send_bytes[to] > 0)
            requests.push_back(whole->isend(out + send_offset[to], send_bytes[to], first + to, range_tag));
    }
    whole->wait_all(requests);
}

/// Every function: an exception becomes its status and text.
template <typename Body>
int32_t Range::Table::caught(void* object, Body&& body) noexcept {
    Table& range = *static_cast<Table*>(object);
    try {
        body(range);
        return 0;
    } catch (const core::Error& error) {
        range.error = error.what();
        return static_cast<int32_t>(error.status());
    } catch (const std::exception& error) {
        range.error = error.what();
        return static_cast<int32_t>(Status::memory);
    }
}

void Range::Table::fill_collectives() {
    table.comm_barrier = [](void* object) { return caught(object, [](Table& range) { range.barrier(); }); };
    table.comm_bcast = [](void* object, void* data, int64_t bytes, int32_t root) {
        return caught(object, [&](Table& range) { range.broadcast(static_cast<char*>(data), bytes, root); });
    };
    table.comm_allreduce = [](void* object, const void* send, void* receive, int64_t values, int32_t dtype,
                         int32_t operation) {
        return caught(object, [&](Table& range) {
            const int64_t bytes = values * bytes_of(dtype);
            if (send != receive && bytes > 0)
                std::memcpy(receive, send, static_cast<size_t>(bytes));
            range.allreduce(static_cast<char*>(receive), bytes, values, dtype, operation);
        });
    };
    table.comm_allgatherv = [](void* object, const void* send, int64_t, void* receive, const int64_t* bytes,
                          const int64_t* offset) {
        return caught(object, [&](Table& range) {
            range.allgather(static_cast<const char*>(send), static_cast<char*>(receive), bytes, offset);
        });
    };
    table.comm_alltoallv = [](void* object, const void* send, const int64_t* send_bytes,
                         const int64_t* send_offset, void* receive, const int64_t* receive_bytes,
                         const int64_t* receive_offset) {
        return caught(object, [&](Table& range) {
            range.alltoall(static_cast<const char*>(send), send_bytes, send_offset,
                           static_cast<char*>(receive), receive_bytes, receive_offset);
        });
    };
}

void Range::Table::fill_messages() {
    table.comm_isend = [](void* object, const void* data, int64_t bytes, int32_t to, int32_t tag,
                     int64_t* request) {
        return caught(
            object, [&](Table& range) { *request = range.whole->isend(data, bytes, range.first + to, tag); });
    };
    table.comm_irecv = [](void* object, void* data, int64_t bytes, int32_t from, int32_t tag, int64_t* request) {
        return caught(object, [&](Table& range) {
            *request = range.whole->irecv(data, bytes, range.first + from, tag);
        });
    };
    table.comm_waitall = [](void* object, int64_t requests, int64_t* request) {
        return caught(object, [&](Table& range) { range.whole->wait_all(requests, request); });
    };
    table.comm_split = [](void* object, int32_t, int32_t, graft_comm_v1**) {
        return caught(object, [](Table&) {
            core::fail(Status::unsupported, "a range of ranks cannot be split; take a range of the whole");
        });
    };
    table.comm_fail = [](void* object, const char* text) { // as the whole fails: every range of it is dead
        caught(object, [&](Table& range) {
            range.whole->guarded([&] { core::fail(Status::communication, "%s", text); });
        });
    };
    table.comm_free = [](graft_comm_v1*) {};
    table.comm_error_text = [](void* object) { return static_cast<Table*>(object)->error.c_str(); };
    table.comm_time_s = [](void* object) { return static_cast<Table*>(object)->whole->time_s(); };
}

Range::Range(Communicator& whole, int first, int count) : table_(new Table) {
    const int rank = whole.rank() - first;
    if (first < 0 || count < 1 || count > whole.size() - first || rank < 0 || rank >= count)
        core::fail(Status::argument, "range of %d ranks from %d on, of %d, asked for by rank %d", count,
                   first, whole.size(), whole.rank());
    Table& self = *table_;
    self.whole = &whole;
    self.first = first;
    self.count = count;
    self.rank = rank;
    self.table.struct_size = sizeof self.table;
    self.table.self = &self;
    self.table.rank = rank;
    self.table.size = count;
    self.fill_collectives();
    self.fill_messages();
    comm_ = std::make_unique<Communicator>(&self.table);
}

Range::~Range() = default;

} // namespace graft::comm
