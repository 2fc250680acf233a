// SPDX-License-Identifier: BSD-3-Clause
// The trial: contenders run on a sample of the boxes, the model carries what they took over to the whole.
//
// A sample is a few runs of consecutive target boxes with all their source boxes, so pairs and their order
// are the whole's. Its working set is smaller: what is compared is measured over predicted for the sample,
// not seconds. Rounds alternate between the contenders, so that each round gives a ratio of its own; their
// scatter is the trial's noise.
#include "near/choice/choose.hpp"

#include "core/median.hpp"
#include "near/choice/contenders.hpp"
#include "near/structure_view.hpp"
#include "near/thread_clock.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace graft::near {

namespace {

constexpr int64_t pieces = 6; // of consecutive boxes
constexpr double least_trial_s =
    600e-6; // of one contender: shorter ones are the timer's and the call's noise
constexpr int most_contenders = 3;
// The first round brings the sample's points into the caches, for whoever comes first, and does not count.
constexpr int trial_rounds = 6;
constexpr int trial_runs = 2; // the second counts, what the first takes longer to the collection
// Of a prediction's error what differs between layouts: the larger part is the machine's and all layouts'.
constexpr double own_error = 0.5;
constexpr double deviations_of_error = 1.645; // the model's error is 90 % of a normal distribution
constexpr double worth_share = 0.5;           // of what a trial may save: no trial is perfect

struct Sample {
    std::vector<int64_t> target_offset{0}, source_offset{0}, neighbour_offset{0}, target_index, source_index;
    std::vector<int32_t> neighbour;
    bool same = false;
};

void add_points(std::span<const int64_t> offset, std::span<const int64_t> index, size_t box,
                std::vector<int64_t>& to_offset, std::vector<int64_t>& to_index) {
    for (int64_t slot = offset[box]; slot < offset[box + 1]; ++slot)
        to_index.push_back(index.empty() ? slot : index[static_cast<size_t>(slot)]);
    to_offset.push_back(static_cast<int64_t>(to_index.size()));
}

/// Boxes [k, k + each) at even distances: about `share` of all.
std::vector<size_t> boxes_of(int64_t boxes, double share) {
    const auto wanted =
        std::clamp<int64_t>(static_cast<int64_t>(share * static_cast<double>(boxes)), 1, boxes);
    const int64_t count = std::min(pieces, wanted), each = wanted / count;
    std::vector<size_t> list;
    for (int64_t piece = 0; piece < count; ++piece)
        for (int64_t k = 0; k < each; ++k)
            list.push_back(static_cast<size_t>(piece * boxes / count + k));
    return list;
}

/// The structure of some target boxes. Where targets are the sources their source boxes become target boxes,
/// too (some layouts treat a box' own points apart), those beyond the sample with empty lists.
Sample sample_of(const Structure& all, double share) {
    Sample sample;
    sample.same = all.same;
    const std::vector<size_t> boxes = boxes_of(all.target_boxes(), share);
    const auto neighbours = [&](size_t box) {
        const auto begin = static_cast<size_t>(all.neighbour_offset[box]);
        return all.neighbour.subspan(begin, static_cast<size_t>(all.neighbour_offset[box + 1]) - begin);
    };
    std::vector<int32_t> sources;
    for (const size_t box : boxes) {
        sources.insert(sources.end(), neighbours(box).begin(), neighbours(box).end());
        if (all.same)
            sources.push_back(static_cast<int32_t>(box));
    }
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    const auto add_target_box = [&](size_t box, bool sampled) {
        add_points(all.target_offset, all.target_index, box, sample.target_offset, sample.target_index);
        for (const int32_t one : sampled ? neighbours(box) : std::span<const int32_t>())
            sample.neighbour.push_back(static_cast<int32_t>(
                std::lower_bound(sources.begin(), sources.end(), one) - sources.begin()));
        sample.neighbour_offset.push_back(static_cast<int64_t>(sample.neighbour.size()));
    };
    if (all.same) {
        for (const int32_t box : sources)
            add_target_box(static_cast<size_t>(box),
                           std::binary_search(boxes.begin(), boxes.end(), static_cast<size_t>(box)));
        return sample;
    }
    for (const int32_t box : sources)
        add_points(all.source_offset, all.source_index, static_cast<size_t>(box), sample.source_offset,
                   sample.source_index);
    for (const size_t box : boxes)
        add_target_box(box, true);
    return sample;
}

/// Of ln(one / best), by the model's own errors.
double deviation_of(const Candidate& one, const Candidate& best) {
    return own_error / deviations_of_error * std::hypot(one.predicted.error, best.predicted.error);
}

/// What one contender takes on the sample.
template <typename T>
Times try_layout(Layout layout, const Structure& structure, const Sums& sums, const Coordinates<T>& targets,
                 const Coordinates<T>& sources, std::vector<T>& scratch, const ChoiceOptions& options,
                 core::Memory& memory) {
    LayoutOptions made;
    made.most_bytes = static_cast<int64_t>(options.way.most_bytes);
    made.threads = static_cast<int32_t>(options.way.threads);
    Charges<T> charges;
    Fields<T> fields;
    const size_t n = scratch.size() / 2; // charges and sums of every component: the same arrays
    for (auto& one : charges.component)
        one = scratch.data();
    if ((sums.outputs & potential) != 0)
        fields.potential[0] = scratch.data() + n;
    for (size_t axis = 0; (sums.outputs & gradient) != 0 && axis < static_cast<size_t>(sums.dimension);
         ++axis)
        fields.gradient[0][axis] = scratch.data() + n;
    Stopwatch watch(made.threads == 1);
    const auto one = make_layout<T>(layout, structure, sums, made, memory);
    one->set_points(targets, sources);
    Times best;
    const double collection_s = watch.lap();
    double first_s = 0;
    for (int k = 0; k < trial_runs; ++k) {
        watch.lap();
        one->set_charges(charges);
        one->run(fields);
        best.kernel_s = watch.lap(); // all of it: only sums of phases are learned
        first_s = k == 0 ? best.kernel_s : first_s;
    }
    best.collection_s = collection_s + std::max(0.0, first_s - best.kernel_s);
    if (one->chunks() > 1)
        best.collection_s = 0; // is in the execution
    return best;
}

/// Items that the caller's arrays must have for an index.
int64_t items(std::span<const int64_t> index, int64_t slots) {
    return index.empty() ? slots : 1 + *std::max_element(index.begin(), index.end());
}

/// Rounds of one contender on the sample, without the first.
struct Tried {
    const Candidate* whole = nullptr; // as predicted for all boxes
    const Candidate* sample = nullptr;
    std::vector<Times> rounds;

