// SPDX-License-Identifier: BSD-3-Clause
// See roofline.hpp.
#include "model/roofline.hpp"

namespace graft::model {

double simd_flops(const Cpu& cpu, double cores) {
    const char* use = "the roof of arithmetic (equation 8)";
    return known(cpu.clock_hz, "cpu.clock_hz", use) * known(cpu.simd_floats, "cpu.simd_floats", use) *
           known(cpu.instructions_per_cycle, "cpu.instructions_per_cycle", use) * cores;
}

double cpu_flops(const Cpu& cpu, double cores) {
    if (cpu.flops > 0)
        return cpu.flops * cores / known(cpu.cores, "cpu.cores", "the roof of arithmetic");
    return simd_flops(cpu, cores);
}

Roof cpu_roof(const Cpu& cpu, double cores) {
    return {cpu_flops(cpu, cores),
            known(cpu.read_bandwidth_bytes_per_s, "cpu.read_bandwidth_bytes_per_s", "the roof of memory")};
}

Roof gpu_roof(const Gpu& gpu) {
    return {known(gpu.flops, "gpu.flops", "the roof of arithmetic"),
            known(gpu.read_bandwidth_bytes_per_s, "gpu.read_bandwidth_bytes_per_s", "the roof of memory")};
}

} // namespace graft::model
