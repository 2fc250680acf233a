// SPDX-License-Identifier: BSD-3-Clause
// GpuEngine: ranks with a GPU each.
#include "core/timer.hpp"
#include "engine/checks.hpp"
#include "engine/gpu_calls.hpp"
#include "particles/write_arrays.hpp"

namespace graft::engine {

namespace {

/// Throws for virials and energies of all ranks that would be no finite numbers; what is added to arrays of a
/// device counts without what is there.
void check_sums(const settings::Settings& settings, const Outputs& outputs, const RankOutcome& outcome) {
    core::Memory memory;
    const backend::Executor serial{memory, 1};
    const double sign = settings.interaction == settings::Interaction::gravity ? 1 : -1,
                 factor = sign * settings.constant / outcome.scale / outcome.scale;
    const auto check = [&](particles::ArrayView view, const char* name, int c, double with) {
        double there = 0;
        if (!view.on_host())
            view.data = reinterpret_cast<char*>(&there), view.memory = particles::MemorySpace::host;
        particles::check_reals(serial, {view, name, outcome.totals + c, with}, nullptr, 1);
    };
    for (int c = 0; c < 6 && outputs.virial.present(); ++c)
        check(outputs.virial.component(c), virial_name, c, factor);
    if (outputs.energy.present())
        check(outputs.energy, energy_name, 6, -factor);
}

} // namespace

/// Collective: all but the copies to host arrays, which end() does.
void GpuEngine::begin_over_ranks(const Environment& environment, const Request& request,
                                 const Placement& placement, void* stream) {
    comm::Communicator& comm = environment.comm;
    over_ranks_.started_s = comm.time_s();
    const comm::Traffic before = comm.traffic();
    comm.guarded([&] {
        const settings::Settings& settings = environment.settings;
        Report& report = environment.report;
        const Agreement all = agree(comm, settings, request, 0);
        comm.together([&] {
            make_device(settings.device, placement.device);
            if (!conductor_)
                conductor_ = std::make_unique<RanksConductor>(memory_);
        });
        const RanksConductor::Job job{*device_->table.ranks,
                                     device_->engine,
                                     settings,
                                     request.particles,
                                     request.points,
                                     request.outputs,
                                     stream,
                                     {all.with_potential, all.with_sums, all.per_particle_softening}};
        const RankOutcome outcome = conductor_->evaluate(comm, job);
        report.pairs = outcome.pairs, report.cells = outcome.cells;
        measure_ranks(comm, settings, before, report);
        over_ranks_.report = report.ranks;
        over_ranks_.report.rounds = 1;
        over_ranks_.report.nodes = outcome.nodes, over_ranks_.report.particles = outcome.particles;
        over_ranks_.exchange_s = conductor_->times().exchange_s;
        over_ranks_.forces_s = outcome.own_s + outcome.remote_s;
        comm.conclude([&] { check_sums(settings, request.outputs, outcome); });
        conductor_->write(job, outcome);
    });
}

} // namespace graft::engine
