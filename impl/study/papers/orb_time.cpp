// SPDX-License-Identifier: BSD-3-Clause
// See orb_time.hpp.
#include "study/papers/orb_time.hpp"

#include "core/error.hpp"
#include "study/papers/orb_paper.hpp"
#include "study/papers/orb_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace graft::study {

namespace {

constexpr double key_bytes = 4;                // of one fp32 coordinate
constexpr double most_iterations = 24;         // the bits of its mantissa: keys are no finer
constexpr double elements_of_block = 256 * 16; // rehmann2022, section 6.5
constexpr double threads_of_block = 256;
constexpr double large_cell = 0x1p22; // with fewer points, blocks of several cells are under way at a time
constexpr double exact_gap = 0.833;   // Euler's constant / ln 2: a gap between neighbours varies
constexpr const char* use = "the model of ORB";

double or_else(double value, double otherwise, const char* key) {
    return value > 0 ? value : model::known(otherwise, key, use);
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

/// Passes of a level: it goes on until the last of its cells is done.
double level_passes(const OrbRun& run, int level) {
    return std::min(most_iterations + 1, cell_iterations(run, level) + (run.iterations > 0 ? 0 : level));
}

/// Blocks of a level: the last one of a cell takes what is left, and a cell has at least one.
double level_blocks(const OrbRun& run, int level) {
    return std::max(std::ldexp(1.0, level), run.particles / elements_of_block);
}

OrbStep cpu_axis(const OrbRun& run, const model::Cpu& cpu) {
    const double bytes = 2 * key_bytes * run.particles * levels(run);
    return {"axis",
            bytes / or_else(cpu.copy_bandwidth_bytes_per_s, cpu.read_bandwidth_bytes_per_s,
                            "cpu.copy_bandwidth_bytes_per_s"),
            bytes};
}

OrbStep cpu_partition(const OrbRun& run, const model::Cpu& cpu) {
    const double bytes = 2 * run.bytes_per_record * run.particles * levels(run);
    const double by_memory_s = bytes / or_else(cpu.copy_bandwidth_bytes_per_s, cpu.read_bandwidth_bytes_per_s,
                                               "cpu.copy_bandwidth_bytes_per_s");
    if (cpu.core_partition_records_per_s <= 0)
        return {"partition", by_memory_s, bytes};
    const double by_cores_s =
        run.particles * levels(run) / (cpu.core_partition_records_per_s * model::known(cpu.cores, "cpu.cores", use));
    return {"partition", std::max(by_memory_s, by_cores_s), bytes};
}

OrbStep count(const OrbRun& run, double bytes_per_s) {
    const double bytes = key_bytes * run.particles * orb_iterations(run) * levels(run);
    return {"count", bytes / bytes_per_s, bytes};
}

/// A pass beside its bytes. A number a block goes to the host, which waits, adds them up and says the next
/// cuts: as measured, or a launch, a wait, and those numbers over the link and through one core.
double pass_s(const model::Machine& machine, double blocks, double cells) {
    if (machine.gpu.orb_passes.pass_s > 0)
        return machine.gpu.orb_passes.pass_s + blocks * machine.gpu.orb_passes.pass_block_s +
               cells * machine.gpu.orb_passes.pass_cell_s;
    double seconds = machine.gpu.wait_s;
    for (const double bytes_per_s :
         {machine.link.bandwidth_bytes_per_s, machine.cpu.core_read_bandwidth_bytes_per_s})
        if (bytes_per_s > 0)
            seconds += 4 * blocks / bytes_per_s;
    return seconds;
}

double counting_bytes_per_s(OrbCounting counting, const model::Gpu& gpu) {
    const double own = counting == OrbCounting::cell    ? gpu.orb_passes.count_cell_bytes_per_s
                       : counting == OrbCounting::level ? gpu.orb_passes.count_level_bytes_per_s
                                                        : gpu.orb_passes.count_left_bytes_per_s;
    return or_else(own > 0 ? own : gpu.orb_passes.count_left_bytes_per_s, gpu.read_bandwidth_bytes_per_s,
                   "gpu.read_bandwidth_bytes_per_s");
}

OrbStep gpu_count(const OrbRun& run, const model::Machine& machine, OrbCounting counting) {
    const model::Gpu& gpu = machine.gpu;
    const bool by_cell = counting == OrbCounting::cell;
    OrbStep step = count(run, gpu.count * counting_bytes_per_s(counting, gpu));
    double launch_s = gpu.orb_passes.pass_s > 0 ? 0 : gpu.launch_s; // else in gpu.pass_s
    if (by_cell)
        launch_s =
            gpu.orb_passes.cell_kernel_s > 0 ? gpu.orb_passes.cell_kernel_s : std::max(gpu.launch_s, gpu.kernel_s);
    for (int level = 0; level < levels_of(run.leaves); ++level) {
        const double passes = level_passes(run, level), cells = std::ldexp(1.0, level);
        const double launches = by_cell ? cell_iterations(run, level) * cells : passes;
        step.launches += launches;
        step.seconds += passes * pass_s(machine, level_blocks(run, level), cells) + launches * launch_s;
    }
    return step;
}

OrbStep send(const char* name, double bytes, const model::Machine& machine) {
    const double bytes_per_s =
        machine.gpu.count * model::known(machine.link.bandwidth_bytes_per_s, "link.bandwidth_bytes_per_s", use);
    return {name, bytes / bytes_per_s + machine.link.latency_s, bytes};
}

/// All levels' columns or partitions, at bytes_per_s(level). By a kernel a cell each waits for its longest
/// block, whose threads take one point after another.
template <typename Rate>
OrbStep gpu_move(const char* name, const OrbRun& run, double level_bytes, const Rate& bytes_per_s,
                 double round_s, bool by_cell, const model::Gpu& gpu) {
    OrbStep step{name};
    for (int level = 0; level < levels_of(run.leaves); ++level)
        step.seconds += level_bytes / (gpu.count * bytes_per_s(level)), step.bytes += level_bytes;
    step.launches = by_cell ? cells(run) : levels(run);
    step.seconds += step.launches * gpu.launch_s + (by_cell ? orb_rounds_of_cells(run) * round_s : 0);
    return step;
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

double orb_rounds_of_cells(const OrbRun& run) {
    double rounds = 0;
    for (int level = 0; level < levels_of(run.leaves); ++level) {
        const double points = std::ldexp(run.particles, -level);
        const double blocks = std::max(1.0, std::floor(points / elements_of_block));
        const double longest = points - (blocks - 1) * elements_of_block; // takes the rest as well
        rounds += std::ldexp(std::ceil(longest / threads_of_block), level);
    }
    return rounds;
}

OrbPrediction orb_cpu(const OrbRun& run, const model::Machine& machine) {
    const double bytes_per_s =
        or_else(machine.cpu.count_left_bytes_per_s, machine.cpu.read_bandwidth_bytes_per_s,
                "cpu.read_bandwidth_bytes_per_s");
    return {"cpu", {cpu_axis(run, machine.cpu), count(run, bytes_per_s), cpu_partition(run, machine.cpu)}};
}

OrbPrediction orb_gpu_count(const OrbRun& run, const model::Machine& machine) {
    return {"gpu-count",
            {cpu_axis(run, machine.cpu), send("send", key_bytes * run.particles * levels(run), machine),
             gpu_count(run, machine, OrbCounting::warp), cpu_partition(run, machine.cpu)}};
}

OrbPrediction orb_gpu(const OrbRun& run, const model::Machine& machine, bool resident, OrbCounting counting) {
    const model::Gpu& gpu = machine.gpu;
    const double copy = or_else(gpu.copy_bandwidth_bytes_per_s, gpu.read_bandwidth_bytes_per_s,
                                "gpu.copy_bandwidth_bytes_per_s");
    const auto partition_rate = [&](int level) {
        const bool few = std::ldexp(run.particles, -level) > large_cell;
        const double rate = few && gpu.orb_passes.partition_few_bytes_per_s > 0
                                ? gpu.orb_passes.partition_few_bytes_per_s
                                : gpu.orb_passes.partition_bytes_per_s;
        return rate > 0 ? rate : copy;
    };
    const auto axis_rate = [&](int) {
        return gpu.orb_passes.axis_bytes_per_s > 0 ? gpu.orb_passes.axis_bytes_per_s : copy;
    };
    const bool by_cell = counting == OrbCounting::cell;
    static const char* const names[] = {"", "-level", "-kernel-per-cell"};
    OrbPrediction prediction{
        std::string("gpu") + (resident ? "-resident" : "") + names[static_cast<int>(counting)], {}};
    if (!resident)
        prediction.steps.push_back(send("send", run.bytes_per_record * run.particles, machine));
    prediction.steps.push_back(gpu_move("axis", run, 2 * key_bytes * run.particles, axis_rate,
                                        gpu.orb_passes.axis_round_s, by_cell, gpu));
    prediction.steps.push_back(gpu_count(run, machine, counting));
    prediction.steps.push_back(gpu_move("partition", run,
                                        4 * run.bytes_per_record * run.particles, // and back
                                        partition_rate, gpu.orb_passes.partition_round_s, by_cell, gpu));
    OrbStep blocks{"blocks"};
    for (int level = 0; level < levels_of(run.leaves); ++level)
        blocks.seconds += level_blocks(run, level) * gpu.orb_passes.block_s;
    prediction.steps.push_back(blocks);
    return prediction;
}

std::vector<OrbPrediction> orb_predictions(const OrbRun& run, const model::Machine& machine) {
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
    for (const OrbCounting counting : {OrbCounting::warp, OrbCounting::level, OrbCounting::cell})
        all.push_back(orb_gpu(run, machine, true, counting));
    all.push_back(orb_gpu_rounds(run, machine));
    return all;
}

} // namespace graft::study
