// Solver, sixth part: what a periodic box adds to a computation.
#include "core/error.hpp"
#include "pipeline/periodic.hpp"
#include "pipeline/solver.hpp"
#include "reference/ewald_sum.hpp"

#include <algorithm>

namespace graft::pipeline {

using core::fail;
using core::Status;

/// Moves particles, or points, into the box.
void Solver::wrap(const backend::Executor& executor, core::Buffer<double>* const (&axes)[3]) {
    if (!settings_.periodic)
        return;
    const geometry::Lattice lattice = PeriodicSum::lattice_of(settings_);
    executor.for_each(axes[0]->size(),
                      [&](int64_t i) { lattice.wrap((*axes[0])[i], (*axes[1])[i], (*axes[2])[i]); });
}

/// Collective. Splits the lattice sum; pairs are then summed with what it says.
void Solver::begin_periodic() {
    problem_.periodic = spread_.periodic = nullptr;
    if (!settings_.periodic || all_particles_ == 0)
        return;
    int32_t some[2] = {with_virial_, !problem_.points && !problem_.all_targets && problem_.n > 0};
    comm_->allreduce(some, 2, comm::Operation::max);
    comm_->together([&] {
        if (settings_.method == Method::reference && !comm_->alone())
            fail(Status::unsupported,
                 "method: reference sums a periodic box on one rank only, found %d; expected direct or tree",
                 comm_->size());
        if (some[0] != 0 && some[1] != 0)
            fail(Status::unsupported,
                 "results.virial in a periodic box is that of all particles, but only some are "
                 "active or targets; compute all, or leave the virial away");
        if (!periodic_)
            periodic_ = std::make_shared<PeriodicSum>(memory_);
    });
    periodic_->prepare(*comm_, settings_, problem_, all_particles_, log_);
    problem_.periodic = spread_.periodic = periodic_.get();
}

/// The oracle's sum of all of it.
void Solver::evaluate_periodic_reference(const backend::Executor& executor) {
    const core::Timer timer;
    const geometry::Lattice lattice = PeriodicSum::lattice_of(settings_);
    reference::Cell cell;
    for (int a = 0; a < 3; ++a) {
        const geometry::Vec3 edge = lattice.shift(a == 0, a == 1, a == 2);
        cell.edge[a][0] = edge.x, cell.edge[a][1] = edge.y, cell.edge[a][2] = edge.z;
    }
    const bool sums = with_virial_ && problem_.all_targets;
    const reference::Points sources{problem_.n, problem_.x.data(), problem_.y.data(), problem_.z.data(),
                                    problem_.softening.empty() ? nullptr : problem_.softening.data()};
    const reference::Points targets{problem_.target_count(), problem_.target_x(), problem_.target_y(),
                                    problem_.target_z(), problem_.target_length()};
    reference::ewald_sum(cell, sources, problem_.charge.data(), targets,
                         static_cast<reference::Softening>(settings_.softening), settings_.softening_length,
                         periodic_->cutoff(), executor.threads,
                         {field_.ax.data(), field_.ay.data(), field_.az.data(),
                          with_potential_ ? field_.potential.data() : nullptr},
                         nullptr, sums ? field_.image_virial : nullptr);
    report_.pairs = static_cast<double>(all_particles_) * static_cast<double>(problem_.target_count());
    report_.time_s.forces = timer.seconds();
}

/// Collective. Adds the smooth part to the field of the pairs, and sums up: the virial of the pairs is theirs
/// alone.
void Solver::finish_periodic(const backend::Executor& executor) {
    if (settings_.method == Method::reference) { // has all of it
        if (with_sums_)
            sum_up(executor);
        std::copy_n(field_.image_virial, 6, totals_);
        return;
    }
    double virial[6] = {}, pairs[6] = {};
    if (with_sums_) {
        sum_up(executor);
        std::copy_n(totals_, 6, pairs);
        std::copy_n(field_.image_virial, 6, virial);
        comm_->allreduce(virial, 6, comm::Operation::sum);
        for (int c = 0; c < 6; ++c)
            pairs[c] += virial[c];
    }
    core::Timer timer;
    periodic_->add_waves(executor, *comm_, settings_, problem_, origin_, with_potential_, field_, virial);
    report_.time_s.forces += timer.seconds();
    if (!with_sums_)
        return;
    sum_up(executor);
    for (int c = 0; c < 6; ++c)
        totals_[c] = pairs[c] + virial[c];
}

} // namespace graft::pipeline
