// SPDX-License-Identifier: BSD-3-Clause
// See orb_paper.hpp.
#include "study/papers/orb_paper.hpp"

#include "core/error.hpp"

#include <cmath>

namespace graft::study {

int levels_of(double leaves) {
    if (!(leaves >= 1) || leaves > 0x1p52)
        core::fail(core::Status::argument, "orb model: %g leaves; expected 1 to 2^52", leaves);
    int levels = 0;
    while (std::ldexp(1.0, levels) < leaves)
        ++levels;
    return levels;
}

double paper_cpu_s(const PaperOrb& orb, double cpu_bytes_per_s) {
    return levels_of(orb.leaves) * (orb.precision_bits * orb.bytes() / cpu_bytes_per_s);
}

double paper_gpu_count_s(const PaperOrb& orb, double gpu_bytes_per_s, double link_bytes_per_s) {
    return levels_of(orb.leaves) *
           (orb.precision_bits * orb.bytes() / gpu_bytes_per_s + orb.bytes() / link_bytes_per_s);
}

double paper_gpu_partition_s(const PaperOrb& orb, double gpu_bytes_per_s, double link_bytes_per_s) {
    return levels_of(orb.leaves) * (orb.precision_bits * orb.bytes() / gpu_bytes_per_s) +
           orb.bytes() / link_bytes_per_s;
}

PaperTimes paper_times(const PaperOrb& orb, const model::Machine& machine) {
    const char* use = "rehmann2022's model";
    PaperTimes times;
    times.cpu_s = paper_cpu_s(
        orb, model::known(machine.cpu.read_bandwidth_bytes_per_s, "cpu.read_bandwidth_bytes_per_s", use));
    if (machine.gpu.count == 0)
        return times;
    const double gpu_bytes_per_s = machine.gpu.count * model::known(machine.gpu.read_bandwidth_bytes_per_s,
                                                             "gpu.read_bandwidth_bytes_per_s", use);
    const double link_bytes_per_s =
        machine.gpu.count * model::known(machine.link.bandwidth_bytes_per_s, "link.bandwidth_bytes_per_s", use);
    times.gpu_count_s = paper_gpu_count_s(orb, gpu_bytes_per_s, link_bytes_per_s);
    times.gpu_partition_s = paper_gpu_partition_s(orb, gpu_bytes_per_s, link_bytes_per_s);
    return times;
}

} // namespace graft::study
