// The functions of a simulated rank's table: rendezvous of collectives, messages, failures.
#include "comm/simulated_state.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace graft::comm {

using core::Status;

size_t MessageKeyHash::operator()(const MessageKey& key) const noexcept {
    uint64_t hash = static_cast<uint64_t>(key.group) * 0x9e3779b97f4a7c15ull;
    for (const int32_t part : {key.from, key.to, key.tag})
        hash = (hash ^ static_cast<uint32_t>(part)) * 0xff51afd7ed558ccdull, hash ^= hash >> 32;
    return hash;
}

int32_t Simulator::State::rendezvous(SimulatedCall& call) {
    SimulatedGroup& group = *call.endpoint->group;
    if (++group.arrived < static_cast<int32_t>(group.member.size()))
        return wait(call);
    group.arrived = 0;
    std::vector<SimulatedCall*> calls(group.member.size());
    for (size_t i = 0; i < calls.size(); ++i)
        calls[i] = ranks[static_cast<size_t>(group.member[i])].call;
    calls[static_cast<size_t>(call.endpoint->rank)] = &call;
    perform_collective(*this, group, calls);
    for (SimulatedCall* peer : calls)
        if (peer != &call)
            wake(peer->endpoint->machine_rank);
    return call.status;
}

namespace {

SimulatedEndpoint& endpoint_of(void* self) {
    return *static_cast<SimulatedEndpoint*>(self);
}

/// Runs one call of the table on the rank's clock; an exception becomes its status and text.
template <typename Body>
int32_t on_clock(void* self, Body&& body) noexcept {
    SimulatedEndpoint& endpoint = endpoint_of(self);
    Simulator::State& simulator = *endpoint.simulator;
    SimulatedRank& rank = simulator.ranks[static_cast<size_t>(endpoint.machine_rank)];
    simulator.enter(rank);
    int32_t status = 0;
    try {
        const std::string* const failure =
            simulator.deadlock.empty() ? endpoint.group->failure_of_line() : &simulator.deadlock;
        if (failure != nullptr)
            core::fail(Status::communication, "%s", failure->c_str());
        status = body(endpoint, simulator, rank);
    } catch (const core::Error& error) {
        endpoint.error = error.what();
        status = static_cast<int32_t>(error.status());
    } catch (const std::exception& error) {
        endpoint.error = error.what();
        status = static_cast<int32_t>(Status::memory);
    }
    simulator.leave(rank);
    return status;
}

int32_t collective(void* self, SimulatedCall& call) noexcept {
    call.endpoint = &endpoint_of(self);
    return on_clock(self, [&](SimulatedEndpoint&, Simulator::State& simulator, SimulatedRank&) {
        return simulator.rendezvous(call);
    });
}

int32_t barrier(void* self) {
    SimulatedCall call;
    call.kind = CallKind::barrier;
    return collective(self, call);
}

int32_t broadcast(void* self, void* data, int64_t bytes, int32_t root) {
    SimulatedCall call;
    call.kind = CallKind::broadcast;
    call.receive = data;
    call.bytes = bytes;
    call.root = root;
    return collective(self, call);
}

int32_t allreduce(void* self, const void* send, void* receive, int64_t count, int32_t dtype,
                  int32_t operation) {
    SimulatedCall call;
    call.kind = CallKind::allreduce;
    call.send = send;
    call.receive = receive;
    call.bytes = count;
    call.dtype = dtype;
    call.operation = operation;
    return collective(self, call);
}

int32_t allgatherv(void* self, const void* send, int64_t send_bytes, void* receive,
                   const int64_t* receive_bytes, const int64_t* receive_offset) {
    SimulatedCall call;
    call.kind = CallKind::allgather;
    call.send = send;
    call.bytes = send_bytes;
    call.receive = receive;
    call.receive_bytes = receive_bytes;
    call.receive_offset = receive_offset;
    return collective(self, call);
}

int32_t alltoallv(void* self, const void* send, const int64_t* send_bytes, const int64_t* send_offset,
                  void* receive, const int64_t* receive_bytes, const int64_t* receive_offset) {
    SimulatedCall call;
    call.kind = CallKind::alltoall;
    call.send = send;
    call.send_bytes = send_bytes;
    call.send_offset = send_offset;
    call.receive = receive;
    call.receive_bytes = receive_bytes;
    call.receive_offset = receive_offset;
    return collective(self, call);
}

int32_t split(void* self, int32_t colour, int32_t key, graft_comm_v1** part) {
    SimulatedCall call;
    call.kind = CallKind::split;
    call.root = colour;
    call.operation = key;
    call.part = part;
    return collective(self, call);
}

void check_message(const SimulatedEndpoint& endpoint, int64_t bytes, int32_t peer, int32_t tag) {
    const auto size = static_cast<int32_t>(endpoint.group->member.size());
    if (bytes < 0 || peer < 0 || peer >= size || tag < 0 || tag >= 32768)
        core::fail(
            Status::argument,
            "message of %lld bytes between rank %d and rank %d of %d with tag %d; expected no negative "
            "size, a rank below the size and a tag of 0 to 32767",
            static_cast<long long>(bytes), endpoint.rank, peer, size, tag);
}

int32_t new_request(SimulatedRank& rank) {
    if (rank.free_requests.empty()) {
        rank.requests.emplace_back();
        rank.free_requests.push_back(static_cast<int32_t>(rank.requests.size()) - 1);
    }
    const int32_t index = rank.free_requests.back();
    rank.free_requests.pop_back();
    rank.requests[static_cast<size_t>(index)] = SimulatedRequest{};
    rank.requests[static_cast<size_t>(index)].used = true;
    return index;
}

void deliver(SimulatedRequest& request, const void* data, int64_t bytes, double time_s, double transfer_s) {
    request.done = true;
    request.time_s = time_s;
    request.transfer_s = transfer_s;
    if (request.bytes != bytes)
        request.status = static_cast<int32_t>(Status::communication);
    else if (bytes > 0)
        std::memcpy(request.data, data, static_cast<size_t>(bytes));
    if (request.status != 0)
        request.bytes = bytes; // for the message
}

void send_message(SimulatedEndpoint& endpoint, Simulator::State& simulator, SimulatedRank& rank,
                  const void* data, int64_t bytes, int32_t to, int32_t tag, int32_t index) {
    const int32_t machine_to = endpoint.group->member[static_cast<size_t>(to)];
    const Network& network = simulator.options.network;
    const double whole_s = network.time_s(endpoint.machine_rank, machine_to, bytes);
    const double transfer_s = whole_s - network.time_s(endpoint.machine_rank, machine_to, 0);
    rank.send_port_s = std::max(rank.send_port_s, rank.clock_s) + whole_s;
    SimulatedRequest& request = rank.requests[static_cast<size_t>(index)];
    request.is_send = request.done = true;
    request.time_s = rank.send_port_s;
    if (machine_to != endpoint.machine_rank) {
        simulator.count(CallKind::messages, 1, bytes);
    }
    const MessageKey key{endpoint.group->id, endpoint.rank, to, tag};
    SimulatedChannel& channel = simulator.channels[key];
    if (channel.posted.empty()) {
        const char* const first = static_cast<const char*>(data);
        channel.sent.push_back({std::vector<char>(first, first + bytes), rank.send_port_s, transfer_s});
        return;
    }
    SimulatedRank& receiver = simulator.ranks[static_cast<size_t>(machine_to)];
    SimulatedRequest& posted = receiver.requests[static_cast<size_t>(channel.posted.front())];
    channel.posted.erase(channel.posted.begin());
    if (channel.posted.empty())
        simulator.channels.erase(key);
    deliver(posted, data, bytes, rank.send_port_s, transfer_s);
    if (posted.awaited && --receiver.call->outstanding == 0)
        simulator.wake(machine_to);
}

int32_t isend(void* self, const void* data, int64_t bytes, int32_t to, int32_t tag, int64_t* request) {
    return on_clock(self, [&](SimulatedEndpoint& endpoint, Simulator::State& simulator, SimulatedRank& rank) {
        check_message(endpoint, bytes, to, tag);
        const int32_t index = new_request(rank);
        send_message(endpoint, simulator, rank, data, bytes, to, tag, index);
        *request = index + 1;
        return 0;
    });
}

int32_t irecv(void* self, void* data, int64_t bytes, int32_t from, int32_t tag, int64_t* request) {
    return on_clock(self, [&](SimulatedEndpoint& endpoint, Simulator::State& simulator, SimulatedRank& rank) {
        check_message(endpoint, bytes, from, tag);
        const int32_t index = new_request(rank);
        SimulatedRequest& fresh = rank.requests[static_cast<size_t>(index)];
        fresh.data = data;
        fresh.bytes = bytes;
        fresh.from = from;
        fresh.tag = tag;
        const MessageKey key{endpoint.group->id, from, endpoint.rank, tag};
        SimulatedChannel& channel = simulator.channels[key];
        if (channel.sent.empty()) {
            channel.posted.push_back(index);
        } else {
            const SimulatedMessage& message = channel.sent.front();
            deliver(fresh, message.data.data(), static_cast<int64_t>(message.data.size()), message.time_s,
                    message.transfer_s);
            channel.sent.erase(channel.sent.begin());
            if (channel.sent.empty())
                simulator.channels.erase(key);
        }
        *request = index + 1;
        return 0;
    });
}

/// The requests of a waitall, checked; request 0 is one that was waited for already.
std::vector<int32_t> indices_of(const SimulatedRank& rank, int64_t count, const int64_t* requests) {
    std::vector<int32_t> indices;
    for (int64_t i = 0; i < count; ++i) {
        if (requests[i] == 0)
            continue;
        const int64_t index = requests[i] - 1;
        if (index < 0 || index >= static_cast<int64_t>(rank.requests.size()) ||
            !rank.requests[static_cast<size_t>(index)].used)
            core::fail(Status::argument, "waitall: request %lld is none of this rank's",
                       static_cast<long long>(requests[i]));
        indices.push_back(static_cast<int32_t>(index));
    }
    return indices;
}

/// All have come: one after the other through the rank's ports, in order of arrival.
void take_messages(SimulatedRank& rank, std::vector<int32_t> indices) {
    const auto request = [&](int32_t i) -> SimulatedRequest& {
        return rank.requests[static_cast<size_t>(i)];
    };
    std::stable_sort(indices.begin(), indices.end(),
                     [&](int32_t a, int32_t b) { return request(a).time_s < request(b).time_s; });
    std::string trouble;
    for (const int32_t i : indices) {
        SimulatedRequest& r = request(i);
        if (!r.is_send)
            r.time_s = rank.receive_port_s = std::max(r.time_s, rank.receive_port_s + r.transfer_s);
        rank.clock_s = std::max(rank.clock_s, r.time_s);
        if (r.status != 0)
            trouble =
                core::format("the message from rank %d with tag %d has %lld bytes, not as many as asked for",
                             r.from, r.tag, static_cast<long long>(r.bytes));
        r.used = false;
        rank.free_requests.push_back(i);
    }
    if (!trouble.empty())
        throw core::Error(Status::communication, trouble);
}

int32_t waitall(void* self, int64_t count, int64_t* requests) {
    return on_clock(self, [&](SimulatedEndpoint& endpoint, Simulator::State& simulator, SimulatedRank& rank) {
        const std::vector<int32_t> indices = indices_of(rank, count, requests);
        SimulatedCall call;
        call.kind = CallKind::messages;
        call.endpoint = &endpoint;
        for (const int32_t i : indices) {
            SimulatedRequest& request = rank.requests[static_cast<size_t>(i)];
            if (request.done)
                continue;
            request.awaited = true;
            call.from = request.from;
            call.tag = request.tag;
            ++call.outstanding;
        }
        if (call.outstanding > 0) {
            const int32_t status = simulator.wait(call);
            if (status != 0)
                return status;
        }
        std::fill(requests, requests + count, 0);
        take_messages(rank, indices);
        return 0;
    });
}

void release_table(graft_comm_v1* table) {
    delete static_cast<SimulatedEndpoint*>(table->self);
}

const char* error_text(void* self) {
    return endpoint_of(self).error.c_str();
}

int32_t set_deadline(void*, double) {
    return 0;
} // whoever waits in vain is found by the deadlock check

void fail(void* self, const char* text) {
    SimulatedEndpoint& endpoint = endpoint_of(self);
    SimulatedGroup& group = *endpoint.group;
    if (!group.failure.empty())
        return;
    group.failure = core::format("rank %d gave up: %s", endpoint.rank, text);
    endpoint.simulator->release(&group);
}

double time_s(void* self) {
    SimulatedEndpoint& endpoint = endpoint_of(self);
    SimulatedRank& rank = endpoint.simulator->ranks[static_cast<size_t>(endpoint.machine_rank)];
    endpoint.simulator->enter(rank);
    endpoint.simulator->leave(rank);
    return rank.clock_s;
}

} // namespace

void fill_simulated_table(SimulatedEndpoint& endpoint) {
    graft_comm_v1& table = endpoint.table;
    table.struct_size = sizeof table;
    table.self = &endpoint;
    table.rank = endpoint.rank;
    table.size = static_cast<int32_t>(endpoint.group->member.size());
    table.barrier = barrier;
    table.bcast = broadcast;
    table.allreduce = allreduce;
    table.allgatherv = allgatherv;
    table.alltoallv = alltoallv;
    table.isend = isend;
    table.irecv = irecv;
    table.waitall = waitall;
    table.split = split;
    table.free = release_table;
    table.error_text = error_text;
    table.set_deadline = set_deadline;
    table.fail = fail;
    table.time_s = time_s;
}

} // namespace graft::comm
