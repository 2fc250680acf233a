// SPDX-License-Identifier: BSD-3-Clause
// See near_tool_json.hpp.
#include "study/tools/near_tool_json.hpp"

#include "core/error.hpp"
#include "core/median.hpp"

#include <cmath>

namespace graft::study {

using core::format;
using near::Candidate;
using near::Times;

namespace {

double median_of(const std::vector<Times>& all, double Times::*field) {
    std::vector<double> values;
    values.reserve(all.size());
    for (const Times& one : all)
        values.push_back(one.*field);
    return core::median(std::move(values));
}

/// Medians of one layout; total: an execution with its share of what is paid once.
struct Medians {
    double collection_s = 0;
    Times execution;
    double total_s = 0;

    Medians(const BenchTimes& times, double executes) {
        if (times.second.empty())
            return;
        collection_s = core::median(times.once_s);
        for (double Times::*field : {&Times::collection_s, &Times::charges_s, &Times::transfer_s,
                                     &Times::kernel_s, &Times::scatter_s, &Times::total_s})
            execution.*field = median_of(times.second, field);
        total_s = collection_s / executes + execution.total_s;
        if (times.chunks > 1)
            collection_s = execution.collection_s;
    }
};

std::string seconds_json(double collection_s, const Times& t, double total_s) {
    return format("{\"collection\":%.6g,\"charges\":%.6g,\"transfer\":%.6g,\"kernel\":%.6g,\"scatter\":%.6g,"
                  "\"total\":%.6g}",
                  collection_s, t.charges_s, t.transfer_s, t.kernel_s, t.scatter_s, total_s);
}

std::string layout_json(const NearRequest& request, const NearAnswer& answer, size_t k, double total_s) {
    const BenchTimes& times = answer.times[k];
    const Candidate& candidate = answer.choice.candidates[static_cast<size_t>(request.layouts[k])];
    const auto name = near::name(request.layouts[k]);
    std::string text = format("{\"layout\":\"%.*s\"", static_cast<int>(name.size()), name.data());
    if (times.second.empty())
        return text + ",\"refused\":true}";
    const Medians medians(times, request.choice.expected_executes);
    const near::NearPrediction& p = candidate.predicted;
    Times predicted;
    predicted.charges_s = p.charges_s;
    predicted.transfer_s = p.transfer_s;
    predicted.kernel_s = p.kernel_s;
    predicted.scatter_s = p.scatter_s;
    text += ",\"time_s\":" + seconds_json(medians.collection_s, medians.execution, total_s);
    text += ",\"predicted_s\":" +
            seconds_json(p.collection_s, predicted, p.per_execution_s(request.choice.expected_executes));
    return text + format(",\"corrected_s\":%.6g,\"bytes\":%lld,\"chunks\":%d,\"tried\":%s,"
                         "\"pairs_per_s\":%.5g}",
                         candidate.time_s, static_cast<long long>(times.bytes), times.chunks,
                         candidate.tried ? "true" : "false",
                         static_cast<double>(answer.shape.pairs) / total_s);
}

std::string problem_json(const NearRequest& request, const NearAnswer& answer) {
    const auto kernel = near::name(request.sums.kernel.kernel);
    const auto precision = near::name(request.sums.precision);
    const near::Shape& shape = answer.shape;
    return format(
        "\"bench\":\"p2p\",\"backend\":\"%s\",\"n\":%lld,\"dimension\":%d,\"kernel\":\"%.*s\","
        "\"precision\":\"%.*s\",\"outputs\":%d,\"components\":%d,\"executes\":%.10g,\"repeats\":%d,"
        "\"threads\":%g,\"order\":\"%s\",\"boxes\":%lld,\"height\":%d,\"density\":%.6g,\"largest\":%lld,"
        "\"pairs\":%lld",
        request.cuda ? "gpu" : "cpu", static_cast<long long>(request.grid.points), request.grid.dimension,
        static_cast<int>(kernel.size()), kernel.data(), static_cast<int>(precision.size()), precision.data(),
        request.sums.outputs, request.sums.components, request.choice.expected_executes, request.repeats,
        request.choice.way.threads, request.grid.sorted ? "boxes" : "random",
        static_cast<long long>(shape.boxes), request.grid.height, shape.mean,
        static_cast<long long>(shape.largest), static_cast<long long>(shape.pairs));
}

} // namespace

std::string near_answer_json(const NearRequest& request, const NearAnswer& answer) {
    std::string list;
    double best_s = 0, chosen_s = 0;
    std::string_view best;
    for (size_t k = 0; k < request.layouts.size(); ++k) {
        const double total_s = Medians(answer.times[k], request.choice.expected_executes).total_s;
        list += (k == 0 ? "" : ",") + layout_json(request, answer, k, total_s);
        if (total_s > 0 && (best_s == 0 || total_s < best_s)) {
            best_s = total_s;
            best = near::name(request.layouts[k]);
        }
        if (request.layouts[k] == answer.choice.layout)
            chosen_s = total_s;
    }
    const auto choice = near::name(answer.choice.layout);
    std::string text = "{" + problem_json(request, answer) + ",\"layouts\":[" + list + "]";
    if (answer.serial_s > 0)
        text += format(",\"serial_s\":%.6g", answer.serial_s);
    text += format(",\"choice\":\"%.*s\",\"tried\":%s,\"trial_s\":%.6g,\"calibrated\":%s",
                   static_cast<int>(choice.size()), choice.data(), answer.choice.tried ? "true" : "false",
                   answer.choice.trial_s, answer.choice.chosen().predicted.measured ? "true" : "false");
    if (best_s > 0)
        text += format(",\"best\":\"%.*s\"", static_cast<int>(best.size()), best.data());
    if (best_s > 0 && chosen_s > 0)
        text += format(",\"regret\":%.5f", // of the whole job, the trial included
                       (chosen_s + answer.choice.trial_s / request.choice.expected_executes) / best_s - 1);
    return text + "}";
}

} // namespace graft::study
