// Solver, sixth part: what a periodic box adds to a computation.
#include "core/error.hpp"
#include "pipeline/periodic.hpp"
#include "pipeline/solver.hpp"

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
        if (settings_.method == Method::reference)
            fail(Status::unsupported,
                 "method: reference computes open boxes only; expected direct or tree in a "
                 "periodic box");
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

/// Collective. Adds the smooth part to the field of the pairs, and sums up: the virial of the pairs is theirs
/// alone.
void Solver::finish_periodic(const backend::Executor& executor) {
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
