// SPDX-License-Identifier: BSD-3-Clause
// See layout_trial_gpu.hpp. Charges of a trial are the sources' first coordinates: finite numbers that are in the
// caller's memory already; sums are not asked for.
#include "near/choice/layout_trial_gpu.hpp"

#include "core/timer.hpp"
#include "near/choice/contenders.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace graft::near {

namespace {

using particles::ArrayView;

constexpr int trial_rounds = 6; // the first, which takes memory and warms up, does not count

struct Tried {
    const Candidate* candidate = nullptr;
    DevicePlan plan;
    double create_s = 0, points_s = 0;
    std::vector<Times> rounds; // as learn() takes them

    /// Of an execution, with its share of the points' collection.
    double seconds(size_t round, double executes) const {
        const Times& t = rounds[round];
        const double each_s = t.collection_s + t.charges_s + t.transfer_s + t.kernel_s + t.scatter_s;
        return each_s + (candidate->predicted.chunked ? 0 : points_s / std::max(1.0, executes));
    }
    Times middle() const {
        Times times;
        for (double Times::*field : {&Times::collection_s, &Times::charges_s, &Times::transfer_s,
                                     &Times::kernel_s, &Times::scatter_s}) {
            std::vector<double> values;
            values.reserve(rounds.size());
            for (const Times& one : rounds)
                values.push_back(one.*field);
            std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
            times.*field = values[values.size() / 2];
        }
        return times;
    }
};

/// Those whose plans may be made: the best, and challengers while their plans and executions are paid for.
std::vector<const Candidate*> affordable(const Choice& choice, const ChoiceOptions& options) {
    const std::vector<const Candidate*> list = contenders(choice);
    const double executes = std::max(1.0, options.expected_executes);
    double left_s = trial_budget_s(list, choice.chosen().time_s * executes, options);
    std::vector<const Candidate*> taken;
    for (const Candidate* one : list) {
        const bool best = one == list.front();
        left_s -= trial_rounds * one->execution_s + (best || one->predicted.chunked ? 0 : one->collection_s);
        if (best || left_s >= 0)
            taken.push_back(one);
    }
    return taken;
}

/// False where the device has no room for it, or the layout does not exist there.
bool make(const DeviceTrialInput& input, Tried& one) {
    DeviceNearOptions options = input.options;
    options.layout = one.candidate->layout;
    backend::DeviceError error;
    void* made = nullptr;
    core::Timer timer;
    int32_t status = input.table.create(&options, &input.structure, &input.sums, &made, &error);
    one.plan = DevicePlan(made, input.table.destroy);
    one.create_s = timer.lap();
    if (status == 0)
        status = input.table.set_points(made, input.targets, input.sources, input.stream, &error);
    one.points_s = timer.lap();
    if (status == static_cast<int32_t>(core::Status::memory) ||
        status == static_cast<int32_t>(core::Status::unsupported))
        return false;
    backend::raise(status, error);
    return true;
}

Times execute(const DeviceTrialInput& input, const Tried& one) {
    ArrayView charges[most_components];
    for (int32_t c = 0; c < input.sums.components; ++c)
        charges[c] = (input.structure.same ? input.targets : input.sources)[0];
    const DeviceNearOutputs outputs;
    backend::DeviceError error;
    DeviceNearReport report;
    backend::raise(input.table.begin(one.plan.get(), charges, &outputs, input.stream, &error), error);
    backend::raise(input.table.end(one.plan.get(), &report, &error), error);
    return device_times(*one.candidate, report.times);
}

/// The predicted best (the first), or who was faster beyond the noise: then the fastest of all.
Tried& winner(std::vector<Tried>& all, double executes) {
    Tried* best = &all.front();
    double least = 0;
    for (Tried& one : all) {
        std::vector<double> logarithms;
        logarithms.reserve(one.rounds.size());
        for (size_t r = 0; r < one.rounds.size(); ++r)
            logarithms.push_back(std::log(one.seconds(r, executes) / all.front().seconds(r, executes)));
        const TrialRatio ratio = trial_ratio(logarithms);
        if (ratio.faster() && ratio.middle < least) {
            least = ratio.middle;
            best = &one;
        }
    }
    return *best;
}

} // namespace

Times device_times(const Candidate& candidate, const Times& events) {
    Times times;
    times.charges_s = events.charges_s;
    times.kernel_s = events.kernel_s;
    times.transfer_s = candidate.predicted.transfer_s;
    times.scatter_s = candidate.predicted.scatter_s;
    times.collection_s = candidate.predicted.chunked ? events.collection_s : 0;
    return times;
}

DeviceTrial choose_tried_on_device(const DeviceTrialInput& input, const Shape& shape,
                                   const model::Machine& machine, const ChoiceOptions& options,
                                   Learned& learned) {
    const Choice predicted = choose(shape, machine, options, learned);
    DeviceTrial trial{predicted, DevicePlan(nullptr, input.table.destroy)};
    const std::vector<const Candidate*> list = affordable(predicted, options);
    if (!options.trial || list.size() < 2 || shape.targets == 0 || shape.sources == 0)
        return trial;
    core::Timer timer;
    std::vector<Tried> all;
    for (const Candidate* one : list) {
        all.push_back({one, DevicePlan(nullptr, input.table.destroy), 0, 0, {}});
        if (!make(input, all.back()))
            all.pop_back();
        if (all.empty())
            return trial; // the best itself: who makes it says why it cannot be
    }
    for (int round = 0; round < trial_rounds; ++round)
        for (Tried& one : all) {
            const Times times = execute(input, one);
            if (round > 0)
                one.rounds.push_back(times);
        }
    for (const Tried& one : all)
        learn(learned, *one.candidate, one.middle());
    trial.choice = choose(shape, machine, options, learned);
    for (const Tried& one : all)
        trial.choice.candidates[static_cast<size_t>(one.candidate->layout)].tried = true;
    Tried& best = winner(all, options.expected_executes);
    trial.choice.layout = best.candidate->layout;
    trial.choice.tried = true;
    trial.choice.trial_s = timer.seconds() - best.create_s - best.points_s;
    trial.plan = std::move(best.plan);
    return trial;
}

} // namespace graft::near