    /// Seconds of an execution of all boxes, with its share of the collection, as this round corrects them.
    double seconds(size_t round, double executes) const {
        Learned alone;
        learn(alone, *sample, rounds[round]);
        const auto number = static_cast<size_t>(whole->layout);
        const auto corrected = [&](double predicted_s, double factor) {
            return predicted_s * (factor > 0 ? factor : 1);
        };
        const double execution_s = corrected(whole->predicted.execution_s(), alone.execution[number]);
        const double collection_s = corrected(whole->predicted.collection_s, alone.collection[number]);
        return execution_s + (whole->predicted.chunked ? 0 : collection_s / std::max(1.0, executes));
    }
    Times middle() const {
        Times times;
        for (double Times::*field : {&Times::collection_s, &Times::kernel_s}) {
            std::vector<double> values;
            values.reserve(rounds.size());
            for (const Times& one : rounds)
                values.push_back(one.*field);
            times.*field = core::median(std::move(values));
        }
        return times;
    }
};

/// The predicted best (the first), or who was faster beyond the noise: then the one that was fastest of all.
Layout winner(const std::vector<Tried>& all, double executes) {
    Layout best = all.front().whole->layout;
    double least = 0;
    for (const Tried& one : all) {
        std::vector<double> logarithms;
        logarithms.reserve(one.rounds.size());
        for (size_t r = 0; r < one.rounds.size(); ++r)
            logarithms.push_back(std::log(one.seconds(r, executes) / all.front().seconds(r, executes)));
        const TrialRatio ratio = trial_ratio(logarithms);
        if (ratio.faster() && ratio.middle < least) {
            least = ratio.middle;
            best = one.whole->layout;
        }
    }
    return best;
}

} // namespace

std::vector<const Candidate*> contenders(const Choice& choice) {
    const Candidate& best = choice.chosen();
    std::vector<const Candidate*> list;
    for (const Candidate& one : choice.candidates) {
        const double least_s = one.time_s * (1 - std::min(0.9, one.predicted.error));
        if (one.possible && least_s < best.time_s * (1 + best.predicted.error))
            list.push_back(&one);
    }
    std::sort(list.begin(), list.end(),
              [](const Candidate* a, const Candidate* b) { return a->time_s < b->time_s; });
    // With and without padding a layout is the same work, and on a GPU one prediction but for its bytes: the
    // one that is predicted quicker stands for both.
    const auto alike = [](const Candidate* one) {
        return near::near_measured_as(static_cast<NearLayout>(one->layout));
    };
    std::vector<const Candidate*> chosen;
    for (const Candidate* one : list)
        if (chosen.size() < most_contenders &&
            std::none_of(chosen.begin(), chosen.end(), [&](const auto* c) { return alike(c) == alike(one); }))
            chosen.push_back(one);
    return chosen;
}

