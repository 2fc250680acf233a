// SPDX-License-Identifier: BSD-3-Clause
// CpuEngine: what a periodic box adds to a computation.
#include "core/error.hpp"
#include "core/timer.hpp"
#include "engine/engine_cpu.hpp"
#include "engine/report.hpp"
#include "periodic/lattice_kind.hpp"
#include "periodic/periodic.hpp"
#include "reference/ewald_sum.hpp"
#include "settings/choices.hpp"

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
void CpuEngine::wrap(const CpuComputation& c, core::Buffer<double>* const (&axes)[3]) {
    if (!c.settings.periodic)
        return;
    const geometry::Lattice lattice = periodic::PeriodicSum::lattice_of(c.settings);
    const int wire = c.settings.wire_axis, slab = c.settings.open_axis;
    const auto far = [&](int64_t i) {
        const geometry::Vec3 f = lattice.fractions((*axes[0])[i], (*axes[1])[i], (*axes[2])[i]);
        bool found = false;
        for (int a = 0; a < 3; ++a)
            found = found || (a != slab && (wire < 0 || a == wire) && !(std::abs(f[a]) <= furthest));
        return found;
    };
    std::atomic<bool> any{false};
    c.executor.for_each(axes[0]->size(), [&](int64_t i) {
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
void CpuEngine::begin_periodic(const CpuComputation& c, int round) {
    problem_.periodic = spread_.periodic = nullptr;
    if (!c.settings.periodic || c.all.particles == 0)
        return;
    c.comm.together([&] {
        if (!periodic_)
            periodic_ = std::make_shared<periodic::PeriodicSum>(memory_);
    });
    periodic_->prepare(c.executor, c.comm, c.settings, problem_, c.all.particles, c.environment.log,
                       round);
    c.report.ewald_alpha = periodic_->screened() ? periodic_->alpha() : 0;
    problem_.periodic = spread_.periodic = periodic_.get();
    problem_.with_virial = spread_.with_virial = c.all.with_virial;
}

/// Collective. Whether forces of a periodic box are so small that they must be summed again, by the settings that then stand
/// in c: mac.accuracy asks for an error of theirs, and what it was taken of is the field of charges at random places.
bool CpuEngine::refine(CpuComputation& c, int round) {
    const double asked = c.environment.settings.accuracy;
    if (problem_.periodic == nullptr || !periodic_->is_accurate_by(c.settings))
        return false;
    const double size = periodic_->size_of(c.comm, problem_, items(c.order), field_);
    if (periodic_->serves(c.settings, asked, size))
        return false;
    const bool again = round + 1 < periodic::PeriodicSum::most_rounds && periodic_->may_be_finer(c.settings);
    tell_of_small_fields(c, size, again);
    if (!again)
        return false;
    problem_.last.resize(0); // the finer sum measures errors by itself
    c.settings = settings::split_instead(c.settings, asked * size);
    return true;
}

/// When that changes.
void CpuEngine::tell_of_small_fields(const CpuComputation& c, double size, bool again) {
    const core::LogLevel level = again ? core::LogLevel::info : core::LogLevel::warning;
    if (c.comm.rank() != 0 || !c.environment.log.wants(level))
        return;
    std::string text = core::format("the forces of this periodic box, or that on its heaviest charge, are about %.2g of those of "
                                    "charges at random places",
                                    size);
    text += again ? ", and are summed again, split, with cells and waves that are as much more exact"
                  : core::format(", and may be wrong by %.2g of themselves where mac.accuracy asks for %.2g. Leave ewald.method, "
                                 "precision and ewald.accuracy to Graft, or set split, fp64 and a smaller ewald.accuracy",
                                 periodic_->error_of(c.settings) / size, c.environment.settings.accuracy);
    std::string& said = again ? said_of_again_ : said_of_small_fields_;
    if (text != said)
        c.environment.log.write(level, text);
    said = std::move(text);
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
        for (size_t r = 0; r < ranks; ++r) {
            offset[r] = sum;
            sum += bytes[r];
        }
        all.resize(static_cast<size_t>(sum) / sizeof(double));
    });
    comm.allgatherv_bytes(own.data(), mine, all.data(), bytes.data(), offset.data());
    return all;
}

} // namespace

