// SPDX-License-Identifier: BSD-3-Clause
// What of the machine is measured, see calibrate.hpp.
#include "study/calibrate/calibrate.hpp"

#include "backend/gpu_library.hpp"
#include "backend/executor.hpp"
#include "core/error.hpp"
#include "study/calibrate/calibrate_near.hpp"

#include <functional>
#include <vector>

namespace graft::study {

namespace {

/// Cores from which on one for each task still leaves some idle.
constexpr int many_cores = 8;

using Task = std::function<void(CalibrationParts&)>;

/// Side by side, each on a core of its own, where there are many; else one after the other.
void run(const std::vector<Task>& tasks, int threads, CalibrationParts& parts) {
    core::Memory memory;
    const int together = threads >= many_cores ? static_cast<int>(tasks.size()) : 1;
    std::vector<CalibrationParts> own(tasks.size());
    backend::Executor{memory, together}.for_each(
        static_cast<int64_t>(tasks.size()),
        [&](int64_t i) { tasks[static_cast<size_t>(i)](own[static_cast<size_t>(i)]); }, 1);
    for (const CalibrationParts& one : own)
        parts.list.insert(parts.list.end(), one.list.begin(), one.list.end());
}

/// A library without the near field is measured without it.
bool has_near() {
    return backend::require_cuda().near != nullptr;
}

/// What one core does, and what the GPU does without its host's memory. ORB's passes add up on the host: not
/// beside threads that take and give back memory all the time, as the near field's do.
void calibrate_rates(model::Machine& machine, const Calibration& calibration, int threads, bool gpu,
                     CalibrationParts& parts) {
    model::Machine of_gpu;
    std::vector<Task> tasks;
    if (gpu)
        tasks.push_back([&](CalibrationParts& own) {
            calibrate_gpu(of_gpu, calibration.device, calibration.repetitions, own);
        });
    if (calibration.cpu)
        tasks.push_back(
            [&](CalibrationParts& own) { calibrate_core(machine, threads, calibration.repetitions, own); });
    run(tasks, threads, parts);
    machine.gpu = of_gpu.gpu;
    machine.gpu_name = of_gpu.gpu_name;
    if (calibration.cpu)
        calibrate_memory(machine, threads, calibration.repetitions, parts);
}

/// What one core takes for the near field, and the GPU for its kernels.
void calibrate_near_apart(model::Machine& machine, const Calibration& calibration, int threads, bool gpu,
                          CalibrationParts& parts) {
    std::vector<NearCpuShare> pieces;
    if (calibration.cpu)
        pieces = near_cpu_pieces();
    model::Machine with_gpu = machine;
    std::vector<Task> tasks;
    if (gpu && has_near())
        tasks.push_back([&](CalibrationParts& own) {
            own.time("near field's kernels on the GPU",
                     [&] { calibrate_near_kernels(with_gpu, calibration.device, calibration.repetitions); });
        });
    for (NearCpuShare& piece : pieces)
        tasks.push_back([&](CalibrationParts& own) {
            const std::string name = core::format("near field on the CPU, %d-D, %s", piece.dimension,
                                                  piece.in_double ? "fp64" : "fp32");
            own.time(name.c_str(), [&] { measure_near_cpu(piece, machine, calibration.repetitions); });
        });
    run(tasks, threads, parts);
    machine.near = with_gpu.near;
    if (calibration.cpu)
        fit_near_cpu(machine, pieces);
}

void calibrate_with_host(model::Machine& machine, const Calibration& calibration, CalibrationReport& report) {
    calibrate_link(machine, calibration.device, calibration.repetitions, report.parts);
    if (has_near())
        report.parts.time("near field on the GPU", [&] { calibrate_near_gpu(machine, calibration.device); });
    else
        report.left_out = "this libgraft_cuda has no near field";
}

} // namespace

model::Machine calibrate(const Calibration& calibration, CalibrationReport& report) {
    model::Machine machine;
    if (calibration.gpu_needed)
        (void)bench_cuda(); // before anything that takes time
    const bool gpu = calibration.gpu_needed ||
                     (calibration.gpu_wanted && backend::find_cuda(&report.left_out, backend::GpuLibrary::study) != nullptr);
    const int threads = backend::resolve_threads(calibration.threads);
    calibrate_rates(machine, calibration, threads, gpu, report.parts);
    calibrate_near_apart(machine, calibration, threads, gpu, report.parts);
    if (!calibration.cpu)
        machine.cpu.cores = threads; // that walk over the boxes of a plan on a GPU
    if (gpu)
        calibrate_with_host(machine, calibration, report);
    machine.name = machine.gpu_name.empty() ? machine.cpu_name : machine.gpu_name;
    return machine;
}

} // namespace graft::study
