// SPDX-License-Identifier: BSD-3-Clause
// What the model of the near field knows of a machine: seconds of the parts of each layout and of each
// kernel's pair, as `graft model calibrate` measures them (near_time.hpp says what they multiply).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace graft::model {

/// One phase of a layout on one core (GPU: on the whole device). Each number is the time of one of ...
struct NearPhase {
    double call_s = 0;      // calls
    double neighbour_s = 0; // neighbour boxes that are walked over
    double target_s = 0;    // targets
    double run_s = 0;       // runs of consecutive sources, once for each target
    double entry = 0;       // sources written or read; kernels: times the kernel's own seconds a slot
    double cache_s = 0;     // lines that the second level has not
    double memory_s = 0;    // lines that the last level has not; collection: lines touched for the first time
    double random = 0;      // numbers met at random, times the seconds of cpu.arrays

    bool operator==(const NearPhase&) const = default;
};

/// Every number of a phase, for fits.
using NearTerms = std::array<double, 8>;

struct NearLayoutCosts {
    double backend = 0;      // 0: CPU, 1: GPU
    double layout = 0;       // the number of NearLayout (near_time.hpp)
    double number_bytes = 0; // 4: fp32, 8: others; 0: this item is empty
    double error = 0;        // 90 % of the calibration's totals were met within this part of themselves
    NearPhase collection, charges, kernel, scatter;
    /// CPU: collection into arrays that have been filled before, as chunks are; all 0: unknown.
    NearPhase again;
    double dimension = 0; // 2 or 3: GPU, whose kernels differ in them; 0: both
};

struct NearKernelCosts {                           // seconds of one pair, sources in the first-level cache
    double backend = 0, kernel = 0, precision = 0; // numbers of near::Kernel, near::Precision
    double dimension = 0;                          // 0: this item is empty
    double outputs = 0;                            // 1 potential, 2 gradient, 3 both
    double vector_s = 0;                           // a lane of a vector; GPU: a thread
    double scalar_s = 0;                           // of a plain loop; GPU: a thread's step, 0: in slots
};

constexpr int most_near_layouts = 55, most_near_kernels = 48;

struct NearMachine {
    std::array<NearLayoutCosts, most_near_layouts> layouts;
    std::array<NearKernelCosts, most_near_kernels> kernels;
};

/// A machine of so many items; the others are empty.
template <size_t layouts, size_t kernels>
NearMachine make_near_machine(const NearLayoutCosts (&layout)[layouts],
                              const NearKernelCosts (&kernel)[kernels]) {
    static_assert(layouts <= most_near_layouts && kernels <= most_near_kernels);
    NearMachine near;
    std::copy_n(layout, layouts, near.layouts.begin());
    std::copy_n(kernel, kernels, near.kernels.begin());
    return near;
}

} // namespace graft::model
