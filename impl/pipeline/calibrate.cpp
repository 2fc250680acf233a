// What of the machine is measured, see calibrate.hpp.
#include "pipeline/calibrate.hpp"

#include "backend/cuda_library.hpp"
#include "core/error.hpp"
#include "pipeline/calibrate_near.hpp"

#include <algorithm>

namespace graft::pipeline {

namespace {

/// A library without the near field is measured without it.
void calibrate_all_gpu(model::Machine& machine, const Calibration& calibration, std::string* why) {
    calibrate_gpu(machine, calibration.device, calibration.repetitions);
    try {
        calibrate_near_gpu(machine, calibration.device, calibration.repetitions);
    } catch (const core::Error& error) {
        if (error.status() != core::Status::unsupported)
            throw;
        *why = error.what();
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

model::Machine calibrate(const Calibration& calibration, std::string* why) {
    model::Machine machine;
    if (calibration.gpu_needed)
        (void)backend::require_cuda(); // before anything that takes time
    if (calibration.cpu) {
        calibrate_cpu(machine, calibration.threads, calibration.repetitions);
        calibrate_near_cpu(machine, calibration.repetitions);
    }
    if (calibration.gpu_needed || (calibration.gpu_wanted && backend::find_cuda(why) != nullptr))
        calibrate_all_gpu(machine, calibration, why);
    machine.name = machine.gpu_name.empty() ? machine.cpu_name : machine.gpu_name;
    return machine;
}

} // namespace graft::pipeline
