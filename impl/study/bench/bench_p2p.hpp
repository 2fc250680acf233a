// SPDX-License-Identifier: BSD-3-Clause
// How fast the kernels run on this machine, next to what the machine can do.
//
// The bound of P2P: the arithmetic instructions of its compiled inner loop per pair, over the rate of a loop
// of independent multiply-adds timed in the same run. Instructions are counted in the disassembly of the
// unsoftened force kernel (`objdump -d`, loads, moves and loop control left out: they go to other units), for
// one target and one vector of sources: see instructions_per_vector() in bench_p2p.cpp. A share above 1 is
// possible: subtractions have units of their own on some processors.
#pragma once

#include <cstdint>

namespace graft::study {

struct P2pBench {
    double pairs_per_s = 0; // best of the repetitions, one thread, sources in the first-level cache
    double fma_per_s = 0;   // independent multiply-add instructions, a whole vector each
    double instructions_per_pair =
        0; // of the inner loop, over lanes; 0: not counted for the SIMD target in use
    /// Rate reached over the rate that the bound allows; 0 when the instructions are not counted.
    double share_of_bound() const {
        return instructions_per_pair > 0 && fma_per_s > 0 ? pairs_per_s * instructions_per_pair / fma_per_s
                                                          : 0;
    }
};

/// Both loops in turn, `repetitions` times for about 10 ms of the thread's own processor time each; the best
/// of each counts. T is float or double. Throws core::Error (memory).
template <typename T>
P2pBench bench_p2p(int repetitions = 10);

/// Cell-target evaluations a second, one thread, without softening and potential.
template <typename T>
double bench_m2p(int order, int repetitions = 10);

} // namespace graft::study
