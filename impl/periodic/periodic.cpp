// SPDX-License-Identifier: BSD-3-Clause
// See periodic.hpp.
#include "periodic/periodic.hpp"

#include "core/error.hpp"
#include "essential/forest.hpp"
#include "periodic/lattice_kind.hpp"
#include "periodic/periodic_log.hpp"
#include "settings/choices.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

namespace {

/// A spline is Newtonian from its length on. What Plummer lengths per particle differ by falls off slowly,
/// and ends at the cut-off: 1.5 (length^2 - mean) / cutoff^2 of a pair, here 1.5 % at most where the box has
/// room for it.
double least_cutoff(const settings::Settings& s, double length, const geometry::Lattice& lattice) {
    if (s.softening != settings::Softening::plummer || length == 0)
        return s.softening == settings::Softening::spline ? length : 0;
    const double room = 0.5 * std::min({lattice.width(0), lattice.width(1), lattice.width(2)});
    return std::max(length, std::min(10 * length, room));
}

// Costs in units of a particle and a wave vector (0.11 ns in single, 0.27 ns in double precision with
// AVX-512), lists and gathering included: least squares over computations of all mixtures, within 10 %.
constexpr double pair_costs[2] = {4.2, 4.4}; // single, double
constexpr double direct_cost = 3;            // of a pair of method direct
constexpr double cell_costs[2][5] = {{15, 17, 20, 27, 35}, {12, 14, 17, 24, 32}}; // by order
constexpr int cell_group = 64;                                                    // what suits cells
constexpr double share_of_splitting = 0.2; // of mac.accuracy: as large an error as that of cells of order 4
constexpr int64_t least_for_cells = 2048;  // particles
constexpr double usual_of_hosts = 1e-5;    // of a long-range part alone

} // namespace

/// Collective. Whether replicas are as exact as asked where they are Graft's own choice. Where particles are even, fields of
/// all of them cancel, and in a lattice, of which simulations begin, those of neighbours, too: what is left may be
/// much less than the typical field, by which errors are measured. So only where clumps make a far larger one.
bool PeriodicSum::suits_replicas(comm::Communicator& comm, const settings::Settings& settings,
                                 const particles::Problem& problem, int64_t all_particles) {
    constexpr double least_field = 100; // typical ones, at the edge of a clump
    if (settings.lattice_sum == settings::LatticeSum::replicas)
        return true;
    const Crowding crowding = find_crowding(comm, problem, all_particles);
    const double density = static_cast<double>(all_particles) / lattice_.volume(), pi = 3.14159265358979323846;
    double most = 0;
    for (size_t k = 0; k < crowding.charge.size(); ++k) {
        const double radius = crowding.largest * std::exp2(-0.5 * static_cast<double>(k));
        most = std::max(most, 4 * pi / 3 * radius * std::cbrt(density) * (crowding.charge[k] - 1));
    }
    return one_sign_ && most >= least_field;
}

PeriodicSum::PeriodicSum(core::Memory& memory)
    : sample_(memory, "sample of particles"), places_(memory), mesh_(memory), sums_(memory, "structure factors"),
      derivative_(memory, "wave derivatives"), scratch_single_(memory, "wave powers"),
      weighted_single_(memory, "waves"), scratch_full_(memory, "wave powers"),
      weighted_full_(memory, "waves") {}

/// Where nothing is asked for: the rounding of the precision for all pairs, a hundredth of the tree's error
/// with cells.
double PeriodicSum::accuracy_of(const settings::Settings& s) {
    const double rounding = s.precision == settings::Precision::fp64 ? 1e-13 : settings::single_precision_of_split;
    if (s.method == settings::Method::reference && (s.open_axis >= 0 || s.wire_axis >= 0))
        return 1e-13; // of its vacuum: what others are compared with must not share their error
    if (s.ewald_accuracy > 0)
        return s.ewald_accuracy;
    if (is_long_range(s))
        return std::max(rounding, usual_of_hosts);
    if (s.method != settings::Method::tree || s.theta == 0)
        return rounding;
    return std::max(rounding, s.mac == settings::MacType::error ? std::min(0.01 * s.accuracy, 1e-5) : 1e-6);
}

