// SPDX-License-Identifier: BSD-3-Clause
// The near field's layouts on one GPU, swept over points, points a box and dimensions: one process, so that
// the device is begun once; host threads make all cases before the first is timed (pages that another thread
// asks for make those of a plan late). Each case is one line of JSON, an answer of `graft bench p2p --backend
// cuda` with E = 1 (docs/lab/figures/near.py draws and sums them up).
//
// Words: --points 1e3,1e4,... --density 0.5,1,... --dimension 2,3 --precision (auto: fp64 in 2-D, fp32 in
// 3-D), --outputs, --layout, --collect host, --repeats (9), --case-s (time for one case's repetitions, which
// are then fewer), --seconds (for all; cases that do not fit are left out and named on stderr), --calibrate
// FILE (measures the GPU's numbers first and writes them), --samples FILE (what each phase took and its
// terms, for fits).
#include "study.hpp"

#include "backend/gpu_library.hpp"
#include "core/median.hpp"
#include "study/bench/bench_near.hpp"
#include "near/mutual.hpp"
#include "study/tools/near_tool_json.hpp"
#include "study/calibrate/calibrate.hpp"

#include "core/error.hpp"

#include "core/timer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

namespace {

using namespace graft;

constexpr double most_neighbours = 1.5e8; // entries of the lists of a case: 0.6 GB, 1.5 s to make
constexpr double most_record_bytes =
    5e9;                           // of a layout: beyond it collection alone takes longer than all others
constexpr double most_chain = 5e5; // pairs of one thread of indexed, which takes 0.1 to 1.2 us for each
constexpr double least_points_a_case = 4; // times the points a box

std::vector<double> numbers(const std::string& text) {
    std::vector<double> list;
    std::stringstream in(text);
    for (std::string word; std::getline(in, word, ',');)
        list.push_back(std::stod(word));
    return list;
}

/// All cases, the small ones first.
std::vector<study::BenchGrid> cases_of(const study::Words& words) {
    std::vector<study::BenchGrid> list;
    for (const double points : numbers(words.text("points", "1e3,1e4,1e5,1e6,1e7,1e8")))
        for (const double dimension : numbers(words.text("dimension", "2,3")))
            for (const double density : numbers(words.text("density", "0.5,1,2,4,8,16,32,64,128,256"))) {
                study::BenchGrid grid;
                grid.points = static_cast<int64_t>(points);
                grid.dimension = static_cast<int32_t>(dimension);
                grid.density = density;
                if (points >= least_points_a_case * density &&
                    points / density * (dimension == 2 ? 9 : 27) <= most_neighbours)
                    list.push_back(grid);
            }
    return list;
}

study::NearRequest request_of(const study::Words& words, const study::BenchGrid& grid) {
    study::NearRequest request;
    request.grid = grid;
    request.cuda = true, request.choice.every = true;
    request.sums.dimension = grid.dimension;
    request.sums.kernel.kernel = grid.dimension == 2 ? near::Kernel::logarithm : near::Kernel::laplace;
    const std::string precision = words.text("precision", "auto");
    request.sums.precision = precision == "fp32" || (precision == "auto" && grid.dimension == 3)
                                 ? near::Precision::fp32
                             : precision == "mixed" ? near::Precision::mixed
                                                    : near::Precision::fp64;
    request.sums.outputs = words.text("outputs", "potential") == "both" ? 3 : 1;
    request.repeats = static_cast<int32_t>(words.number("repeats", 9));
    near::NearWay& way = request.choice.way;
    way.backend = near::NearBackend::cuda;
    way.most_bytes = words.number("memory", 2e9);
    way.collect_on_host = words.text("collect", "device") == "host";
    return request;
}

/// Those that are worth their time here.
std::vector<near::Layout> layouts_of(const study::Words& words, const near::Shape& shape) {
    std::vector<near::Layout> list;
    const std::string wanted = "," + words.text("layout", "all") + ",";
    for (int k = 0; k < near::layouts; ++k) {
        const auto layout = static_cast<near::Layout>(k);
        const bool slow =
            layout == near::Layout::indexed &&
            static_cast<double>(shape.most_targets) * static_cast<double>(shape.most_sources) > most_chain;
        const bool asked =
            wanted == ",all," || wanted.find("," + std::string(near::name(layout)) + ",") != wanted.npos;
        if (asked && !slow && near::bytes_of(layout, shape, 1) < most_record_bytes)
            list.push_back(layout);
    }
    return list;
}

/// A first round tells how many there is time for.
std::vector<study::BenchTimes> timed(const study::NearRequest& request, const study::BenchCase& one,
                                    double case_s, int32_t& repeats) {
    const auto run = [&](int32_t times) {
        return study::bench_layouts_on_device(request.layouts, one, request.sums, request.choice.way,
                                             request.device, times);
    };
    const core::Timer timer;
    std::vector<study::BenchTimes> first = run(1); // and one to warm up
    const double round_s = timer.seconds() / 2;
    repeats = std::min(repeats, static_cast<int32_t>(case_s / round_s) - 1);
    if (repeats > 1)
        return run(repeats);
    repeats = 1;
    return first;
}

double median_of(const std::vector<near::Times>& all, double near::Times::*field) {
    std::vector<double> values;
    for (const near::Times& one : all)
        values.push_back(one.*field);
    return core::median(values);
}

/// Lines: dimension points density precision form-of-the-layout chunks phase seconds | terms | the problem's
/// numbers | seconds of an execution from call to return, of making the plan, of what its first execution
/// takes longer, of transfers as predicted. Terms and transfers with the built-in numbers' slots and link.
void write_samples(std::FILE* file, const study::NearRequest& request, const study::NearAnswer& answer) {
    const model::Machine built_in;
    for (size_t k = 0; k < request.layouts.size(); ++k) {
        const study::BenchTimes& times = answer.times[k];
        if (times.second.empty())
            continue;
        const near::NearTimeInput p = near::problem_of(request.layouts[k], answer.shape, request.choice.way);
        const near::NearLayout form =
            near::near_form(static_cast<near::NearLayout>(request.layouts[k]), request.choice.way);
        const double seconds[] = {core::median(times.once_s),
                                  median_of(times.second, &near::Times::charges_s),
                                  median_of(times.second, &near::Times::kernel_s),
                                  median_of(times.second, &near::Times::scatter_s)};
        for (int phase = 0; phase < 4; ++phase) {
            std::fprintf(file, "%d %lld %g %d %d %d %d %.6g", request.grid.dimension,
                         static_cast<long long>(request.grid.points), request.grid.density,
                         static_cast<int>(request.sums.precision), static_cast<int>(form), times.chunks,
                         phase, seconds[phase]);
            for (const double term : near::near_terms(form, static_cast<near::NearPhaseName>(phase), p,
                                                       request.choice.way, built_in))
                std::fprintf(file, " %.6g", term);
            std::fprintf(file,
                         " %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g %.6g "
                         "%.6g\n",
                         p.targets, p.boxes, p.neighbours, p.pairs, p.warp_pairs, p.lane_pairs, p.gathered,
                         p.group_slots, p.lane_targets, p.runs, p.most_targets, p.most_sources,
                         p.layout_bytes, median_of(times.second, &near::Times::total_s),
                         core::median(times.create_s), core::median(times.first_s),
                         near::near_time(form, p, request.choice.way, built_in).transfer_s);
        }
    }
    std::fflush(file);
}

/// "auto": what layout: auto takes where so many executions are expected, and the seconds of its trial, if
/// any.
std::string autos_json(const study::NearRequest& request, const study::BenchCase& one,
                       const model::Machine& machine) {
    std::string text;
    for (const double executes : {1.0, 10.0, 1000.0}) {
        near::ChoiceOptions options = request.choice;
        options.expected_executes = executes;
        const near::Choice choice =
            study::bench_choice_on_device(one, request.sums, machine, options, request.device);
        text += core::format("%s{\"executes\":%g,\"choice\":\"%s\",\"tried\":%s,\"trial_s\":%.6g}",
                             text.empty() ? "\"auto\":[" : ",", executes,
                             std::string(near::name(choice.layout)).c_str(), choice.tried ? "true" : "false",
                             choice.trial_s);
    }
    return text + "]";
}

/// "noise": standard errors of each layout's medians: of what comes once, and of an execution; from the
/// median deviation, as a trial's.
std::string noise_json(const study::NearRequest& request, const study::NearAnswer& answer) {
    const auto error = [](std::vector<double> values) {
        const double middle = core::median(values);
        for (double& one : values)
            one = std::fabs(one - middle);
        return 1.4826 * 1.2533 * core::median(values) / std::sqrt(static_cast<double>(values.size()));
    };
    std::string text;
    for (size_t k = 0; k < request.layouts.size(); ++k) {
        const study::BenchTimes& times = answer.times[k];
        if (times.second.empty())
            continue;
        std::vector<double> totals;
        for (const near::Times& one : times.second)
            totals.push_back(one.total_s);
        text += core::format("%s\"%s\":[%.3g,%.3g]", text.empty() ? "" : ",",
                             std::string(near::name(request.layouts[k])).c_str(), error(times.once_s),
                             error(totals));
    }
    return "\"noise\":{" + text + "},";
}

std::string answer_of(const study::Words& words, const study::BenchGrid& grid, const study::BenchCase& one,
                      const model::Machine& machine, std::FILE* samples) {
    study::NearRequest request = request_of(words, grid);
    study::NearAnswer answer;
    answer.shape = near::shape_of(one.structure(), request.sums);
    request.layouts = layouts_of(words, answer.shape);
    near::NearWay& way = request.choice.way;
    way.pairs_once =
        near::sums_pairs_once(one.structure(), request.sums, static_cast<int64_t>(way.most_bytes));
    answer.choice = near::choose(answer.shape, machine, request.choice);
    answer.times = timed(request, one, words.number("case-s", 0.6), request.repeats);
    if (samples != nullptr)
        write_samples(samples, request, answer);
    std::string text = study::near_answer_json(request, answer);
    text.back() = ',';
    return text + noise_json(request, answer) + autos_json(request, one, machine) + "}";
}

/// The machine's numbers: measured and written, or none.
model::Machine machine_of(const study::Words& words) {
    if (!words.has("calibrate"))
        return {};
    const core::Timer timer;
    study::Calibration calibration;
    calibration.cpu = false, calibration.gpu_needed = true;
    study::CalibrationReport report;
    const model::Machine machine = study::calibrate(calibration, report);
    std::fprintf(stderr, "calibrated in %.2f s %s\n", timer.seconds(), report.left_out.c_str());
    std::ofstream(words.text("calibrate", "")) << model::machine_yaml(machine);
    return machine;
}

} // namespace

