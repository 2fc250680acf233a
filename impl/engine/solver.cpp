// Solver, second part: choose the method, then bring the field to the host.
#include "engine/solver.hpp"
#include "engine/buffer_tuning.hpp"

#include "core/timer.hpp"
#include "forces/simd.hpp"
#include "forces/softening.hpp"
#include "particles/transfer.hpp"
#include "engine/checks.hpp"
#include "engine/direct.hpp"
#include "essential/forest.hpp"
#include "periodic/periodic.hpp"
#include "engine/tree_force.hpp"

#include <algorithm>
#include <cmath>

namespace graft::engine {

namespace {

constexpr int64_t sum_block = 8192;
constexpr int sum_count = 7; // six virial components and the energy: Solver::totals_

const char* name_of(settings::Method method) {
    return method == settings::Method::direct ? "direct" : method == settings::Method::tree ? "tree" : "reference";
}

const char* name_of(settings::Precision precision) {
    return precision == settings::Precision::fp32 ? "fp32" : precision == settings::Precision::mixed ? "mixed" : "fp64";
}

} // namespace

Solver::Solver(const settings::Settings& settings, core::Memory& memory)
    : settings_(settings), memory_(memory), problem_(memory), field_(memory), scratch_(memory),
      global_tree_(memory), spread_(memory), spread_field_(memory), work_(memory, "work of particles"),
      spread_work_(memory, "work of particles"), seen_(memory, "target marks"), sums_(memory, "block sums"),
      direct_targets_(memory), workspaces_(memory), buffers_(std::make_unique<engine::BufferTuning>()),
      ring_(memory) {}

Solver::~Solver() = default;

void Solver::evaluate(const backend::Executor& executor) {
    const comm::Traffic before = comm_->traffic();
    report_.has_tree = false;
    report_.pairs = report_.cells = report_.far_cells = 0;
    report_.local.clear();
    report_.ranks = {};
    comm_->together([&] { field_.resize(problem_.target_count(), with_potential_); });
    begin_periodic();
    origin_ = problem_.points || problem_.all_targets ? nullptr : problem_.target.data();
    if (all_particles_ == 0) {
        for (core::Buffer<double>* values : {&field_.ax, &field_.ay, &field_.az, &field_.potential})
            std::fill(values->begin(), values->end(), 0.0);
    } else if (settings_.method == settings::Method::tree) {
        evaluate_tree(executor);
    } else if (problem_.periodic != nullptr && settings_.method == settings::Method::reference) {
        evaluate_periodic_reference(executor);
    } else {
        evaluate_pairs(executor);
    }
    if (with_potential_ && !problem_.points)
        remove_self_potential(executor);
    if (problem_.periodic != nullptr)
        finish_periodic(executor);
    else if (with_sums_)
        sum_up(executor);
    if (!comm_->alone())
        measure_ranks(before);
    report_.threads = executor.threads;
}

void Solver::evaluate_tree(const backend::Executor& executor) {
    comm_->together([&] {
        if (!tree_force_)
            tree_force_ = std::make_unique<TreeForce>(memory_);
    });
    work_.resize(0);
    problem_.range = {};
    settings::Settings settings =
        problem_.periodic != nullptr ? problem_.periodic->tree_settings(settings_) : settings_;
    tuning_.before(settings, problem_.n, problem_.all_targets && !problem_.points,
                   !comm_->alone()                ? "several ranks"
                   : problem_.periodic != nullptr ? "the box is periodic"
                                                  : "");
    if (!comm_->alone() && settings_.tree_type == tree::TreeType::octree &&
        settings_.tree_scope == settings::TreeScope::local)
        problem_.range = essential::find_root(*comm_, settings, settings::TreeScope::local, problem_);
    if (comm_->alone() || settings_.tree_scope == settings::TreeScope::local) {
        origin_ = tree_force_->evaluate(executor, *comm_, settings, problem_, with_potential_, workspaces_,
                                        field_, report_, log_);
    } else {
        global_tree_.spread(*comm_, executor, settings, problem_, spread_);
        comm_->together([&] { spread_field_.resize(spread_.target_count(), with_potential_); });
        const int32_t* origin = tree_force_->evaluate(executor, *comm_, settings, spread_, with_potential_,
                                                      workspaces_, spread_field_, report_, log_);
        comm_->together([&] {
            spread_work_.resize(spread_.points ? 0 : spread_.n);
            std::fill(spread_work_.begin(), spread_work_.end(), 0.0);
            if (!spread_.points)
                tree_force_->add_work(static_cast<double>(essential::direct_count(settings_)), spread_work_.data());
        });
        global_tree_.bring_back(*comm_, problem_, spread_, origin, with_potential_, spread_field_,
                                spread_work_, field_, work_);
        std::copy_n(spread_field_.image_virial, 6, field_.image_virial);
    }
    tuning_.after(report_, settings.leaf, settings.group);
    comm_->together([&] { remember(); });
}

/// The size of the field at each particle, for the error MAC of the next call.
void Solver::remember() {
    problem_.last.resize(0);
    if (settings_.mac != settings::MacType::error || !settings_.mac_history || !problem_.all_targets)
        return;
    problem_.last.resize(problem_.n);
    for (int64_t k = 0; k < problem_.n; ++k)
        problem_.last[origin_ != nullptr ? origin_[k] : k] =
            std::hypot(field_.ax[k], field_.ay[k], field_.az[k]);
}

/// All pairs, also those with other ranks' sources.
void Solver::evaluate_pairs(const backend::Executor& executor) {
    core::Timer timer;
    const bool direct = settings_.method == settings::Method::direct;
    comm_->together([&] {
        if (direct)
            set_direct_targets(executor, settings_, problem_, direct_targets_);
    });
    ring_.run(*comm_, own_sources(problem_), problem_.per_particle_softening,
              [&](const Sources& sources, bool add) {
                  if (direct)
                      evaluate_direct(executor, settings_, problem_, sources, with_potential_, add,
                                      direct_targets_, workspaces_, field_);
                  else
                      evaluate_reference(executor, settings_, problem_, sources, with_potential_, add,
                                         scratch_, field_);
              });
    report_.pairs = static_cast<double>(all_particles_) * static_cast<double>(problem_.target_count());
    report_.time_s.forces = timer.seconds();
}

/// A softened kernel counts the particle's own charge: phi_self = q / eps (Plummer) or its spline value at
/// zero.
void Solver::remove_self_potential(const backend::Executor& executor) {
    if (settings_.softening == settings::Softening::none)
        return;
    const auto kind = static_cast<forces::Softening>(settings_.softening);
    const bool per_particle = !problem_.softening.empty();
    executor.for_each(field_.potential.size(), [&](int64_t k) {
        const int64_t i = origin_ != nullptr ? origin_[k] : k;
        const double length = per_particle ? problem_.softening[i] : settings_.softening_length;
        if (length > 0)
            field_.potential[k] -= problem_.charge[i] * forces::self_potential(kind, length);
    });
}

/// body(executor, result, index, count) for each array that is wanted.
template <typename Body>
void Solver::for_results(const Outputs& outputs, const backend::Executor& executor, const Body& body) const {
    // Gravity pulls towards like charges, Coulomb pushes away: one sign for field and potential.
    const double sign = settings_.interaction == settings::Interaction::gravity ? 1 : -1;
    const double factor = sign * settings_.constant / problem_.charge_scale,
                 weighted = factor / problem_.charge_scale;
    const int64_t count = problem_.target_count();
    const double* raw[3] = {field_.ax.data(), field_.ay.data(), field_.az.data()};
    for (int a = 0; a < settings_.dimension; ++a)
        if (outputs.acceleration[a].present())
            body(executor,
                 particles::RealExport{outputs.acceleration[a], acceleration_names[a], raw[a],
                                       outputs.force ? weighted : factor,
                                       outputs.force ? problem_.charge.data() : nullptr},
                 origin_, count);
    if (outputs.potential.present())
        body(executor,
             particles::RealExport{outputs.potential, potential_name, field_.potential.data(), -factor},
             origin_, count);
    const backend::Executor serial{memory_, 1};
    for (int c = 0; c < 6 && outputs.virial.present(); ++c)
        body(serial,
             particles::RealExport{outputs.virial.component(c), virial_name, totals_ + c, weighted},
             nullptr, 1);
    if (outputs.energy.present())
        body(serial, particles::RealExport{outputs.energy, energy_name, totals_ + 6, -weighted}, nullptr,
             1);
}

void Solver::check_results(const Outputs& outputs, const backend::Executor& executor) const {
    for_results(outputs, executor, particles::check_reals);
}

void Solver::write(const Outputs& outputs, const backend::Executor& executor) {
    core::Timer timer;
    for_results(outputs, executor, particles::export_reals);
    report_.time_s.output = timer.seconds();
}

/// Virial and energy of this rank's targets, summed over fixed blocks in fixed order, then over the ranks;
/// positions relative to the first particle of the lowest rank that has any, so that a system far from the
/// origin loses no digits (the net force times that shift is rounding only when all are active).
void Solver::sum_up(const backend::Executor& executor) {
    const int64_t count = problem_.target_count();
    const int64_t blocks = (count + sum_block - 1) / sum_block;
    double centre[3];
    find_origin(centre);
    const bool with_potential = !field_.potential.empty();
    comm_->together([&] { sums_.resize(blocks * sum_count); });
    executor.for_blocks(count, sum_block, [&](int64_t begin, int64_t end, int) {
        double s[sum_count] = {};
        for (int64_t k = begin; k < end; ++k) {
            const int64_t i = origin_ != nullptr ? origin_[k] : k;
            const double q = problem_.charge[i];
            const double x = problem_.x[i] - centre[0], y = problem_.y[i] - centre[1],
                         z = problem_.z[i] - centre[2];
            const double fx = q * field_.ax[k], fy = q * field_.ay[k], fz = q * field_.az[k];
            s[0] += x * fx, s[1] += y * fy, s[2] += z * fz;
            s[3] += 0.5 * (x * fy + y * fx), s[4] += 0.5 * (x * fz + z * fx), s[5] += 0.5 * (y * fz + z * fy);
            s[6] += with_potential ? 0.5 * q * field_.potential[k] : 0;
        }
        std::copy(s, s + sum_count, sums_.data() + (begin / sum_block) * sum_count);
    });
    std::fill(std::begin(totals_), std::end(totals_), 0.0);
    for (int64_t b = 0; b < blocks; ++b)
        for (int c = 0; c < sum_count; ++c)
            totals_[c] += sums_[b * sum_count + c];
    comm_->allreduce(totals_, sum_count, comm::Operation::sum);
}

void Solver::finish_report() {
    report_.valid = true;
    report_.method = name_of(settings_.method);
    report_.precision = settings_.method == settings::Method::reference ? "reference" : name_of(settings_.precision);
    report_.simd = settings_.method == settings::Method::reference ? "none" : forces::simd_name();
    report_.n = problem_.n;
    report_.targets = problem_.target_count();
    report_.bytes_total = memory_.bytes_held();
    report_.bytes_peak = memory_.bytes_peak();
    report_.allocations = memory_.allocations();
}

} // namespace graft::engine
