// Solver, second part: choose the method, then bring the field to the host.
#include "pipeline/solver.hpp"

#include "core/timer.hpp"
#include "kernels/simd.hpp"
#include "kernels/softening.hpp"
#include "particles/transfer.hpp"
#include "pipeline/evaluate_direct.hpp"
#include "pipeline/tree_force.hpp"

#include <algorithm>

namespace graft::pipeline {

namespace {

constexpr int64_t sum_block = 8192;
constexpr int sum_count = 7; // six virial components and the energy

const char* name_of(Method method) {
    return method == Method::direct ? "direct" : method == Method::tree ? "tree" : "reference";
}

const char* name_of(Precision precision) {
    return precision == Precision::fp32 ? "fp32" : precision == Precision::mixed ? "mixed" : "fp64";
}

} // namespace

Solver::Solver(const Settings& settings, core::Memory& memory)
    : settings_(settings), memory_(memory), problem_(memory), field_(memory), seen_(memory, "target marks"),
      sums_(memory, "block sums"), direct_targets_(memory), workspaces_(memory) {}

Solver::~Solver() = default;

void Solver::evaluate(const Outputs& outputs, const backend::Executor& executor) {
    const bool with_potential = outputs.potential.present() || outputs.energy.present();
    core::Timer timer;
    report_.has_tree = false;
    report_.pairs = report_.cells = 0;
    field_.resize(problem_.target_count(), with_potential);
    origin_ = problem_.points || problem_.all_targets ? nullptr : problem_.target.data();
    if (problem_.n == 0) {
        for (core::Buffer<double>* values : {&field_.ax, &field_.ay, &field_.az, &field_.potential})
            std::fill(values->begin(), values->end(), 0.0);
    } else if (settings_.method == Method::tree) {
        if (!tree_force_)
            tree_force_ = std::make_unique<TreeForce>(memory_);
        origin_ = tree_force_->evaluate(executor, settings_, problem_, with_potential, workspaces_, field_,
                                        report_, log_);
    } else {
        if (settings_.method == Method::direct)
            evaluate_direct(executor, settings_, problem_, with_potential, direct_targets_, workspaces_,
                            field_);
        else
            evaluate_reference(executor, settings_, problem_, with_potential, field_);
        report_.pairs = static_cast<double>(problem_.n) * static_cast<double>(problem_.target_count());
        report_.time_s.forces = timer.seconds();
    }
    timer.lap();
    if (with_potential && !problem_.points)
        remove_self_potential(executor);
    write(outputs, executor);
    report_.time_s.output = timer.seconds();
    report_.threads = executor.threads;
}

/// A softened kernel counts the particle's own charge: phi_self = q / eps (Plummer) or its spline value at
/// zero.
void Solver::remove_self_potential(const backend::Executor& executor) {
    if (settings_.softening == Softening::none)
        return;
    const auto kind = static_cast<kernels::Softening>(settings_.softening);
    const bool per_particle = !problem_.softening.empty();
    executor.for_each(field_.potential.size(), [&](int64_t k) {
        const int64_t i = origin_ != nullptr ? origin_[k] : k;
        const double length = per_particle ? problem_.softening[i] : settings_.softening_length;
        if (length > 0)
            field_.potential[k] -= problem_.charge[i] * kernels::self_potential(kind, length);
    });
}

void Solver::write(const Outputs& outputs, const backend::Executor& executor) {
    // Gravity pulls towards like charges, Coulomb pushes away: one sign for field and potential.
    const double sign = settings_.interaction == Interaction::gravity ? 1 : -1;
    const double factor = sign * settings_.constant / problem_.charge_scale;
    const int64_t count = problem_.target_count();
    if (outputs.virial.present() || outputs.energy.present())
        write_sums(outputs, executor);
    const double* raw[3] = {field_.ax.data(), field_.ay.data(), field_.az.data()};
    for (int a = 0; a < settings_.dimension; ++a) {
        if (!outputs.acceleration[a].present())
            continue;
        if (outputs.force)
            particles::export_weighted_reals(executor, raw[a], origin_, count, factor / problem_.charge_scale,
                                             problem_.charge.data(), outputs.add, outputs.acceleration[a]);
        else
            particles::export_reals(executor, raw[a], origin_, count, factor, outputs.add,
                                    outputs.acceleration[a]);
    }
    if (outputs.potential.present())
        particles::export_reals(executor, field_.potential.data(), origin_, count, -factor, outputs.add,
                                outputs.potential);
}

/// Virial and energy, summed over fixed blocks in fixed order; positions relative to the first particle, so
/// that a system far from the origin loses no digits (the net force times that shift is rounding only when
/// all are active).
void Solver::write_sums(const Outputs& outputs, const backend::Executor& executor) {
    const int64_t count = problem_.target_count();
    const int64_t blocks = (count + sum_block - 1) / sum_block;
    const double centre[3] = {count > 0 ? problem_.x[0] : 0, count > 0 ? problem_.y[0] : 0,
                              count > 0 ? problem_.z[0] : 0};
    const bool with_potential = !field_.potential.empty();
    sums_.resize(blocks * sum_count);
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
    double total[sum_count] = {};
    for (int64_t b = 0; b < blocks; ++b)
        for (int c = 0; c < sum_count; ++c)
            total[c] += sums_[b * sum_count + c];
    const double sign = settings_.interaction == Interaction::gravity ? 1 : -1;
    const double factor = sign * settings_.constant / (problem_.charge_scale * problem_.charge_scale);
    const backend::Executor serial{memory_, 1};
    for (int c = 0; c < 6 && outputs.virial.present(); ++c)
        particles::export_reals(serial, total + c, nullptr, 1, factor, outputs.add,
                                outputs.virial.component(c));
    if (outputs.energy.present())
        particles::export_reals(serial, total + 6, nullptr, 1, -factor, outputs.add, outputs.energy);
}

void Solver::finish_report() {
    report_.valid = true;
    report_.method = name_of(settings_.method);
    report_.precision = settings_.method == Method::reference ? "reference" : name_of(settings_.precision);
    report_.simd = settings_.method == Method::reference ? "none" : kernels::simd_name();
    report_.n = problem_.n;
    report_.targets = problem_.target_count();
    report_.bytes_total = memory_.bytes_held();
    report_.bytes_peak = memory_.bytes_peak();
    report_.allocations = memory_.allocations();
}

} // namespace graft::pipeline