int main(int count, char** arguments) {
    const study::Words words(count, arguments);
    std::string why;
    if (backend::find_cuda(&why) == nullptr) {
        std::fprintf(stderr, "study_near_sweep: %s\n", why.c_str());
        return 77; // skipped
    }
    const core::Timer timer;
    const model::Machine machine = machine_of(words);
    const std::vector<study::BenchGrid> cases = cases_of(words);
    const double most_s = words.number("seconds", 1e9);
    std::FILE* const samples =
        words.has("samples") ? std::fopen(words.text("samples", "").c_str(), "w") : nullptr;
    std::vector<study::BenchCase> made(cases.size());
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t k = 0; k < cases.size(); ++k)
        made[k] = study::make_case(cases[k]);
    std::fprintf(stderr, "%zu cases made: %.1f s\n", cases.size(), timer.seconds());
    for (size_t k = 0; k < cases.size(); ++k) {
        const study::BenchCase one = std::move(made[k]);
        if (timer.seconds() > most_s) {
            std::fprintf(stderr, "no time left: %zu cases from %lld points at %g a box on\n",
                         cases.size() - k, static_cast<long long>(cases[k].points), cases[k].density);
            break;
        }
        std::printf("%s\n", answer_of(words, cases[k], one, machine, samples).c_str());
        std::fflush(stdout);
    }
    std::fprintf(stderr, "%.1f s\n", timer.seconds());
    if (samples != nullptr)
        std::fclose(samples);
    return 0;
}
