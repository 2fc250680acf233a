// SPDX-License-Identifier: BSD-3-Clause
// What a slab and a wire add to the lattice sum. See periodic.hpp.
#include "periodic/periodic.hpp"

#include "periodic/lattice_kind.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

namespace {

constexpr double pi = 3.14159265358979323846;

/// Across a vacuum nothing is met within it: softening, and the pairs of a host.
double reach_of(const settings::Settings& s, double longest) {
    if (!is_long_range(s))
        return longest;
    const double pairs = s.ewald_alpha > 0 ? std::sqrt(std::log(10 / PeriodicSum::accuracy_of(s))) / s.ewald_alpha : 0;
    return std::max({longest, pairs, s.ewald_cutoff});
}

/// The next of lengths in ratios of 1.02: a slab that breathes keeps its waves for a while.
double in_steps(double length) {
    constexpr double step = 0.02;
    return std::exp(step * std::ceil(std::log(length) / step));
}

} // namespace

/// Places of sources and points along an axis, the lower one negative.
void PeriodicSum::find_extent(const particles::Problem& problem, int axis, const geometry::Box& sources, double& lower,
                              double& upper) {
    const core::Buffer<double>* const points[3] = {&problem.point_x, &problem.point_y, &problem.point_z};
    lower = -sources.lower[axis];
    upper = sources.upper[axis];
    for (int64_t i = 0; problem.points && i < points[axis]->size(); ++i) {
        const double at = (*points[axis])[i];
        lower = std::max(lower, -at);
        upper = std::max(upper, at);
    }
}

double PeriodicSum::slab_gap(const settings::Settings& settings, double length) {
    const geometry::Lattice lattice = lattice_of(settings);
    double longest = 0; // wave length along the slab
    for (int a = 0; a < 3; ++a)
        if (a != settings.open_axis)
            longest = std::max(longest, lattice.width(a));
    return std::max(reach_of(settings, length), longest / (2 * pi) * std::log(10 / accuracy_of(settings)));
}

geometry::Lattice PeriodicSum::slab_lattice(const settings::Settings& settings, double lower, double upper,
                                            double length) {
    geometry::Lattice lattice = lattice_of(settings);
    const int axis = settings.open_axis;
    lattice.edge[axis] = in_steps(upper - lower + slab_gap(settings, length));
    lattice.lower[axis] = lower;
    return lattice;
}

/// The box of a slab becomes that of its particles and a vacuum that is as wide as the accuracy wants.
void PeriodicSum::widen(const settings::Settings& settings, const Totals& totals) {
    shape_.open_axis = settings.open_axis;
    shape_.wire_axis = settings.wire_axis;
    for (int a = 0; a < 3; ++a)
        shape_.middle[a] = 0.5 * totals.lower[a] + 0.5 * totals.upper[a];
    if (shape_.wire_axis >= 0)
        return widen_wire(settings, totals);
    if (shape_.open_axis < 0)
        return;
    lattice_ = slab_lattice(settings, totals.lower[shape_.open_axis], totals.upper[shape_.open_axis],
                            totals.longest);
}

/// The box of a wire becomes a square one that leaves a vacuum around its particles: as wide as the accuracy
/// wants, and such that the series of its images' field converges.
void PeriodicSum::widen_wire(const settings::Settings& settings, const Totals& totals) {
    const double gap = std::max(reach_of(settings, totals.longest),
                                lattice_.edge[shape_.wire_axis] / (2 * pi) * std::log(10 / accuracy_of(settings)));
    double widest = 0, diagonal = 0;
    for (int a = 0; a < 3; ++a)
        if (const double extent = totals.upper[a] - totals.lower[a]; a != shape_.wire_axis) {
            widest = std::max(widest, extent);
            diagonal = std::hypot(diagonal, extent);
        }
    const double edge = in_steps(std::max(widest + gap, diagonal / WireImages::most_reach));
    shape_.wire_reach = diagonal / edge;
    for (int a = 0; a < 3; ++a)
        if (a != shape_.wire_axis) {
            lattice_.edge[a] = edge;
            lattice_.lower[a] = totals.lower[a];
        }
}

