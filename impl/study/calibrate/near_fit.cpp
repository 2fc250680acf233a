// SPDX-License-Identifier: BSD-3-Clause
// See near_fit.hpp.
#include "study/calibrate/near_fit.hpp"

#include "core/error.hpp"
#include "model/least_squares.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

namespace graft::study {

namespace {

constexpr double small_part = 0.05; // of the execution: a phase below it need not be met well

double total_of(const NearSample& sample) {
    return sample.collection_s + sample.charges_s + sample.kernel_s + sample.scatter_s;
}

constexpr size_t bytes_term = 4, far_term = 5, memory_term = 6, random_term = 7;
constexpr double little = 0.1; // of a phase: a term that is less in every sample is not fitted to them

/// Seconds (random: a factor) that are given; below 0: to be fitted.
using Given = std::array<double, std::tuple_size_v<model::NearTerms>>;
constexpr Given all_free = {-1, -1, -1, -1, -1, -1, -1, -1};

/// One measured time of a phase with its terms; errors count relative to `scale_s`, which a weight divides.
struct Row {
    model::NearTerms terms;
    double seconds, scale_s;
};

/// Of which a phase may be a small part. A GPU's kernels count in executions that follow by the thousand,
/// too.
double whole_of(const NearSample& sample, near::NearPhaseName name, const near::NearWay& way) {
    const bool each = way.backend == near::NearBackend::cuda && name != near::NearPhaseName::collection;
    return total_of(sample) - (each ? sample.collection_s : 0);
}

/// The samples' times of a phase, those that are known.
std::vector<Row> rows_of(near::NearLayout layout, near::NearPhaseName name, double NearSample::*field,
                         std::span<const NearSample> samples, const near::NearWay& way, const model::Machine& machine) {
    std::vector<Row> rows;
    for (const NearSample& sample : samples)
        if (name != near::NearPhaseName::again || sample.again_s > 0)
            rows.push_back(
                {near::near_terms(layout, name, sample.problem, way, machine), sample.*field,
                 std::max(sample.*field, small_part * whole_of(sample, name, way)) / sample.weight});
    return rows;
}

/// Least squares for what is not given.
std::vector<double> fit_terms(const std::vector<Row>& measured, const Given& given) {
    std::vector<double> rows, right;
    for (const Row& row : measured) {
        right.push_back(row.seconds / row.scale_s);
        for (size_t k = 0; k < given.size(); ++k) {
            if (given[k] >= 0)
                right.back() -= row.terms[k] * given[k] / row.scale_s;
            rows.push_back(given[k] >= 0 ? 0 : row.terms[k] / row.scale_s);
        }
    }
    std::vector<double> x =
        model::least_squares_not_negative(rows, right, static_cast<int>(std::tuple_size_v<model::NearTerms>));
    for (size_t k = 0; k < given.size(); ++k)
        if (given[k] >= 0)
            x[k] = given[k];
    return x;
}

/// Random reads as the machine's table has them, where no sample is large enough to tell otherwise.
Given given_of(const std::vector<Row>& rows, const near::NearWay& way) {
    Given given = all_free;
    const bool seen = std::any_of(rows.begin(), rows.end(), [](const Row& row) {
        return row.terms[random_term] > little * row.seconds;
    });
    if (!seen && way.backend == near::NearBackend::cpu)
        given[random_term] = 1;
    return given;
}

/// Records pass in order, at the memory's bandwidth. Samples small enough for a calibration hardly leave the
/// last level: where they give a line no time or more than four times the bandwidth's, the bandwidth stands.
model::NearPhase fit_phase(near::NearLayout layout, near::NearPhaseName name, double NearSample::*field,
                    std::span<const NearSample> samples, const near::NearWay& way, const model::Machine& machine) {
    const std::vector<Row> rows = rows_of(layout, name, field, samples, way, machine);
    Given given = given_of(rows, way);
    // What stands in for all layouts must not know one's bytes: those of records are hundreds of times more.
    if (way.backend == near::NearBackend::cuda && layout == near::NearLayout::ranges && name == near::NearPhaseName::collection)
        given[bytes_term] = given[memory_term] = given[random_term] = 0;
    std::vector<double> x = fit_terms(rows, given);
    // A GPU's come at its bandwidth at most, even where samples are so few threads that their steps hide it.
    const double read = machine.gpu.read_bandwidth_bytes_per_s;
    const bool passes = near::near_records(layout) || layout == near::NearLayout::tiled_once;
    if (way.backend == near::NearBackend::cuda && passes && name == near::NearPhaseName::kernel && read > 0 &&
        x[random_term] < 1 / read) {
        given[random_term] = 1 / read;
        x = fit_terms(rows, given);
    }
    const bool streams = near::near_records(layout) && way.backend == near::NearBackend::cpu &&
                         (name == near::NearPhaseName::kernel || name == near::NearPhaseName::charges);
    if (streams && machine.cpu.core_copy_bandwidth_bytes_per_s > 0) {
        const double line_s =
            64 / machine.cpu.core_copy_bandwidth_bytes_per_s; // read; written: as much again
        if (x[memory_term] <= 0 || x[memory_term] > 4 * line_s) {
            given[memory_term] = line_s;
            x = fit_terms(rows, given);
        }
    }
    return {x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]};
}

/// What is common to all layouts, and what this one takes longer; not the points' way into the boxes' order.
model::NearPhase fit_longer(near::NearLayout layout, std::span<const NearSample> samples, const near::NearWay& way,
                     const model::Machine& machine, const model::NearPhase& plain) {
    std::vector<double> rows, right;
    for (const NearSample& sample : samples) {
        if (sample.plain_s <= 0)
            continue;
        const double weight = sample.weight / std::max(sample.collection_s, small_part * total_of(sample));
        model::NearTerms terms = near::near_terms(layout, near::NearPhaseName::collection, sample.problem, way, machine);
        terms[far_term] = 0;
        for (const double term : terms)
            rows.push_back(term * weight);
        right.push_back((sample.collection_s - sample.plain_s) * weight);
    }
    const std::vector<double> x =
        model::least_squares_not_negative(rows, right, static_cast<int>(std::tuple_size_v<model::NearTerms>));
    return {plain.call_s + x[0], plain.neighbour_s + x[1], plain.target_s + x[2], plain.run_s + x[3],
            plain.entry + x[4],  plain.cache_s + x[5],     plain.memory_s + x[6], plain.random + x[7]};
}

/// The driver's memory, which costs what no sample shows where all were kept by the library.
void take_unseen(model::NearPhase& collection, near::NearLayout layout, std::span<const NearSample> samples,
                 const near::NearWay& way, const model::Machine& machine) {
    const bool seen = std::any_of(samples.begin(), samples.end(), [&](const NearSample& sample) {
        return sample.problem.layout_bytes > near::near_kept_bytes(machine);
    });
    if (seen || way.backend != near::NearBackend::cuda)
        return;
    bool measured = false;
    const model::NearPhase built_in = near::near_costs(layout, samples.front().problem, way, {}, &measured).collection;
    collection.memory_s = built_in.memory_s;
    collection.random = built_in.random;
}

/// 90 % of |predicted / measured - 1|.
double error_of(const model::NearLayoutCosts& costs, near::NearLayout layout, std::span<const NearSample> samples,
                const near::NearWay& way, const model::Machine& machine) {
    std::vector<double> errors;
    for (const NearSample& sample : samples) {
        const auto seconds = [&](near::NearPhaseName name, const model::NearPhase& phase) {
            return near::near_sum(near::near_terms(layout, name, sample.problem, way, machine), phase);
        };
        const double predicted = seconds(near::NearPhaseName::collection, costs.collection) +
                                 seconds(near::NearPhaseName::charges, costs.charges) +
                                 seconds(near::NearPhaseName::kernel, costs.kernel) +
                                 seconds(near::NearPhaseName::scatter, costs.scatter);
        errors.push_back(std::fabs(predicted / total_of(sample) - 1));
    }
    std::sort(errors.begin(), errors.end());
    return errors.empty() ? 1 : errors[std::min(errors.size() - 1, errors.size() * 9 / 10)];
}

/// The place of an item that `same` finds, or the first empty one.
template <typename Item, size_t count, typename Same, typename Empty>
Item& place_of(std::array<Item, count>& items, Same same, Empty empty) {
    for (Item& one : items)
        if (!empty(one) && same(one))
            return one;
    for (Item& one : items)
        if (empty(one))
            return one;
    core::fail(core::Status::internal, "the near field's table of a machine is full: %zu items", count);
}

} // namespace

