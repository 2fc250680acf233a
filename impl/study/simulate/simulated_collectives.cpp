// SPDX-License-Identifier: BSD-3-Clause
// What a collective does once all its ranks are there: the data moves, the clocks too.
#include "study/simulate/simulated_state.hpp"

#include "comm/rank_range.hpp"
#include "core/error.hpp"

#include <graft/types.h>

#include <algorithm>
#include <cstring>

namespace graft::study {

using core::Status;

namespace {

using Calls = std::vector<SimulatedCall*>;

void copy(void* to, const void* from, int64_t bytes) {
    if (bytes > 0 && to != from)
        std::memmove(to, from, static_cast<size_t>(bytes));
}

/// All ranks called the same function with arguments that agree.
void check_agreement(const Calls& calls) {
    const SimulatedCall& first = *calls[0];
    const bool rooted = first.kind == CallKind::broadcast, reduces = first.kind == CallKind::allreduce;
    for (const SimulatedCall* call : calls) {
        const bool fits = call->kind == first.kind && (!rooted || call->root == first.root) &&
                          (!(rooted || reduces) || call->bytes == first.bytes) &&
                          (!reduces || (call->dtype == first.dtype && call->operation == first.operation));
        if (!fits)
            core::fail(
                Status::communication,
                "collectives that do not fit: rank 0 is in call %d (count %lld, root or type %d/%d), rank %d "
                "in call %d (count %lld, root or type %d/%d); every rank must make the same calls",
                static_cast<int>(first.kind), static_cast<long long>(first.bytes), first.root, first.dtype,
                call->endpoint->rank, static_cast<int>(call->kind), static_cast<long long>(call->bytes),
                call->root, call->dtype);
    }
    if (first.kind == CallKind::broadcast &&
        (first.root < 0 || first.root >= static_cast<int32_t>(calls.size())))
        core::fail(Status::argument, "broadcast: root %d of %zu ranks", first.root, calls.size());
}

template <typename T>
void combine(T* into, const T* values, int64_t count, int32_t operation) {
    for (int64_t i = 0; i < count; ++i)
        into[i] = operation == GRAFT_COMM_SUM   ? static_cast<T>(into[i] + values[i])
                  : operation == GRAFT_COMM_MIN ? std::min(into[i], values[i])
                                                : std::max(into[i], values[i]);
}

/// In rank order, so that the bits do not depend on who comes when.
template <typename T>
int64_t reduce(const Calls& calls) {
    const int64_t count = calls[0]->bytes, bytes = count * static_cast<int64_t>(sizeof(T));
    std::vector<T> result(static_cast<size_t>(count));
    copy(result.data(), calls[0]->send, bytes);
    for (size_t i = 1; i < calls.size(); ++i)
        combine(result.data(), static_cast<const T*>(calls[i]->send), count, calls[0]->operation);
    for (const SimulatedCall* call : calls)
        copy(call->receive, result.data(), bytes);
    return bytes;
}

int64_t reduce_any(const Calls& calls) {
    const int32_t operation = calls[0]->operation;
    if (operation != GRAFT_COMM_SUM && operation != GRAFT_COMM_MIN && operation != GRAFT_COMM_MAX)
        core::fail(Status::argument, "allreduce: operation %d is none of sum, min, max", operation);
    switch (calls[0]->dtype) {
    case GRAFT_F64:
        return reduce<double>(calls);
    case GRAFT_I32:
        return reduce<int32_t>(calls);
    case GRAFT_I64:
        return reduce<int64_t>(calls);
    case GRAFT_U64:
        return reduce<uint64_t>(calls);
    default:
        comm::refuse_type(calls[0]->dtype);
    }
}

void broadcast(Ensemble& ranks, const Calls& calls) {
    const SimulatedCall& root = *calls[static_cast<size_t>(calls[0]->root)];
    for (const SimulatedCall* call : calls)
        copy(call->receive, root.receive, root.bytes);
    cost_broadcast(ranks, root.bytes, root.root);
}

void allgather(Ensemble& ranks, const Calls& calls) {
    std::vector<int64_t> block(calls.size());
    for (size_t from = 0; from < calls.size(); ++from)
        block[from] = calls[from]->bytes;
    for (const SimulatedCall* to : calls)
        for (size_t from = 0; from < calls.size(); ++from) {
            if (to->receive_bytes[from] != block[from])
                core::fail(Status::communication,
                           "allgatherv: rank %zu sends %lld bytes, rank %d expects %lld", from,
                           static_cast<long long>(block[from]), to->endpoint->rank,
                           static_cast<long long>(to->receive_bytes[from]));
            copy(static_cast<char*>(to->receive) + to->receive_offset[from], calls[from]->send, block[from]);
        }
    cost_allgather(ranks, block);
}

void alltoall(Ensemble& ranks, const Calls& calls) {
    for (size_t from = 0; from < calls.size(); ++from)
        for (size_t to = 0; to < calls.size(); ++to) {
            const SimulatedCall &sender = *calls[from], &receiver = *calls[to];
            if (sender.send_bytes[to] != receiver.receive_bytes[from])
                core::fail(Status::communication,
                           "alltoallv: rank %zu sends %lld bytes to rank %zu, which expects %lld", from,
                           static_cast<long long>(sender.send_bytes[to]), to,
                           static_cast<long long>(receiver.receive_bytes[from]));
            if (sender.send_bytes[to] > 0)
                copy(static_cast<char*>(receiver.receive) + receiver.receive_offset[from],
                     static_cast<const char*>(sender.send) + sender.send_offset[to], sender.send_bytes[to]);
        }
    std::vector<Arrival> arrivals;
    for (size_t from = 0; from < calls.size(); ++from)
        cost_scattered_sends(ranks, static_cast<int32_t>(from), calls[from]->send_bytes, arrivals);
    cost_scattered_receives(ranks, arrivals);
}

/// One new group per colour, its ranks ordered by key, then rank.
void split(Simulator::State& simulator, SimulatedGroup& group, const Calls& calls) {
    std::vector<SimulatedCall*> sorted = calls;
    std::stable_sort(sorted.begin(), sorted.end(), [](const SimulatedCall* a, const SimulatedCall* b) {
        return a->root != b->root ? a->root < b->root : a->operation < b->operation;
    });
    size_t first = 0;
    for (; first < sorted.size() && sorted[first]->root < 0; ++first)
        *sorted[first]->part = nullptr; // a negative colour: in no part
    while (first < sorted.size()) {
        auto part = std::make_shared<SimulatedGroup>();
        part->id = ++simulator.groups;
        part->parent = calls[0]->endpoint->group;
        const int32_t colour = sorted[first]->root;
        size_t end = first;
        for (; end < sorted.size() && sorted[end]->root == colour; ++end)
            part->member.push_back(group.member[static_cast<size_t>(sorted[end]->endpoint->rank)]);
        part->member.shrink_to_fit();
        for (size_t i = first; i < end; ++i) {
            auto endpoint = std::make_unique<SimulatedEndpoint>();
            endpoint->simulator = &simulator;
            endpoint->group = part;
            endpoint->rank = static_cast<int32_t>(i - first);
            endpoint->machine_rank = part->member[i - first];
            fill_simulated_table(*endpoint);
            *sorted[i]->part = &endpoint.release()->table;
        }
        first = end;
    }
}

void perform(Simulator::State& simulator, SimulatedGroup& group, const Calls& calls, Ensemble& ranks) {
    check_agreement(calls);
    switch (calls[0]->kind) {
    case CallKind::barrier:
        return cost_barrier(ranks);
    case CallKind::broadcast:
        return broadcast(ranks, calls);
    case CallKind::allreduce:
        return cost_allreduce(ranks, reduce_any(calls), calls[0]->bytes);
    case CallKind::allgather:
        return allgather(ranks, calls);
    case CallKind::alltoall:
        return alltoall(ranks, calls);
    case CallKind::split:
        split(simulator, group, calls);
        // The colours and keys of all ranks go to all ranks, as in MPI_Comm_split; or none, for ranges of
        // ranks.
        if (simulator.options.split_bytes > 0)
            cost_allgather(ranks, std::vector<int64_t>(calls.size(), simulator.options.split_bytes));
        return;
    case CallKind::messages:
        break;
    }
}

} // namespace

void perform_collective(Simulator::State& simulator, SimulatedGroup& group, const Calls& calls) {
    Ensemble ranks{simulator.options.network, group.member, std::vector<double>(calls.size()), 0, 0};
    const auto rank_of = [&](size_t i) -> SimulatedRank& {
        return simulator.ranks[static_cast<size_t>(group.member[i])];
    };
    for (size_t i = 0; i < calls.size(); ++i)
        ranks.clock[i] = rank_of(i).clock_s;
    try {
        perform(simulator, group, calls, ranks);
    } catch (const core::Error& error) {
        group.failure = error.what();
        group.failed_call = calls[0]->endpoint->last_call;
        for (SimulatedCall* call : calls) {
            call->status = static_cast<int32_t>(error.status());
            call->endpoint->error = error.what();
        }
    }
    for (size_t i = 0; i < calls.size(); ++i)
        rank_of(i).clock_s = ranks.clock[i];
    simulator.count(calls[0]->kind, ranks.messages, ranks.bytes);
}

} // namespace graft::study
