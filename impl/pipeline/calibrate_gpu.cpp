// The GPU's rates and its link's, through libgraft_cuda's table; see calibrate.hpp.
#include "pipeline/calibrate.hpp"

#include "backend/cuda_library.hpp"
#include "core/error.hpp"
#include "decompose/device_orb.hpp"
#include "kernels/device_bench.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace graft::pipeline {

using backend::DeviceError;

namespace {

void measure_rates(model::Gpu& gpu, const kernels::DeviceBenchTable& bench, int32_t device, int repetitions) {
    DeviceError error;
    kernels::DeviceRates rates;
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

void measure_link(model::Link& link, const kernels::DeviceBenchTable& bench, int32_t device,
                  int repetitions) {
    DeviceError error;
    kernels::LinkRate rates[model::most_sizes];
    int32_t count = 0;
    backend::raise(bench.link(device, repetitions, model::most_sizes, rates, &count, &error), error);
    for (int32_t i = 0; i < count; ++i) {
        const kernels::LinkRate& r = rates[i];
        link.by_size[static_cast<size_t>(i)] = {static_cast<double>(r.bytes), r.pinned_to_device,
                                                r.pinned_to_host, r.pageable_to_device, r.pageable_to_host};
        link.bandwidth_bytes_per_s = std::max(link.bandwidth_bytes_per_s, r.pinned_to_device);
        link.pageable_bandwidth_bytes_per_s =
            std::max(link.pageable_bandwidth_bytes_per_s, r.pageable_to_device);
    }
    if (count > 0)
        link.latency_s = static_cast<double>(rates[0].bytes) / rates[0].pinned_to_device;
}

/// The number after `key` in the answer, from `start` on; 0 when there is none.
double number_after(const std::string& text, const std::string& start, const std::string& key) {
    const size_t from = text.find(start);
    const size_t at = from == text.npos ? text.npos : text.find("\"" + key + "\":", from);
    return at == text.npos ? 0 : std::strtod(text.c_str() + at + key.size() + 3, nullptr);
}

std::string orb_answer(const decompose::DeviceOrbTable& orb, const decompose::DeviceOrbBench& request) {
    DeviceError error;
    std::vector<char> text(size_t{1} << 18);
    backend::raise(orb.bench(&request, text.data(), static_cast<int64_t>(text.size()), &error), error);
    return text.data();
}

/// rehmann2022's ORB: count-left with warp primitives, and the partition to temporaries and back.
void measure_paper_orb(model::Gpu& gpu, const decompose::DeviceOrbTable& orb,
                       decompose::DeviceOrbBench request) {
    request.variant = decompose::OrbVariant::sweep;
    gpu.count_left_bytes_per_s =
        number_after(orb_answer(orb, request), "\"threads\":256,\"items\":16", "warp_bytes_per_s");
    request.variant = decompose::OrbVariant::warp;
    request.leaves = 16;
    const std::string answer = orb_answer(orb, request);
    const auto seconds = [&](const char* step) { return number_after(answer, "\"time_s\"", step); };
    const double points = static_cast<double>(request.n), axis_s = seconds("make_axis"),
                 partition_s = seconds("partition"), steps_s = axis_s + seconds("count") + partition_s;
    constexpr double levels = 4, axis_bytes = 8, partition_bytes = 48, elements_of_block = 4096;
    if (axis_s > 0)
        gpu.axis_bytes_per_s = levels * axis_bytes * points / axis_s;
    if (partition_s > 0)
        gpu.partition_bytes_per_s = levels * partition_bytes * points / partition_s;
    gpu.block_s = std::max(0.0, seconds("total") - steps_s) / (levels * points / elements_of_block);
}

/// Ours, in 12 levels.
void measure_own_orb(model::Gpu& gpu, const decompose::DeviceOrbTable& orb,
                     decompose::DeviceOrbBench request) {
    request.variant = decompose::OrbVariant::rounds;
    request.leaves = 4096;
    const std::string answer = orb_answer(orb, request);
    const auto seconds = [&](const char* step) { return number_after(answer, "\"time_s\"", step); };
    const double count_s = seconds("count"), move_s = seconds("move");
    model::Machine one;
    one.gpu = gpu, one.gpu.count = 1;
    for (const model::OrbStep& step :
         model::orb_gpu_rounds({static_cast<double>(request.n), static_cast<double>(request.leaves)}, one)
             .steps) {
        if (std::string_view(step.name) == "count" && count_s > 0)
            gpu.orb_count_bytes_per_s = step.bytes / count_s;
        if (std::string_view(step.name) == "move" && move_s > 0)
            gpu.orb_move_bytes_per_s = step.bytes / move_s;
    }
    gpu.orb_level_s = (seconds("sample") + seconds("bracket") + seconds("select")) / 12;
}

/// On fewer points than the models are asked about: 2 and 13 GB of device memory, or a sixteenth of them.
void measure_orb(model::Gpu& gpu, const decompose::DeviceOrbTable& orb, int32_t device, int64_t bytes_free) {
    const bool room = bytes_free > (int64_t{16} << 30);
    decompose::DeviceOrbBench request;
    request.device = device;
    request.verify = 0;
    request.n = int64_t{1} << (room ? 26 : 22);
    measure_paper_orb(gpu, orb, request);
    request.n = int64_t{1} << (room ? 28 : 24);
    measure_own_orb(gpu, orb, request);
}

} // namespace

void calibrate_gpu(model::Machine& machine, int32_t device, int repetitions) {
    const backend::CudaTable& cuda = backend::require_cuda();
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
    measure_rates(machine.gpu, *cuda.bench, device, repetitions);
    measure_link(machine.link, *cuda.bench, device, repetitions);
    if (cuda.orb != nullptr)
        measure_orb(machine.gpu, *cuda.orb, device, info.bytes_free);
    if (count > 1)
        backend::raise(cuda.bench->peer(device, device == 0 ? 1 : 0, repetitions,
                                        &machine.link.gpu_gpu_bandwidth_bytes_per_s, &error),
                       error);
}

} // namespace graft::pipeline
