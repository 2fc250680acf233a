// SPDX-License-Identifier: BSD-3-Clause
// See machine.hpp.
#include "model/machine.hpp"

#include "core/error.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace graft::model {

using core::fail;
using core::Status;

namespace {

constexpr MachineKey text(const char* name, const char* meaning, std::string Machine::*field) {
    return {name, "", meaning, field, nullptr, 0};
}

/// Numbers of a section, by pointers to the section and to the field.
template <auto Section, auto Field>
constexpr MachineKey number(const char* name, const char* unit, const char* meaning) {
    return {name,
            unit,
            meaning,
            nullptr,
            [](Machine& machine, int) -> double& { return (machine.*Section).*Field; },
            0};
}

template <auto Section, auto List, auto Field>
constexpr MachineKey listed(const char* name, const char* unit, const char* meaning, int most) {
    return {name,
            unit,
            meaning,
            nullptr,
            [](Machine& machine, int index) -> double& {
                return ((machine.*Section).*List)[static_cast<size_t>(index)].*Field;
            },
            most};
}

/// The same of a part of a section.
template <auto Section, auto Part, auto Field>
constexpr MachineKey part_number(const char* name, const char* unit, const char* meaning) {
    return {name,
            unit,
            meaning,
            nullptr,
            [](Machine& machine, int) -> double& { return ((machine.*Section).*Part).*Field; },
            0};
}

template <auto Field>
constexpr auto cpu = number<&Machine::cpu, Field>;
template <auto Field>
constexpr auto gpu = number<&Machine::gpu, Field>;
template <auto Field>
constexpr auto gpu_orb_passes = part_number<&Machine::gpu, &Gpu::orb_passes, Field>;
template <auto Field>
constexpr auto gpu_orb = part_number<&Machine::gpu, &Gpu::orb, Field>;
template <auto Field>
constexpr auto link = number<&Machine::link, Field>;
template <auto Field>
constexpr auto cache = listed<&Machine::cpu, &Cpu::caches, Field>;
template <auto Field>
constexpr auto array_reads = listed<&Machine::cpu, &Cpu::arrays, Field>;
template <auto Field>
constexpr auto sized = listed<&Machine::link, &Link::by_size, Field>;

template <auto Field>
constexpr auto near_kernel = listed<&Machine::near, &NearMachine::kernels, Field>;
template <auto Field>
constexpr auto near_layout = listed<&Machine::near, &NearMachine::layouts, Field>;

/// A number of one phase of a layout.
template <auto Phase, auto Field>
constexpr MachineKey near_phase(const char* name, const char* unit, const char* meaning) {
    return {name,
            unit,
            meaning,
            nullptr,
            [](Machine& machine, int index) -> double& {
                return (machine.near.layouts[static_cast<size_t>(index)].*Phase).*Field;
            },
            most_near_layouts};
}

constexpr MachineKey keys[] = {
    text("name", "of the machine, for tables", &Machine::name),
    text("cpu.name", "of the processor", &Machine::cpu_name),
    cpu<&Cpu::cores>("cpu.cores", "cores", "of the node"),
    cpu<&Cpu::memory_bytes>("cpu.memory_bytes", "B", "main memory of the node"),
    cpu<&Cpu::clock_hz>("cpu.clock_hz", "1/s", "of a core under load"),
    cpu<&Cpu::simd_floats>("cpu.simd_floats", "", "fp32 numbers of a SIMD instruction"),
    cpu<&Cpu::instructions_per_cycle>("cpu.instructions_per_cycle", "",
                                      "SIMD instructions a core starts a cycle"),
    cpu<&Cpu::flops>("cpu.flops", "1/s",
                     "fp32 operations of all cores; absent: equation 8 of the four above"),
    cpu<&Cpu::read_bandwidth_bytes_per_s>("cpu.read_bandwidth_bytes_per_s", "B/s",
                                          "all cores read main memory"),
    cpu<&Cpu::copy_bandwidth_bytes_per_s>("cpu.copy_bandwidth_bytes_per_s", "B/s",
                                          "all cores copy in main memory, bytes read plus written"),
    cpu<&Cpu::core_read_bandwidth_bytes_per_s>("cpu.core_read_bandwidth_bytes_per_s", "B/s",
                                               "one core reads main memory"),
    cpu<&Cpu::core_copy_bandwidth_bytes_per_s>("cpu.core_copy_bandwidth_bytes_per_s", "B/s",
                                               "one core copies in main memory, read plus written"),
    cpu<&Cpu::count_left_bytes_per_s>("cpu.count_left_bytes_per_s", "B/s",
                                      "all cores count keys left of a cut; absent: the read bandwidth"),
    cpu<&Cpu::core_partition_records_per_s>("cpu.core_partition_records_per_s", "1/s",
                                            "one core partitions 16-byte records by a cut"),
    cpu<&Cpu::core_pairs_fp32_per_s>("cpu.core_pairs_fp32_per_s", "1/s", "one core, P2P"),
    cpu<&Cpu::core_pairs_fp64_per_s>("cpu.core_pairs_fp64_per_s", "1/s", "one core, P2P"),
    cache<&Cache::bytes>("cpu.caches.#.bytes", "B",
                         "a level, or an array that fits into it; the nearest first", most_caches),
    cache<&Cache::read_bandwidth_bytes_per_s>("cpu.caches.#.read_bandwidth_bytes_per_s", "B/s", "one core",
                                              most_caches),
    cache<&Cache::copy_bandwidth_bytes_per_s>("cpu.caches.#.copy_bandwidth_bytes_per_s", "B/s",
                                              "one core, read plus written", most_caches),
    array_reads<&ArrayReads::bytes>("cpu.arrays.#.bytes", "B", "an array that one core reads", most_arrays),
    array_reads<&ArrayReads::random_s>("cpu.arrays.#.random_s", "s", "a number of it at random", most_arrays),
    array_reads<&ArrayReads::line_s>("cpu.arrays.#.line_s", "s", "64 bytes of it in order", most_arrays),
    text("gpu.name", "of the accelerator", &Machine::gpu_name),
    gpu<&Gpu::count>("gpu.count", "", "GPUs of the node; the other numbers are of one"),
    gpu<&Gpu::memory_bytes>("gpu.memory_bytes", "B", "of one GPU"),
    gpu<&Gpu::multiprocessors>("gpu.multiprocessors", "", "of one GPU"),
    gpu<&Gpu::clock_hz>("gpu.clock_hz", "1/s", "highest of the multiprocessors"),
    gpu<&Gpu::flops>("gpu.flops", "1/s", "fp32, a multiply-add is two"),
    gpu<&Gpu::flops_fp64>("gpu.flops_fp64", "1/s", "fp64, a multiply-add is two"),
    gpu<&Gpu::read_bandwidth_bytes_per_s>("gpu.read_bandwidth_bytes_per_s", "B/s", "its own memory"),
    gpu<&Gpu::copy_bandwidth_bytes_per_s>("gpu.copy_bandwidth_bytes_per_s", "B/s", "read plus written"),
    gpu<&Gpu::mix_per_s>("gpu.mix_per_s", "1/s",
                         "times 12 fp32 multiply-adds and one reciprocal root: the bound of P2P in pairs"),
    gpu<&Gpu::special_functions_per_s>("gpu.special_functions_per_s", "1/s", "reciprocal roots"),
    gpu<&Gpu::launch_s>("gpu.launch_s", "s", "an empty kernel after another in one stream"),
    gpu<&Gpu::kernel_s>("gpu.kernel_s", "s",
                        "a short reading kernel after another, without the time of its bytes"),
    gpu<&Gpu::wait_s>("gpu.wait_s", "s", "an empty kernel launched and waited for by the host"),
    gpu_orb_passes<&GpuOrbPasses::count_left_bytes_per_s>(
        "gpu.count_left_bytes_per_s", "B/s", "keys counted left of a cut; absent: the read bandwidth"),
    gpu_orb_passes<&GpuOrbPasses::count_level_bytes_per_s>(
        "gpu.count_level_bytes_per_s", "B/s", "the same without warp primitives (rehmann2022, listing 10)"),
    gpu_orb_passes<&GpuOrbPasses::count_cell_bytes_per_s>("gpu.count_cell_bytes_per_s", "B/s",
                                                     "the same by a kernel for one cell (listing 9)"),
    gpu_orb_passes<&GpuOrbPasses::partition_bytes_per_s>(
        "gpu.partition_bytes_per_s", "B/s",
        "rehmann2022's partition, to temporaries and back, read plus written; absent: the copy bandwidth"),
    gpu_orb_passes<&GpuOrbPasses::axis_bytes_per_s>(
        "gpu.axis_bytes_per_s", "B/s",
        "rehmann2022's columns, read plus written; absent: the copy bandwidth"),
    gpu_orb_passes<&GpuOrbPasses::partition_few_bytes_per_s>("gpu.partition_few_bytes_per_s", "B/s",
                                                        "the same while cells have more than 2^22 points"),
    gpu_orb_passes<&GpuOrbPasses::pass_s>(
        "gpu.pass_s", "s", "launch, results and wait of a pass that counts; absent: launch_s and wait_s"),
    gpu_orb_passes<&GpuOrbPasses::pass_block_s>("gpu.pass_block_s", "s", "more for each block of 4,096 keys"),
    gpu_orb_passes<&GpuOrbPasses::pass_cell_s>("gpu.pass_cell_s", "s", "more for each cell"),
    gpu_orb_passes<&GpuOrbPasses::cell_kernel_s>(
        "gpu.cell_kernel_s", "s", "counting a small cell after another, without the time of the bytes"),
    gpu_orb_passes<&GpuOrbPasses::axis_round_s>("gpu.axis_round_s", "s",
                                           "256 points of the longest block, columns by a kernel a cell"),
    gpu_orb_passes<&GpuOrbPasses::partition_round_s>("gpu.partition_round_s", "s", "the same of the partition"),
    gpu_orb_passes<&GpuOrbPasses::block_s>("gpu.block_s", "s",
                                      "the host prepares a level of them, for each block of 4,096 points"),
    gpu_orb<&GpuOrb::count_bytes_per_s>("gpu.orb_count_bytes_per_s", "B/s",
                                        "Graft's ORB counts a level; absent: the read bandwidth"),
    gpu_orb<&GpuOrb::move_bytes_per_s>(
        "gpu.orb_move_bytes_per_s", "B/s",
        "Graft's ORB moves records, read plus written; absent: the copy bandwidth"),
    gpu_orb<&GpuOrb::level_s>("gpu.orb_level_s", "s",
                              "what else a level of Graft's ORB takes, whatever its size"),
    gpu_orb<&GpuOrb::cell_s>("gpu.orb_cell_s", "s", "more for each cell of it"),
    gpu_orb<&GpuOrb::point_s>("gpu.orb_point_s", "s",
                              "more for each point: lists, and more samples for more points"),
    link<&Link::bandwidth_bytes_per_s>("link.bandwidth_bytes_per_s", "B/s", "pinned host memory to one GPU"),
    link<&Link::latency_s>("link.latency_s", "s", "of a small transfer from pinned memory"),
    link<&Link::pageable_bandwidth_bytes_per_s>("link.pageable_bandwidth_bytes_per_s", "B/s",
                                                "pageable host memory to one GPU"),
    link<&Link::gpu_gpu_bandwidth_bytes_per_s>("link.gpu_gpu_bandwidth_bytes_per_s", "B/s",
                                               "from one GPU to another of the node"),
    sized<&LinkSize::bytes>("link.by_size.#.bytes", "B", "of a transfer", most_sizes),
    sized<&LinkSize::pinned_to_device_bytes_per_s>("link.by_size.#.pinned_to_device_bytes_per_s", "B/s", "",
                                                   most_sizes),
    sized<&LinkSize::pinned_to_host_bytes_per_s>("link.by_size.#.pinned_to_host_bytes_per_s", "B/s", "",
                                                 most_sizes),
    sized<&LinkSize::pageable_to_device_bytes_per_s>("link.by_size.#.pageable_to_device_bytes_per_s", "B/s",
                                                     "", most_sizes),
    sized<&LinkSize::pageable_to_host_bytes_per_s>("link.by_size.#.pageable_to_host_bytes_per_s", "B/s", "",
                                                   most_sizes),
    near_layout<&NearLayoutCosts::backend>("near.layouts.#.backend", "", "0 CPU, 1 GPU", most_near_layouts),
    near_layout<&NearLayoutCosts::layout>(
        "near.layouts.#.layout", "",
        "0 indexed ... 8 replicated_group_padded (types.h's numbers less one); 9 tiled, pairs of boxes once",
        most_near_layouts),
    near_layout<&NearLayoutCosts::number_bytes>("near.layouts.#.number_bytes", "B", "4 fp32, 8 else",
                                                most_near_layouts),
    near_layout<&NearLayoutCosts::dimension>("near.layouts.#.dimension", "", "2 or 3; absent: both",
                                             most_near_layouts),
    near_layout<&NearLayoutCosts::error>("near.layouts.#.error", "", "of 90 % of the predictions",
                                         most_near_layouts),
    near_phase<&NearLayoutCosts::collection, &NearPhase::call_s>("near.layouts.#.collection_call_s", "s",
                                                                 "a call"),
    near_phase<&NearLayoutCosts::collection, &NearPhase::neighbour_s>("near.layouts.#.collection_neighbour_s",
                                                                      "s", "a neighbour box"),
    near_phase<&NearLayoutCosts::collection, &NearPhase::target_s>("near.layouts.#.collection_target_s", "s",
                                                                   "a target"),
    near_phase<&NearLayoutCosts::collection, &NearPhase::run_s>("near.layouts.#.collection_run_s", "s",
                                                                "a run for a target"),
    near_phase<&NearLayoutCosts::collection, &NearPhase::entry>("near.layouts.#.collection_entry_s", "s",
                                                                "a source"),
    near_phase<&NearLayoutCosts::collection, &NearPhase::cache_s>("near.layouts.#.collection_cache_s", "s",
                                                                  "a line beyond the second level"),
    near_phase<&NearLayoutCosts::collection, &NearPhase::memory_s>("near.layouts.#.collection_memory_s", "s",
                                                                   "a line touched for the first time"),
    near_phase<&NearLayoutCosts::collection, &NearPhase::random>("near.layouts.#.collection_random", "",
                                                                 "cpu.arrays' seconds of a number at random"),
    near_phase<&NearLayoutCosts::charges, &NearPhase::call_s>("near.layouts.#.charges_call_s", "s", "a call"),
    near_phase<&NearLayoutCosts::charges, &NearPhase::neighbour_s>("near.layouts.#.charges_neighbour_s", "s",
                                                                   "a neighbour box"),
    near_phase<&NearLayoutCosts::charges, &NearPhase::target_s>("near.layouts.#.charges_target_s", "s",
                                                                "a target"),
    near_phase<&NearLayoutCosts::charges, &NearPhase::run_s>("near.layouts.#.charges_run_s", "s",
                                                             "a run for a target"),
    near_phase<&NearLayoutCosts::charges, &NearPhase::entry>("near.layouts.#.charges_entry_s", "s",
                                                             "a source"),
    near_phase<&NearLayoutCosts::charges, &NearPhase::cache_s>("near.layouts.#.charges_cache_s", "s",
                                                               "a line beyond the second level"),
    near_phase<&NearLayoutCosts::charges, &NearPhase::memory_s>("near.layouts.#.charges_memory_s", "s",
                                                                "a line beyond the last level"),
    near_phase<&NearLayoutCosts::charges, &NearPhase::random>("near.layouts.#.charges_random", "",
                                                              "cpu.arrays' seconds of a number at random"),
    near_phase<&NearLayoutCosts::kernel, &NearPhase::call_s>("near.layouts.#.kernel_call_s", "s", "a call"),
    near_phase<&NearLayoutCosts::kernel, &NearPhase::neighbour_s>("near.layouts.#.kernel_neighbour_s", "s",
                                                                  "a neighbour box"),
    near_phase<&NearLayoutCosts::kernel, &NearPhase::target_s>("near.layouts.#.kernel_target_s", "s",
                                                               "a target"),
    near_phase<&NearLayoutCosts::kernel, &NearPhase::run_s>("near.layouts.#.kernel_run_s", "s",
                                                            "a run for a target"),
    near_phase<&NearLayoutCosts::kernel, &NearPhase::entry>("near.layouts.#.kernel_slots", "",
                                                            "times the kernel's own seconds"),
    near_phase<&NearLayoutCosts::kernel, &NearPhase::cache_s>("near.layouts.#.kernel_cache_s", "s",
                                                              "a line beyond the second level"),
    near_phase<&NearLayoutCosts::kernel, &NearPhase::memory_s>("near.layouts.#.kernel_memory_s", "s",
                                                               "a line beyond the last level"),
    near_phase<&NearLayoutCosts::kernel, &NearPhase::random>("near.layouts.#.kernel_random", "",
                                                             "cpu.arrays' seconds of a number at random"),
    near_phase<&NearLayoutCosts::scatter, &NearPhase::call_s>("near.layouts.#.scatter_call_s", "s", "a call"),
    near_phase<&NearLayoutCosts::scatter, &NearPhase::neighbour_s>("near.layouts.#.scatter_neighbour_s", "s",
                                                                   "a neighbour box"),
    near_phase<&NearLayoutCosts::scatter, &NearPhase::target_s>("near.layouts.#.scatter_target_s", "s",
                                                                "a target"),
    near_phase<&NearLayoutCosts::scatter, &NearPhase::run_s>("near.layouts.#.scatter_run_s", "s",
                                                             "a run for a target"),
    near_phase<&NearLayoutCosts::scatter, &NearPhase::entry>("near.layouts.#.scatter_entry_s", "s",
                                                             "a source"),
    near_phase<&NearLayoutCosts::scatter, &NearPhase::cache_s>("near.layouts.#.scatter_cache_s", "s",
                                                               "a line beyond the second level"),
    near_phase<&NearLayoutCosts::scatter, &NearPhase::memory_s>("near.layouts.#.scatter_memory_s", "s",
                                                                "a line beyond the last level"),
    near_phase<&NearLayoutCosts::scatter, &NearPhase::random>("near.layouts.#.scatter_random", "",
                                                              "cpu.arrays' seconds of a number at random"),
    near_phase<&NearLayoutCosts::again, &NearPhase::call_s>("near.layouts.#.again_call_s", "s",
                                                            "collected into arrays filled before: a call"),
    near_phase<&NearLayoutCosts::again, &NearPhase::neighbour_s>("near.layouts.#.again_neighbour_s", "s",
                                                                 "a neighbour box"),
    near_phase<&NearLayoutCosts::again, &NearPhase::target_s>("near.layouts.#.again_target_s", "s",
                                                              "a target"),
    near_phase<&NearLayoutCosts::again, &NearPhase::run_s>("near.layouts.#.again_run_s", "s",
                                                           "a run for a target"),
    near_phase<&NearLayoutCosts::again, &NearPhase::entry>("near.layouts.#.again_entry_s", "s", "a source"),
    near_phase<&NearLayoutCosts::again, &NearPhase::cache_s>("near.layouts.#.again_cache_s", "s",
                                                             "a line beyond the second level"),
    near_phase<&NearLayoutCosts::again, &NearPhase::random>(
        "near.layouts.#.again_random", "", "cpu.arrays' seconds of a number at random or a line"),
    near_kernel<&NearKernelCosts::backend>("near.kernels.#.backend", "", "0 CPU, 1 GPU", most_near_kernels),
    near_kernel<&NearKernelCosts::kernel>("near.kernels.#.kernel", "", "0 laplace ... 4 table",
                                          most_near_kernels),
    near_kernel<&NearKernelCosts::precision>("near.kernels.#.precision", "", "0 fp32, 1 mixed, 2 fp64",
                                             most_near_kernels),
    near_kernel<&NearKernelCosts::dimension>("near.kernels.#.dimension", "", "", most_near_kernels),
    near_kernel<&NearKernelCosts::outputs>("near.kernels.#.outputs", "", "1 potential, 2 gradient, 3 both",
                                           most_near_kernels),
    near_kernel<&NearKernelCosts::vector_s>("near.kernels.#.vector_s", "s",
                                            "a pair in a lane of a vector, one core; GPU: a pair",
                                            most_near_kernels),
    near_kernel<&NearKernelCosts::scalar_s>("near.kernels.#.scalar_s", "s",
                                            "a pair of a plain loop, one core; GPU: one of a thread alone",
                                            most_near_kernels),
};

/// The index that stands for '#', 0 for a key without one, -1 when `name` is not of this key.
int index_in(const MachineKey& key, std::string_view name) {
    const std::string_view pattern = key.name;
    const size_t at = pattern.find('#');
    if (at == std::string_view::npos)
        return name == pattern ? 0 : -1;
    if (!name.starts_with(pattern.substr(0, at)) || !name.ends_with(pattern.substr(at + 1)) ||
        name.size() < pattern.size())
        return -1;
    const std::string_view digits = name.substr(at, name.size() - pattern.size() + 1);
    if (digits.empty() || digits.size() > 2 || digits.find_first_not_of("0123456789") != digits.npos)
        return -1;
    int index = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), index);
    return index;
}

