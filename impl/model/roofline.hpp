// SPDX-License-Identifier: BSD-3-Clause
// What bounds a loop: memory or arithmetic. rehmann2022, section 4.3, equations 8 to 11, figures 10 to 14.
//
// Count-left in his count: 4 operations (compare, add, advance, test for the end) on the 4 bytes of a
// coordinate, 1 operation a byte. Misprints: "GHz (10^12)" in table 2 and 3.8 x 10^12 in equations 9 to 11
// are 10^9 (the results are right).
#pragma once

#include "model/machine.hpp"

namespace graft::model {

constexpr double count_left_operations_per_byte = 1;

/// Equation 8 for `cores` cores: clock x floats of an instruction / cycles of an instruction x cores.
/// Throws Error(absent) when the machine has not these numbers.
double simd_flops(const Cpu& cpu, double cores);

/// Their share of cpu.flops where it is given, else equation 8.
double cpu_flops(const Cpu& cpu, double cores);

struct Roof {
    double flops = 0;                 // the arithmetic's
    double bandwidth_bytes_per_s = 0; // the memory's
    /// Operations a second that a loop of this intensity can reach.
    double attainable_flops(double operations_per_byte) const {
        const double by_memory = operations_per_byte * bandwidth_bytes_per_s;
        return by_memory < flops ? by_memory : flops;
    }
    bool memory_bound(double operations_per_byte) const {
        return operations_per_byte * bandwidth_bytes_per_s < flops;
    }
    /// Where both roofs meet.
    double ridge_operations_per_byte() const { return flops / bandwidth_bytes_per_s; }
};

Roof cpu_roof(const Cpu& cpu, double cores);
/// Of one GPU.
Roof gpu_roof(const Gpu& gpu);

} // namespace graft::model
