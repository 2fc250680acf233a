// SPDX-License-Identifier: BSD-3-Clause
// The choice by prediction, see choose.hpp.
#include "near/choice/choose.hpp"

#include "core/error.hpp"
#include "near/mutual.hpp"
#include "forces/simd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::near {

static_assert(layouts == near_layouts);
static_assert(static_cast<int>(Layout::tiled_split) == static_cast<int>(NearLayout::tiled_split));
static_assert(static_cast<int>(Layout::replicated_group_padded) ==
              static_cast<int>(NearLayout::replicated_group_padded));
static_assert(static_cast<int>(Layout::replicated_group) ==
              static_cast<int>(NearLayout::replicated_group));

const char* words(ChosenBy by) {
    switch (by) {
    case ChosenBy::caller:
        return "as near_field.layout says";
    case ChosenBy::model:
        return "predicted to be fastest";
    case ChosenBy::trial:
        return "fastest in a short trial";
    default:
        return "learned from the executions so far";
    }
}

namespace {

constexpr double least_factor = 0.05, most_factor = 20; // a correction beyond is an accident
constexpr double newest_share = 0.5;                    // of the newest measurement in a correction

/// Of the layout, or of the same one with (without) padding; else the mean (of logarithms) of what is known;
/// 1 of nothing.
double factor_of(Layout layout, const std::array<double, layouts>& factors) {
    const auto number = static_cast<size_t>(layout);
    if (factors[number] > 0)
        return factors[number];
    const auto alike = [](size_t k) { return near::near_measured_as(static_cast<NearLayout>(k)); };
    double sum = 0, count = 0;
    for (size_t k = 0; k < factors.size(); ++k) {
        if (factors[k] > 0 && alike(k) == alike(number))
            return factors[k];
        if (factors[k] > 0) {
            sum += std::log(factors[k]);
            count += 1;
        }
    }
    return count > 0 ? std::exp(sum / count) : 1;
}

Candidate candidate_of(Layout layout, const Shape& shape, const model::Machine& machine,
                       const ChoiceOptions& options, const Learned& learned) {
    const auto threads = static_cast<int32_t>(options.way.threads);
    Candidate one;
    one.layout = layout;
    one.possible =
        options.asked[static_cast<size_t>(layout)] &&
        (options.way.most_bytes <= 0 || least_bytes_of(layout, shape, threads) <= options.way.most_bytes);
    one.predicted = near::near_time(static_cast<NearLayout>(layout),
                                     problem_of(layout, shape, options.way), options.way, machine);
    one.collection_s = one.predicted.collection_s * factor_of(layout, learned.collection);
    one.execution_s = one.predicted.execution_s() * factor_of(layout, learned.execution);
    one.time_s = one.execution_s +
                 (one.predicted.chunked ? 0 : one.collection_s / std::max(1.0, options.expected_executes));
    return one;
}

/// Its time; more on a GPU where its memory comes from the driver and not from what the library keeps: plans
/// that take 1 ms then take 20 to 1,800 now and then (docs/lab/gpu/near.md), and nobody gains from a tie.
double careful_s(const Candidate& one, const model::Machine& machine, const ChoiceOptions& options) {
    constexpr double risk = 1.05;
    const bool gpu = options.way.backend == NearBackend::cuda;
    return one.time_s * (gpu && one.predicted.bytes > near::near_kept_bytes(machine) ? risk : 1);
}

double least_bytes(const Shape& shape, const ChoiceOptions& options) {
    double least = std::numeric_limits<double>::infinity();
    for (int k = 0; k < layouts; ++k)
        if (options.asked[static_cast<size_t>(k)])
            least = std::min(least, least_bytes_of(static_cast<Layout>(k), shape,
                                                   static_cast<int32_t>(options.way.threads)));
    return least;
}

void correct(double& factor, double measured_s, double predicted_s) {
    if (!(measured_s > 0) || !(predicted_s > 0))
        return;
    const double now = std::clamp(measured_s / predicted_s, least_factor, most_factor);
    factor = factor > 0 ? std::pow(factor, 1 - newest_share) * std::pow(now, newest_share) : now;
}

} // namespace

NearTimeInput problem_of(Layout layout, const Shape& shape, const NearWay& way) {
    NearTimeInput p;
    const auto number = [](int64_t value) { return static_cast<double>(value); };
    p.targets = number(shape.targets);
    p.sources = number(shape.sources);
    p.boxes = number(shape.boxes);
    p.neighbours = number(shape.neighbours);
    p.pairs = number(shape.pairs);
    p.warp_pairs = shape.warp_pairs;
    p.lane_pairs = shape.lane_pairs;
    p.row_slots = shape.row_slots;
    p.gathered = number(shape.gathered);
    p.group_slots = number(shape.group_slots);
    p.lane_targets = number(shape.lane_targets);
    p.runs = number(shape.runs);
    p.most_targets = number(shape.most_targets);
    p.most_sources = number(shape.most_sources);
    p.dimension = shape.dimension;
    p.components = shape.components;
    p.outputs = shape.outputs;
    p.kernel = static_cast<int32_t>(shape.kernel);
    p.precision = static_cast<int32_t>(shape.precision);
    p.same = shape.same;
    p.simd_bytes = 4.0 * forces::simd_float_lanes();
    p.layout_bytes = bytes_of(layout, shape, static_cast<int32_t>(way.threads));
    if (near_form(static_cast<NearLayout>(layout), way) == NearLayout::tiled_once)
        p.layout_bytes += bytes_of_pairs_once(shape, static_cast<int64_t>(way.most_bytes));
    return p;
}

Choice choose(const Shape& shape, const model::Machine& machine, const ChoiceOptions& options,
              const Learned& learned) {
    Choice choice;
    const Candidate* best = nullptr;
    const auto consider = [&](bool seldom) {
        for (int k = 0; k < layouts; ++k) {
            Candidate& one = choice.candidates[static_cast<size_t>(k)];
            one.layout = static_cast<Layout>(k);
            if (seldom != (seldom_wins(one.layout) && !options.every))
                continue;
            one = candidate_of(one.layout, shape, machine, options, learned);
            if (one.possible &&
                (best == nullptr || careful_s(one, machine, options) < careful_s(*best, machine, options)))
                best = &one;
        }
    };
    for (Candidate& one : choice.candidates)
        one.possible = false;
    consider(false);
    if (best == nullptr)
        consider(true);
    if (best == nullptr)
        core::fail(core::Status::memory,
                   "near field: no layout works within %.4g bytes, not even in runs of one box; expected at "
                   "least %.17g; raise the cap or use smaller boxes",
                   options.way.most_bytes, least_bytes(shape, options));
    choice.layout = best->layout;
    return choice;
}

void learn(Learned& learned, const Candidate& candidate, const Times& measured) {
    const auto number = static_cast<size_t>(candidate.layout);
    const bool chunked = candidate.predicted.chunked; // then every execution collects
    correct(learned.execution[number],
            measured.charges_s + measured.transfer_s + measured.kernel_s + measured.scatter_s +
                (chunked ? measured.collection_s : 0),
            candidate.predicted.execution_s());
    if (!chunked)
        correct(learned.collection[number], measured.collection_s, candidate.predicted.collection_s);
}

} // namespace graft::near
