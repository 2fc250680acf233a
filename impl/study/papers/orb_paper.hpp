// SPDX-License-Identifier: BSD-3-Clause
// The run-time model of orthogonal recursive bisection as rehmann2022 states it: section 4.4, equations 12
// to 16.
//
// Derived anew where the printed text is garbled. Level i = 1 ... L cuts c = 2^(i-1) cells; a cell holds s/c
// bytes, and bisection reads them p times (once for each bit of a coordinate):
//     sum over i of  c x p x (s/c) / B_C                (12; printed "i x p x s/B_C", "i cancels out")
//   = sum over i of  p x s / B_C                        (13)
//   = L x p x s / B_C,  L = ceil(log2 d)                (14)
// With the GPU counting, each level sends all coordinates over the link, and with the partition on the GPU,
// too, they are sent once:
//     L x (p x s / B_G + s / I_GC)                      (15)
//     L x p x s / B_G + s / I_GC                        (16)
// As printed, s is all three coordinates (12 B a particle), although a count reads one; the partition itself
// and every launch are free. orb_time.hpp puts that right. Misprints: table 3 lists B_G twice, its second is
// I_GC; the text above (12) halves the particles "in each iteration", which is each level.
#pragma once

#include "model/machine.hpp"

namespace graft::study {

struct PaperOrb {
    double particles = 1e9;
    double leaves = 4096;                                           // d
    double precision_bits = 32;                                     // p, the iterations of a bisection
    double bytes_per_particle = 12;                                 // all coordinates
    double bytes() const { return particles * bytes_per_particle; } // s
};

/// ceil(log2 d); 0 for one leaf. Throws Error(argument) unless 1 <= leaves <= 2^52.
int levels_of(double leaves);

/// Equation 14.
double paper_cpu_s(const PaperOrb& orb, double cpu_bytes_per_s);
/// Equation 15.
double paper_gpu_count_s(const PaperOrb& orb, double gpu_bytes_per_s, double link_bytes_per_s);
/// Equation 16.
double paper_gpu_partition_s(const PaperOrb& orb, double gpu_bytes_per_s, double link_bytes_per_s);

/// The three for a machine's node: its GPUs together. Those of the GPU are 0 for a machine without one
/// (figure 15). Throws Error(absent).
struct PaperTimes {
    double cpu_s = 0, gpu_count_s = 0, gpu_partition_s = 0;
};
PaperTimes paper_times(const PaperOrb& orb, const model::Machine& machine);

} // namespace graft::study
