// SPDX-License-Identifier: BSD-3-Clause
// A lattice sum, fourth part: how crowded a box is, from a sample of its particles. See periodic.hpp.
#include "periodic/periodic.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

namespace {

constexpr double pi = 3.14159265358979323846;

constexpr int64_t sample_size = 1024, sample_targets = 32, least_met = 32;
constexpr int64_t sample_columns = 5; // fractions, particles that one stands for, their |charge|

/// One of the particles of part k of `count`: any, as places in equal steps may be those of a grid's rows.
int64_t one_of_part(int64_t k, int64_t count, int64_t particles) {
    const int64_t begin = k * particles / count, size = (k + 1) * particles / count - begin;
    const uint64_t mixed = (static_cast<uint64_t>(k) + 1) * 0x9e3779b97f4a7c15u;
    return begin + static_cast<int64_t>((mixed >> 32) % static_cast<uint64_t>(size));
}

} // namespace

/// Collective. Of a sample of particles with a sample of them.
Crowding PeriodicSum::find_crowding(comm::Communicator& comm, const particles::Problem& problem, int64_t all_particles) {
    const int64_t room = sample_size / comm.size(), count = std::min(room, problem.n);
    comm.together([&] {
        sample_.resize(sample_columns * sample_size);
        std::fill(sample_.begin(), sample_.end(), 0.0);
        for (int64_t k = 0; k < count; ++k) {
            const int64_t i = one_of_part(k, count, problem.n);
            const geometry::Vec3 f = lattice_.fractions(problem.x[i], problem.y[i], problem.z[i]);
            double* const to = sample_.data() + sample_columns * (comm.rank() * room + k);
            to[0] = f.x;
            to[1] = f.y;
            to[2] = f.z;
            to[3] = static_cast<double>(problem.n) / static_cast<double>(count);
            to[4] = to[3] * std::abs(problem.charge[i]);
        }
    });
    comm.allreduce(sample_.data(), sample_columns * sample_size, comm::Operation::sum);
    Crowding crowding;
    crowding.largest = 0.5 * std::min({lattice_.width(0), lattice_.width(1), lattice_.width(2)});
    double within[Crowding::steps] = {}, charge[Crowding::steps] = {}, targets = 0, sources = 0, all_charge = 0;
    int64_t met[Crowding::steps] = {};
    for (int64_t t = 0; t < sample_size; t += sample_size / sample_targets) {
        const double* const at = sample_.data() + sample_columns * t;
        targets += at[3];
        for (int64_t k = 0; k < sample_size && at[3] > 0; ++k) {
            const double* const from = sample_.data() + sample_columns * k;
            const int step = k == t ? -1 : crowding_step(crowding, at, from);
            if (step >= 0) {
                within[step] += at[3] * from[3];
                charge[step] += at[3] * from[4];
                met[step] += from[3] > 0;
            }
        }
    }
    for (int k = Crowding::steps - 1; k > 0; --k) { // a smaller radius is within the larger ones
        within[k - 1] += within[k];
        charge[k - 1] += charge[k];
        met[k - 1] += met[k];
    }
    for (int64_t k = 0; k < sample_size; ++k) {
        sources += sample_[sample_columns * k + 3];
        all_charge += sample_[sample_columns * k + 4];
    }
    const double density = static_cast<double>(all_particles) / lattice_.volume();
    const double mean_charge = all_charge > 0 ? all_charge / sources : 1;
    crowding.factor.assign(Crowding::steps, 1.0);
    crowding.charge.assign(Crowding::steps, 1.0);
    for (size_t k = 0; k < Crowding::steps; ++k) {
        const double radius = crowding.largest * std::exp2(-0.5 * static_cast<double>(k));
        const double uniform = 4 * pi / 3 * radius * radius * radius * density;
        if (met[k] >= least_met) {
            crowding.factor[k] = std::max(1.0, within[k] / targets / uniform);
            crowding.charge[k] = std::max(1.0, charge[k] / mean_charge / targets / uniform);
        } else if (k > 0) { // too few to tell
            crowding.factor[k] = crowding.factor[k - 1];
            crowding.charge[k] = crowding.charge[k - 1];
        }
    }
    return crowding;
}

/// The smallest of the radii that two places (in fractions) are within, -1: none.
int PeriodicSum::crowding_step(const Crowding& crowding, const double* at, const double* from) const {
    double d[3];
    for (int a = 0; a < 3; ++a) { // the nearest image, without a call of std::round
        d[a] = from[a] - at[a];
        d[a] -= d[a] > 0.5 ? 1 : (d[a] < -0.5 ? -1 : 0);
    }
    const geometry::Vec3 s = lattice_.shift(d[0], d[1], d[2]);
    const double square = s.x * s.x + s.y * s.y + s.z * s.z, limit = crowding.largest * crowding.largest;
    if (square > limit)
        return -1;
    return square > 0 ? std::min(std::ilogb(limit / square), Crowding::steps - 1) : Crowding::steps - 1;
}

} // namespace graft::periodic
