// SPDX-License-Identifier: BSD-3-Clause
// See sum_step_gpu.cuh.
#include "engine/gpu/sum_step_gpu.cuh"

#include "engine/write_results.hpp"

#include <algorithm>

namespace graft::engine {

void SumStep::hold(const DeviceJob& job) {
    if (!job.remembers() || last.n == job.n)
        return;
    last.n = -1;
    last.values.resize(job.n);
}

/// Over ranks the net force is known to all when take_off() is called.
void SumStep::sum(Computation& c, const DeviceTargetSources& sources, forces::DeviceField& field) {
    const DeviceJob& job = c.job;
    if (job.with_points)
        return;
    if (job.with_potential && job.settings.softening != settings::Softening::none)
        remove_self_potential(c.queue, static_cast<forces::Softening>(job.settings.softening), sources, field,
                              job.targets);
    sum_net_force(c, sources, field);
    if (job.conserves_momentum() && !job.over_ranks)
        take_off_net_force(c.queue, sources, c.outcome.data()->net_force, field, job.targets);
    total(c, sources, field);
}

void SumStep::sum_net_force(Computation& c, const DeviceTargetSources& sources, const forces::DeviceField& field) {
    if (c.job.conserves_momentum())
        engine::sum_net_force(c.queue, sources, field, c.job.targets, c.job.n, c.block_sums.data(),
                              c.outcome.data()->net_force);
}

void SumStep::take_off(Computation& c, const DeviceTargetSources& sources, const double* net_force,
                       forces::DeviceField& field) {
    DeviceOutcome& outcome = *c.host_outcome.data();
    std::copy_n(net_force, NetForce::count, outcome.net_force);
    GRAFT_CUDA(cudaMemcpyAsync(c.outcome.data()->net_force, outcome.net_force, sizeof outcome.net_force,
                               cudaMemcpyHostToDevice, c.queue.stream()));
    take_off_net_force(c.queue, sources, c.outcome.data()->net_force, field, c.job.targets);
    total(c, sources, field);
}

void SumStep::total(Computation& c, const DeviceTargetSources& sources, const forces::DeviceField& field) {
    if (c.job.with_sums)
        sum_virial(c.queue, sources, field, c.job.targets, c.block_sums.data(), c.totals());
}

void SumStep::remember(Computation& c, const forces::DeviceField& field, const int32_t* origin) {
    if (c.job.remembers() && !c.withheld)
        remember_field(c.queue, field, origin, c.job.targets, last.values.data());
}

} // namespace graft::engine
