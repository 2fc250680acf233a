// SPDX-License-Identifier: BSD-3-Clause
// See ranks_request.hpp.
#include "engine/ranks/ranks_request.hpp"

#include "engine/checks.hpp"
#include "engine/rank_agreement.hpp"
#include "engine/report.hpp"
#include "particles/export_arrays.hpp"

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
        if (!view.on_host()) {
            view.data = reinterpret_cast<char*>(&there);
            view.memory = particles::MemorySpace::host;
        }
        particles::check_reals(serial, {view, name, outcome.totals + c, with}, nullptr, 1);
    };
    for (int c = 0; c < 6 && outputs.virial.present(); ++c)
        check(outputs.virial.component(c), virial_name, c, factor);
    if (outputs.energy.present())
        check(outputs.energy, energy_name, 6, -factor);
}

} // namespace

RankOutcome compute_over_ranks(const Environment& environment, const Request& request, void* stream,
                               const std::function<RankEngine()>& make) {
    comm::Communicator& comm = environment.comm;
    const settings::Settings& settings = environment.settings;
    Report& report = environment.report;
    const comm::Traffic before = comm.traffic();
    const Agreement all = agree(comm, settings, request, {});
    RankEngine own{};
    comm.together([&] { own = make(); });
    const RanksConductor::Job job{
        *own.table,     own.engine,
        settings,       request.particles,
        request.points, request.outputs,
        stream,         {all.with_potential, all.with_sums, all.per_particle_softening}};
    const RankOutcome outcome = own.conductor->evaluate(comm, job);
    report.pairs = outcome.pairs;
    report.cells = outcome.cells;
    measure_ranks(comm, settings, before, report);
    report.ranks.rounds = 1;
    report.ranks.nodes = outcome.nodes;
    report.ranks.particles = outcome.particles;
    comm.conclude([&] { check_sums(settings, request.outputs, outcome); });
    own.conductor->write(job, outcome);
    return outcome;
}

} // namespace graft::engine
