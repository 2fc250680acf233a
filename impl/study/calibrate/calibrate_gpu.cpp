// SPDX-License-Identifier: BSD-3-Clause
// The GPU's rates and its link's, through libgraft_cuda's table; see calibrate.hpp.
#include "study/calibrate/calibrate.hpp"

#include "backend/gpu_library.hpp"
#include "core/error.hpp"
#include "study/bench/bench_table.hpp"

#include <algorithm>

namespace graft::study {

using backend::DeviceError;

namespace {

void measure_rates(model::Gpu& gpu, const DeviceBenchTable& bench, int32_t device, int repetitions) {
    DeviceError error;
    DeviceRates rates;
    backend::raise(bench.rates(device, repetitions, &rates, &error), error);
    gpu.read_bandwidth_bytes_per_s = rates.read_bytes_per_s;
    gpu.copy_bandwidth_bytes_per_s = rates.copy_bytes_per_s;
    gpu.flops = 2 * rates.fma_fp32_per_s; // a multiply-add is two
    gpu.flops_fp64 = 2 * rates.fma_fp64_per_s;
    gpu.mix_per_s = rates.mix_per_s;
    gpu.special_functions_per_s = rates.rsqrt_per_s;
    gpu.launch_s = rates.launch_s;
    gpu.kernel_s = rates.kernel_s;
    gpu.wait_s = rates.wait_s;
}

void measure_link(model::Link& link, const DeviceBenchTable& bench, int32_t device,
                  int repetitions) {
    DeviceError error;
    LinkRate rates[model::most_sizes];
    int32_t count = 0;
    backend::raise(bench.link(device, repetitions, model::most_sizes, rates, &count, &error), error);
    for (int32_t i = 0; i < count; ++i) {
        const LinkRate& r = rates[i];
        link.by_size[static_cast<size_t>(i)] = {static_cast<double>(r.bytes), r.pinned_to_device,
                                                r.pinned_to_host, r.pageable_to_device, r.pageable_to_host};
        link.bandwidth_bytes_per_s = std::max(link.bandwidth_bytes_per_s, r.pinned_to_device);
        link.pageable_bandwidth_bytes_per_s =
            std::max(link.pageable_bandwidth_bytes_per_s, r.pageable_to_device);
    }
    if (count > 0)
        link.latency_s = static_cast<double>(rates[0].bytes) / rates[0].pinned_to_device;
}

} // namespace

void calibrate_gpu(model::Machine& machine, int32_t device, int repetitions, CalibrationParts& parts) {
    const backend::CudaTable& cuda = bench_cuda();
    DeviceError error;
    int32_t count = 0;
    backend::raise(cuda.device_count(&count, &error), error);
    if (device >= count)
        core::fail(core::Status::device, "calibrate: there is no device %d; this machine has %d", device,
                   count);
    backend::DeviceInfo info;
    backend::raise(cuda.device_info(device, &info, &error), error);
    machine.gpu_name = info.name;
    machine.gpu.count = count;
    machine.gpu.memory_bytes = static_cast<double>(info.bytes_total);
    machine.gpu.multiprocessors = info.multiprocessors;
    machine.gpu.clock_hz = 1e3 * info.clock_khz;
    parts.time("rates of the GPU", [&] { measure_rates(machine.gpu, *cuda.bench, device, repetitions); });
    if (cuda.bench->orb != nullptr)
        calibrate_orb(machine.gpu, *cuda.bench, device, info.bytes_free, parts);
}

void calibrate_link(model::Machine& machine, int32_t device, int repetitions, CalibrationParts& parts) {
    const DeviceBenchTable& bench = *bench_cuda().bench;
    parts.time("transfers", [&] {
        measure_link(machine.link, bench, device, repetitions);
        DeviceError error;
        if (machine.gpu.count > 1)
            backend::raise(bench.peer(device, device == 0 ? 1 : 0, repetitions,
                                      &machine.link.gpu_gpu_bandwidth_bytes_per_s, &error),
                           error);
    });
}

} // namespace graft::study
