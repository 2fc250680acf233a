// SPDX-License-Identifier: BSD-3-Clause
// How a function of a simulated rank's table runs: its rank's clock is stopped, exceptions become a status.
#pragma once

#include "study/simulate/simulated_state.hpp"
#include "core/error.hpp"

namespace graft::study {

inline SimulatedEndpoint& endpoint_of(void* self) {
    return *static_cast<SimulatedEndpoint*>(self);
}

/// Runs one call of the table on the rank's clock; an exception becomes its status and text.
template <typename Body>
int32_t on_clock(void* self, comm::Call call, Body&& body) noexcept {
    SimulatedEndpoint& endpoint = endpoint_of(self);
    endpoint.last_call = call;
    Simulator::State& simulator = *endpoint.simulator;
    SimulatedRank& rank = simulator.ranks[static_cast<size_t>(endpoint.machine_rank)];
    simulator.enter(rank);
    int32_t status = 0;
    try {
        if (!simulator.deadlock.empty())
            throw comm::Failure(simulator.deadlock, comm::Call::unknown);
        if (const SimulatedGroup* const failed = endpoint.group->failed_of_line())
            throw comm::Failure(failed->failure, failed->failed_call);
        status = body(endpoint, simulator, rank);
    } catch (const core::Error& error) {
        endpoint.error = error.what();
        status = static_cast<int32_t>(error.status());
    } catch (const std::exception& error) {
        endpoint.error = error.what();
        status = static_cast<int32_t>(core::Status::memory);
    }
    simulator.leave(rank);
    return status;
}

// simulated_messages.cpp
int32_t simulated_isend(void* self, const void* data, int64_t bytes, int32_t to, int32_t tag,
                        int64_t* request);
int32_t simulated_irecv(void* self, void* data, int64_t bytes, int32_t from, int32_t tag, int64_t* request);
int32_t simulated_waitall(void* self, int64_t count, int64_t* requests);

} // namespace graft::study
