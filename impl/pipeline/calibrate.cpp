// What of the machine is measured, see calibrate.hpp.
#include "pipeline/calibrate.hpp"

#include "backend/cuda_library.hpp"
#include "core/error.hpp"
#include "pipeline/calibrate_near.hpp"

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
