// SPDX-License-Identifier: BSD-3-Clause
// Messages between simulated ranks: buffered sends, one port each way.
#include "study/simulate/simulated_call.hpp"

#include <algorithm>
#include <cstring>

namespace graft::study {

using core::Status;

size_t MessageKeyHash::operator()(const MessageKey& key) const noexcept {
    uint64_t hash = static_cast<uint64_t>(key.group) * 0x9e3779b97f4a7c15ull;
    for (const int32_t part : {key.from, key.to, key.tag}) {
        hash = (hash ^ static_cast<uint32_t>(part)) * 0xff51afd7ed558ccdull;
        hash ^= hash >> 32;
    }
    return hash;
}

namespace {

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

} // namespace

int32_t simulated_isend(void* self, const void* data, int64_t bytes, int32_t to, int32_t tag,
                        int64_t* request) {
    return on_clock(self, comm::Call::isend,
                    [&](SimulatedEndpoint& endpoint, Simulator::State& simulator, SimulatedRank& rank) {
                        check_message(endpoint, bytes, to, tag);
                        const int32_t index = new_request(rank);
                        send_message(endpoint, simulator, rank, data, bytes, to, tag, index);
                        *request = index + 1;
                        return 0;
                    });
}

int32_t simulated_irecv(void* self, void* data, int64_t bytes, int32_t from, int32_t tag, int64_t* request) {
    return on_clock(self, comm::Call::irecv,
                    [&](SimulatedEndpoint& endpoint, Simulator::State& simulator, SimulatedRank& rank) {
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
                            deliver(fresh, message.data.data(), static_cast<int64_t>(message.data.size()),
                                    message.time_s, message.transfer_s);
                            channel.sent.erase(channel.sent.begin());
                            if (channel.sent.empty())
                                simulator.channels.erase(key);
                        }
                        *request = index + 1;
                        return 0;
                    });
}

int32_t simulated_waitall(void* self, int64_t count, int64_t* requests) {
    return on_clock(self, comm::Call::waitall,
                    [&](SimulatedEndpoint& endpoint, Simulator::State& simulator, SimulatedRank& rank) {
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

} // namespace graft::study