geometry::Lattice PeriodicSum::lattice_of(const settings::Settings& s) {
    geometry::Lattice lattice;
    for (int a = 0; a < 3; ++a) {
        lattice.lower[a] = s.box_lower[a];
        lattice.edge[a] = s.box_upper[a] - s.box_lower[a];
    }
    lattice.xy = s.box_tilt[0];
    lattice.xz = s.box_tilt[1];
    lattice.yz = s.box_tilt[2];
    return lattice;
}

EwaldInput PeriodicSum::problem_of(const settings::Settings& settings, const geometry::Lattice& lattice,
                                   int64_t particles, double square_sum, double longest) {
    EwaldInput p;
    p.lattice = lattice;
    p.particles = particles;
    p.square_sum = square_sum;
    p.accuracy = accuracy_of(settings);
    p.alpha = settings.ewald_alpha;
    p.pairs_elsewhere = is_long_range(settings);
    p.host_cutoff = settings.ewald_cutoff;
    p.least_cutoff = least_cutoff(settings, longest, lattice);
    p.leaf = settings.leaf;
    p.group = settings.group;
    return p;
}

/// Collective.
PeriodicSum::Totals PeriodicSum::find_totals(comm::Communicator& comm, const settings::Settings& settings,
                                             const particles::Problem& problem) {
    double sums[4] = {}; // charge, its square, |charge|, |charge| length^2
    const bool one = settings.softening != settings::Softening::none && !problem.per_particle_softening;
    double most = one ? settings.softening_length : 0;
    geometry::Box box;
    for (int64_t i = 0; i < problem.n; ++i) {
        const double q = problem.charge[i];
        const double length =
            problem.per_particle_softening ? problem.softening[i] : (one ? settings.softening_length : 0);
        sums[0] += q;
        sums[1] += q * q;
        sums[2] += std::abs(q);
        sums[3] += std::abs(q) * length * length;
        box.include(problem.x[i], problem.y[i], problem.z[i]);
        most = std::max(most, length);
    }
    comm.allreduce(sums, 4, comm::Operation::sum);
    double corners[13] = {most};
    for (int a = 0; a < 3; ++a) {
        corners[1 + a] = corners[7 + a] = -box.lower[a];
        corners[4 + a] = corners[10 + a] = box.upper[a];
        if (a == settings.open_axis || (settings.wire_axis >= 0 && a != settings.wire_axis))
            find_extent(problem, a, box, corners[7 + a], corners[10 + a]);
    }
    comm.allreduce(corners, 13, comm::Operation::max);
    constexpr double nearly = 0.99;
    one_sign_ = std::abs(sums[0]) >= nearly * sums[2];
    const double mean = sums[2] > 0 ? sums[3] / sums[2] : 0;
    Totals totals{sums[0], sums[1], corners[0],
                  problem.per_particle_softening ? mean
                                                 : settings.softening_length * settings.softening_length};
    for (int a = 0; a < 3; ++a) {
        sources_.lower[a] = -corners[1 + a];
        sources_.upper[a] = corners[4 + a];
        totals.lower[a] = -corners[7 + a];
        totals.upper[a] = corners[10 + a];
    }
    return totals;
}

void PeriodicSum::prepare(const backend::Executor& executor, comm::Communicator& comm,
                          const settings::Settings& settings, const particles::Problem& problem, int64_t all_particles,
                          const core::Log& log, int round) {
    round_ = static_cast<size_t>(round);
    const Totals totals = find_totals(comm, settings, problem);
    square_sum_ = totals.square;
    lattice_ = lattice_of(settings);
    replicas_ = has_replicas(settings) && suits_replicas(comm, settings, problem, all_particles);
    if (replicas_) {
        try {
            return prepare_replicas(executor, comm, settings, problem, all_particles, totals, log);
        } catch (const core::Error& error) { // on all ranks
            if (settings.lattice_sum != settings::LatticeSum::auto_ || error.status() != core::Status::unsupported)
                throw;
            replicas_ = false; // which nobody asked for
        }
    }
    prepare_split(comm, taken(settings), problem, all_particles, totals, log);
}

