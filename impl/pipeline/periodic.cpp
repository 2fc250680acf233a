// See periodic.hpp.
#include "pipeline/periodic.hpp"

#include "pipeline/forest.hpp"

#include <algorithm>
#include <cmath>

namespace graft::pipeline {

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr int64_t most_chunks = 64;  // of particles, each with structure factors of its own
constexpr int64_t least_chunk = 256; // particles
constexpr int64_t field_block = 256; // targets

int64_t chunk_size(int64_t n) {
    return std::max(least_chunk, (n + most_chunks - 1) / most_chunks);
}

/// Where nothing is asked for: the rounding of the precision for all pairs, a hundredth of the tree's error
/// with cells.
double chosen_accuracy(const Settings& s) {
    const double rounding = s.precision == Precision::fp64 ? 1e-13 : 1e-6;
    if (s.ewald_accuracy > 0)
        return s.ewald_accuracy;
    if (s.method != Method::tree || s.theta == 0)
        return rounding;
    return std::max(rounding, s.mac == MacType::error ? std::min(0.01 * s.accuracy, 1e-5) : 1e-6);
}

/// A spline is Newtonian from its length on. What Plummer lengths per particle differ by falls off slowly,
/// and ends at the cut-off: 1.5 (length^2 - mean) / cutoff^2 of a pair, here 1.5 % at most where the box has
/// room for it.
double least_cutoff(const Settings& s, double length, const geometry::Lattice& lattice) {
    if (s.softening != Softening::plummer || length == 0)
        return s.softening == Softening::spline ? length : 0;
    const double room = 0.5 * std::min({lattice.width(0), lattice.width(1), lattice.width(2)});
    return std::max(length, std::min(10 * length, room));
}

// Costs in units of a particle and a wave vector (0.11 ns in single, 0.27 ns in double precision with
// AVX-512), lists and gathering included: least squares over computations of all mixtures, within 10 %.
constexpr double pair_costs[2] = {4.2, 4.4}; // single, double
constexpr double direct_cost = 3;            // of a pair of method direct
constexpr double cell_costs[2][5] = {{15, 17, 20, 27, 35}, {12, 14, 17, 24, 32}}; // by order
constexpr int cell_group = 64;                                                    // what suits cells
constexpr int64_t least_for_cells = 2048;                                         // particles

constexpr int64_t sample_size = 1024, sample_targets = 32, least_met = 32;

} // namespace

PeriodicSum::PeriodicSum(core::Memory& memory)
    : sample_(memory, "sample of particles"), places_(memory), sums_(memory, "structure factors"),
      derivative_(memory, "wave derivatives"), scratch_single_(memory, "wave powers"),
      weighted_single_(memory, "waves"), scratch_full_(memory, "wave powers"),
      weighted_full_(memory, "waves") {}

geometry::Lattice PeriodicSum::lattice_of(const Settings& s) {
    geometry::Lattice lattice;
    for (int a = 0; a < 3; ++a) {
        lattice.lower[a] = s.box_lower[a];
        lattice.edge[a] = s.box_upper[a] - s.box_lower[a];
    }
    lattice.xy = s.box_tilt[0], lattice.xz = s.box_tilt[1], lattice.yz = s.box_tilt[2];
    return lattice;
}

EwaldProblem PeriodicSum::problem_of(const Settings& settings, const geometry::Lattice& lattice,
                                     int64_t particles, double square_sum, double longest) {
    EwaldProblem p;
    p.lattice = lattice;
    p.particles = particles;
    p.square_sum = square_sum;
    p.accuracy = chosen_accuracy(settings);
    p.alpha = settings.ewald_alpha;
    p.least_cutoff = least_cutoff(settings, longest, lattice);
    p.leaf = settings.leaf, p.group = settings.group;
    return p;
}

/// Collective.
PeriodicSum::Totals PeriodicSum::find_totals(comm::Communicator& comm, const Settings& settings,
                                             const Problem& problem) {
    double sums[4] = {}; // charge, its square, |charge|, |charge| length^2
    double most = problem.per_particle_softening ? 0 : settings.softening_length;
    geometry::Box box;
    for (int64_t i = 0; i < problem.n; ++i) {
        const double q = problem.charge[i];
        const double length =
            problem.per_particle_softening ? problem.softening[i] : settings.softening_length;
        sums[0] += q, sums[1] += q * q;
        sums[2] += std::abs(q), sums[3] += std::abs(q) * length * length;
        box.include(problem.x[i], problem.y[i], problem.z[i]);
        most = std::max(most, length);
    }
    comm.allreduce(sums, 4, comm::Operation::sum);
    double corners[7] = {-box.lower[0], -box.lower[1], -box.lower[2], box.upper[0],
                         box.upper[1],  box.upper[2],  most};
    comm.allreduce(corners, 7, comm::Operation::max);
    for (int a = 0; a < 3; ++a)
        sources_.lower[a] = -corners[a], sources_.upper[a] = corners[3 + a];
    const double mean = sums[2] > 0 ? sums[3] / sums[2] : 0;
    return {sums[0], sums[1], corners[6],
            problem.per_particle_softening ? mean : settings.softening_length * settings.softening_length};
}

