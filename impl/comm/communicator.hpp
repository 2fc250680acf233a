// The ranks of a computation, as every distributed algorithm sees them: a typed face over graft_comm_v1.
//
// Failures come in two kinds. Local work that may fail (validation, allocation) runs inside together(): all
// ranks then throw the same Error, that of the lowest failing rank, and the communicator stays good. A
// failure anywhere else (the table's own, or an exception between two collectives) poisons: peers that wait
// are released where the table can do that (fail) or by its deadline, and from then on every call on this
// communicator throws Error(communication) at once. Entries of the ABI therefore run their whole collective
// body inside guarded(). No function here holds O(ranks) data unless its name or comment says so.
#pragma once

#include "core/error.hpp"

#include <graft/comm.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace graft::comm {

enum class Operation : int32_t { sum = GRAFT_COMM_SUM, min = GRAFT_COMM_MIN, max = GRAFT_COMM_MAX };

/// What this rank has sent and waited for since the communicator was made (or since reset()). Collectives
/// count the bytes that this rank puts in.
struct Traffic {
    int64_t bytes_sent = 0;
    int64_t messages = 0; // point to point
    int64_t collectives = 0;
    double wait_s = 0; // inside the table's functions, on the rank's own clock
};

using Request = int64_t;

class Communicator {
  public:
    /// One rank alone.
    Communicator();
    /// Over the host's table, which must outlive this object; NULL means one rank alone. Throws
    /// Error(argument) for a table with a missing function, an impossible rank or size, and Error(abi) for a
    /// struct_size too small.
    explicit Communicator(const graft_comm_v1* table);
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }
    bool alone() const noexcept { return size_ == 1; }
    /// Seconds on this rank's clock (a simulated rank has one of its own).
    double time_s() const;
    const Traffic& traffic() const noexcept { return traffic_; }
    /// "" while good, else why every call fails.
    const std::string& poison() const noexcept { return poison_; }
    void set_deadline(double seconds);

    void barrier();
    void broadcast_bytes(void* data, int64_t bytes, int root);
    template <typename T>
    void broadcast(T* data, int64_t count, int root) {
        static_assert(std::is_trivially_copyable_v<T>);
        broadcast_bytes(data, count * static_cast<int64_t>(sizeof(T)), root);
    }
    /// In place, the same bits on every rank. T: double, int32_t, int64_t, uint64_t.
    template <typename T>
    void allreduce(T* data, int64_t count, Operation operation);
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
    void allgather(const T* send, int64_t count, T* receive);
    /// O(ranks) data: all four arrays have size() entries.
    void alltoallv_bytes(const void* send, const int64_t* send_bytes, const int64_t* send_offset,
                         void* receive, const int64_t* receive_bytes, const int64_t* receive_offset);

    [[nodiscard]] Request isend(const void* data, int64_t bytes, int to, int tag);
    [[nodiscard]] Request irecv(void* data, int64_t bytes, int from, int tag);
    void wait_all(int64_t count, Request* requests);
    void wait_all(std::vector<Request>& requests) {
        wait_all(static_cast<int64_t>(requests.size()), requests.data());
        requests.clear();
    }

    /// Ranks of equal colour, ordered by key, then rank. Collective.
    std::unique_ptr<Communicator> split(int colour, int key);

    /// Collective. Runs `body`, which must not communicate, then agrees: when it threw on any rank, every
    /// rank throws the same status and the message of the lowest such rank, with its number in front when
    /// size() > 1.
    template <typename Body>
    void together(Body&& body) {
        std::exception_ptr error;
        try {
            body();
        } catch (...) {
            error = std::current_exception();
        }
        agree(error);
    }
    /// The second half of together(), for a body that has run already. NULL: this rank is fine.
    void agree(std::exception_ptr error);

    /// Runs a body of collectives. An exception that agree() did not make known to all ranks poisons the
    /// communicator and is thrown on as Error(communication), as it is on every other rank.
    template <typename Body>
    void guarded(Body&& body) {
        try {
            body();
        } catch (...) {
            give_up(std::current_exception());
        }
    }

  private:
    void check(int32_t status, const char* what);
    [[noreturn]] void give_up(std::exception_ptr error);
    void ensure_good() const;

    const graft_comm_v1* table_ = nullptr; // NULL: one rank alone
    graft_comm_v1* owned_ = nullptr;       // made by split()
    int rank_ = 0, size_ = 1;
    Traffic traffic_;
    std::string poison_;
    bool agreed_ = false;             // the Error in flight was thrown by agree(): every rank has it
    std::vector<char> self_messages_; // one rank alone: bytes sent to oneself and not yet received
};

} // namespace graft::comm
