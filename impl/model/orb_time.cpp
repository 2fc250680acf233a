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

constexpr double key_bytes = 4;                // of one fp32 coordinate
constexpr double most_iterations = 24;         // the bits of its mantissa: keys are no finer
constexpr double elements_of_block = 256 * 16; // rehmann2022, section 6.5
constexpr double exact_gap = 0.833;            // Euler's constant / ln 2: a gap between neighbours varies
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

/// Iterations of a cell of level `level`.
double cell_iterations(const OrbRun& run, int level) {
    if (run.iterations > 0)
        return run.iterations;
    const double halvings = std::log2(std::ldexp(run.particles, -level) / (2 * run.miss_particles));
    return std::clamp(halvings - 1 + (run.miss_particles <= 0.5 ? exact_gap : 0.0), 1.0, most_iterations);
}

/// Passes of all levels: a level goes on until the last of its cells is done.
double passes(const OrbRun& run) {
    double sum = 0;
    for (int level = 0; level < levels_of(run.leaves); ++level)
        sum += std::min(most_iterations + 1, cell_iterations(run, level) + (run.iterations > 0 ? 0 : level));
    return sum;
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

OrbStep count(const OrbRun& run, double bytes_per_s) {
    const double bytes = key_bytes * run.particles * orb_iterations(run) * levels(run);
    return {"count", bytes / bytes_per_s, bytes};
}

/// Each pass sends a number a block to the host, which waits, adds them up and says the next cuts.
double host_s(const OrbRun& run, const Machine& machine) {
    const double bytes = 4 * run.particles / elements_of_block;
    double pass_s = machine.gpu.wait_s;
    if (machine.link.bandwidth_bytes_per_s > 0)
        pass_s += bytes / machine.link.bandwidth_bytes_per_s;
    if (machine.cpu.core_read_bandwidth_bytes_per_s > 0)
        pass_s += bytes / machine.cpu.core_read_bandwidth_bytes_per_s;
    return passes(run) * pass_s;
}

OrbStep gpu_count(const OrbRun& run, const Machine& machine, bool kernel_per_cell) {
    const Gpu& gpu = machine.gpu;
    OrbStep step = count(run, gpu.count * or_else(gpu.count_left_bytes_per_s, gpu.read_bandwidth_bytes_per_s,
                                                  "gpu.read_bandwidth_bytes_per_s"));
    step.launches = passes(run);
    double launch_s = gpu.launch_s;
    if (kernel_per_cell) {
        step.launches = 0;
        for (int level = 0; level < levels_of(run.leaves); ++level)
            step.launches += cell_iterations(run, level) * std::ldexp(1.0, level);
        launch_s = std::max(launch_s, gpu.kernel_s);
    }
    step.seconds += step.launches * launch_s + host_s(run, machine);
    return step;
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
    for (int level = 0; level < count; ++level)
        sum += cell_iterations(run, level);
    return count > 0 ? sum / count : 0;
}

OrbPrediction orb_cpu(const OrbRun& run, const Machine& machine) {
    const double bytes_per_s =
        or_else(machine.cpu.count_left_bytes_per_s, machine.cpu.read_bandwidth_bytes_per_s,
                "cpu.read_bandwidth_bytes_per_s");
    return {"cpu", {cpu_axis(run, machine.cpu), count(run, bytes_per_s), cpu_partition(run, machine.cpu)}};
}

OrbPrediction orb_gpu_count(const OrbRun& run, const Machine& machine) {
    return {"gpu-count",
            {cpu_axis(run, machine.cpu), send("send", key_bytes * run.particles * levels(run), machine),
             gpu_count(run, machine, false), cpu_partition(run, machine.cpu)}};
}

OrbPrediction orb_gpu(const OrbRun& run, const Machine& machine, bool resident, bool kernel_per_cell) {
    const Gpu& gpu = machine.gpu;
    const double copy = or_else(gpu.copy_bandwidth_bytes_per_s, gpu.read_bandwidth_bytes_per_s,
                                "gpu.copy_bandwidth_bytes_per_s");
    const double columns = 2 * key_bytes * run.particles * levels(run);
    const double records = 4 * run.bytes_per_record * run.particles * levels(run); // and back
    OrbPrediction prediction{
        std::string("gpu") + (resident ? "-resident" : "") + (kernel_per_cell ? "-kernel-per-cell" : ""), {}};
    if (!resident)
        prediction.steps.push_back(send("send", run.bytes_per_record * run.particles, machine));
    prediction.steps.push_back(gpu_move("axis", columns,
                                        gpu.axis_bytes_per_s > 0 ? gpu.axis_bytes_per_s : copy,
                                        kernel_per_cell ? cells(run) : levels(run), gpu));
    prediction.steps.push_back(gpu_count(run, machine, kernel_per_cell));
    prediction.steps.push_back(gpu_move("partition", records,
                                        gpu.partition_bytes_per_s > 0 ? gpu.partition_bytes_per_s : copy,
                                        levels(run), gpu));
    prediction.steps.push_back({"blocks", levels(run) * run.particles / elements_of_block * gpu.block_s});
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
