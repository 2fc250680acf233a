// SPDX-License-Identifier: BSD-3-Clause
// From measured layouts to the numbers of NearMachine: least squares of relative errors, no term below 0.
#pragma once

#include "near/choice/near_time.hpp"

#include <span>
#include <vector>

namespace graft::study {

/// One layout on one structure, measured: seconds.
struct NearSample {
    near::NearTimeInput problem;
    double collection_s = 0, charges_s = 0, kernel_s = 0, scatter_s = 0;
    double again_s =
        0; // CPU: collection_s into arrays that have been filled before, as chunks are; 0: unknown
    double weight = 1;  // of its errors
    double plain_s = 0; // GPU: collection_s of ranges on the same structure in the same minutes; 0: unknown
};

/// GPU: what all layouts have in common. Making a plan drifts from minute to minute, and calls, waits and the
/// host's share of an execution do not know the layout: fitted layout by layout their noise would decide which
/// layout looks best.
struct NearSharedPhases {
    model::NearPhase collection, scatter;
};

/// From the samples of each layout, by number: collection from those of ranges, of which there must be some,
/// scatter from all.
NearSharedPhases fit_near_common(std::span<const std::vector<NearSample>> samples, const near::NearWay& way,
                                 const model::Machine& machine);

/// The numbers of `layout` (and of the samples' size of number) that fit the samples best: each phase alone,
/// each sample's error relative to its phase's time, or to a part of its execution where the phase is a small
/// part. machine.near.kernels must have the kernels' seconds. error: 90 % of the samples' totals are met
/// within it. `common`: GPU; collection is that and what this layout's samples took longer than ranges did on
/// the same structures (plain_s), scatter is that. NULL: fitted alone. `dimension`: whose kernels they are,
/// of the samples of 2 or 3 dimensions where there are any; 0: of all. GPU: what no sample shows of memory
/// that the driver gives is as built in.
model::NearLayoutCosts fit_near(near::NearLayout layout, std::span<const NearSample> samples,
                                const near::NearWay& way, const model::Machine& machine,
                                const NearSharedPhases* common = nullptr, int32_t dimension = 0);

/// Adds or replaces the item of the same backend, layout, size and dimension
/// (kernel, precision, dimension, outputs).
/// Throws Error(internal) when the table is full.
void put(model::NearMachine& near, const model::NearLayoutCosts& costs);
void put(model::NearMachine& near, const model::NearKernelCosts& costs);

} // namespace graft::study
