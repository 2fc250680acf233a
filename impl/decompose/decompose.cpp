// SPDX-License-Identifier: BSD-3-Clause
// The door of the room: checks, then the strategy asked for.
#include "decompose/decompose.hpp"

#include "core/error.hpp"
#include "decompose/strategies.hpp"

namespace graft::decompose {

struct Decomposer::State {
    explicit State(core::Memory& memory) : level(memory), halving(memory), central(memory), prefix(memory) {}
    LevelStrategy level;
    HalvingStrategy halving;
    CentralStrategy central;
    PrefixStrategy prefix;
};

void check_part(int32_t part, int32_t parts) {
    if (part < 0 || part >= parts)
        core::fail(core::Status::argument, "box_of: part %d; expected 0 ... %d", part, parts - 1);
}

Decomposer::Decomposer(core::Memory& memory) : state_(std::make_unique<State>(memory)) {}
Decomposer::~Decomposer() = default;

void Decomposer::run(comm::Communicator& comm, const backend::Executor& executor, const Options& options,
                     const Points& points, bool with_permutation, Result& result) {
    const double start_s = comm.time_s();
    const comm::Traffic before = comm.traffic();
    result.statistics = {};
    result.permutation.clear();
    result.part_offset.clear();
    const Problem problem = prepare(comm, executor, options, points, with_permutation);
    if (options.shape == Shape::prefix)
        state_->prefix.run(problem, result);
    else if (options.strategy == Strategy::halving)
        state_->halving.run(problem, result);
    else if (options.strategy == Strategy::central)
        state_->central.run(problem, result);
    else
        state_->level.run(problem, result);
    if (with_permutation && result.part_offset.empty())
        comm.together([&] { sort_by_owner(executor, options.parts, result); });
    const comm::Traffic& after = comm.traffic();
    result.statistics.collectives += after.collectives - before.collectives;
    result.statistics.bytes += after.bytes_sent - before.bytes_sent;
    result.statistics.messages += after.messages - before.messages;
    result.statistics.wait_s += after.wait_s - before.wait_s;
    result.statistics.total_s = comm.time_s() - start_s;
}

} // namespace graft::decompose
