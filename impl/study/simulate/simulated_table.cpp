// SPDX-License-Identifier: BSD-3-Clause
// The functions of a simulated rank's table: rendezvous of collectives, failures.
#include "study/simulate/simulated_call.hpp"

namespace graft::study {

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

int32_t collective(void* self, comm::Call name, SimulatedCall& call) noexcept {
    call.endpoint = &endpoint_of(self);
    return on_clock(self, name, [&](SimulatedEndpoint&, Simulator::State& simulator, SimulatedRank&) {
        return simulator.rendezvous(call);
    });
}

int32_t barrier(void* self) {
    SimulatedCall call;
    call.kind = CallKind::barrier;
    return collective(self, comm::Call::barrier, call);
}

int32_t broadcast(void* self, void* data, int64_t bytes, int32_t root) {
    SimulatedCall call;
    call.kind = CallKind::broadcast;
    call.receive = data;
    call.bytes = bytes;
    call.root = root;
    return collective(self, comm::Call::bcast, call);
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
    return collective(self, comm::Call::allreduce, call);
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
    return collective(self, comm::Call::allgatherv, call);
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
    return collective(self, comm::Call::alltoallv, call);
}

int32_t split(void* self, int32_t colour, int32_t key, graft_comm_v1** part) {
    SimulatedCall call;
    call.kind = CallKind::split;
    call.root = colour;
    call.operation = key;
    call.part = part;
    return collective(self, comm::Call::split, call);
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
    group.failed_call = endpoint.last_call;
    endpoint.simulator->release(&group);
}

int32_t failed_call(void* self) {
    const SimulatedGroup* const failed = endpoint_of(self).group->failed_of_line();
    return static_cast<int32_t>(failed != nullptr ? failed->failed_call : comm::Call::unknown);
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
    table.comm_barrier = barrier;
    table.comm_bcast = broadcast;
    table.comm_allreduce = allreduce;
    table.comm_allgatherv = allgatherv;
    table.comm_alltoallv = alltoallv;
    table.comm_isend = simulated_isend;
    table.comm_irecv = simulated_irecv;
    table.comm_waitall = simulated_waitall;
    table.comm_split = split;
    table.comm_free = release_table;
    table.comm_error_text = error_text;
    table.comm_set_deadline = set_deadline;
    table.comm_fail = fail;
    table.comm_time_s = time_s;
    table.comm_failed_call = failed_call;
}

} // namespace graft::study
