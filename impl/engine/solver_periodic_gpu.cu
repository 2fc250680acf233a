// SPDX-License-Identifier: BSD-3-Clause
// See solver_periodic_gpu.cuh.
#include "engine/solver_periodic_gpu.cuh"

#include "periodic/mesh/wave_mesh_gpu.cuh"
#include "periodic/periodic.hpp"

#include <algorithm>
#include <cmath>

namespace graft::engine {

namespace {

/// A pair in units of a particle and a wave vector, on an H200 (docs/lab/gpu/periodic.md).
double pair_cost(settings::Precision precision) {
    return precision == settings::Precision::fp64 ? 12 : 6;
}

constexpr const char* mesh_is_not_had =
    "with method direct, and on GPUs over ranks and with Plummer's softening";

/// What a mesh may be used for: not over ranks, whose structure factors are added up.
periodic::MeshModel mesh_model(const DeviceJob& job) {
    const settings::Settings& s = job.settings;
    constexpr int64_t least_for_mesh = 8000; // below, launches take longer than what they save
    const bool had = !job.sums_exactly && !job.over_ranks && s.softening != settings::Softening::plummer;
    const bool asked = s.long_range == settings::LongRange::mesh;
    const bool pays = s.long_range == settings::LongRange::auto_ && job.n >= least_for_mesh;
    periodic::MeshModel mesh{had && (asked || pays), had && asked, periodic::most_mesh_points};
    mesh.particle[0] = 600, mesh.particle[1] = 730, mesh.particle[2] = 1330; // on an H200
    mesh.point = 80;
    return mesh;
}

/// In steps of a twelfth, so that lengths that change a little keep their splitting.
double planned_length(double longest) {
    return longest > 0 ? std::max(longest, std::exp2(std::ceil(8 * std::log2(longest)) / 8)) : 0;
}

constexpr double shrinks = 0.85; // of the plan: what needs less is planned anew

} // namespace

void LatticeStep::plan_for(const periodic::PeriodicFacts& facts) {
    planned_.longest = planned_length(facts.longest);
    planned_.lower = facts.lower, planned_.upper = facts.upper;
    measured_ = true;
}

/// The box, but for what the splitting says.
periodic::DeviceLattice LatticeStep::lattice_for(const DeviceJob& job) const {
    const settings::Settings& s = job.settings;
    const bool slab = s.open_axis >= 0, plummer = s.softening == settings::Softening::plummer;
    periodic::DeviceLattice plan;
    plan.box = periodic::PeriodicSum::lattice_of(s);
    plan.open_axis = s.open_axis;
    plan.measured =
        (!job.per_particle && !slab) || (measured_ && (!slab || planned_.lower <= planned_.upper));
    plan.longest = job.per_particle ? planned_.longest : 0;
    plan.softening = plummer && !job.per_particle ? s.softening_length : 0;
    if (const int a = s.open_axis;
        slab && !plan.measured) { // stops; what the host calls the box here is of no account
        plan.box.edge[a] = plan.box.edge[(a + 1) % 3];
    } else if (slab) {
        const double length = job.per_particle                           ? plan.longest
                              : s.softening == settings::Softening::none ? 0
                                                                         : s.softening_length;
        plan.box = periodic::PeriodicSum::slab_lattice(s, planned_.lower, planned_.upper, length);
        const double edge = plan.box.edge[a],
                     step = edge / 64; // places in steps: a slab that drifts keeps its plan
        plan.box.lower[a] =
            std::floor((0.5 * planned_.lower + 0.5 * planned_.upper - 0.5 * edge) / step) * step;
        plan.gap = periodic::PeriodicSum::slab_gap(s, length);
    }
    return plan;
}

void LatticeStep::plan(Computation& c) {
    const DeviceJob& job = c.job;
    const settings::Settings& s = job.settings;
    const bool plummer = s.softening == settings::Softening::plummer;
    stale_ = false;
    periodic::DeviceLattice plan = lattice_for(job);
    const int64_t particles = job.all_particles;
    std::vector<double> key{static_cast<double>(particles),
                            static_cast<double>(job.per_particle),
                            static_cast<double>(plan.measured),
                            plan.longest,
                            s.softening_length,
                            static_cast<double>(s.open_axis),
                            s.ewald_accuracy,
                            s.ewald_alpha,
                            s.ewald_cutoff,
                            static_cast<double>(s.ewald_part),
                            static_cast<double>(s.precision),
                            static_cast<double>(s.method),
                            static_cast<double>(s.long_range),
                            static_cast<double>(job.sums_exactly),
                            s.theta,
                            static_cast<double>(s.mac),
                            s.accuracy,
                            static_cast<double>(s.softening)};
    for (int a = 0; a < 3; ++a)
        key.insert(key.end(), {plan.box.lower[a], plan.box.edge[a], s.box_tilt[a]});
    if (key == key_)
        return;
    const double longest = job.per_particle ? plan.longest : plummer ? 0 : s.softening_length;
    periodic::EwaldInput p =
        periodic::PeriodicSum::problem_of(s, plan.box, particles, static_cast<double>(particles), longest);
    p.pair_cost = pair_cost(s.precision);
    p.group = static_cast<double>(periodic::DevicePeriodic::part_targets), p.leaf = 0; // sources one by one
    p.mesh = mesh_model(job);
    const periodic::EwaldSplit split = periodic::split_ewald(p);
    if (plan.measured)
        periodic::PeriodicSum::check_mesh(s, split, p.mesh.allowed ? nullptr : mesh_is_not_had);
    if (plan.measured)
        periodic::PeriodicSum::check_size(s, plan.box, split, longest);
    plan.alpha = split.alpha, plan.cutoff = split.cutoff, plan.largest_wave = split.largest_wave;
    plan.pairs_elsewhere = p.pairs_elsewhere;
    plan.accuracy = split.accuracy;
    plan.mesh = split.mesh, plan.in_double = s.precision == settings::Precision::fp64;
    key_.clear(); // until it is there
    sum.set(c.queue, plan);
    key_ = std::move(key);
}

bool LatticeStep::plan_again(Computation& c) {
    if (!c.job.settings.periodic)
        return false;
    plan_for(c.host_outcome.data()->periodic);
    plan(c);
    return true;
}

void LatticeStep::follow_particles(const Computation& c) {
    const DeviceJob& job = c.job;
    const periodic::DeviceLattice& plan = sum.lattice();
    const bool slab = plan.open_axis >= 0;
    if (!job.settings.periodic || job.over_ranks || job.empty() || (!job.per_particle && !slab))
        return;
    const periodic::PeriodicFacts& facts = c.host_outcome.data()->periodic;
    bool anew = job.per_particle && facts.longest < shrinks * plan.longest;
    if (slab) {
        const double lower = plan.box.lower[plan.open_axis], edge = plan.box.edge[plan.open_axis];
        anew = anew || facts.upper - facts.lower + plan.gap < shrinks * edge || facts.lower < lower ||
               facts.upper > lower + edge;
    }
    if (!anew)
        return;
    plan_for(facts);
    stale_ = true;
}

periodic::PeriodicTask LatticeStep::task(Computation& c, const ImportStep& from) const {
    const DeviceJob& job = c.job;
    periodic::PeriodicTask task;
    task.sources = from.sources(job);
    task.all = job.all_targets && !job.with_points;
    task.virial = job.outputs.virial.present() && !job.with_points;
    task.totals = c.totals();
    task.facts = &c.outcome.data()->periodic;
    if (const int axis = job.settings.open_axis; axis >= 0) {
        const geometry::Lattice& box = sum.lattice().box;
        task.middle = box.lower[axis] + 0.5 * box.edge[axis];
    }
    return task;
}

void LatticeStep::report(const Computation& c, DeviceReport::Periodic& report) const {
    const periodic::DeviceLattice& plan = sum.lattice();
    const particles::DeviceImportState& import = c.host_outcome.data()->import;
    report.alpha = plan.alpha, report.cutoff = plan.reach(), report.largest_wave = plan.largest_wave;
    report.mesh[0] = plan.mesh.order;
    std::copy_n(plan.mesh.count, 3, report.mesh + 1);
    report.volume = plan.box.volume();
    report.edge = plan.open_axis >= 0 ? plan.box.edge[plan.open_axis] : 0;
    const bool over_ranks = c.job.over_ranks;
    report.net = over_ranks ? net : import.net;
    report.smallest = 1e-9 * (over_ranks ? magnitude : import.magnitude) /
                      std::sqrt(std::max(static_cast<double>(c.job.all_particles), 1.0));
}

void LatticeStep::evaluate(Computation& c, const periodic::PeriodicTask& task, const ImportStep& from,
                           TargetStep& targets, forces::DeviceField& field) {
    c.mark(DeviceClock::prepared);
    sum.evaluate(c.queue, c.job.evaluation(), task, field);
    c.order = TargetOrder::lattice;
    if (c.job.some() && c.job.targets > 0) {
        targets.lead_to_chosen(c, from, sum.target_order());
        c.order = TargetOrder::chosen;
    }
    c.mark(DeviceClock::batches);
}

} // namespace graft::engine
