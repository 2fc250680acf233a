// The GPU's rates and its link's, through libgraft_cuda's table; see calibrate.hpp.
#include "pipeline/calibrate.hpp"

#include "backend/cuda_library.hpp"

namespace graft::pipeline {

using backend::DeviceError;

void calibrate_gpu(model::Machine& machine, int32_t device, int) {
    const backend::CudaTable& cuda = backend::require_cuda();
    DeviceError error;
    int32_t count = 0;
    backend::raise(cuda.device_count(&count, &error), error);
    backend::DeviceInfo info;
    backend::raise(cuda.device_info(device, &info, &error), error);
    machine.gpu_name = info.name;
    machine.gpu.count = count;
    machine.gpu.memory_bytes = static_cast<double>(info.bytes_total);
    machine.gpu.multiprocessors = info.multiprocessors;
    machine.gpu.clock_hz = 1e3 * info.clock_khz;
}

} // namespace graft::pipeline
