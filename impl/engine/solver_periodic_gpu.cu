// A periodic box on the device: its splitting, the particles' way into it, pairs and waves.
//
// The splitting depends on the box, the number of particles and the settings, not on charges or places, so
// the host finds it without a look at the device. Of softening lengths a particle it needs the largest, of a
// slab the extent: the host plans for what the last computation found, in steps, and the device stops a
// computation whose particles need more; that one is planned anew and repeated. Plans shrink when the
// particles need clearly less, so that an engine does not pay for what it saw once.
#include "engine/gpu/engine_gpu.cuh"
#include "periodic/periodic.hpp"

#include <algorithm>
#include <cmath>

namespace graft::engine {

namespace {

/// A pair in units of a particle and a wave vector, on an H200 (docs/lab/gpu/periodic.md).
double pair_cost(settings::Precision precision) {
    return precision == settings::Precision::fp64 ? 8 : 4;
}

/// In steps of a twelfth, so that lengths that change a little keep their splitting.
double planned_length(double longest) {
    return longest > 0 ? std::max(longest, std::exp2(std::ceil(8 * std::log2(longest)) / 8)) : 0;
}

constexpr double shrinks = 0.85; // of the plan: what needs less is planned anew

} // namespace

/// What the next computation is planned for: what this one has found.
void DeviceForce::plan_for(const periodic::PeriodicFacts& facts) {
    split_.longest = planned_length(facts.longest);
    split_.lower = facts.lower, split_.upper = facts.upper;
    split_.measured = true;
}

void DeviceForce::plan_periodic() {
    const settings::Settings& s = job_.settings;
    const bool slab = s.open_axis >= 0, plummer = s.softening == settings::Softening::plummer;
    split_.stale = false;
    periodic::DeviceLattice plan;
    plan.box = periodic::PeriodicSum::lattice_of(s);
    plan.open_axis = s.open_axis;
    plan.measured =
        (!job_.per_particle && !slab) || (split_.measured && (!slab || split_.lower <= split_.upper));
    plan.longest = job_.per_particle ? split_.longest : 0;
    plan.softening = plummer && !job_.per_particle ? s.softening_length : 0;
    if (const int a = s.open_axis;
        slab && !plan.measured) { // stops; what the host calls the box here is of no account
        plan.box.edge[a] = plan.box.edge[(a + 1) % 3];
    } else if (slab) {
        const double length = job_.per_particle                ? plan.longest
                              : s.softening == settings::Softening::none ? 0
                                                               : s.softening_length;
        plan.box = periodic::PeriodicSum::slab_lattice(s, split_.lower, split_.upper, length);
        const double edge = plan.box.edge[a],
                     step = edge / 64; // places in steps: a slab that drifts keeps its plan
        plan.box.lower[a] = std::floor((0.5 * split_.lower + 0.5 * split_.upper - 0.5 * edge) / step) * step;
        plan.gap = periodic::PeriodicSum::slab_gap(s, length);
    }
    const int64_t particles = job_.over_ranks ? all_particles_of_ranks() : job_.n;
    std::vector<double> key{static_cast<double>(particles),
                            static_cast<double>(job_.per_particle),
                            static_cast<double>(plan.measured),
                            plan.longest,
                            s.softening_length,
                            static_cast<double>(s.open_axis),
                            s.ewald_accuracy,
                            s.ewald_alpha,
                            static_cast<double>(s.precision),
                            static_cast<double>(s.method),
                            s.theta,
                            static_cast<double>(s.mac),
                            s.accuracy,
                            static_cast<double>(s.softening)};
    for (int a = 0; a < 3; ++a)
        key.insert(key.end(), {plan.box.lower[a], plan.box.edge[a], s.box_tilt[a]});
    if (key == split_.key)
        return;
    const double longest = job_.per_particle ? plan.longest : plummer ? 0 : s.softening_length;
    periodic::EwaldProblem p = periodic::PeriodicSum::problem_of(s, plan.box, particles, static_cast<double>(particles), longest);
    p.pair_cost = pair_cost(s.precision);
    p.group = static_cast<double>(periodic::DevicePeriodic::block_targets), p.leaf = 0; // sources one by one
    const periodic::EwaldSplit split = periodic::split_ewald(p);
    if (plan.measured)
        periodic::PeriodicSum::check_size(s, plan.box, split, longest);
    plan.alpha = split.alpha, plan.cutoff = split.cutoff, plan.largest_wave = split.largest_wave;
    split_.key.clear(); // until it is there
    periodic_.set(queue_, plan);
    split_.key = std::move(key);
}

void DeviceForce::wrap_positions() {
    const settings::Settings& s = job_.settings;
    const geometry::Lattice box = periodic::PeriodicSum::lattice_of(s);
    periodic::wrap_into_box(queue_, box, s.open_axis, job_.n, x_.data(), y_.data(), z_.data());
    if (job_.with_points)
        periodic::wrap_into_box(queue_, box, s.open_axis, job_.targets, point_x_.data(), point_y_.data(),
                               point_z_.data());
}

/// True when the particles needed more than the sum was split for.
bool DeviceForce::plan_again() {
    if (!job_.settings.periodic)
        return false;
    plan_for(host_outcome_.data()->periodic);
    plan_periodic();
    return true;
}

/// After a computation: a plan that is far too large is made anew with the next one.
void DeviceForce::follow_particles() {
    const periodic::DeviceLattice& plan = periodic_.lattice();
    const bool slab = plan.open_axis >= 0;
    if (!job_.settings.periodic || job_.over_ranks || job_.empty() || (!job_.per_particle && !slab))
        return;
    const periodic::PeriodicFacts& facts = host_outcome_.data()->periodic;
    bool anew = job_.per_particle && facts.longest < shrinks * plan.longest;
    if (slab) {
        const double lower = plan.box.lower[plan.open_axis], edge = plan.box.edge[plan.open_axis];
        anew = anew || facts.upper - facts.lower + plan.gap < shrinks * edge || facts.lower < lower ||
               facts.upper > lower + edge;
    }
    if (!anew)
        return;
    plan_for(facts);
    split_.stale = true;
}

periodic::PeriodicTask DeviceForce::periodic_task() const {
    periodic::PeriodicTask task;
    const double* lengths = job_.per_particle ? softening_.data() : nullptr;
    task.sources = {x_.data(), y_.data(), z_.data(), charge_.data(), lengths, job_.n};
    task.all = job_.all_targets && !job_.with_points;
    task.virial = job_.outputs.virial.present() && !job_.with_points;
    task.totals = outcome_.data()->totals;
    task.facts = &outcome_.data()->periodic;
    if (const int axis = job_.settings.open_axis; axis >= 0) {
        const geometry::Lattice& box = periodic_.lattice().box;
        task.middle = box.lower[axis] + 0.5 * box.edge[axis];
    }
    return task;
}

void DeviceForce::report_periodic(DeviceReport::Periodic& report) const {
    const periodic::DeviceLattice& plan = periodic_.lattice();
    const particles::DeviceImportState& import = host_outcome_.data()->import;
    report.alpha = plan.alpha, report.cutoff = plan.cutoff, report.largest_wave = plan.largest_wave;
    report.volume = plan.box.volume();
    report.edge = plan.open_axis >= 0 ? plan.box.edge[plan.open_axis] : 0;
    double magnitude = import.magnitude, count = static_cast<double>(job_.n);
    report.net = import.net;
    if (job_.over_ranks)
        charges_of_ranks(report.net, magnitude, count);
    report.smallest = 1e-9 * magnitude / std::sqrt(std::max(count, 1.0));
}

/// Targets that are not all particles are given.
void DeviceForce::evaluate_periodic(const forces::DeviceSources& targets) {
    periodic::PeriodicTask task = periodic_task();
    task.targets = targets;
    evaluate_box(task);
}

void DeviceForce::evaluate_box(const periodic::PeriodicTask& task) {
    clock_.record(queue_.stream(), DeviceClock::prepared, capturing_);
    periodic_.evaluate(queue_, evaluation(), task, field_);
    origin_ = periodic_.target_order();
    if (!job_.all_targets && !job_.with_points && job_.targets > 0) {
        chosen_origin_.resize(job_.targets);
        compose(queue_, chosen_.data(), periodic_.target_order(), job_.targets, chosen_origin_.data());
        origin_ = chosen_origin_.data();
    }
    clock_.record(queue_.stream(), DeviceClock::batches, capturing_);
}

} // namespace graft::engine
