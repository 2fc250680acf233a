// See orb_time.hpp.
#include "model/orb_time.hpp"

#include "core/error.hpp"
#include "model/orb_paper.hpp"
#include "model/orb_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace graft::model {

namespace {

constexpr double key_bytes = 4;        // of one fp32 coordinate
constexpr double most_iterations = 32; // the bits of one
constexpr const char* use = "the model of ORB";

double or_else(double value, double otherwise, const char* key) {
    return value > 0 ? value : known(otherwise, key, use);
}

double levels(const OrbRun& run) {
    return levels_of(run.leaves);
}

/// Cells that are cut, over all levels.
double cells(const OrbRun& run) {
    return run.leaves - 1;
}

OrbStep cpu_axis(const OrbRun& run, const Cpu& cpu) {
    const double bytes = 2 * key_bytes * run.particles * levels(run);
    return {"axis",
            bytes / or_else(cpu.copy_bandwidth_bytes_per_s, cpu.read_bandwidth_bytes_per_s,
                            "cpu.copy_bandwidth_bytes_per_s"),
            bytes};
}

OrbStep cpu_partition(const OrbRun& run, const Cpu& cpu) {
    const double bytes = 2 * run.bytes_per_record * run.particles * levels(run);
    const double by_memory_s = bytes / or_else(cpu.copy_bandwidth_bytes_per_s, cpu.read_bandwidth_bytes_per_s,
                                               "cpu.copy_bandwidth_bytes_per_s");
    if (cpu.core_partition_records_per_s <= 0)
        return {"partition", by_memory_s, bytes};
    const double by_cores_s =
        run.particles * levels(run) / (cpu.core_partition_records_per_s * known(cpu.cores, "cpu.cores", use));
    return {"partition", std::max(by_memory_s, by_cores_s), bytes};
}

OrbStep count(const OrbRun& run, double bytes_per_s, double launches, double launch_s, double waits_s) {
    const double bytes = key_bytes * run.particles * orb_iterations(run) * levels(run);
    return {"count", bytes / bytes_per_s + launches * launch_s + waits_s, bytes, launches};
}

OrbStep gpu_count(const OrbRun& run, const Gpu& gpu, bool kernel_per_cell) {
    const double rounds = orb_iterations(run) * levels(run);
    const double launches = kernel_per_cell ? orb_iterations(run) * cells(run) : rounds;
    return count(run,
                 gpu.count * or_else(gpu.count_left_bytes_per_s, gpu.read_bandwidth_bytes_per_s,
                                     "gpu.read_bandwidth_bytes_per_s"),
                 launches, gpu.launch_s, rounds * gpu.wait_s);
}

OrbStep send(const char* name, double bytes, const Machine& machine) {
    const double bytes_per_s =
        machine.gpu.count * known(machine.link.bandwidth_bytes_per_s, "link.bandwidth_bytes_per_s", use);
    return {name, bytes / bytes_per_s + machine.link.latency_s, bytes};
}

OrbStep gpu_move(const char* name, double bytes, double bytes_per_s, double launches, const Gpu& gpu) {
    return {name, bytes / (gpu.count * bytes_per_s) + launches * gpu.launch_s, bytes, launches};
}

} // namespace

double OrbPrediction::total_s() const {
    return total_without_s("");
}

double OrbPrediction::total_without_s(const char* step) const {
    double total_s = 0;
    for (const OrbStep& one : steps)
        if (std::string_view(one.name) != step)
            total_s += one.seconds;
    return total_s;
}

double orb_iterations(const OrbRun& run) {
    if (run.iterations > 0)
        return run.iterations;
    double sum = 0;
    const int count = levels_of(run.leaves);
    for (int level = 0; level < count; ++level) {
        const double halvings = std::log2(std::ldexp(run.particles, -level) / (2 * run.miss_particles));
        sum += std::clamp(halvings + 1, 1.0, most_iterations);
    }
    return count > 0 ? sum / count : 0;
}

OrbPrediction orb_cpu(const OrbRun& run, const Machine& machine) {
    const double bytes_per_s =
        or_else(machine.cpu.count_left_bytes_per_s, machine.cpu.read_bandwidth_bytes_per_s,
                "cpu.read_bandwidth_bytes_per_s");
    return {"cpu",
            {cpu_axis(run, machine.cpu), count(run, bytes_per_s, 0, 0, 0), cpu_partition(run, machine.cpu)}};
}

OrbPrediction orb_gpu_count(const OrbRun& run, const Machine& machine) {
    return {"gpu-count",
            {cpu_axis(run, machine.cpu), send("send", key_bytes * run.particles * levels(run), machine),
             gpu_count(run, machine.gpu, false), cpu_partition(run, machine.cpu)}};
}

OrbPrediction orb_gpu(const OrbRun& run, const Machine& machine, bool resident, bool kernel_per_cell) {
    const Gpu& gpu = machine.gpu;
    const double copy = or_else(gpu.copy_bandwidth_bytes_per_s, gpu.read_bandwidth_bytes_per_s,
                                "gpu.copy_bandwidth_bytes_per_s");
    const double columns = 2 * key_bytes * run.particles * levels(run);
    const double records = 2 * run.bytes_per_record * run.particles * levels(run);
    OrbPrediction prediction{
        std::string("gpu") + (resident ? "-resident" : "") + (kernel_per_cell ? "-kernel-per-cell" : ""), {}};
    if (!resident)
        prediction.steps.push_back(send("send", run.bytes_per_record * run.particles, machine));
    prediction.steps.push_back(gpu_move("axis", columns, copy, levels(run), gpu));
    prediction.steps.push_back(gpu_count(run, gpu, kernel_per_cell));
    prediction.steps.push_back(gpu_move("partition", records,
                                        gpu.partition_bytes_per_s > 0 ? gpu.partition_bytes_per_s : copy,
                                        levels(run), gpu));
    return prediction;
}

std::vector<OrbPrediction> orb_predictions(const OrbRun& run, const Machine& machine) {
    if (!(run.particles >= 1) || !(run.miss_particles > 0) || !(run.bytes_per_record > 0))
        core::fail(
            core::Status::argument,
            "orb model: %g particles of %g bytes, cuts that may miss by %g; expected at least 1 particle "
            "and positive numbers",
            run.particles, run.bytes_per_record, run.miss_particles);
    std::vector<OrbPrediction> all;
    if (machine.cpu.read_bandwidth_bytes_per_s > 0)
        all.push_back(orb_cpu(run, machine));
    if (machine.gpu.count <= 0)
        return all;
    if (machine.cpu.read_bandwidth_bytes_per_s > 0 && machine.link.bandwidth_bytes_per_s > 0)
        all.push_back(orb_gpu_count(run, machine));
    if (machine.link.bandwidth_bytes_per_s > 0)
        all.push_back(orb_gpu(run, machine, false));
    all.push_back(orb_gpu(run, machine, true));
    all.push_back(orb_gpu(run, machine, true, true));
    all.push_back(orb_gpu_rounds(run, machine));
    return all;
}

} // namespace graft::model