/// Collective. Of a sample of particles with a sample of them.
Crowding PeriodicSum::find_crowding(comm::Communicator& comm, const Problem& problem, int64_t all_particles) {
    const int64_t room = sample_size / comm.size(), count = std::min(room, problem.n);
    comm.together([&] {
        sample_.resize(4 * sample_size);
        std::fill(sample_.begin(), sample_.end(), 0.0);
        for (int64_t k = 0; k < count; ++k) {
            const int64_t i = k * problem.n / count;
            const geometry::Vec3 f = lattice_.fractions(problem.x[i], problem.y[i], problem.z[i]);
            double* const to = sample_.data() + 4 * (comm.rank() * room + k);
            to[0] = f.x, to[1] = f.y, to[2] = f.z;
            to[3] = static_cast<double>(problem.n) / static_cast<double>(count);
        }
    });
    comm.allreduce(sample_.data(), 4 * sample_size, comm::Operation::sum);
    Crowding crowding;
    crowding.largest = 0.5 * std::min({lattice_.width(0), lattice_.width(1), lattice_.width(2)});
    double within[Crowding::steps] = {}, targets = 0;
    int64_t met[Crowding::steps] = {};
    for (int64_t t = 0; t < sample_size; t += sample_size / sample_targets) {
        const double* const at = sample_.data() + 4 * t;
        targets += at[3];
        for (int64_t k = 0; k < sample_size && at[3] > 0; ++k) {
            const double* const from = sample_.data() + 4 * k;
            const int step = k == t ? -1 : crowding_step(crowding, at, from);
            if (step >= 0)
                within[step] += at[3] * from[3], met[step] += from[3] > 0;
        }
    }
    for (int k = Crowding::steps - 1; k > 0; --k) // a smaller radius is within the larger ones
        within[k - 1] += within[k], met[k - 1] += met[k];
    const double density = static_cast<double>(all_particles) / lattice_.volume();
    crowding.factor.assign(Crowding::steps, 1.0);
    for (size_t k = 0; k < Crowding::steps; ++k) {
        const double radius = crowding.largest * std::exp2(-0.5 * static_cast<double>(k));
        const double uniform = 4 * pi / 3 * radius * radius * radius * density;
        if (met[k] >= least_met)
            crowding.factor[k] = std::max(1.0, within[k] / targets / uniform);
        else // too few to tell
            crowding.factor[k] = k > 0 ? crowding.factor[k - 1] : 1;
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

void PeriodicSum::prepare(comm::Communicator& comm, const Settings& settings, const Problem& problem,
                          int64_t all_particles, const core::Log& log) {
    const Totals totals = find_totals(comm, settings, problem);
    const geometry::Lattice lattice = lattice_of(settings);
    const bool same_box = lattice == lattice_;
    lattice_ = lattice;
    const bool full = settings.precision == Precision::fp64;
    const bool plummer = settings.softening == Softening::plummer;
    EwaldProblem p = problem_of(settings, lattice_, all_particles, totals.square,
                                plummer && !problem.per_particle_softening ? 0 : totals.longest);
    p.all_pairs = settings.method == Method::direct;
    p.pair_cost = p.all_pairs ? direct_cost : pair_costs[full];
    CellModel& cells = p.cells;
    cells.allowed = settings.method == Method::tree && settings.theta > 0 &&
                    all_particles >= least_for_cells && !(plummer && problem.per_particle_softening);
    cells.order = settings.order;
    cells.opening = std::min(settings.theta, settings.mac == MacType::error ? 0.85 : 1.0);
    cells.error = settings.mac == MacType::error ? settings.accuracy : 0;
    cells.cost = cell_costs[full][settings.order];
    cells.direct = static_cast<double>(direct_count(settings));
    cells.leaf = settings.tuned ? settings.leaf : 0;
    cells.group = settings.tuned ? settings.group : cell_group;
    if (cells.allowed)
        p.crowding = find_crowding(comm, problem, all_particles);
    comm.together([&] {
        const EwaldSplit before = split_;
        charge_ = totals.charge;
        density_ = static_cast<double>(all_particles) / lattice_.volume();
        split_ = split_ewald(p);
        typical_field_ = pipeline::typical_field(p);
        const double softening = plummer ? std::sqrt(totals.softening_square) : 0;
        if (screen_.alpha_cutoff() != split_.alpha * split_.cutoff)
            screen_ = kernels::Screen(split_.alpha * split_.cutoff);
        if (!same_box || waves_.alpha() != split_.alpha || before.largest_wave != split_.largest_wave ||
            waves_.softening() != softening)
            waves_ = kernels::Waves(lattice_, split_.alpha, split_.largest_wave, softening);
    });
    if (comm.rank() == 0 && log.wants(core::LogLevel::info))
        say(settings, problem, totals, log);
}

void PeriodicSum::say(const Settings& settings, const Problem& problem, const Totals& totals,
                      const core::Log& log) {
    std::string text =
        core::format("periodic box: alpha %.4g, %s up to %.4g, %lld wave vectors, accuracy %.2g",
                     split_.alpha, split_.cells ? "pairs and cells" : "pairs", split_.cutoff,
                     static_cast<long long>(waves_.vector_count()), chosen_accuracy(settings));
    if (std::abs(charge_) > 1e-9 * std::sqrt(totals.square))
        text += core::format("; the net %s %.6g has a uniform background",
                             settings.interaction == Interaction::gravity ? "mass" : "charge",
                             charge_ / problem.charge_scale);
    if (text != said_)
        log.write(core::LogLevel::info, text);
    said_ = text;
}

Settings PeriodicSum::tree_settings(const Settings& settings) const {
    Settings s = settings;
    if (!split_.cells)
        s.theta = 0;
    else if (!settings.tuned)
        s.leaf = split_.leaf, s.group = cell_group;
    return s;
}

double PeriodicSum::typical_field(int64_t count, double edge) const {
    const double here = static_cast<double>(count) / (edge * edge * edge);
    return count < 4 || !(here > density_) ? typical_field_
                                           : typical_field_ * std::pow(here / density_, 2.0 / 3);
}

void PeriodicSum::images(const geometry::Box& targets, const geometry::Box& sources,
                         std::vector<geometry::Vec3>& shifts) const {
    shifts.clear();
    if (targets.empty() || sources.empty())
        return;
    // In fractions the sources' and targets' boxes are apart by at most what the corners say.
    double reach[3], centre[3];
    for (int a = 0; a < 3; ++a) {
        const geometry::Vec3 g = lattice_.reciprocal(a == 0, a == 1, a == 2);
        double extent = split_.cutoff / lattice_.width(a), middle = 0;
        for (int c = 0; c < 3; ++c) {
            extent += 0.5 * std::abs(g[c]) * (targets.edge(c) + sources.edge(c));
            middle += g[c] * (sources.centre(c) - targets.centre(c));
        }
        reach[a] = extent, centre[a] = middle;
    }
    int from[3], to[3];
    for (int a = 0; a < 3; ++a) {
        from[a] = static_cast<int>(std::ceil(centre[a] - reach[a]));
        to[a] = static_cast<int>(std::floor(centre[a] + reach[a]));
    }
    const double limit = split_.cutoff * split_.cutoff;
    const auto near = [&](const geometry::Vec3& s) {
        double square = 0;
        for (int c = 0; c < 3; ++c) {
            const double gap = std::max({sources.lower[c] - targets.upper[c] - s[c],
                                         targets.lower[c] + s[c] - sources.upper[c], 0.0});
            square += gap * gap;
        }
        return square <= limit;
    };
    if (near({0, 0, 0}))
        shifts.push_back({0, 0, 0});
    for (int i = from[0]; i <= to[0]; ++i)
        for (int j = from[1]; j <= to[1]; ++j)
            for (int k = from[2]; k <= to[2]; ++k)
                if (const geometry::Vec3 s = lattice_.shift(i, j, k); (i != 0 || j != 0 || k != 0) && near(s))
                    shifts.push_back(s);
}

void PeriodicSum::find_fractions(const backend::Executor& executor, int64_t count, const double* x,
                                 const double* y, const double* z) {
    for (core::Buffer<double>* values : {&places_.f1, &places_.f2, &places_.f3})
        values->resize(count);
    executor.for_each(count, [&](int64_t i) {
        const geometry::Vec3 f = lattice_.fractions(x[i], y[i], z[i]);
        places_.f1[i] = f.x, places_.f2[i] = f.y, places_.f3[i] = f.z;
    });
}

template <typename T>
void PeriodicSum::sum_structure(const backend::Executor& executor, const Problem& problem,
                                core::Buffer<T>& scratch) {
    const int64_t size = kernels::structure_size * waves_.value_count(), chunk = chunk_size(problem.n);
    const int64_t chunks = std::max<int64_t>(1, (problem.n + chunk - 1) / chunk),
                  room = kernels::wave_scratch(waves_);
    find_fractions(executor, problem.n, problem.x.data(), problem.y.data(), problem.z.data());
    sums_.resize(chunks * size);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    scratch.resize(executor.threads * room);
    executor.for_blocks(problem.n, chunk, [&](int64_t begin, int64_t end, int thread) {
        const kernels::Fractions part{places_.f1.data() + begin, places_.f2.data() + begin,
                                      places_.f3.data() + begin, end - begin};
        kernels::add_structure(waves_, part, problem.charge.data() + begin, scratch.data() + thread * room,
                               sums_.data() + begin / chunk * size);
    });
    executor.for_each(size, [&](int64_t k) {
        for (int64_t c = 1; c < chunks; ++c)
            sums_[k] += sums_[c * size + k];
    });
}

template <typename T>
void PeriodicSum::add_field(const backend::Executor& executor, const Problem& problem, const int32_t* origin,
                            bool with_potential, core::Buffer<T>& scratch, core::Buffer<T>& weighted,
                            RawField& field) {
    weighted.resize(kernels::wave_size * waves_.value_count());
    kernels::weigh_structure(waves_, sums_.data(), weighted.data());
    const int64_t room = kernels::wave_scratch(waves_), count = problem.target_count();
    const double background = charge_ * waves_.background() / lattice_.volume();
    const geometry::Vec3 g[3] = {lattice_.reciprocal(1, 0, 0), lattice_.reciprocal(0, 1, 0),
                                 lattice_.reciprocal(0, 0, 1)};
    scratch.resize(executor.threads * room);
    derivative_.resize(executor.threads * 7 * field_block);
    const bool points = problem.points;
    const double* x = points ? problem.point_x.data() : problem.x.data();
    const double* y = points ? problem.point_y.data() : problem.y.data();
    const double* z = points ? problem.point_z.data() : problem.z.data();
    executor.for_blocks(count, field_block, [&](int64_t begin, int64_t end, int thread) {
        double* const sum =
            derivative_.data() + thread * 7 * field_block; // potential, by f1 f2 f3, then the places
        double* const place = sum + 4 * field_block;
        const int64_t n = end - begin;
        std::fill(sum, place, 0.0);
        for (int64_t k = 0; k < n; ++k) {
            const int64_t i = origin != nullptr ? origin[begin + k] : begin + k;
            const geometry::Vec3 f = lattice_.fractions(x[i], y[i], z[i]);
            for (int a = 0; a < 3; ++a)
                place[a * field_block + k] = f[a];
        }
        kernels::add_waves(waves_, weighted.data(), {place, place + field_block, place + 2 * field_block, n},
                           scratch.data() + thread * room, with_potential ? sum : nullptr, sum + field_block,
                           sum + 2 * field_block, sum + 3 * field_block);
        core::Buffer<double>* to[3] = {&field.ax, &field.ay, &field.az};
        for (int64_t k = 0; k < n; ++k) {
            for (int c = 0; c < 3; ++c)
                (*to[c])[begin + k] += g[0][c] * sum[field_block + k] + g[1][c] * sum[2 * field_block + k] +
                                       g[2][c] * sum[3 * field_block + k];
            if (with_potential)
                field.potential[begin + k] += sum[k] + background;
        }
    });
}

void PeriodicSum::add_waves(const backend::Executor& executor, comm::Communicator& comm,
                            const Settings& settings, const Problem& problem, const int32_t* origin,
                            bool with_potential, RawField& field, double (&virial)[6]) {
    const bool full = settings.precision == Precision::fp64;
    const int64_t size = kernels::structure_size * waves_.value_count();
    comm.together([&] {
        full ? sum_structure(executor, problem, scratch_full_)
             : sum_structure(executor, problem, scratch_single_);
    });
    comm.allreduce(sums_.data(), size, comm::Operation::sum);
    comm.together([&] {
        full ? add_field(executor, problem, origin, with_potential, scratch_full_, weighted_full_, field)
             : add_field(executor, problem, origin, with_potential, scratch_single_, weighted_single_, field);
    });
    const kernels::WaveEnergy waves = kernels::wave_energy(waves_, sums_.data());
    const double background = 0.5 * charge_ * charge_ * waves_.background() / lattice_.volume();
    for (int c = 0; c < 6; ++c)
        virial[c] = waves.virial[c] - (c < 3 ? background : 0);
}

} // namespace graft::pipeline
