// SPDX-License-Identifier: BSD-3-Clause
// layout: auto. Which layout a plan should use: the least predicted time of an execution with its share of
// the collection; where predictions lie within the model's own error, a short trial on a sample of the boxes
// decides, if it saw a difference beyond its own noise; what executions really took corrects the predictions
// of the plan.
//
// Without a machine file the model's built-in numbers stand in (of another machine, error 50 %), so that
// nearly every choice is tried: no calibration is begun behind the caller's back, a plan's creation must not
// take seconds. A trial may cost half of what it can be expected to save (worth_of_trial), at most
// `trial_share` of the job (expected_executes executions) and at most `most_trial_s`; a job too short for
// that is not tried. Source of the model: near/choice/near_time.hpp.
#pragma once

#include "near/layouts/layout.hpp"
#include "near/choice/near_time.hpp"

#include <array>
#include <span>

namespace graft::near {

struct ChoiceOptions {
    ChoiceOptions() { asked.fill(true); }
    NearWay way;
    std::array<bool, layouts> asked; // by number of layout: which may be chosen
    bool every = false;              // also those that no measured structure was fastest in (seldom_wins)
    double expected_executes = 1;    // of one set of coordinates
    bool trial = true;
    double most_trial_s = 0.25, trial_share = 0.05;
};

/// What a plan has seen: measured over predicted, 0 where nothing is known. Belongs to the plan.
struct Learned {
    std::array<double, layouts> collection{}, execution{};
};

struct Candidate {
    Layout layout = Layout::tiled;
    bool possible = true; // is asked for, predicted, and fits under the cap, in chunks at least
    NearPrediction predicted;
    double collection_s = 0, execution_s = 0; // predicted, corrected by what was learned
    double time_s = 0;                        // of an execution with its share of the collection
    bool tried = false;
};

struct Choice {
    Layout layout = Layout::tiled;
    std::array<Candidate, layouts> candidates; // by number of layout
    bool tried = false;
    double trial_s = 0; // that the trial took; of one thread its own time

    const Candidate& chosen() const { return candidates[static_cast<size_t>(layout)]; }
};

/// How a plan came by the layout that it has:
///   caller      near_field.layout names it; it stays
///   model       predicted to be fastest; trial, where that was worth its time when the plan was made
///   trial       it was fastest in one
///   executions  from model or trial: what they took spoke for another layout when the points changed
enum class ChosenBy { caller, model, trial, executions };
const char* words(ChosenBy by);

/// The model's words for a shape on its way (lanes of the instruction set in use now).
NearTimeInput problem_of(Layout layout, const Shape& shape, const NearWay& way);

/// Layouts that won none of the structures of the recorded sweeps (docs/lab/near.md): not predicted and not tried, unless
/// every layout is to be or nothing else fits.
constexpr bool seldom_wins(Layout layout) {
    return layout == Layout::indexed || layout == Layout::replicated || layout == Layout::replicated_packed ||
           layout == Layout::replicated_interleaved;
}

/// By the model and what was learned alone. A layout over way.most_bytes counts as chunked (collected by
/// every execution); over it even in chunks it is no candidate. Layouts that nobody learned about are
/// corrected by the mean of those that were: a slow machine is slow for all. Throws Error(memory) when
/// none of those asked for fits.
Choice choose(const Shape& shape, const model::Machine& machine, const ChoiceOptions& options,
              const Learned& learned = {});

/// Times of the last execution of `layout` (collection of the last set_points) into `learned`, a half of it:
/// noise of one execution is not taken for the truth.
void learn(Learned& learned, const Candidate& candidate, const Times& measured);

/// What a perfect trial could save, as a share of the job: the expected gain of knowing which of two is
/// faster when `other` is predicted to take exp(gap) times the time of the best, and ln of the true ratio is
/// normal with this deviation (Raiffa & Schlaifer 1961, unit normal loss).
double worth_of_trial(double gap, double deviation);

/// ln of (challenger / predicted best) over the rounds of a trial: the median and its standard error (from
/// the median deviation, so that one disturbed round does not count). No rounds: 0 and infinity.
struct TrialRatio {
    double middle = 0, error = 0;
    /// A difference as small as this is not the trial's to tell: a sample's caches are not the whole's.
    static constexpr double sample_error = 0.02;
    bool faster() const { return middle + 2 * error + sample_error < 0; }
};
TrialRatio trial_ratio(std::span<const double> logarithms);

/// choose(), then the trial where it is needed and worth its time. The predicted best stays unless a
/// challenger was faster beyond the trial's own noise (TrialRatio::faster). T as in layout.hpp; the arrays
/// are the plan's. Learns from the trial. Throws what make_layout does.
template <typename T>
Choice choose_tried(const Structure& structure, const Sums& sums, const Coordinates<T>& targets,
                    const Coordinates<T>& sources, const model::Machine& machine,
                    const ChoiceOptions& options, core::Memory& memory, Learned& learned);

} // namespace graft::near