NearSharedPhases fit_near_common(std::span<const std::vector<NearSample>> samples, const near::NearWay& way,
                                 const model::Machine& machine) {
    constexpr auto plain = near::NearLayout::ranges;
    std::vector<NearSample> all;
    for (const std::vector<NearSample>& one : samples)
        all.insert(all.end(), one.begin(), one.end());
    return {fit_phase(plain, near::NearPhaseName::collection, &NearSample::collection_s,
                      samples[static_cast<size_t>(plain)], way, machine),
            fit_phase(plain, near::NearPhaseName::scatter, &NearSample::scatter_s, all, way, machine)};
}

model::NearLayoutCosts fit_near(near::NearLayout layout, std::span<const NearSample> samples,
                                const near::NearWay& way, const model::Machine& machine,
                                const NearSharedPhases* common, int32_t dimension) {
    if (samples.empty())
        core::fail(core::Status::argument, "fit_near: no measurement of layout %d", static_cast<int>(layout));
    model::NearLayoutCosts costs;
    costs.backend = static_cast<double>(way.backend);
    costs.layout = static_cast<double>(layout);
    costs.number_bytes = samples.front().problem.number_bytes();
    std::vector<NearSample> own; // of the dimension
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(own), [&](const NearSample& sample) {
        return dimension == 0 || sample.problem.dimension == dimension;
    });
    if (own.empty())
        own.assign(samples.begin(), samples.end());
    else
        costs.dimension = dimension;
    const auto fit = [&](near::NearPhaseName name, double NearSample::*field) {
        return fit_phase(layout, name, field,
                         name == near::NearPhaseName::collection ? samples : std::span<const NearSample>(own), way,
                         machine);
    };
    const bool paired = std::any_of(samples.begin(), samples.end(),
                                    [](const NearSample& sample) { return sample.plain_s > 0; });
    costs.collection = common != nullptr && paired
                           ? fit_longer(layout, samples, way, machine, common->collection)
                           : fit(near::NearPhaseName::collection, &NearSample::collection_s);
    take_unseen(costs.collection, layout, samples, way, machine);
    costs.charges = fit(near::NearPhaseName::charges, &NearSample::charges_s);
    costs.kernel = fit(near::NearPhaseName::kernel, &NearSample::kernel_s);
    costs.scatter = common != nullptr ? common->scatter : fit(near::NearPhaseName::scatter, &NearSample::scatter_s);
    if (std::any_of(samples.begin(), samples.end(), [](const NearSample& one) { return one.again_s > 0; }))
        costs.again = fit(near::NearPhaseName::again, &NearSample::again_s);
    costs.error = error_of(costs, layout, own, way, machine);
    return costs;
}

void put(model::NearMachine& near, const model::NearLayoutCosts& costs) {
    place_of(
        near.layouts,
        [&](const model::NearLayoutCosts& one) {
            return one.backend == costs.backend && one.layout == costs.layout &&
                   one.number_bytes == costs.number_bytes && one.dimension == costs.dimension;
        },
        [](const model::NearLayoutCosts& one) { return one.number_bytes == 0; }) = costs;
}

void put(model::NearMachine& near, const model::NearKernelCosts& costs) {
    place_of(
        near.kernels,
        [&](const model::NearKernelCosts& one) {
            return one.backend == costs.backend && one.kernel == costs.kernel &&
                   one.precision == costs.precision && one.dimension == costs.dimension &&
                   one.outputs == costs.outputs;
        },
        [](const model::NearKernelCosts& one) { return one.dimension == 0; }) = costs;
}

} // namespace graft::study
