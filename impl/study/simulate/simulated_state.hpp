// SPDX-License-Identifier: BSD-3-Clause
// The inside of the simulator: ranks, groups, calls that wait, messages on their way.
#pragma once

#include "comm/failure.hpp"
#include "study/simulate/fiber.hpp"
#include "study/simulate/simulated_ranks.hpp"

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace graft::study {

/// The ranks of one communicator. Members hold it through their endpoints, in order of rank.
struct SimulatedGroup {
    int64_t id = 0;
    std::vector<int32_t> member; // ranks of the machine
    std::shared_ptr<SimulatedGroup> parent;
    int32_t arrived = 0; // at the collective that is under way
    std::string failure; // not empty: every call fails
    comm::Call failed_call = comm::Call::unknown;

    const SimulatedGroup* failed_of_line() const; // itself or a forebear; NULL: good
};

/// One rank's table of one group.
struct SimulatedEndpoint {
    graft_comm_v1 table{};
    Simulator::State* simulator = nullptr;
    std::shared_ptr<SimulatedGroup> group;
    int32_t rank = 0;         // in the group
    int32_t machine_rank = 0; // in the machine
    std::string error;
    comm::Call last_call = comm::Call::unknown;
};

enum class CallKind { barrier, broadcast, allreduce, allgather, alltoall, split, messages };

/// What a rank waits in; lies on the stack of its fiber.
struct SimulatedCall {
    CallKind kind = CallKind::barrier;
    SimulatedEndpoint* endpoint = nullptr;
    const void* send = nullptr;
    void* receive = nullptr;
    int64_t bytes = 0; // broadcast: bytes; allreduce: count; allgather: own bytes
    int32_t root = 0, dtype = 0, operation = 0;
    const int64_t *send_bytes = nullptr, *send_offset = nullptr;
    const int64_t *receive_bytes = nullptr, *receive_offset = nullptr;
    graft_comm_v1** part = nullptr; // split: colour in root, key in operation
    int32_t outstanding = 0;        // messages: how many have not come yet
    int32_t from = 0, tag = 0;      // messages: one of them
    int32_t status = 0;
};

struct SimulatedRequest {
    bool used = false, done = false, is_send = false, awaited = false;
    int32_t status = 0;
    double time_s = 0, transfer_s = 0; // sends: when the port is free again; receives: arrival
    void* data = nullptr;
    int64_t bytes = 0;
    int32_t from = 0, tag = 0;
};

struct SimulatedRank {
    double clock_s = 0, stamp = 0; // stamp: thread time or steps when computing began
    double send_port_s = 0, receive_port_s = 0;
    SimulatedCall* call = nullptr; // what it waits in
    bool ready = false;
    SimulatedEndpoint world;
    std::vector<SimulatedRequest> requests;
    std::vector<int32_t> free_requests;
};

struct MessageKey {
    int64_t group;
    int32_t from, to, tag; // ranks of the group
    bool operator==(const MessageKey&) const = default;
};
struct MessageKeyHash {
    size_t operator()(const MessageKey& key) const noexcept;
};
struct SimulatedMessage {
    std::vector<char> data;
    double time_s = 0, transfer_s = 0;
};
/// Messages of one key that were sent before they were asked for, or asked for before they were sent.
struct SimulatedChannel {
    std::vector<SimulatedMessage> sent; // few: a vector is lighter than a queue
    std::vector<int32_t> posted;        // requests of the receiver
};

struct Simulator::State {
    SimulatorOptions options;
    SimulatorReport report;
    std::vector<SimulatedRank> ranks;
    std::deque<int32_t> ready;
    std::unordered_map<MessageKey, SimulatedChannel, MessageKeyHash> channels;
    std::string deadlock; // not empty: every call of every rank fails
    int64_t groups = 0;
    int32_t ended = 0;
    std::exception_ptr error;
    int32_t error_rank = -1;
    double timer_cost_s = 0;
    std::unique_ptr<FiberPool> fibers;

    double now() const;                // thread seconds, or steps
    void enter(SimulatedRank& rank);   // computing ends: the clock moves
    void leave(SimulatedRank& rank);   // computing begins
    int32_t wait(SimulatedCall& call); // until woken; answers call.status
    void wake(int32_t machine_rank);
    /// Wakes every rank that waits on the group, or one split from it (NULL: on any), with an error.
    void release(const SimulatedGroup* group);
    void schedule(const std::function<void(int32_t)>& body);
    std::string describe_waiting() const;
    void start_rank(int32_t rank, const Body& body);
    int32_t rendezvous(SimulatedCall& call);
    void count(CallKind kind, int64_t messages, int64_t bytes);
};

/// Fills the function pointers of a table; simulated_table.cpp.
void fill_simulated_table(SimulatedEndpoint& endpoint);
/// Works out the collective whose calls are complete: data, clocks. Throws Error for calls that do not fit
/// each other. simulated_collectives.cpp
void perform_collective(Simulator::State& simulator, SimulatedGroup& group,
                        const std::vector<SimulatedCall*>& call);

} // namespace graft::study