double trial_budget_s(const std::vector<const Candidate*>& list, double job_s, const ChoiceOptions& options) {
    double worth = 0;
    for (const Candidate* one : list)
        if (one != list.front())
            worth = std::max(worth, worth_of_trial(std::log(one->time_s / list.front()->time_s),
                                                   deviation_of(*one, *list.front())));
    return std::min(options.most_trial_s, std::min(options.trial_share, worth_share * worth) * job_s);
}

double worth_of_trial(double gap, double deviation) {
    if (!(deviation > 0))
        return 0;
    const double z = std::max(0.0, gap) / deviation;
    const double density = 0.3989422804014327 * std::exp(-0.5 * z * z);
    return deviation * (density - z * 0.5 * std::erfc(z * 0.7071067811865476));
}

TrialRatio trial_ratio(std::span<const double> logarithms) {
    if (logarithms.empty())
        return {0, std::numeric_limits<double>::infinity()};
    const double middle = core::median({logarithms.begin(), logarithms.end()});
    std::vector<double> away;
    for (const double one : logarithms)
        away.push_back(std::fabs(one - middle));
    // 1.4826: deviations to the standard deviation; 1.2533: the standard error of a median.
    return {middle,
            1.4826 * 1.2533 * core::median(std::move(away)) / std::sqrt(static_cast<double>(logarithms.size()))};
}

template <typename T>
Choice choose_tried(const Structure& structure, const Sums& sums, const Coordinates<T>& targets,
                    const Coordinates<T>& sources, const model::Machine& machine,
                    const ChoiceOptions& options, core::Memory& memory, Learned& learned) {
    const Shape shape = shape_of(structure, sums, static_cast<int32_t>(options.way.threads));
    const Choice predicted = choose(shape, machine, options, learned);
    Stopwatch watch(options.way.threads == 1);
    const std::vector<const Candidate*> list = contenders(predicted);
    const double job_s = predicted.chosen().time_s * std::max(1.0, options.expected_executes);
    const double budget_s = trial_budget_s(list, job_s, options);
    double whole_s = 0;
    for (const Candidate* one : list)
        whole_s += trial_rounds * (one->collection_s + trial_runs * one->execution_s);
    const double each_s = budget_s / static_cast<double>(std::max<size_t>(list.size(), 1));
    if (!options.trial || list.size() < 2 || each_s < least_trial_s || structure.targets() == 0)
        return predicted;
    // The sample as a structure is made at about the speed of a collection.
    const Sample sample = sample_of(structure, std::min(1.0, 0.7 * budget_s / whole_s));
    const Structure view = view_of(sample);
    const Choice small = choose(shape_of(view, sums), machine, options);
    const int64_t n = std::max(items(structure.target_index, structure.targets()),
                               items(structure.source_index, structure.sources()));
    std::vector<T> scratch(2 * static_cast<size_t>(n), T(1));
    std::vector<Tried> all;
    all.reserve(list.size());
    for (const Candidate* one : list)
        all.push_back({one, &small.candidates[static_cast<size_t>(one->layout)], {}});
    for (int round = 0; round < trial_rounds; ++round)
        for (Tried& one : all) {
            const Times times =
                try_layout<T>(one.whole->layout, view, sums, targets, sources, scratch, options, memory);
            if (round > 0)
                one.rounds.push_back(times);
        }
    for (const Tried& one : all)
        learn(learned, *one.sample, one.middle());
    Choice choice = choose(shape, machine, options, learned);
    for (const Tried& one : all)
        choice.candidates[static_cast<size_t>(one.whole->layout)].tried = true;
    choice.layout = winner(all, options.expected_executes);
    choice.tried = true;
    choice.trial_s = watch.lap();
    return choice;
}

template Choice choose_tried(const Structure&, const Sums&, const Coordinates<float>&,
                             const Coordinates<float>&, const model::Machine&, const ChoiceOptions&,
                             core::Memory&, Learned&);
template Choice choose_tried(const Structure&, const Sums&, const Coordinates<double>&,
                             const Coordinates<double>&, const model::Machine&, const ChoiceOptions&,
                             core::Memory&, Learned&);

} // namespace graft::near
