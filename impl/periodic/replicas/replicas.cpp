// SPDX-License-Identifier: BSD-3-Clause
// A lattice sum, fourth part: replicas. See periodic.hpp, replica_field.hpp.
#include "core/error.hpp"
#include "periodic/periodic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::periodic {

namespace {

/// Longest distance of two particles over that of the nearest far image; 27 images of a cube have 0.87.
constexpr double reaches[] = {0.9, 0.72, 0.59, 0.5, 0.43};
/// The estimate of the rms error is good to a factor of 1.6 (random charges, cubes to tilted boxes of ratio 2.5); in the
/// corners of the box, where the series ends slowest, errors are ten times as large.
constexpr double safety = 0.04;
constexpr int64_t most_images = 700;

double wanted(const settings::Settings& s) {
    return s.ewald_accuracy > 0 ? s.ewald_accuracy : s.accuracy;
}

} // namespace

void PeriodicSum::check_replicas(const settings::Settings& settings, const Totals& totals) const {
    if (settings.open_axis >= 0 || settings.wire_axis >= 0)
        core::fail(
            core::Status::unsupported,
            "ewald.method replicas in a slab or wire; expected a box with images along three axes. Set "
            "ewald.method: split");
    if (settings.softening == settings::Softening::plummer && totals.longest > 0)
        core::fail(core::Status::unsupported,
                   "softening.kind plummer with ewald.method replicas: far images act unsoftened; expected "
                   "spline or none. Set ewald.method: split, which softens all images");
    const double room = DistantImages::diagonal(lattice_) * (1 / reaches[0] - 1);
    if (settings.softening == settings::Softening::spline && totals.longest > room)
        core::fail(core::Status::unsupported,
                   "softening length %g with ewald.method replicas, where far images act unsoftened; "
                   "expected at most %g. Set ewald.method: split",
                   totals.longest, room);
}

/// Collective. As few near images, and as few moments, as the accuracy asked for allows.
void PeriodicSum::prepare_replicas(const backend::Executor& executor, comm::Communicator& comm,
                                   const settings::Settings& settings, const particles::Problem& problem, int64_t all_particles,
                                   const Totals& totals, const core::Log& log) {
    split_problem_.reset();
    charge_ = totals.charge;
    typical_field_ =
        periodic::typical_field(problem_of(settings, lattice_, all_particles, totals.square, totals.longest));
    shape_.open_axis = shape_.wire_axis = -1;
    split_ = {1, std::numeric_limits<double>::infinity(), 0, {}, true};
    const double diagonal = DistantImages::diagonal(lattice_),
                 limit = safety * wanted(settings) * typical_field_;
    double error = 0;
    far_.begin(all_particles, wanted(settings));
    const auto part = [&] { return typical_field_ > 0 ? error / typical_field_ : 0; };
    for (const double reach : reaches) {
        comm.together([&] {
            check_replicas(settings, totals);
            if (const double count = DistantImages::near_count(lattice_, diagonal / reach);
                !(count <= most_images))
                core::fail(
                    core::Status::unsupported,
                    "ewald.method replicas would need about %.3g near images; expected at most %lld. "
                    "Fewer leave out %.2g of the typical force (0: none were tried), ewald.accuracy or "
                    "mac.accuracy asks for %.2g; edges %g x %g x %g. Set ewald.method: split",
                    count, static_cast<long long>(most_images), part(), wanted(settings), lattice_.edge[0],
                    lattice_.edge[1], lattice_.edge[2]);
            far_.choose(lattice_, DistantImages::near_images(lattice_, diagonal / reach));
        });
        int order = DistantImages::least_order;
        while (order < DistantImages::most_order && far_.random_error(order, totals.square) > 0.3 * limit)
            order += 2;
        for (;; order = std::min(order + 4, DistantImages::most_order)) {
            far_.set_order(order);
            far_.sum(comm, executor, problem);
            error = far_.error(comm, problem, totals.square);
            if (error <= limit || order == DistantImages::most_order)
                break;
        }
        if (error <= limit)
            break;
    }
    comm.together([&] {
        if (error > limit)
            core::fail(core::Status::unsupported,
                       "ewald.method replicas reaches %.2g of the typical force in this box, ewald.accuracy "
                       "or mac.accuracy asks for %.2g. Ask for less, or set ewald.method: split",
                       part(), wanted(settings));
    });
    const std::string text =
        core::format("periodic box: %lld images by the tree, the others by moments of order %d",
                     static_cast<long long>(far_.near().shifts.size()), far_.order());
    if (comm.rank() == 0 && log.wants(core::LogLevel::info) && text != said_[round_])
        log.write(core::LogLevel::info,
                  text + core::format("; %.1g of the typical force is left out", part()));
    said_[round_] = text;
}

/// Collective.
void PeriodicSum::add_far_images(const backend::Executor& executor, comm::Communicator& comm,
                                 const particles::Problem& problem, const int32_t* origin, bool with_potential,
                                 particles::RawField& field, double (&virial)[6]) {
    comm.together([&] { far_.add(executor, problem, with_potential, origin, field); });
    far_.lattice_strain(virial);
}

} // namespace graft::periodic
