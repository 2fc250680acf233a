// SPDX-License-Identifier: BSD-3-Clause
// The smooth part of a lattice sum, over wave vectors: its structure factors and its field. See periodic.hpp.
#include "periodic/periodic.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

namespace {

constexpr int64_t most_chunks = 64;  // of particles, each with structure factors of its own
constexpr int64_t least_chunk = 256; // particles
constexpr int64_t field_block = 256; // targets

int64_t chunk_size(int64_t n) {
    return std::max(least_chunk, (n + most_chunks - 1) / most_chunks);
}

} // namespace

void PeriodicSum::find_fractions(const backend::Executor& executor, int64_t count, const double* x,
                                 const double* y, const double* z) {
    for (core::Buffer<double>* values : {&places_.f1, &places_.f2, &places_.f3})
        values->resize(count);
    executor.for_each(count, [&](int64_t i) {
        const geometry::Vec3 f = lattice_.fractions(x[i], y[i], z[i]);
        places_.f1[i] = f.x;
        places_.f2[i] = f.y;
        places_.f3[i] = f.z;
    });
}

template <typename T>
void PeriodicSum::sum_structure(const backend::Executor& executor, const particles::Problem& problem,
                                core::Buffer<T>& scratch) {
    const int64_t size = structure_size * waves_.value_count(), chunk = chunk_size(problem.n);
    const int64_t chunks = std::max<int64_t>(1, (problem.n + chunk - 1) / chunk),
                  room = periodic::wave_scratch(waves_);
    find_fractions(executor, problem.n, problem.x.data(), problem.y.data(), problem.z.data());
    sums_.resize(chunks * size);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    scratch.resize(executor.threads * room);
    executor.for_blocks(problem.n, chunk, [&](int64_t begin, int64_t end, int thread) {
        const Fractions part{places_.f1.data() + begin, places_.f2.data() + begin,
                                      places_.f3.data() + begin, end - begin};
        periodic::add_structure(waves_, part, problem.charge.data() + begin, scratch.data() + thread * room,
                               sums_.data() + begin / chunk * size);
    });
    executor.for_each(size, [&](int64_t k) {
        for (int64_t c = 1; c < chunks; ++c)
            sums_[k] += sums_[c * size + k];
    });
}

/// Potentials of about 1 / edge leave single precision in very small or large units: a power of two on the way.
double PeriodicSum::smooth_scale() const {
    return std::exp2(std::round(std::log2(std::cbrt(lattice_.volume()))));
}

/// Of a unit charge in the smooth part, where no pair at distance zero takes it off.
double PeriodicSum::own_potential() const {
    return split_problem_ && split_problem_->pairs_elsewhere ? 2 / std::sqrt(3.14159265358979323846) * split_.alpha : 0;
}

template <class Sum>
void PeriodicSum::add_smooth(const backend::Executor& executor, const particles::Problem& problem, const int32_t* origin,
                             bool with_potential, double scale, particles::RawField& field, const Sum& sum_of) {
    const double background = charge_ * waves_.background(split_.cutoff).potential / lattice_.volume();
    const double unscale = 1 / scale, own = problem.points ? 0 : own_potential();
    const geometry::Vec3 g[3] = {lattice_.reciprocal(1, 0, 0), lattice_.reciprocal(0, 1, 0),
                                 lattice_.reciprocal(0, 0, 1)};
    derivative_.resize(executor.threads * 7 * field_block);
    const bool points = problem.points;
    executor.for_blocks(problem.target_count(), field_block, [&](int64_t begin, int64_t end, int thread) {
        double* const sum =
            derivative_.data() + thread * 7 * field_block; // potential, by f1 f2 f3, then the places
        double* const place = sum + 4 * field_block;
        const int64_t n = end - begin;
        std::fill(sum, place, 0.0);
        const auto item = [&](int64_t k) { return origin != nullptr ? origin[begin + k] : begin + k; };
        for (int64_t k = 0; k < n; ++k) {
            const int64_t i = item(k);
            const geometry::Vec3 f =
                points ? lattice_.fractions(problem.point_x[i], problem.point_y[i], problem.point_z[i])
                       : geometry::Vec3{places_.f1[i], places_.f2[i], places_.f3[i]};
            for (int a = 0; a < 3; ++a)
                place[a * field_block + k] = f[a];
        }
        sum_of(Fractions{place, place + field_block, place + 2 * field_block, n}, item, thread, sum);
        core::Buffer<double>* to[3] = {&field.ax, &field.ay, &field.az};
        for (int64_t k = 0; k < n; ++k) {
            for (int c = 0; c < 3; ++c)
                (*to[c])[begin + k] +=
                    unscale * (g[0][c] * sum[field_block + k] + g[1][c] * sum[2 * field_block + k] +
                               g[2][c] * sum[3 * field_block + k]);
            if (with_potential)
                field.potential[begin + k] += unscale * sum[k] + background - (own > 0 ? own * problem.charge[item(k)] : 0);
        }
    });
}

