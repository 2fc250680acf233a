// SPDX-License-Identifier: BSD-3-Clause
// See sum_step_gpu.cuh.
#include "engine/gpu/sum_step_gpu.cuh"

namespace graft::engine {

void SumStep::hold(const DeviceJob& job) {
    if (!job.remembers() || last.n == job.n)
        return;
    last.n = -1;
    last.values.resize(job.n);
}

void SumStep::sum(Computation& c, const DeviceTargetSources& sources, forces::DeviceField& field) {
    const DeviceJob& job = c.job;
    if (job.with_points)
        return;
    if (job.with_potential && job.settings.softening != settings::Softening::none)
        remove_self_potential(c.queue, static_cast<forces::Softening>(job.settings.softening), sources, field,
                              job.targets);
    if (job.with_sums)
        sum_virial(c.queue, sources, field, job.targets, c.block_sums.data(), c.totals());
}

void SumStep::remember(Computation& c, const forces::DeviceField& field, const int32_t* origin) {
    if (c.job.remembers() && !c.withheld)
        remember_field(c.queue, field, origin, c.job.targets, last.values.data());
}

} // namespace graft::engine
