// SPDX-License-Identifier: BSD-3-Clause
// All pairs measured, see bench_table.hpp.
#include "backend/guard_gpu.cuh"
#include "study/bench/bench_table_gpu.cuh"
#include "forces/evaluate_gpu.cuh"

#include <vector>

namespace graft::study {

namespace {

/// Numbers in [0, 1) from a fixed sequence.
void fill(backend::Queue& queue, backend::DeviceBuffer<double>& to, int64_t n, uint64_t state) {
    std::vector<double> values(static_cast<size_t>(n));
    for (double& value : values) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        value = static_cast<double>(state >> 11) * 0x1p-53;
    }
    to.resize(n);
    GRAFT_CUDA(cudaMemcpyAsync(to.data(), values.data(), values.size() * sizeof(double),
                               cudaMemcpyHostToDevice, queue.stream()));
    queue.wait();
}

struct Bodies {
    explicit Bodies(backend::DeviceMemory& memory)
        : x(memory, "bench x"), y(memory, "bench y"), z(memory, "bench z"), charge(memory, "bench charges") {}
    backend::DeviceBuffer<double> x, y, z, charge;
    forces::DeviceSources fill_all(backend::Queue& queue, int64_t n) {
        fill(queue, x, n, 1), fill(queue, y, n, 2), fill(queue, z, n, 3), fill(queue, charge, n, 4);
        return {x.data(), y.data(), z.data(), charge.data(), nullptr, n};
    }
};

void check_request(const PairsRequest& request) {
    if (request.n < 1 || request.repetitions < 1 || request.precision < 0 || request.precision > 2 ||
        request.stage < 0 || request.stage > 3)
        core::fail(core::Status::argument,
                   "bench of all pairs: n %lld, repetitions %d, precision %d, stage %d; expected n and "
                   "repetitions from 1, precision 0 to 2, stage 0 to 3",
                   static_cast<long long>(request.n), request.repetitions, request.precision, request.stage);
}

PairsRate run_pairs(int32_t device, const PairsRequest& request) {
    check_request(request);
    GRAFT_CUDA(cudaSetDevice(device));
    backend::DeviceMemory memory(device);
    backend::Queue queue(memory, nullptr);
    queue.clear_status();
    Bodies bodies(memory);
    const forces::DeviceSources sources = bodies.fill_all(queue, request.n);
    forces::DeviceField field(memory);
    field.resize(request.n, false);
    forces::DeviceEvaluation how;
    how.precision = static_cast<forces::DevicePrecision>(request.precision), how.block_x = request.block;
    forces::DeviceDirect direct(memory);
    const auto once = [&] {
        direct.evaluate(queue, how, static_cast<forces::DirectStage>(request.stage), sources, sources, field);
    };
    DeviceTimer timer(queue);
    (void)timer.seconds_of(once);
    const int64_t before = queue.launches;
    std::vector<double> times;
    for (int round = 0; round < request.repetitions; ++round)
        times.push_back(timer.seconds_of(once));
    std::sort(times.begin(), times.end());
    const double n = static_cast<double>(request.n), median = times[times.size() / 2];
    return {median, times.front(), n * n / median,
            static_cast<int32_t>((queue.launches - before) / request.repetitions), 0};
}

} // namespace

int32_t measure_pairs(int32_t device, const PairsRequest* request, PairsRate* rate,
                      backend::DeviceError* error) {
    return backend::guarded_device(error, [&] { *rate = run_pairs(device, *request); });
}

} // namespace graft::study