settings::Settings PeriodicSum::taken(const settings::Settings& settings) const {
    return has_replicas(settings) && !replicas_ ? settings::split_instead(settings, settings.accuracy) : settings;
}

/// Collective.
void PeriodicSum::prepare_split(comm::Communicator& comm, const settings::Settings& settings,
                                const particles::Problem& problem, int64_t all_particles, const Totals& totals,
                                const core::Log& log) {
    widen(settings, totals);
    find_moments(comm, settings, problem);
    const bool full = settings.precision == settings::Precision::fp64;
    const bool plummer = settings.softening == settings::Softening::plummer;
    EwaldInput p = problem_of(settings, lattice_, all_particles, totals.square,
                              plummer && !problem.per_particle_softening ? 0 : totals.longest);
    p.all_pairs = settings.method == settings::Method::direct;
    p.pair_cost = p.all_pairs ? direct_cost : pair_costs[full];
    CellModel& cells = p.cells;
    cells.allowed = settings.method == settings::Method::tree && settings.theta > 0 && !p.pairs_elsewhere &&
                    all_particles >= least_for_cells && !(plummer && problem.per_particle_softening);
    cells.order = settings.order;
    cells.opening = std::min(settings.theta, settings.mac == settings::MacType::error ? 0.85 : 1.0);
    cells.error = settings.mac == settings::MacType::error ? settings.accuracy : 0;
    cells.accuracy = settings.ewald_accuracy > 0 ? 0 : share_of_splitting * cells.error;
    cells.cost = cell_costs[full][std::min(settings.order, moments::cartesian_order)];
    cells.direct = static_cast<double>(essential::direct_count(settings));
    cells.leaf = settings.tuned ? settings.leaf : 0;
    cells.group = settings.tuned ? settings.group : cell_group;
    p.mesh.allowed = settings.method == settings::Method::tree && settings.long_range != settings::LongRange::sum;
    p.mesh.only = p.mesh.allowed && settings.long_range == settings::LongRange::mesh;
    if (cells.allowed)
        p.crowding = find_crowding(comm, problem, all_particles);
    comm.together([&] {
        charge_ = totals.charge;
        const double softening = plummer ? std::sqrt(totals.softening_square) : 0;
        if (split_problem_ == p && waves_.softening() == softening)
            return;
        split_problem_.reset(); // until all is there: memory may be refused
        split_ = split_ewald(p);
        check_mesh(settings, split_, p.mesh.allowed ? nullptr : "with methods direct and reference, which sum exactly");
        typical_field_ = periodic::typical_field(p);
        check_size(settings, lattice_, split_, totals.longest);
        if (!p.pairs_elsewhere && screen_.alpha_cutoff() != split_.alpha * split_.cutoff)
            screen_ = forces::Screen(split_.alpha * split_.cutoff);
        waves_ = Waves(lattice_, split_.alpha, split_.mesh.order > 0 ? 0 : split_.largest_wave, softening);
        split_problem_ = p;
    });
    if (comm.rank() == 0 && log.wants(core::LogLevel::info))
        say(settings, problem, totals, log);
}

void PeriodicSum::check_mesh(const settings::Settings& settings, const EwaldSplit& split, const char* where_not) {
    if (settings.long_range != settings::LongRange::mesh || split.mesh.order > 0)
        return;
    if (where_not != nullptr)
        core::fail(core::Status::unsupported, "ewald.waves mesh: there is none %s; expected ewald.waves auto or sum", where_not);
    core::fail(core::Status::unsupported,
               "ewald.waves mesh, but no mesh is as exact as %.2g in this box; expected a larger ewald.accuracy (0 takes what "
               "precision and mac.accuracy need), or ewald.waves auto or sum",
               accuracy_of(settings));
}

