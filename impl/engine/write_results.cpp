// SPDX-License-Identifier: BSD-3-Clause
// See write_results.hpp.
#include "engine/write_results.hpp"

#include "engine/checks.hpp"
#include "engine/rank_agreement.hpp"
#include "particles/export_arrays.hpp"

#include <algorithm>

namespace graft::engine {

namespace {

constexpr int64_t sum_block = 8192;

/// body(executor, result, index, count) for each array that is wanted.
template <typename Body>
void for_results(const backend::Executor& executor, const settings::Settings& settings,
                 const Outputs& outputs, const FieldView& view, const Totals& totals, const Body& body) {
    const particles::Problem& problem = view.problem;
    const particles::RawField& field = view.field;
    // Gravity pulls towards like charges, Coulomb pushes away: one sign for field and potential.
    const double sign = settings.interaction == settings::Interaction::gravity ? 1 : -1;
    const double factor = sign * settings.constant / problem.charge_scale,
                 weighted = factor / problem.charge_scale;
    const int64_t count = problem.target_count();
    const double* raw[3] = {field.ax.data(), field.ay.data(), field.az.data()};
    for (int a = 0; a < settings.dimension; ++a)
        if (outputs.acceleration[a].present())
            body(executor,
                 particles::RealExport{outputs.acceleration[a], acceleration_names[a], raw[a],
                                       outputs.force ? weighted : factor,
                                       outputs.force ? problem.charge.data() : nullptr},
                 view.item, count);
    if (outputs.potential.present())
        body(executor,
             particles::RealExport{outputs.potential, potential_name, field.potential.data(), -factor},
             view.item, count);
    const backend::Executor serial{executor.memory, 1};
    for (int c = 0; c < 6 && outputs.virial.present(); ++c)
        body(serial,
             particles::RealExport{outputs.virial.component(c), virial_name, totals.value + c, weighted},
             nullptr, 1);
    if (outputs.energy.present())
        body(serial, particles::RealExport{outputs.energy, energy_name, totals.value + 6, -weighted},
             nullptr, 1);
}

} // namespace

Totals sum_own(const backend::Executor& executor, const FieldView& view, const double (&centre)[3],
               core::Buffer<double>& sums) {
    const particles::Problem& problem = view.problem;
    const particles::RawField& field = view.field;
    const int64_t count = problem.target_count();
    const int64_t blocks = (count + sum_block - 1) / sum_block;
    const bool with_potential = !field.potential.empty();
    sums.resize(blocks * Totals::count);
    executor.for_blocks(count, sum_block, [&](int64_t begin, int64_t end, int) {
        double s[Totals::count] = {};
        for (int64_t k = begin; k < end; ++k) {
            const int64_t i = view.item_of(k);
            const double q = problem.charge[i];
            const double x = problem.x[i] - centre[0], y = problem.y[i] - centre[1],
                         z = problem.z[i] - centre[2];
            const double fx = q * field.ax[k], fy = q * field.ay[k], fz = q * field.az[k];
            s[0] += x * fx;
            s[1] += y * fy;
            s[2] += z * fz;
            s[3] += 0.5 * (x * fy + y * fx);
            s[4] += 0.5 * (x * fz + z * fx);
            s[5] += 0.5 * (y * fz + z * fy);
            s[6] += with_potential ? 0.5 * q * field.potential[k] : 0;
        }
        std::copy(s, s + Totals::count, sums.data() + (begin / sum_block) * Totals::count);
    });
    Totals totals;
    for (int64_t b = 0; b < blocks; ++b)
        for (int c = 0; c < Totals::count; ++c)
            totals.value[c] += sums[b * Totals::count + c];
    return totals;
}

/// Positions relative to the first particle of the lowest rank that has any, so that a system far from the
/// origin loses no digits (the net force times that shift is rounding only when all are active).
Totals sum_up(const backend::Executor& executor, comm::Communicator& comm, const FieldView& view,
              core::Buffer<double>& sums) {
    const particles::Problem& problem = view.problem;
    double own[3], centre[3];
    if (problem.n > 0) {
        own[0] = problem.x[0];
        own[1] = problem.y[0];
        own[2] = problem.z[0];
    }
    find_origin(comm, problem.n > 0 ? own : nullptr, centre);
    Totals totals;
    comm.together([&] { totals = sum_own(executor, view, centre, sums); });
    comm.allreduce(totals.value, Totals::count, comm::Operation::sum);
    return totals;
}

void check_results(const backend::Executor& executor, const settings::Settings& settings,
                   const Outputs& outputs, const FieldView& view, const Totals& totals) {
    for_results(executor, settings, outputs, view, totals, particles::check_reals);
}

void write_results(const backend::Executor& executor, const settings::Settings& settings,
                   const Outputs& outputs, const FieldView& view, const Totals& totals) {
    for_results(executor, settings, outputs, view, totals, particles::export_reals);
}

} // namespace graft::engine
