// SPDX-License-Identifier: BSD-3-Clause
// GpuEngine: ranks, this one with a GPU.
#include "engine/gpu_calls.hpp"
#include "engine/ranks/ranks_request.hpp"

namespace graft::engine {

/// Collective: all but the copies to host arrays, which end() does.
void GpuEngine::begin_over_ranks(const Environment& environment, const Request& request,
                                 const Placement& placement, void* stream) {
    comm::Communicator& comm = environment.comm;
    over_ranks_.started_s = comm.time_s();
    comm.guarded([&] {
        const RankOutcome outcome = compute_over_ranks(environment, request, stream, [&] {
            make_device(environment.settings.device, placement.device);
            if (!conductor_)
                conductor_ = std::make_unique<RanksConductor>(memory_);
            return RankEngine{conductor_.get(), device_->table.ranks, device_->engine};
        });
        over_ranks_.report = environment.report.ranks;
        over_ranks_.exchange_s = conductor_->times().exchange_s;
        over_ranks_.forces_s = outcome.own_s + outcome.remote_s;
    });
}

} // namespace graft::engine