template <typename T>
void PeriodicSum::add_field(const backend::Executor& executor, const particles::Problem& problem, const int32_t* origin,
                            bool with_potential, core::Buffer<T>& scratch, core::Buffer<T>& weighted,
                            particles::RawField& field) {
    weighted.resize(wave_size * waves_.value_count());
    const double scale = smooth_scale(), unscale = 1 / scale;
    for (int64_t k = 0; k < structure_size * waves_.value_count(); ++k)
        sums_[k] *= scale;
    periodic::weigh_structure(waves_, sums_.data(), weighted.data());
    for (int64_t k = 0; k < structure_size * waves_.value_count(); ++k)
        sums_[k] *= unscale;
    const int64_t room = periodic::wave_scratch(waves_);
    scratch.resize(executor.threads * room);
    const double own = with_potential && !problem.points ? 2 * scale * waves_.own_terms().energy : 0;
    add_smooth(executor, problem, origin, with_potential, scale, field,
               [&](const Fractions& places, const auto& item, int thread, double* sum) {
                   periodic::add_waves(waves_, weighted.data(), places, scratch.data() + thread * room,
                                       with_potential ? sum : nullptr, sum + field_block, sum + 2 * field_block,
                                       sum + 3 * field_block);
                   for (int64_t k = 0; own != 0 && k < places.count; ++k)
                       sum[k] += own * problem.charge[item(k)];
               });
}

/// Collective. energy: of all ranks, or NULL.
template <typename T>
void PeriodicSum::add_mesh(const backend::Executor& executor, comm::Communicator& comm, const particles::Problem& problem,
                           const int32_t* origin, bool with_potential, WaveMesh<T>& mesh, particles::RawField& field,
                           WaveEnergy* energy) {
    static_assert(WaveMesh<T>::most_read == field_block);
    const double scale = smooth_scale();
    comm.together([&] {
        mesh.prepare(executor, waves_, split_.mesh, scale);
        find_fractions(executor, problem.n, problem.x.data(), problem.y.data(), problem.z.data());
        mesh.spread(executor, {places_.f1.data(), places_.f2.data(), places_.f3.data(), problem.n}, problem.charge.data());
    });
    mesh.sum_over(comm);
    comm.together([&] {
        mesh.convolve(executor, split_problem_->square_sum, energy);
        add_smooth(executor, problem, origin, with_potential, scale, field,
                   [&](const Fractions& places, const auto& item, int, double* sum) {
                       double charge[field_block];
                       for (int64_t k = 0; !problem.points && k < places.count; ++k)
                           charge[k] = problem.charge[item(k)];
                       mesh.read(places, problem.points ? nullptr : charge, with_potential ? sum : nullptr,
                                 sum + field_block, sum + 2 * field_block, sum + 3 * field_block);
                   });
    });
}

void PeriodicSum::add_waves(const backend::Executor& executor, comm::Communicator& comm,
                            const settings::Settings& settings, const particles::Problem& problem, const int32_t* origin,
                            bool with_potential, particles::RawField& field, double (&virial)[6]) {
    if (replicas_)
        return add_far_images(executor, comm, problem, origin, with_potential, field, virial);
    const bool full = settings.precision == settings::Precision::fp64;
    WaveEnergy waves;
    if (split_.mesh.order > 0) {
        WaveEnergy* const energy = problem.with_virial ? &waves : nullptr;
        full ? add_mesh(executor, comm, problem, origin, with_potential, mesh_.full, field, energy)
             : add_mesh(executor, comm, problem, origin, with_potential, mesh_.single, field, energy);
    } else {
        comm.together([&] {
            full ? sum_structure(executor, problem, scratch_full_)
                 : sum_structure(executor, problem, scratch_single_);
        });
        comm.allreduce(sums_.data(), structure_size * waves_.value_count(), comm::Operation::sum);
        comm.together([&] {
            full ? add_field(executor, problem, origin, with_potential, scratch_full_, weighted_full_, field)
                 : add_field(executor, problem, origin, with_potential, scratch_single_, weighted_single_, field);
        });
        waves = periodic::wave_energy(waves_, sums_.data());
        const OwnTerms own = waves_.own_terms();
        const double squares = split_problem_ ? split_problem_->square_sum : 0;
        for (int c = 0; c < 6; ++c)
            waves.virial[c] += squares * own.virial[c];
    }
    const double background = 0.5 * charge_ * charge_ * waves_.background(split_.cutoff).virial / lattice_.volume();
    for (int c = 0; c < 6; ++c)
        virial[c] = waves.virial[c] - (c < 3 ? background : 0);
    add_slab(problem, with_potential, origin, field, virial);
}

} // namespace graft::periodic
