// A lattice sum, third part: slabs. See periodic.hpp.
#include "pipeline/periodic.hpp"

#include <algorithm>
#include <cmath>

namespace graft::pipeline {

namespace {

constexpr double pi = 3.14159265358979323846;

} // namespace

/// Places of sources and points along an axis, the lower one negative.
void PeriodicSum::find_extent(const Problem& problem, int axis, const geometry::Box& sources, double& lower,
                              double& upper) {
    const core::Buffer<double>* const points[3] = {&problem.point_x, &problem.point_y, &problem.point_z};
    lower = -sources.lower[axis], upper = sources.upper[axis];
    for (int64_t i = 0; problem.points && i < points[axis]->size(); ++i) {
        const double at = (*points[axis])[i];
        lower = std::max(lower, -at), upper = std::max(upper, at);
    }
}

double PeriodicSum::slab_gap(const Settings& settings) {
    const geometry::Lattice lattice = lattice_of(settings);
    double longest = 0; // wave length along the slab
    for (int a = 0; a < 3; ++a)
        if (a != settings.open_axis)
            longest = std::max(longest, lattice.width(a));
    return longest / (2 * pi) * std::log(10 / accuracy_of(settings));
}

geometry::Lattice PeriodicSum::slab_lattice(const Settings& settings, double lower, double upper) {
    geometry::Lattice lattice = lattice_of(settings);
    constexpr double step = 0.02; // so that a slab that breathes keeps its waves for a while
    const double width = upper - lower + slab_gap(settings);
    lattice.edge[settings.open_axis] = std::exp(step * std::ceil(std::log(width) / step));
    lattice.lower[settings.open_axis] = lower;
    return lattice;
}

/// The box of a slab becomes that of its particles and a vacuum that is as wide as the accuracy wants.
void PeriodicSum::widen(const Settings& settings, const Totals& totals) {
    open_axis_ = settings.open_axis;
    if (open_axis_ < 0)
        return;
    lattice_ = slab_lattice(settings, totals.lower, totals.upper);
    middle_ = 0.5 * totals.lower + 0.5 * totals.upper;
}

/// Collective. Moments of charge across a slab.
void PeriodicSum::find_moments(comm::Communicator& comm, const Problem& problem) {
    moments_[0] = moments_[1] = 0;
    if (open_axis_ < 0)
        return;
    const core::Buffer<double>* const axes[3] = {&problem.x, &problem.y, &problem.z};
    for (int64_t i = 0; i < problem.n; ++i) {
        const double z = (*axes[open_axis_])[i] - middle_;
        moments_[0] += problem.charge[i] * z, moments_[1] += problem.charge[i] * z * z;
    }
    comm.allreduce(moments_, 2, comm::Operation::sum);
}

void PeriodicSum::add_slab(const Problem& problem, bool with_potential, const int32_t* origin,
                           RawField& field, double (&virial)[6]) const {
    if (open_axis_ < 0)
        return;
    const double factor = 2 * pi / lattice_.volume(), edge = lattice_.edge[open_axis_];
    const core::Buffer<double>* const from[3] = {problem.points ? &problem.point_x : &problem.x,
                                                 problem.points ? &problem.point_y : &problem.y,
                                                 problem.points ? &problem.point_z : &problem.z};
    core::Buffer<double>* const to[3] = {&field.ax, &field.ay, &field.az};
    const int64_t count = problem.target_count();
    for (int64_t k = 0; k < count; ++k) {
        const double z = (*from[open_axis_])[origin != nullptr ? origin[k] : k] - middle_;
        (*to[open_axis_])[k] -= 2 * factor * (charge_ * z - moments_[0]);
        if (with_potential)
            field.potential[k] -=
                factor * (charge_ * (z * z + edge * edge / 6) - 2 * z * moments_[0] + moments_[1]);
    }
    const double energy =
        factor * (moments_[0] * moments_[0] - charge_ * moments_[1] - charge_ * charge_ * edge * edge / 12);
    for (int a = 0; a < 3; ++a) // as if the vacuum were strained, too
        virial[a] += a == open_axis_ ? energy : -energy;
}

} // namespace graft::pipeline