double parse(std::string_view key, std::string_view text) {
    const std::string copy(text);
    char* end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    if (copy.empty() || *end != '\0')
        fail(Status::deck_type, "%.*s: expected a number, found '%s'", static_cast<int>(key.size()),
             key.data(), copy.c_str());
    if (!std::isfinite(value) || value < 0)
        fail(Status::deck_range, "%.*s: expected a finite number >= 0, found %s",
             static_cast<int>(key.size()), key.data(), copy.c_str());
    return value;
}

std::string with_index(std::string name, int index) {
    if (const size_t at = name.find('#'); at != name.npos)
        name.replace(at, 1, std::to_string(index));
    return name;
}

/// The value of a key as text; empty: none.
std::string value_of(Machine& machine, const MachineKey& key, int index, int digits) {
    if (key.text != nullptr)
        return machine.*key.text;
    const double value = key.number(machine, index);
    return value == 0 ? std::string() : core::format("%.*g", digits, value);
}

} // namespace

std::span<const MachineKey> machine_keys() {
    return keys;
}

void set_machine(Machine& machine, std::string_view name, std::string_view text) {
    for (const MachineKey& key : keys) {
        const int index = index_in(key, name);
        if (index < 0)
            continue;
        if (key.most > 0 && index >= key.most)
            fail(Status::deck_range, "%.*s: a list of at most %d items, this is item %d",
                 static_cast<int>(name.size()), name.data(), key.most, index);
        if (key.text != nullptr)
            machine.*key.text = text;
        else
            key.number(machine, index) = parse(name, text);
        return;
    }
    fail(Status::deck_key, "%.*s: no such key of a machine file", static_cast<int>(name.size()), name.data());
}

std::vector<std::pair<std::string, std::string>> machine_values(const Machine& machine, int digits) {
    Machine copy = machine; // accessors give references
    std::vector<std::pair<std::string, std::string>> values;
    for (const MachineKey& key : keys)
        for (int index = 0; index < std::max(key.most, 1); ++index)
            if (std::string value = value_of(copy, key, index, digits); !value.empty())
                values.emplace_back(with_index(key.name, index), std::move(value));
    return values;
}

double known(double value, const char* key, const char* needed_for) {
    if (value <= 0)
        fail(Status::absent,
             "the machine file has no %s, which %s needs; add it or measure it with graft model "
             "calibrate",
             key, needed_for);
    return value;
}

} // namespace graft::model
