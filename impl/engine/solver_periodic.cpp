// Solver, sixth part: what a periodic box adds to a computation.
#include "core/error.hpp"
#include "engine/checks.hpp"
#include "periodic/periodic.hpp"
#include "engine/solver.hpp"
#include "reference/ewald_sum.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

namespace graft::engine {

using core::fail;
using core::Status;

namespace {

constexpr double furthest = 1e9; // edges from the box: rounding then moves a point by 1e-7 of an edge

[[noreturn]] void refuse_far(bool points, int64_t i, const geometry::Vec3& fractions) {
    fail(Status::value,
         "%s %lld lies %.3g, %.3g, %.3g edges from the lower corner of the periodic box, where double "
         "precision no "
         "longer tells where in the box it is; expected at most %.0g. Wrap positions into the box from time "
         "to time",
         points ? "point" : "particle", static_cast<long long>(i), fractions.x, fractions.y, fractions.z,
         furthest);
}

} // namespace

/// Moves particles, or points, into the box. Throws Error(value) for one that is too far away.
void Solver::wrap(const backend::Executor& executor, core::Buffer<double>* const (&axes)[3]) {
    if (!settings_.periodic)
        return;
    const geometry::Lattice lattice = periodic::PeriodicSum::lattice_of(settings_);
    const int wire = settings_.wire_axis, slab = settings_.open_axis;
    const auto far = [&](int64_t i) {
        const geometry::Vec3 f = lattice.fractions((*axes[0])[i], (*axes[1])[i], (*axes[2])[i]);
        bool found = false;
        for (int a = 0; a < 3; ++a)
            found = found || (a != slab && (wire < 0 || a == wire) && !(std::abs(f[a]) <= furthest));
        return found;
    };
    std::atomic<bool> any{false};
    executor.for_each(axes[0]->size(), [&](int64_t i) {
        if (far(i))
            any.store(true, std::memory_order_relaxed);
        else if (double& at = (*axes[std::max(wire, 0)])[i]; wire >= 0)
            at -= std::floor((at - lattice.lower[wire]) / lattice.edge[wire]) * lattice.edge[wire];
        else
            lattice.wrap((*axes[0])[i], (*axes[1])[i], (*axes[2])[i], slab);
    });
    for (int64_t i = 0; any && i < axes[0]->size(); ++i)
        if (far(i))
            refuse_far(axes[0] == &problem_.point_x, i,
                       lattice.fractions((*axes[0])[i], (*axes[1])[i], (*axes[2])[i]));
}

/// Collective. Splits the lattice sum; pairs are then summed with what it says.
void Solver::begin_periodic() {
    problem_.periodic = spread_.periodic = nullptr;
    if (!settings_.periodic || all_particles_ == 0)
        return;
    int32_t some[2] = {with_virial_, !problem_.points && !problem_.all_targets && problem_.n > 0};
    comm_->allreduce(some, 2, comm::Operation::max);
    comm_->together([&] {
        if (some[0] != 0 && some[1] != 0)
            refuse_virial_of_some();
        if ((settings_.open_axis >= 0 || settings_.wire_axis >= 0) &&
            settings_.softening == settings::Softening::plummer &&
            (settings_.softening_length > 0 || problem_.per_particle_softening))
            refuse_plummer_slab();
        if (!periodic_)
            periodic_ = std::make_shared<periodic::PeriodicSum>(memory_);
    });
    periodic_->prepare({memory_, backend::resolve_threads(settings_.threads)}, *comm_, settings_, problem_,
                       all_particles_, log_);
    problem_.periodic = spread_.periodic = periodic_.get();
}

namespace {

/// Collective. One number of every particle of all ranks, rank after rank.
std::vector<double> of_all_ranks(comm::Communicator& comm, const core::Buffer<double>& own) {
    const auto ranks = static_cast<size_t>(comm.size());
    std::vector<int64_t> bytes(ranks), offset(ranks, 0);
    std::vector<double> all;
    const int64_t mine = own.size() * static_cast<int64_t>(sizeof(double));
    comm.allgather(&mine, 1, bytes.data());
    comm.together([&] {
        int64_t sum = 0;
        for (size_t r = 0; r < ranks; ++r)
            offset[r] = sum, sum += bytes[r];
        all.resize(static_cast<size_t>(sum) / sizeof(double));
    });
    comm.allgatherv_bytes(own.data(), mine, all.data(), bytes.data(), offset.data());
    return all;
}

} // namespace

/// Collective. The oracle's sum of all of it: of every rank's sources at the own targets; the virial, where
/// it is wanted, is summed by every rank over all particles.
void Solver::evaluate_periodic_reference(const backend::Executor& executor) {
    const core::Timer timer;
    const geometry::Lattice& lattice = periodic_->lattice(); // of a slab: with its vacuum
    reference::Cell cell;
    for (int a = 0; a < 3; ++a) {
        const geometry::Vec3 edge = lattice.shift(a == 0, a == 1, a == 2);
        cell.edge[a][0] = edge.x, cell.edge[a][1] = edge.y, cell.edge[a][2] = edge.z;
    }
    const std::vector<double> x = of_all_ranks(*comm_, problem_.x), y = of_all_ranks(*comm_, problem_.y),
                              z = of_all_ranks(*comm_, problem_.z), q = of_all_ranks(*comm_, problem_.charge),
                              length = of_all_ranks(*comm_, problem_.softening);
    const reference::Points sources{static_cast<int64_t>(x.size()), x.data(), y.data(), z.data(),
                                    length.empty() ? nullptr : length.data()};
    const reference::Points targets{problem_.target_count(), problem_.target_x(), problem_.target_y(),
                                    problem_.target_z(), problem_.target_length()};
    const bool sums = comm_->max<int32_t>(with_virial_ && problem_.all_targets) != 0;
    double virial[6] = {};
    comm_->together([&] {
        const auto sum = [&](const reference::Points& at, const reference::Field& field, double* total) {
            reference::ewald_sum(
                cell, sources, q.data(), at, static_cast<reference::Softening>(settings_.softening),
                settings_.softening_length, periodic_->cutoff(), executor.threads, field, nullptr, total);
        };
        const bool alone = comm_->alone();
        sum(targets,
            {field_.ax.data(), field_.ay.data(), field_.az.data(),
             with_potential_ ? field_.potential.data() : nullptr},
            sums && alone ? virial : nullptr);
        if (sums && !alone) {
            std::vector<double> field[3];
            for (std::vector<double>& values : field)
                values.resize(x.size());
            sum(sources, {field[0].data(), field[1].data(), field[2].data(), nullptr}, virial);
        }
        periodic_->add_slab(problem_, with_potential_, problem_.points ? nullptr : origin_, field_, virial);
        std::copy_n(virial, 6, field_.image_virial);
    });
    report_.pairs = static_cast<double>(all_particles_) * static_cast<double>(problem_.target_count());
    report_.time_s.forces = timer.seconds();
}

/// Collective. Adds the smooth part to the field of the pairs, and sums up: the virial of the pairs is theirs
/// alone.
void Solver::finish_periodic(const backend::Executor& executor) {
    if (settings_.method == settings::Method::reference) { // has all of it
        if (with_sums_)
            sum_up(executor);
        std::copy_n(field_.image_virial, 6, totals_);
        if (with_sums_)
            periodic_->finish_virial(*comm_, problem_, origin_, field_, totals_);
        return;
    }
    double virial[6] = {}, pairs[6] = {}, places[6] = {};
    if (with_sums_) {
        sum_up(executor);
        std::copy_n(totals_, 6, pairs);
        std::copy_n(totals_, 6, places);
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
        totals_[c] = pairs[c] + virial[c] + (periodic_->screened() ? 0 : totals_[c] - places[c]);
    periodic_->finish_virial(*comm_, problem_, origin_, field_, totals_);
}

} // namespace graft::engine
