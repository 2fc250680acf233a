// What of the machine is measured, see calibrate.hpp.
#include "pipeline/calibrate.hpp"

#include "backend/cuda_library.hpp"
#include "backend/executor.hpp"
#include "core/error.hpp"
#include "kernels/near/near.hpp"
#include "model/near_calibrate.hpp"
#include "pipeline/calibrate_near.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace graft::pipeline {

namespace {

constexpr auto cpu = static_cast<double>(model::NearBackend::cpu),
               fp32 = static_cast<double>(kernels::near::Precision::fp32);

/// Cores from which on one for each task still leaves half of them idle.
constexpr int many_cores = 8;

/// A task's own machine begins as what is known so far; `take` brings its numbers back.
struct Task {
    std::function<void(model::Machine&, CalibrationParts&)> measure;
    std::function<void(model::Machine&, const model::Machine&)> take;
};

/// The tasks together, each on a core of its own, where there are many; else one after the other.
void measure(model::Machine& machine, const std::vector<Task>& tasks, int threads, CalibrationParts& parts) {
    const auto count = static_cast<int64_t>(tasks.size());
    core::Memory memory;
    std::vector<model::Machine> machines(tasks.size(), machine);
    std::vector<CalibrationParts> own(tasks.size());
    const backend::Executor executor{memory, threads >= many_cores ? static_cast<int>(count) : 1};
    executor.for_each(
        count,
        [&](int64_t i) {
            tasks[static_cast<size_t>(i)].measure(machines[static_cast<size_t>(i)],
                                                  own[static_cast<size_t>(i)]);
        },
        1);
    for (size_t i = 0; i < tasks.size(); ++i) {
        tasks[i].take(machine, machines[i]);
        parts.list.insert(parts.list.end(), own[i].list.begin(), own[i].list.end());
    }
}

/// One thread, by its own time.
Task near_cpu(bool in_double, int repetitions) {
    const auto measure = [=](model::Machine& machine, CalibrationParts& parts) {
        parts.time(in_double ? "near field on the CPU, fp64" : "near field on the CPU, fp32",
                   [&] { calibrate_near_cpu(machine, in_double, repetitions); });
    };
    const auto take = [=](model::Machine& machine, const model::Machine& measured) {
        for (const model::NearLayoutCosts& one : measured.near.layouts)
            if (one.backend == cpu && one.number_bytes == (in_double ? 8 : 4))
                model::put(machine.near, one);
        for (const model::NearKernelCosts& one : measured.near.kernels)
            if (one.backend == cpu && one.dimension > 0 && (one.precision == fp32) != in_double)
                model::put(machine.near, one);
    };
    return {measure, take};
}

/// Without the link, which shares the host's memory with the other tasks.
Task device(int32_t number, int repetitions) {
    const auto measure = [=](model::Machine& machine, CalibrationParts& parts) {
        calibrate_gpu(machine, number, repetitions, parts);
    };
    const auto take = [](model::Machine& machine, const model::Machine& measured) {
        machine.gpu_name = measured.gpu_name;
        machine.gpu = measured.gpu;
    };
    return {measure, take};
}

/// A library without the near field is measured without it.
void calibrate_with_host(model::Machine& machine, const Calibration& calibration, CalibrationReport& report) {
    calibrate_link(machine, calibration.device, calibration.repetitions, report.parts);
    try {
        report.parts.time("near field on the GPU",
                          [&] { calibrate_near_gpu(machine, calibration.device, calibration.repetitions); });
    } catch (const core::Error& error) {
        if (error.status() != core::Status::unsupported)
            throw;
        report.left_out = error.what();
    }
}

} // namespace

void require_this_machine(const model::Machine& machine, const std::string& file) {
    const bool has_layouts = std::ranges::any_of(
        machine.near.layouts, [](const model::NearLayoutCosts& one) { return one.number_bytes > 0; });
    if (!has_layouts)
        core::fail(
            core::Status::argument,
            "machine file %s: it has no numbers of the near field's layouts (near.layouts); expected a "
            "file that graft model calibrate --out FILE has written, by this version",
            file.c_str());
    const std::string here = processor_name();
    if (!machine.cpu_name.empty() && !here.empty() && machine.cpu_name != here)
        core::fail(
            core::Status::argument,
            "machine file %s: measured on the processor '%s' (cpu.name), but this is '%s'; measure this "
            "one with graft model calibrate --out FILE, or take the line cpu.name out of the file if "
            "its numbers shall be used all the same",
            file.c_str(), machine.cpu_name.c_str(), here.c_str());
}

model::Machine calibrate(const Calibration& calibration, CalibrationReport& report) {
    model::Machine machine;
    if (calibration.gpu_needed)
        (void)backend::require_cuda(); // before anything that takes time
    const bool gpu =
        calibration.gpu_needed || (calibration.gpu_wanted && backend::find_cuda(&report.left_out) != nullptr);
    const int threads = backend::resolve_threads(calibration.threads), repetitions = calibration.repetitions;
    std::vector<Task> tasks;
    if (calibration.cpu) {
        calibrate_cpu(machine, threads, repetitions, report.parts);
        tasks = {near_cpu(true, repetitions), near_cpu(false, repetitions)};
    }
    if (gpu)
        tasks.push_back(device(calibration.device, repetitions));
    measure(machine, tasks, threads, report.parts);
    if (gpu)
        calibrate_with_host(machine, calibration, report);
    machine.name = machine.gpu_name.empty() ? machine.cpu_name : machine.gpu_name;
    return machine;
}

} // namespace graft::pipeline
