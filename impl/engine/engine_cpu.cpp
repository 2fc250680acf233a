// SPDX-License-Identifier: BSD-3-Clause
// See engine_cpu.hpp: the steps of a computation, and the methods.
#include "engine/engine_cpu.hpp"

#include "core/timer.hpp"
#include "engine/checks.hpp"
#include "engine/doubtful_targets.hpp"
#include "engine/ranks/ranks_engine.hpp"
#include "engine/ranks/ranks_request.hpp"
#include "engine/report.hpp"
#include "engine/tree_force.hpp"
#include "engine/tree_tuning.hpp"
#include "essential/forest.hpp"
#include "forces/frame.hpp"
#include "forces/simd.hpp"
#include "forces/softening.hpp"
#include "periodic/lattice_kind.hpp"
#include "periodic/periodic.hpp"
#include "settings/choices.hpp"

#include <algorithm>
#include <cmath>

namespace graft::engine {

CpuEngine::CpuEngine(core::Memory& memory)
    : memory_(memory), problem_(memory), field_(memory), scratch_(memory), global_tree_(memory),
      spread_(memory), spread_field_(memory), work_(memory, "work of particles"),
      spread_work_(memory, "work of particles"), seen_(memory, "target marks"), sums_(memory, "block sums"),
      direct_targets_(memory), workspaces_(memory), ring_(memory) {}

CpuEngine::~CpuEngine() = default;

void CpuEngine::release() {
    core::Memory& memory = memory_;
    core::Buffer<double> last(memory, "last accelerations");
    last.swap(problem_.last);
    std::destroy_at(this);
    std::construct_at(this, memory);
    last.swap(problem_.last);
}

void CpuEngine::compute(const Environment& environment, const Request& request, const Placement& placement) {
    const core::Timer total;
    comm::Communicator& comm = environment.comm;
    Report& report = environment.report;
    const settings::Settings& settings = environment.settings;
    const backend::Executor executor{memory_, backend::resolve_threads(settings.threads)};
    CpuComputation c{environment, settings, request, executor, comm, report};
    if (placement.beside_gpus)
        return compute_beside_gpus(c, placement);
    comm.together([&] {
        placement.require_reach();
        import(c);
    });
    c.all = agree(comm, settings, request, charges_);
    comm.together([&] {
        scale_sources(c, scale_of_charges(c.all.charges.magnitude));
        gather_targets(executor);
    });
    report.time_s = {};
    report.time_s.import = total.seconds();
    evaluate(c);
    comm.conclude([&] { check_results(executor, settings, request.outputs, view(c), c.totals); });
    const core::Timer output;
    write_results(executor, settings, request.outputs, view(c), c.totals);
    report.time_s.output = output.seconds();
    report.time_s.total = total.seconds();
    finish_report(c);
}

void CpuEngine::compute_beside_gpus(CpuComputation& c, const Placement& placement) {
    const core::Timer total;
    compute_over_ranks(c.environment, c.request, nullptr, [&] {
        if (!ranks_)
            ranks_ = std::make_unique<CpuRanks>(*this, memory_);
        return ranks_->begin_request(c, placement);
    });
    ranks_->end_request();
    c.report.time_s.total = total.seconds();
    finish_report(c);
}

void CpuEngine::finish_report(const CpuComputation& c) const {
    Report& report = c.report;
    report.finish(problem_.periodic != nullptr ? problem_.periodic->tree_settings(c.settings) : c.settings, memory_);
    report.backend = "cpu";
    report.simd = c.settings.method == settings::Method::reference ? "none" : forces::simd_name();
    report.threads = c.executor.threads;
    report.n = problem_.n;
    report.targets = problem_.target_count();
}

/// Double for all, where charges are so different that single precision has no number for the lightest.
void CpuEngine::serve_lightest(CpuComputation& c) {
    if (c.settings.precision == settings::Precision::fp64 || problem_.lightest == 0 ||
        problem_.lightest >= forces::least_charge_in_single)
        return;
    c.settings.precision = settings::Precision::fp64;
    if (c.comm.rank() == 0 && c.environment.log.wants(core::LogLevel::info))
        c.environment.log.write(core::LogLevel::info,
                                core::format("the lightest charge is %.2g of all together: summed in fp64",
                                             problem_.lightest / problem_.charge_scale / c.all.charges.magnitude));
}

void CpuEngine::evaluate(CpuComputation& c) {
    const comm::Traffic before = c.comm.traffic();
    all_particles_ = c.all.particles;
    c.comm.together([&] { field_.resize(problem_.target_count(), c.all.with_potential); });
    serve_lightest(c);
    int round = 0;
    do
        sum_field(c, round);
    while (refine(c, round++));
    if (c.settings.method == settings::Method::tree && c.all.particles > 0 && !periodic::is_long_range(c.settings))
        c.comm.together([&] { remember(c, c.settings); });
    if (!c.comm.alone())
        measure_ranks(c.comm, c.settings, before, c.report);
}

/// All of the field, by c.settings.
void CpuEngine::sum_field(CpuComputation& c, int round) {
    c.report.forget_counts();
    begin_periodic(c, round);
    c.order = problem_.points || problem_.all_targets ? FieldOrder::given : FieldOrder::listed;
    if (c.all.particles == 0 || periodic::is_long_range(c.settings)) {
        for (core::Buffer<double>* values : {&field_.ax, &field_.ay, &field_.az, &field_.potential})
            std::fill(values->begin(), values->end(), 0.0);
        std::fill(std::begin(field_.image_virial), std::end(field_.image_virial), 0.0);
    } else if (c.settings.method == settings::Method::tree) {
        evaluate_tree(c);
    } else if (problem_.periodic != nullptr && c.settings.method == settings::Method::reference) {
        evaluate_periodic_reference(c);
    } else {
        evaluate_pairs(c);
    }
    if (c.all.with_potential && !problem_.points)
        remove_self_potential(c);
    if (problem_.periodic != nullptr)
        finish_periodic(c);
    else
        sum_totals(c);
}

/// Collective, of the whole field: what the sum of all forces is else than zero is taken off where that is wished for.
void CpuEngine::sum_totals(CpuComputation& c) {
    if (c.settings.conserve_momentum && !problem_.points) {
        NetForce net;
        c.comm.together([&] { net = sum_net_force(c.executor, view(c), sums_); });
        c.comm.allreduce(net.value, NetForce::count, comm::Operation::sum);
        take_off_net_force(c.executor, view(c), net, field_);
    }
    if (c.all.with_sums)
        c.totals = sum_up(c.executor, c.comm, view(c), sums_);
}

const int32_t* CpuEngine::items(FieldOrder order) const {
    return order == FieldOrder::tree     ? tree_force_->items()
           : order == FieldOrder::listed ? problem_.target.data()
                                         : nullptr;
}

void CpuEngine::evaluate_tree(CpuComputation& c) {
    c.comm.together([&] {
        if (!tree_force_)
            tree_force_ = std::make_unique<TreeForce>(memory_);
    });
    work_.resize(0);
    problem_.range = {};
    settings::Settings settings =
        problem_.periodic != nullptr ? problem_.periodic->tree_settings(c.settings) : c.settings;
    TreeTuning& tuning = c.environment.tuning;
    tuning.before(settings, problem_.n, problem_.all_targets && !problem_.points,
                  !c.comm.alone()                ? "several ranks"
                  : problem_.periodic != nullptr ? "the box is periodic"
                                                 : "");
    if (c.comm.alone() || settings.tree_scope == settings::TreeScope::local)
        evaluate_own_tree(c, settings);
    else
        evaluate_global_tree(c, settings);
    tuning.after(c.report, settings.leaf, settings.group);
    if (settings::bounds_largest(settings))
        bound_largest(c, settings);
}

void CpuEngine::evaluate_own_tree(CpuComputation& c, const settings::Settings& settings) {
    if (!c.comm.alone() && settings.tree_type == tree::TreeType::octree)
        problem_.range = essential::find_root(c.comm, settings, settings::TreeScope::local, problem_);
    tree_force_->evaluate(c.executor, c.comm, settings, problem_, c.all.with_potential, workspaces_, field_,
                          c.report, c.environment.log);
    c.order = FieldOrder::tree;
}

/// One tree over all ranks' particles: each has a share of it, and the field comes back in the host's order.
void CpuEngine::evaluate_global_tree(CpuComputation& c, const settings::Settings& settings) {
    const bool with_potential = c.all.with_potential;
    global_tree_.spread(c.comm, c.executor, settings, problem_, spread_);
    c.comm.together([&] { spread_field_.resize(spread_.target_count(), with_potential); });
    tree_force_->evaluate(c.executor, c.comm, settings, spread_, with_potential, workspaces_, spread_field_,
                          c.report, c.environment.log);
    c.comm.together([&] {
        spread_work_.resize(spread_.points ? 0 : spread_.n);
        std::fill(spread_work_.begin(), spread_work_.end(), 0.0);
        if (!spread_.points)
            tree_force_->add_work(static_cast<double>(essential::direct_count(c.settings)),
                                  spread_work_.data());
    });
    global_tree_.bring_back(c.comm, problem_, spread_, tree_force_->items(), with_potential, spread_field_,
                            spread_work_, field_, work_);
    std::copy_n(spread_field_.image_virial, 6, field_.image_virial);
}

/// The size of the field at each particle, for the error MAC of the next call.
void CpuEngine::remember(const CpuComputation& c, const settings::Settings& settings) {
    problem_.last.resize(0);
    if (settings.mac != settings::MacType::error || !settings.mac_history || !problem_.all_targets)
        return;
    problem_.last.resize(problem_.n);
    const FieldView own = view(c);
    for (int64_t k = 0; k < problem_.n; ++k)
        problem_.last[own.item_of(k)] = std::hypot(field_.ax[k], field_.ay[k], field_.az[k]);
}

/// All pairs, also those with other ranks' sources.
void CpuEngine::evaluate_pairs(const CpuComputation& c) {
    const core::Timer timer;
    const bool direct = c.settings.method == settings::Method::direct;
    const bool with_potential = c.all.with_potential;
    c.comm.together([&] {
        if (direct)
            set_direct_targets(c.executor, c.settings, problem_, direct_targets_);
    });
    ring_.run(c.comm, own_sources(problem_), problem_.per_particle_softening,
              [&](const Sources& sources, bool add) {
                  if (direct)
                      evaluate_direct(c.executor, c.settings, problem_, sources, with_potential, add,
                                      direct_targets_, workspaces_, field_);
                  else
                      evaluate_reference(c.executor, c.settings, problem_, sources, with_potential, add,
                                         scratch_, field_);
              });
    c.report.pairs = static_cast<double>(c.all.particles) * static_cast<double>(problem_.target_count());
    c.report.time_s.forces = timer.seconds();
}

/// A softened kernel counts the particle's own charge: phi_self = q / eps (Plummer) or its spline value at
/// zero.
void CpuEngine::remove_self_potential(const CpuComputation& c) {
    if (c.settings.softening == settings::Softening::none)
        return;
    const auto kind = static_cast<forces::Softening>(c.settings.softening);
    const bool per_particle = !problem_.softening.empty();
    const FieldView own = view(c);
    c.executor.for_each(field_.potential.size(), [&](int64_t k) {
        const int64_t i = own.item_of(k);
        const double length = per_particle ? problem_.softening[i] : c.settings.softening_length;
        if (length > 0)
            field_.potential[k] -= problem_.charge[i] * forces::self_potential(kind, length);
    });
}

} // namespace graft::engine
