// A periodic box on the device: its splitting, the particles' way into it, pairs and waves.
//
// The splitting depends on the box, the number of particles and the settings, not on charges or places, so
// the host finds it without a look at the device; of softening lengths a particle it needs the largest, which
// the device compares with the one planned for and else asks for another computation.
#include "pipeline/device_engine.cuh"
#include "pipeline/periodic.hpp"

#include <bit>

namespace graft::pipeline {

namespace {

/// A pair in units of a particle and a wave vector, on an H200 (impl/docs/gpu/periodic.md).
double pair_cost(Precision precision) {
    return precision == Precision::fp64 ? 8 : 4;
}

} // namespace

void DeviceForce::plan_periodic() {
    const Settings& s = job_.settings;
    const double longest = job_.per_particle ? split_.longest : s.softening_length;
    std::vector<double> key{static_cast<double>(job_.n),
                            longest,
                            s.ewald_accuracy,
                            s.ewald_alpha,
                            static_cast<double>(s.precision),
                            static_cast<double>(s.method),
                            s.theta,
                            static_cast<double>(s.mac),
                            s.accuracy,
                            static_cast<double>(s.softening)};
    for (int a = 0; a < 3; ++a)
        key.insert(key.end(), {s.box_lower[a], s.box_upper[a], s.box_tilt[a]});
    if (key == split_.key)
        return;
    const geometry::Lattice box = PeriodicSum::lattice_of(s);
    EwaldProblem p = PeriodicSum::problem_of(s, box, job_.n, static_cast<double>(job_.n), longest);
    p.pair_cost = pair_cost(s.precision);
    p.group = static_cast<double>(kernels::DevicePeriodic::block_targets), p.leaf = 0; // sources one by one
    const EwaldSplit split = split_ewald(p);
    split_.key.clear(); // until it is there
    periodic_.set(queue_, {box, split.alpha, split.cutoff, split.largest_wave});
    split_.key = std::move(key);
}

void DeviceForce::wrap_positions() {
    const geometry::Lattice& box = periodic_.lattice().box;
    kernels::wrap_into_box(queue_, box, job_.n, x_.data(), y_.data(), z_.data(),
                           job_.per_particle ? softening_.data() : nullptr, split_.longest);
    if (job_.with_points)
        kernels::wrap_into_box(queue_, box, job_.targets, point_x_.data(), point_y_.data(), point_z_.data(),
                               nullptr, 0);
}

/// True when the particles' lengths exceeded what the sum was split for.
bool DeviceForce::grow_softening(const backend::DeviceStatus& status) {
    const auto needed = std::bit_cast<double>(status.spare[kernels::longest_softening_word]);
    if (!job_.settings.periodic || needed <= split_.longest)
        return false;
    split_.longest = needed;
    plan_periodic();
    return true;
}

kernels::PeriodicTask DeviceForce::periodic_task() const {
    kernels::PeriodicTask task;
    const double* lengths = job_.per_particle ? softening_.data() : nullptr;
    task.sources = {x_.data(), y_.data(), z_.data(), charge_.data(), lengths, job_.n};
    task.all = job_.all_targets && !job_.with_points;
    task.virial = job_.outputs.virial.present() && !job_.with_points;
    task.totals = outcome_.data()->totals;
    return task;
}

/// Targets that are not all particles are given.
void DeviceForce::evaluate_periodic(const kernels::DeviceSources& targets) {
    clock_.record(queue_.stream(), DeviceClock::prepared, capturing_);
    kernels::PeriodicTask task = periodic_task();
    task.targets = targets;
    periodic_.evaluate(queue_, evaluation(), task, field_);
    origin_ = periodic_.target_order();
    if (!task.all && !job_.with_points) {
        chosen_origin_.resize(job_.targets);
        compose(queue_, chosen_.data(), periodic_.target_order(), job_.targets, chosen_origin_.data());
        origin_ = chosen_origin_.data();
    }
    clock_.record(queue_.stream(), DeviceClock::batches, capturing_);
}

} // namespace graft::pipeline
