// SPDX-License-Identifier: BSD-3-Clause
// Of a lattice sum: whether its forces are as exact as mac.accuracy asks. See periodic.hpp.
//
// What cells and splitting may be wrong by is a share of the typical field, which is that of a neighbour. Charges at random
// places have fields above it (Holtsmark's distribution: Chandrasekhar 1943, Rev. Mod. Phys. 15, 1). Those of a lattice that
// is a little perturbed, of which simulations begin, cancel to a hundredth of it, and nothing but the sum itself tells. So
// the field that was found is looked at: by one of its quantiles, which a few close pairs do not change as they do a mean,
// and from counts, which are the same for any order and spread of the targets. The first look sees the error of the sum,
// too, if that is larger than the field, hence the third round. What is summed again is split.
//
// Where one charge is most of all, the typical field is its own, which it does not feel: its field is looked at, too.
#include "periodic/periodic.hpp"

#include "periodic/lattice_kind.hpp"
#include "settings/choices.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

namespace {

constexpr double share = 0.05; // of the targets have less than the field that is looked for
constexpr double usual = 1.84; // typical fields: what that is of charges at random places
constexpr int octave = 4;      // sizes that are told apart
constexpr int most_sizes = 64;
constexpr double margin = 1.5; // by which an error may be larger than asked
constexpr double own = 32;     // times the error of others: that of the heaviest charge, whose own waves cancel at its place

/// Of so many targets may have less by chance.
double allowed(double targets) {
    return share * targets + 2 * std::sqrt(share * targets);
}

double size_at(int step) {
    return std::exp2(-static_cast<double>(step) / octave);
}

} // namespace

double PeriodicSum::error_of(const settings::Settings& settings) const {
    const settings::Settings s = taken(settings);
    const double error = replicas_ || split_.cells ? s.accuracy : split_.accuracy;
    return s.precision == settings::Precision::fp64 ? error : std::max(error, settings::single_precision_of_split);
}

double PeriodicSum::size_of(comm::Communicator& comm, const particles::Problem& problem, const int32_t* items,
                            const particles::RawField& field) const {
    double heaviest = 1;
    double count[1 + most_sizes] = {static_cast<double>(field.ax.size())}; // of targets: all, and from a size to the next
    for (int64_t k = 0; k < field.ax.size() && typical_field_ > 0; ++k) {
        const double unit = 1 / (usual * typical_field_); // squares of fields leave double in small units
        const double x = unit * field.ax[k], y = unit * field.ay[k], z = unit * field.az[k];
        const double square = x * x + y * y + z * z;
        const double charge = problem.points ? 0 : problem.charge[items != nullptr ? items[k] : k];
        if (2 * charge * charge > square_sum_)
            heaviest = std::min(heaviest, std::sqrt(square) / own);
        if (square < 1)
            ++count[1 + std::min(most_sizes - 1, static_cast<int>(-0.5 * octave * std::log2(std::max(square, 1e-300))))];
    }
    comm.allreduce(count, 1 + most_sizes, comm::Operation::sum);
    heaviest = comm.min(heaviest);
    double smaller = 0;
    int step = most_sizes;
    while (step > 0 && smaller + count[step] <= allowed(count[0]))
        smaller += count[step--];
    return std::min(size_at(step), heaviest);
}

bool PeriodicSum::serves(const settings::Settings& settings, double accuracy, double size) const {
    return error_of(settings) <= margin * accuracy * size;
}

bool PeriodicSum::is_accurate_by(const settings::Settings& s) const {
    return s.method == settings::Method::tree && s.mac == settings::MacType::error && s.theta > 0 && !is_long_range(s);
}

bool PeriodicSum::may_be_finer(const settings::Settings& s) const {
    if (replicas_) // those that were asked for stay what they are
        return s.lattice_sum == settings::LatticeSum::auto_;
    const bool exact = s.precision_left || s.precision == settings::Precision::fp64;
    return error_of(s) > std::max(exact ? 0 : settings::single_precision_of_split, split_.cells ? 0 : s.ewald_accuracy);
}

} // namespace graft::periodic