/// Collective. The oracle's sum of all of it: of every rank's sources at the own targets; the virial, where
/// it is wanted, is summed by every rank over all particles.
void CpuEngine::evaluate_periodic_reference(const CpuComputation& c) {
    const core::Timer timer;
    const geometry::Lattice& lattice = periodic_->lattice(); // of a slab: with its vacuum
    reference::Cell cell;
    for (int a = 0; a < 3; ++a) {
        const geometry::Vec3 edge = lattice.shift(a == 0, a == 1, a == 2);
        cell.edge[a][0] = edge.x;
        cell.edge[a][1] = edge.y;
        cell.edge[a][2] = edge.z;
    }
    const std::vector<double> x = of_all_ranks(c.comm, problem_.x), y = of_all_ranks(c.comm, problem_.y),
                              z = of_all_ranks(c.comm, problem_.z), q = of_all_ranks(c.comm, problem_.charge),
                              length = of_all_ranks(c.comm, problem_.softening);
    const reference::Points sources{static_cast<int64_t>(x.size()), x.data(), y.data(), z.data(),
                                    length.empty() ? nullptr : length.data()};
    const reference::Points targets{problem_.target_count(), problem_.target_x(), problem_.target_y(),
                                    problem_.target_z(), problem_.target_length()};
    const bool sums = c.comm.max<int32_t>(c.request.outputs.virial.present() && problem_.all_targets) != 0;
    double virial[6] = {};
    c.comm.together([&] {
        const auto sum = [&](const reference::Points& at, const reference::Field& field, double* total) {
            reference::ewald_sum(
                cell, sources, q.data(), at, static_cast<reference::Softening>(c.settings.softening),
                c.settings.softening_length, periodic_->cutoff(), c.executor.threads, field, nullptr, total);
        };
        const bool alone = c.comm.alone();
        sum(targets,
            {field_.ax.data(), field_.ay.data(), field_.az.data(),
             c.all.with_potential ? field_.potential.data() : nullptr},
            sums && alone ? virial : nullptr);
        if (sums && !alone) {
            std::vector<double> field[3];
            for (std::vector<double>& values : field)
                values.resize(x.size());
            sum(sources, {field[0].data(), field[1].data(), field[2].data(), nullptr}, virial);
        }
        periodic_->add_slab(problem_, c.all.with_potential, problem_.points ? nullptr : items(c.order),
                            field_, virial);
        std::copy_n(virial, 6, field_.image_virial);
    });
    c.report.pairs = static_cast<double>(c.all.particles) * static_cast<double>(problem_.target_count());
    c.report.time_s.forces = timer.seconds();
}

/// Collective. Adds the smooth part to the field of the pairs, and sums up: the virial of the pairs is theirs
/// alone.
void CpuEngine::finish_periodic(CpuComputation& c) {
    double(&totals)[Totals::count] = c.totals.value;
    if (c.settings.method == settings::Method::reference) { // has all of it
        sum_totals(c);
        std::copy_n(field_.image_virial, 6, totals);
        if (c.all.with_sums)
            periodic_->finish_virial(c.comm, problem_, items(c.order), field_, totals);
        return;
    }
    double virial[6] = {}, pairs[6] = {}, places[6] = {};
    if (c.all.with_sums && !periodic::is_long_range(c.settings)) { // there are pairs
        c.totals = sum_up(c.executor, c.comm, view(c), sums_);
        std::copy_n(totals, 6, pairs);
        std::copy_n(totals, 6, places);
        std::copy_n(field_.image_virial, 6, virial);
        c.comm.allreduce(virial, 6, comm::Operation::sum);
        for (int k = 0; k < 6; ++k)
            pairs[k] += virial[k];
    }
    const core::Timer timer;
    periodic_->add_waves(c.executor, c.comm, c.settings, problem_, items(c.order), c.all.with_potential,
                         field_, virial);
    c.report.time_s.forces += timer.seconds();
    sum_totals(c);
    if (!c.all.with_sums)
        return;
    for (int k = 0; k < 6; ++k)
        totals[k] = pairs[k] + virial[k] + (periodic_->screened() ? 0 : totals[k] - places[k]);
    periodic_->finish_virial(c.comm, problem_, items(c.order), field_, totals);
}

} // namespace graft::engine
