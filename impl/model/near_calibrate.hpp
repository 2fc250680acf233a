// From measured layouts to the numbers of NearMachine: least squares of relative errors, no term below 0.
#pragma once

#include "model/near_time.hpp"

#include <span>

namespace graft::model {

/// One layout on one structure, measured: seconds.
struct NearSample {
    NearProblem problem;
    double collection_s = 0, charges_s = 0, kernel_s = 0, scatter_s = 0;
};

/// The numbers of `layout` (and of the samples' size of number) that fit the samples best: each phase alone,
/// each sample's error relative to its phase's time, or to a part of its execution where the phase is a small
/// part. machine.near.kernels must have the kernels' seconds. error: 90 % of the samples' totals are met
/// within it.
NearLayoutCosts fit_near(NearLayout layout, std::span<const NearSample> samples, const NearWay& way,
                         const Machine& machine);

/// Adds or replaces the item of the same backend, layout and size (kernel, precision, dimension, outputs).
/// Throws Error(internal) when the table is full.
void put(NearMachine& near, const NearLayoutCosts& costs);
void put(NearMachine& near, const NearKernelCosts& costs);

} // namespace graft::model
