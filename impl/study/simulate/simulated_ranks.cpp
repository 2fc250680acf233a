// SPDX-License-Identifier: BSD-3-Clause
// The scheduler of simulated ranks: whose turn it is, what the clocks say, when nobody can go on.
#include "study/simulate/simulated_state.hpp"

#include "backend/step_count.hpp"
#include "core/error.hpp"
#include "core/timer.hpp"

#include <algorithm>
#include <ctime>

namespace graft::study {

using core::format;
using core::Status;

namespace {

thread_local int32_t running_rank = -1;

double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What reading the clock twice adds to every measurement.
double timer_cost() {
    double least = 1;
    for (int i = 0; i < 200; ++i) {
        const double start = thread_seconds();
        least = std::min(least, thread_seconds() - start);
    }
    return least;
}

void check(const SimulatorOptions& options) {
    const Network& network = options.network;
    if (options.ranks < 1)
        core::fail(Status::argument, "simulator: %d ranks; expected at least 1", options.ranks);
    if (!(network.alpha_s >= 0) || !(network.beta_s_per_byte >= 0) || !(network.node_alpha_s >= 0) ||
        !(network.node_beta_s_per_byte >= 0) || network.node_size < 1)
        core::fail(Status::argument,
                   "simulator: alpha %g s, beta %g s a byte, in a node %g s and %g s a byte, node size %d; "
                   "expected none negative and a node of at least 1 rank",
                   network.alpha_s, network.beta_s_per_byte, network.node_alpha_s,
                   network.node_beta_s_per_byte, network.node_size);
}

const char* name_of(CallKind kind) {
    constexpr const char* names[] = {"barrier",   "broadcast", "allreduce",           "allgatherv",
                                     "alltoallv", "split",     "waiting for messages"};
    return names[static_cast<int>(kind)];
}

/// One class of waiting ranks, and its first few.
struct Waiting {
    int64_t count = 0;
    std::string some;
    void add(int32_t rank) {
        if (count < 4)
            some += format("%s%d", count == 0 ? "" : ", ", rank);
        else if (count == 4)
            some += ", ...";
        ++count;
    }
};

} // namespace

const SimulatedGroup* SimulatedGroup::failed_of_line() const {
    for (const SimulatedGroup* group = this; group != nullptr; group = group->parent.get())
        if (!group->failure.empty())
            return group;
    return nullptr;
}

double Simulator::State::now() const {
    return options.gamma_s < 0 ? thread_seconds() : static_cast<double>(backend::work_counted);
}

void Simulator::State::enter(SimulatedRank& rank) {
    const double spent = now() - rank.stamp;
    running_rank = -1;
    rank.clock_s += options.gamma_s < 0 ? std::max(0.0, spent - timer_cost_s) * options.measured_scale
                                        : spent * options.gamma_s;
}

void Simulator::State::leave(SimulatedRank& rank) {
    running_rank = rank.world.machine_rank;
    rank.stamp = now();
}

int32_t Simulator::State::wait(SimulatedCall& call) {
    ranks[static_cast<size_t>(call.endpoint->machine_rank)].call = &call;
    fibers->yield();
    return call.status;
}

void Simulator::State::count(CallKind kind, int64_t messages, int64_t bytes) {
    SimulatorReport::Kind& counted = report.kinds[static_cast<int>(kind)];
    ++counted.calls;
    counted.messages += messages;
    counted.bytes += bytes;
    report.messages += messages;
    report.bytes += bytes;
    report.collectives += kind != CallKind::messages;
}

void Simulator::State::wake(int32_t machine_rank) {
    SimulatedRank& rank = ranks[static_cast<size_t>(machine_rank)];
    rank.call = nullptr;
    ready.push_back(machine_rank);
}

void Simulator::State::release(const SimulatedGroup* group) {
    for (size_t r = 0; r < ranks.size(); ++r) {
        SimulatedCall* const call = ranks[r].call;
        if (call == nullptr)
            continue;
        bool concerned = group == nullptr;
        for (const SimulatedGroup* line = call->endpoint->group.get(); line != nullptr && !concerned;
             line = line->parent.get())
            concerned = line == group;
        if (!concerned)
            continue;
        call->endpoint->group->arrived = 0;
        call->endpoint->error = group == nullptr ? deadlock : group->failure;
        call->status = static_cast<int32_t>(Status::communication);
        wake(static_cast<int32_t>(r));
    }
}

std::string Simulator::State::describe_waiting() const {
    std::map<std::string, Waiting> classes;
    for (size_t r = 0; r < ranks.size(); ++r) {
        const SimulatedCall* const call = ranks[r].call;
        if (call == nullptr)
            continue;
        std::string what =
            format("in %s among %zu ranks (communicator %lld)", name_of(call->kind),
                   call->endpoint->group->member.size(), static_cast<long long>(call->endpoint->group->id));
        if (call->kind == CallKind::messages)
            what += format(" from its rank %d with tag %d", call->from, call->tag);
        classes[what].add(static_cast<int32_t>(r));
    }
    std::string text = "deadlock of simulated ranks:";
    for (const auto& [what, who] : classes)
        text +=
            format(" %lld wait %s (%s);", static_cast<long long>(who.count), what.c_str(), who.some.c_str());
    return text + format(" %d have ended", ended);
}

void Simulator::State::schedule(const std::function<void(int32_t)>& body) {
    for (int32_t r = 0; r < options.ranks; ++r)
        ready.push_back(r);
    while (ended < options.ranks) {
        if (ready.empty()) {
            deadlock = describe_waiting();
            release(nullptr);
        }
        const int32_t rank = ready.front();
        ready.pop_front();
        ++report.switches;
        fibers->resume(rank, body);
        if (fibers->ended(rank))
            ++ended;
    }
}

void Simulator::State::start_rank(int32_t rank, const Body& body) {
    core::Memory memory;
    try {
        SimulatedRank& self = ranks[static_cast<size_t>(rank)];
        comm::Communicator communicator(&self.world.table);
        leave(self);
        body(communicator, memory);
        enter(self);
    } catch (...) {
        running_rank = -1;
        if (!error) {
            error = std::current_exception();
            error_rank = rank;
        }
    }
    report.rank_bytes_peak = std::max(report.rank_bytes_peak, memory.bytes_peak());
}

Simulator::Simulator(const SimulatorOptions& options) : state_(new State) {
    check(options);
    state_->options = options;
}

Simulator::~Simulator() = default;

void Simulator::run(const Body& body) {
    const core::Timer timer;
    SimulatorOptions options = state_->options;
    state_ = std::make_unique<State>();
    State& state = *state_;
    state.options = options;
    state.timer_cost_s = options.gamma_s < 0 ? timer_cost() : 0;
    state.ranks.resize(static_cast<size_t>(options.ranks));
    state.fibers = std::make_unique<FiberPool>(options.ranks, options.stack_bytes);
    auto world = std::make_shared<SimulatedGroup>();
    world->member.resize(static_cast<size_t>(options.ranks));
    for (int32_t r = 0; r < options.ranks; ++r) {
        world->member[static_cast<size_t>(r)] = r;
        SimulatedEndpoint& endpoint = state.ranks[static_cast<size_t>(r)].world;
        endpoint.simulator = &state;
        endpoint.group = world;
        endpoint.rank = endpoint.machine_rank = r;
        fill_simulated_table(endpoint);
        endpoint.table.comm_free = [](graft_comm_v1*) {}; // the simulator's own
    }
    state.schedule([&](int32_t rank) { state.start_rank(rank, body); });
    state.fibers.reset();
    for (const SimulatedRank& rank : state.ranks)
        state.report.time_s = std::max(state.report.time_s, rank.clock_s);
    state.report.wall_s = timer.seconds();
    if (state.error)
        std::rethrow_exception(state.error);
}

const SimulatorReport& Simulator::report() const {
    return state_->report;
}

double Simulator::time_s(int32_t rank) const {
    if (rank < 0 || static_cast<size_t>(rank) >= state_->ranks.size())
        core::fail(Status::argument, "simulator: no clock of rank %d; %zu ranks have run", rank,
                   state_->ranks.size());
    return state_->ranks[static_cast<size_t>(rank)].clock_s;
}

int32_t Simulator::current_rank() noexcept {
    return running_rank;
}

} // namespace graft::study