void PeriodicSum::check_size(const settings::Settings& settings, const geometry::Lattice& lattice,
                             const EwaldSplit& split, double longest) {
    constexpr double pi = 3.14159265358979323846, most_images = 1e5, most_waves = 1e8;
    double images = 1, waves = 1;
    for (int a = 0; a < 3; ++a) {
        const geometry::Vec3 edge = lattice.shift(a == 0, a == 1, a == 2);
        if (!is_long_range(settings))
            images *= 2 * std::ceil(split.cutoff / lattice.width(a)) + 1;
        if (split.mesh.order == 0)
            waves *= split.largest_wave / pi * std::sqrt(edge.x * edge.x + edge.y * edge.y + edge.z * edge.z) + 1;
    }
    if (images <= most_images && waves <= most_waves)
        return;
    if (!std::isfinite(images) || !std::isfinite(waves))
        core::fail(core::Status::argument,
                   "the edges %g x %g x %g of this box leave the range of double precision in its lattice "
                   "sum; expected lengths of about 1e-60 to 1e60. Choose another unit of length",
                   lattice.edge[0], lattice.edge[1], lattice.edge[2]);
    core::fail(
        core::Status::argument,
        "the lattice sum of this box would take %.2g images and %.2g wave vectors; expected at most %.0g "
        "and %.0g. Edges %g x %g x %g%s; longest softening length %g. Edges of like size, softening "
        "lengths below a few edges%s and a larger ewald.accuracy make it smaller",
        images, waves, most_images, most_waves, lattice.edge[0], lattice.edge[1], lattice.edge[2],
        settings.open_axis >= 0   ? " (of a slab: the extent of its particles and a vacuum)"
        : settings.wire_axis >= 0 ? " (of a wire: the extent of its particles and a vacuum)"
                                  : "",
        longest,
        settings.open_axis >= 0   ? ", a slab without strays"
        : settings.wire_axis >= 0 ? ", a wire without strays"
                                  : "");
}

void PeriodicSum::say(const settings::Settings& settings, const particles::Problem& problem, const Totals& totals,
                      const core::Log& log) {
    PeriodicWords words{
        split_.alpha, is_long_range(settings) ? 0 : split_.cutoff, split_.cells, waves_.vector_count(), split_.mesh, false};
    words.accuracy = split_.accuracy;
    words.edge = shape_.open_axis >= 0   ? lattice_.edge[shape_.open_axis]
                 : shape_.wire_axis >= 0 ? lattice_.edge[WireImages::across(shape_.wire_axis, 0)]
                                         : 0;
    words.net = std::abs(charge_) > 1e-9 * std::sqrt(totals.square);
    words.charge = charge_ / problem.charge_scale;
    const std::string text = periodic_words(settings, words);
    if (text != said_[round_])
        log.write(core::LogLevel::info, text);
    said_[round_] = text;
}

settings::Settings PeriodicSum::tree_settings(const settings::Settings& settings) const {
    settings::Settings s = taken(settings);
    if (replicas_) {
        s.periodic = s.has_box = false; // to the tree, an open box of which there are several
        return s;
    }
    if (!split_.cells) {
        s.theta = 0;
    } else if (!settings.tuned) {
        s.leaf = split_.leaf;
        s.group = cell_group;
    }
    return s;
}

double PeriodicSum::typical_field(int64_t count, double square_sum, double edge) const {
    if (count < 4 || edge == 0) // points at one place do not act on each other
        return typical_field_;
    const double here = field_of_neighbours(square_sum, count, edge * edge * edge);
    return here > typical_field_ ? here : typical_field_;
}

void PeriodicSum::images(const geometry::Box& targets, const geometry::Box& sources,
                         std::vector<geometry::Vec3>& shifts) const {
    shifts.clear();
    if (replicas_)
        shifts = far_.near().shifts;
    if (replicas_ || targets.empty() || sources.empty())
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
        reach[a] = extent;
        centre[a] = middle;
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

} // namespace graft::periodic