/// Collective. Moments of charge across a slab or a wire.
void PeriodicSum::find_moments(comm::Communicator& comm, const settings::Settings& settings, const particles::Problem& problem) {
    shape_.moments[0] = shape_.moments[1] = 0;
    if (shape_.wire_axis >= 0)
        wire_.prepare(comm, problem, shape_.wire_axis, lattice_.edge[shape_.wire_axis],
                      lattice_.edge[WireImages::across(shape_.wire_axis, 0)], shape_.middle,
                      shape_.wire_reach, accuracy_of(settings));
    if (shape_.open_axis < 0)
        return;
    const core::Buffer<double>* const axes[3] = {&problem.x, &problem.y, &problem.z};
    for (int64_t i = 0; i < problem.n; ++i) {
        const double z = (*axes[shape_.open_axis])[i] - shape_.middle[shape_.open_axis];
        shape_.moments[0] += problem.charge[i] * z;
        shape_.moments[1] += problem.charge[i] * z * z;
    }
    comm.allreduce(shape_.moments, 2, comm::Operation::sum);
}

void PeriodicSum::add_slab(const particles::Problem& problem, bool with_potential, const int32_t* origin,
                           particles::RawField& field, double (&virial)[6]) const {
    if (shape_.wire_axis >= 0) {
        wire_.take_off(problem, with_potential, origin, field);
        virial[shape_.wire_axis] += wire_.strain_along(); // the others: finish_virial
    }
    if (shape_.open_axis < 0)
        return;
    const double factor = 2 * pi / lattice_.volume(), edge = lattice_.edge[shape_.open_axis];
    const core::Buffer<double>* const from[3] = {problem.points ? &problem.point_x : &problem.x,
                                                 problem.points ? &problem.point_y : &problem.y,
                                                 problem.points ? &problem.point_z : &problem.z};
    core::Buffer<double>* const to[3] = {&field.ax, &field.ay, &field.az};
    const int64_t count = problem.target_count();
    for (int64_t k = 0; k < count; ++k) {
        const double z =
            (*from[shape_.open_axis])[origin != nullptr ? origin[k] : k] - shape_.middle[shape_.open_axis];
        (*to[shape_.open_axis])[k] -= 2 * factor * (charge_ * z - shape_.moments[0]);
        if (with_potential)
            field.potential[k] -= factor * (charge_ * (z * z + edge * edge / 6) - 2 * z * shape_.moments[0] +
                                            shape_.moments[1]);
    }
    const double energy = factor * (shape_.moments[0] * shape_.moments[0] - charge_ * shape_.moments[1] -
                                    charge_ * charge_ * edge * edge / 12);
    for (int a = 0; a < 3; ++a) // as if the vacuum were strained, too
        virial[a] += a == shape_.open_axis ? energy : -energy;
}

void PeriodicSum::finish_virial(comm::Communicator& comm, const particles::Problem& problem, const int32_t* origin,
                                const particles::RawField& field, double (&virial)[7]) const {
    if (shape_.wire_axis < 0)
        return;
    const core::Buffer<double>* const place[3] = {&problem.x, &problem.y, &problem.z};
    const core::Buffer<double>* const slope[3] = {&field.ax, &field.ay, &field.az};
    constexpr int rows[6] = {0, 1, 2, 0, 0, 1}, columns[6] = {0, 1, 2, 1, 2, 2};
    double sums[6] = {};
    for (int c = 0; c < 6;
         ++c) { // a shear of the wire against its axis moves places only: the open one's arm
        const int arm = rows[c] == shape_.wire_axis ? columns[c] : rows[c];
        const int force = arm == rows[c] ? columns[c] : rows[c];
        for (int64_t k = 0; arm != shape_.wire_axis && k < problem.target_count(); ++k) {
            const int64_t i = origin != nullptr ? origin[k] : k;
            sums[c] += problem.charge[i] * ((*place[arm])[i] - shape_.middle[arm]) * (*slope[force])[k];
        }
    }
    comm.allreduce(sums, 6, comm::Operation::sum);
    for (int c = 0; c < 6; ++c)
        if (c != shape_.wire_axis)
            virial[c] = sums[c];
}

} // namespace graft::periodic
