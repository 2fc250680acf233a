// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a computation, as every distributed algorithm sees them: a typed face over graft_comm_v1.
//
// Failures come in two kinds. Local work that may fail (validation, allocation) runs inside together(): all
// ranks then throw the same Error, that of the lowest failing rank, and the communicator stays good. A
// failure anywhere else (the table's own, or an exception between two collectives) poisons: peers that wait
// are released where the table can do that (fail) or by its deadline, and from then on every call on this
// communicator throws Error(communication) at once. Entries of the ABI therefore run their whole collective
// body inside guarded(), and call conclude() before they write the host's outputs: a rank whose very last
// call failed after its peers had finished theirs would otherwise be alone with its error. No function here
// holds O(ranks) data unless its name or comment says so. A Communicator is light (a few words; a simulation
// makes 65,536) and is used by one thread at a time.
//
// Between isend/irecv and wait_all nothing may throw: peers read and write the buffers meanwhile.
#pragma once

#include "comm/failure.hpp"

#include <graft/comm.h>
#include <graft/types.h>

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace graft::comm {

enum class Operation : int32_t { sum = GRAFT_COMM_SUM, min = GRAFT_COMM_MIN, max = GRAFT_COMM_MAX };

/// What this rank has sent and waited for since the communicator was made, parts
/// made by split() not included: they count for themselves. Collectives count the bytes that this rank puts
/// in for others; what a rank sends to itself is not counted.
struct Traffic {
    int64_t bytes_sent = 0;
    int64_t messages = 0; // point to point
    int64_t collectives = 0;
    double wait_s = 0; // inside the table's functions, on the rank's own clock

    Traffic& operator+=(const Traffic& other) noexcept {
        bytes_sent += other.bytes_sent;
        messages += other.messages;
        collectives += other.collectives;
        wait_s += other.wait_s;
        return *this;
    }
};

using Request = int64_t;

/// Tags of callers are below this; those from here to 32767 belong to this room's own algorithms.
inline constexpr int first_own_tag = 32000;

/// The element types that a table can reduce.
template <typename T>
constexpr int32_t reducible_dtype() {
    static_assert(std::is_same_v<T, double> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t> ||
                      std::is_same_v<T, uint64_t>,
                  "a communicator reduces double, int32_t, int64_t and uint64_t");
    if constexpr (std::is_same_v<T, double>)
        return GRAFT_F64;
    else if constexpr (std::is_same_v<T, int32_t>)
        return GRAFT_I32;
    else if constexpr (std::is_same_v<T, int64_t>)
        return GRAFT_I64;
    else
        return GRAFT_U64;
}

class SelfMessages;

class Communicator {
  public:
    /// One rank alone.
    Communicator();
    /// Over the host's table, which is copied, but what its functions use must outlive this object; NULL means one rank alone.
    /// Not collective. Throws Error(argument) for a table with a missing function, an impossible rank or size, and Error(abi)
    /// for a struct_size too small, unknown flags or non-zero reserved words.
    explicit Communicator(const graft_comm_v1* table);
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }
    bool alone() const noexcept { return size_ == 1; }
    /// Messages (isend, irecv) may be in device memory.
    bool device_aware() const noexcept {
        return table_ != nullptr && (table_->flags & GRAFT_COMM_DEVICE_AWARE) != 0;
    }
    /// Seconds on this rank's clock (a simulated rank has one of its own).
    double time_s() const;
    const Traffic& traffic() const noexcept { return traffic_; }
    /// "" while good, else why every call fails.
    const std::string& poison() const noexcept { return poison_; }
    /// Of the failure that poisoned it; unknown where the table does not tell.
    Call failed_call() const noexcept { return failed_call_; }
    /// Not collective. From now on a call of this rank that waits longer fails, here and in parts that are
    /// split off later; 0 = waits for ever. A table without comm_set_deadline waits for ever all the same.
    /// Throws Error(argument) for a negative or NaN time.
    void set_deadline(double seconds);

    // All calls below throw Failure, an Error(communication), when the table's function fails, and are dead afterwards.
    // Those up to alltoallv_bytes are collective.

    void barrier();
    void broadcast_bytes(void* data, int64_t bytes, int root);
    template <typename T>
    void broadcast(T* data, int64_t count, int root) {
        static_assert(std::is_trivially_copyable_v<T>);
        broadcast_bytes(data, count * static_cast<int64_t>(sizeof(T)), root);
    }
    /// In place, the same bits on every rank. T: double, int32_t, int64_t, uint64_t.
    template <typename T>
    void allreduce(T* data, int64_t count, Operation operation) {
        allreduce_values(data, count, reducible_dtype<T>(), operation);
    }
    template <typename T>
    T sum(T value) {
        return allreduce(&value, 1, Operation::sum), value;
    }
    template <typename T>
    T min(T value) {
        return allreduce(&value, 1, Operation::min), value;
    }
    template <typename T>
    T max(T value) {
        return allreduce(&value, 1, Operation::max), value;
    }
    /// O(ranks) data: receive_bytes and receive_offset have size() entries.
    void allgatherv_bytes(const void* send, int64_t send_bytes, void* receive, const int64_t* receive_bytes,
                          const int64_t* receive_offset);
    /// O(ranks) data: `count` values of every rank, in rank order.
    template <typename T>
    void allgather(const T* send, int64_t count, T* receive) {
        static_assert(std::is_trivially_copyable_v<T>);
        allgather_bytes(send, count * static_cast<int64_t>(sizeof(T)), receive);
    }
    /// O(ranks) data: all four arrays have size() entries.
    void alltoallv_bytes(const void* send, const int64_t* send_bytes, const int64_t* send_offset,
                         void* receive, const int64_t* receive_bytes, const int64_t* receive_offset);

    /// Point to point, oneself included: see graft_comm_v1 for order, tags and the life of the buffers.
    [[nodiscard]] Request isend(const void* data, int64_t bytes, int to, int tag);
    [[nodiscard]] Request irecv(void* data, int64_t bytes, int from, int tag);
    void wait_all(int64_t count, Request* requests);
    void wait_all(std::vector<Request>& requests) {
        wait_all(static_cast<int64_t>(requests.size()), requests.data());
        requests.clear();
    }

    /// Ranks of equal colour, ordered by key, then rank; NULL on ranks of negative colour. Collective. The
    /// part may outlive this object only where the table allows that (in-process and serial ranks do).
    std::unique_ptr<Communicator> split(int colour, int key);

    /// Collective. Runs `body`, which must not communicate, then agrees: when it threw on any rank, every
    /// rank throws the same status and the message of the lowest such rank, with its number (in the
    /// communicator that all was split from) in front when size() > 1. std::bad_alloc counts as
    /// Status::memory, any other foreign exception as Status::internal; one rank alone throws what the body
    /// threw. Cost: one allreduce of 8 bytes when all is well, and one broadcast of the message (cut off at
    /// 1,000 bytes) when not.
    template <typename Body>
    void together(Body&& body) {
        ensure_good();
        agree(caught(body));
    }
    /// The second half of together(), for a body that has run already. NULL: this rank is fine.
    void agree(const std::exception_ptr& error);

    /// Collective. The last thing of an entry before it writes its outputs, which must not fail: agrees that
    /// all is well, then meets once more, so that a rank whose agreement broke after its peers had theirs can
    /// still tell them (by the table's fail). What breaks in the meeting itself, when all have agreed, does
    /// not undo this entry on any rank, but poisons: the next call fails on all. So all ranks return or all
    /// throw, wherever a single call of the table breaks. Cost: an allreduce of 8 bytes and a barrier.
    void conclude() { conclude(std::exception_ptr()); }
    /// The same after together() of a body: cheaper by an allreduce.
    template <typename Body>
    requires std::invocable<Body>
    void conclude(Body&& body) {
        ensure_good();
        conclude(caught(body));
    }

    /// Runs a body of collectives. An exception that agree() did not make known to all ranks of this
    /// communicator poisons it and is thrown on as Error(communication), as it is on every other rank. What
    /// agree() of this communicator, or of one that it was split from, threw passes unchanged (what a part
    /// agreed on poisons the whole: the other ranks do not know it), as does anything but an
    /// Error(communication) where there is one rank only. May be nested. Copying an agreed Error unmakes the
    /// agreement: rethrow with `throw;`.
    template <typename Body>
    void guarded(Body&& body) {
        try {
            body();
        } catch (...) {
            give_up(std::current_exception());
        }
    }

  private:
    template <typename Body>
    static std::exception_ptr caught(Body& body) {
        try {
            body();
        } catch (...) {
            return std::current_exception();
        }
        return nullptr;
    }
    void conclude(const std::exception_ptr& error);
    void allreduce_values(void* data, int64_t count, int32_t dtype, Operation operation);
    void allgather_bytes(const void* send, int64_t bytes, void* receive);
    template <typename Function>
    int32_t timed(Function&& function);
    template <typename Function>
    void checked(Call what, Function&& function);
    std::string failure_text(Call what, int32_t status) const;
    void note_failure(std::string text);
    [[noreturn]] void lose(const std::string& text);
    [[noreturn]] void give_up(const std::exception_ptr& error);
    void poison_peers(const std::string& text) noexcept;
    void ensure_good() const;
    void take(const graft_comm_v1& given);
    SelfMessages& self_messages();

    std::unique_ptr<const graft_comm_v1> table_; // NULL: one rank alone; else a copy of the host's, maybe another version
    graft_comm_v1* owned_ = nullptr;       // made by split()
    int rank_ = 0, size_ = 1;
    int root_rank_ = 0; // in the communicator that all was split from: what messages call this rank
    Traffic traffic_;
    std::string poison_;
    Call failed_call_ = Call::unknown;
    std::vector<const Communicator*> ancestors_;  // compared, never followed
    std::unique_ptr<SelfMessages> self_messages_; // one rank alone, once it has sent to itself
};

} // namespace graft::comm
