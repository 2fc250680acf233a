// SPDX-License-Identifier: BSD-3-Clause
// See write_results.hpp.
#include "engine/write_results.hpp"

#include "engine/checks.hpp"
#include "engine/rank_agreement.hpp"
#include "particles/export_arrays.hpp"
#include "periodic/periodic.hpp"

#include <algorithm>
#include <cmath>

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

/// Over fixed blocks, which are added in their order. add(k, sums of item k's block).
template <typename Sums, typename Add>
Sums sum_items(const backend::Executor& executor, int64_t items, core::Buffer<double>& sums, const Add& add) {
    const int64_t blocks = (items + sum_block - 1) / sum_block;
    sums.resize(blocks * Sums::count);
    executor.for_blocks(items, sum_block, [&](int64_t begin, int64_t end, int) {
        double block[Sums::count] = {};
        for (int64_t k = begin; k < end; ++k)
            add(k, block);
        std::copy(block, block + Sums::count, sums.data() + (begin / sum_block) * Sums::count);
    });
    Sums all;
    for (int64_t b = 0; b < blocks; ++b)
        for (int c = 0; c < Sums::count; ++c)
            all.value[c] += sums[b * Sums::count + c];
    return all;
}

/// NetForce's numbers, and what rounding has taken off its components.
struct NetForceParts {
    static constexpr int lost = NetForce::count, count = lost + 3;
    double value[count] = {};
};

} // namespace

Totals sum_own(const backend::Executor& executor, const FieldView& view, const double (&centre)[3],
               core::Buffer<double>& sums) {
    const particles::Problem& problem = view.problem;
    const particles::RawField& field = view.field;
    const bool with_potential = !field.potential.empty();
    return sum_items<Totals>(executor, problem.target_count(), sums, [&](int64_t k, double(&s)[Totals::count]) {
        const int64_t i = view.item_of(k);
        const double q = problem.charge[i];
        const double x = problem.x[i] - centre[0], y = problem.y[i] - centre[1], z = problem.z[i] - centre[2];
        const double fx = q * field.ax[k], fy = q * field.ay[k], fz = q * field.az[k];
        s[0] += x * fx;
        s[1] += y * fy;
        s[2] += z * fz;
        s[3] += 0.5 * (x * fy + y * fx);
        s[4] += 0.5 * (x * fz + z * fx);
        s[5] += 0.5 * (y * fz + z * fy);
        s[6] += with_potential ? 0.5 * q * field.potential[k] : 0;
    });
}

/// Compensated: forces nearly cancel, and the sum of a block's first ones is far above all.
NetForce sum_net_force(const backend::Executor& executor, const FieldView& view, core::Buffer<double>& sums) {
    const particles::Problem& problem = view.problem;
    const particles::RawField& field = view.field;
    const int64_t targets = problem.target_count();
    const auto add = [&](int64_t k, double(&s)[NetForceParts::count]) {
        s[5] += problem.charge[k] != 0;
        if (k >= targets)
            return;
        const double q = problem.charge[view.item_of(k)], force[3] = {q * field.ax[k], q * field.ay[k], q * field.az[k]};
        for (int c = 0; c < 3; ++c) { // Knuth's sum of two
            const double sum = s[c] + force[c], added = sum - s[c];
            s[NetForceParts::lost + c] += (s[c] - (sum - added)) + (force[c] - added);
            s[c] = sum;
        }
        s[3] += std::abs(q);
        s[4] += q != 0;
    };
    const NetForceParts parts = sum_items<NetForceParts>(executor, problem.n, sums, add);
    NetForce net;
    std::copy_n(parts.value, NetForce::count, net.value);
    for (int c = 0; c < 3; ++c)
        net.value[c] += parts.value[NetForceParts::lost + c];
    return net;
}

void take_off_net_force(const backend::Executor& executor, const FieldView& view, const NetForce& net,
                        particles::RawField& field) {
    if (!net.is_whole())
        return;
    const double shift[3] = {net.value[0] / net.value[3], net.value[1] / net.value[3], net.value[2] / net.value[3]};
    executor.for_each(view.problem.target_count(), [&](int64_t k) {
        const double q = view.problem.charge[view.item_of(k)], sign = q > 0 ? 1 : q < 0 ? -1 : 0;
        field.ax[k] -= sign * shift[0];
        field.ay[k] -= sign * shift[1];
        field.az[k] -= sign * shift[2];
    });
}

namespace {

/// Collective. A place among all ranks' particles, to which positions are relative in sums, so that a system far from the origin
/// loses no digits (the net force times that shift is rounding only when all are active): the first particle of the lowest rank
/// that has any; of a periodic box all ranks know one.
void find_centre(comm::Communicator& comm, const particles::Problem& problem, double (&centre)[3]) {
    if (problem.periodic != nullptr) {
        const geometry::Lattice& box = problem.periodic->lattice();
        for (int a = 0; a < 3; ++a)
            centre[a] = box.lower[a] + 0.5 * box.edge[a];
        return;
    }
    double own[3];
    if (problem.n > 0) {
        own[0] = problem.x[0];
        own[1] = problem.y[0];
        own[2] = problem.z[0];
    }
    find_origin(comm, problem.n > 0 ? own : nullptr, centre);
}

} // namespace

Totals sum_up(const backend::Executor& executor, comm::Communicator& comm, const FieldView& view,
              core::Buffer<double>& sums) {
    const particles::Problem& problem = view.problem;
    double centre[3];
    find_centre(comm, problem, centre);
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
