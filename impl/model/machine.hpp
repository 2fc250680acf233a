// SPDX-License-Identifier: BSD-3-Clause
// A machine in numbers: what the run-time models read, what `graft model calibrate` writes.
//
// A number that is not known is 0; a model that needs it says so by the key's name. Every number has one key
// ("gpu.read_bandwidth_bytes_per_s"), and the table of keys is the schema of the machine file.
// Source of the quantities: rehmann2022, sections 4.1 and 4.2 (table 1).
#pragma once

#include "model/near_machine.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace graft::model {

constexpr int most_caches = 4, most_sizes = 16, most_arrays = 8;

struct Cache { // of one core, by a loop over an array that just fits
    double bytes = 0;
    double read_bandwidth_bytes_per_s = 0, copy_bandwidth_bytes_per_s = 0;
};

/// One core reads an array: numbers in random order (all places known beforehand), and line by line, again
/// and again.
struct ArrayReads {
    double bytes = 0, random_s = 0, line_s = 0; // of the array; of a number of 8 bytes, of a line of 64
};

struct Cpu { // the node's processors together, unless the name says core
    double cores = 0, memory_bytes = 0;
    double clock_hz = 0, simd_floats = 0, instructions_per_cycle = 0;
    double flops = 0;
    double read_bandwidth_bytes_per_s = 0, copy_bandwidth_bytes_per_s = 0;
    double core_read_bandwidth_bytes_per_s = 0, core_copy_bandwidth_bytes_per_s = 0;
    double count_left_bytes_per_s = 0, core_partition_records_per_s = 0;
    double core_pairs_fp32_per_s = 0, core_pairs_fp64_per_s = 0;
    std::array<Cache, most_caches> caches;
    std::array<ArrayReads, most_arrays> arrays; // the smaller first
};

struct GpuOrbPasses { // rehmann2022's ORB, pass by pass
    double count_left_bytes_per_s = 0, count_level_bytes_per_s = 0, count_cell_bytes_per_s = 0;
    double axis_bytes_per_s = 0, partition_bytes_per_s = 0, partition_few_bytes_per_s = 0;
    double pass_s = 0, pass_block_s = 0, pass_cell_s = 0, block_s = 0;
    double cell_kernel_s = 0, axis_round_s = 0, partition_round_s = 0;
};

struct GpuOrb { // Graft's ORB
    double count_bytes_per_s = 0, move_bytes_per_s = 0, level_s = 0, cell_s = 0, point_s = 0;
};

struct Gpu { // one of `count` equal ones
    double count = 0, memory_bytes = 0, multiprocessors = 0, clock_hz = 0;
    double flops = 0, flops_fp64 = 0;
    double read_bandwidth_bytes_per_s = 0, copy_bandwidth_bytes_per_s = 0;
    double mix_per_s = 0, special_functions_per_s = 0;
    double launch_s = 0, kernel_s = 0, wait_s = 0;
    GpuOrbPasses orb_passes; // keys gpu.count_left_bytes_per_s ... gpu.block_s
    GpuOrb orb;         // keys gpu.orb_...
};

struct LinkSize {
    double bytes = 0;
    double pinned_to_device_bytes_per_s = 0, pinned_to_host_bytes_per_s = 0;
    double pageable_to_device_bytes_per_s = 0, pageable_to_host_bytes_per_s = 0;
};

struct Link { // between the host's memory and one GPU's, one way
    double bandwidth_bytes_per_s = 0, latency_s = 0;
    double pageable_bandwidth_bytes_per_s = 0;
    double gpu_gpu_bandwidth_bytes_per_s = 0;
    std::array<LinkSize, most_sizes> by_size;
};

struct Machine {
    std::string name, cpu_name, gpu_name;
    Cpu cpu;
    Gpu gpu;
    Link link;
    NearMachine near;
};

/// One key. In the name of a key of a list, '#' stands for the index (from 0).
struct MachineKey {
    const char* name;
    const char* unit;
    const char* meaning;
    std::string Machine::*text;                     // of a text, else null
    double& (*number)(Machine& machine, int index); // of a number, else null
    int most = 0;                                   // items of the list that the key is in
};

/// All keys, section by section.
std::span<const MachineKey> machine_keys();

/// Sets one key ("cpu.caches.0.bytes") from text. Numbers are finite and >= 0. Throws Error: deck_key
/// (unknown), deck_type (no number), deck_range.
void set_machine(Machine& machine, std::string_view key, std::string_view text);

/// The keys that have a value (text not empty, number not 0) with their values, in the order of the table;
/// numbers with `digits` significant digits.
std::vector<std::pair<std::string, std::string>> machine_values(const Machine& machine, int digits = 17);

/// The same as a YAML file with each key's unit and meaning as a comment; set_machine reads all of it back.
std::string machine_yaml(const Machine& machine);

/// `value`, or Error(absent) that names the key and what needs it when it is 0.
double known(double value, const char* key, const char* needed_for);

} // namespace graft::model
