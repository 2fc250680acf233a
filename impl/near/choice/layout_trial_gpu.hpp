// SPDX-License-Identifier: BSD-3-Clause
// The trial of layouts on a GPU. A sample of boxes would leave the device half empty and tell nothing of the
// whole, so contenders sum everything: each gets a plan and the caller's points, and executes in turns with
// the others. Their creation is what a trial costs; it is worth it where many executions follow. The
// winner's plan is kept.
#pragma once

#include "near/choice/choose.hpp"
#include "near/plan/near_table.hpp"

#include <memory>

namespace graft::near {

/// A plan of libgraft_cuda's table.
using DevicePlan = std::unique_ptr<void, void (*)(void*)>;

/// What all plans of a trial are made of. Views and options as DeviceNearTable's functions take them.
struct DeviceTrialInput {
    const DeviceNearTable& table;
    DeviceNearOptions options; // but for the layout
    const Structure& structure;
    const Sums& sums;
    const particles::ArrayView *targets, *sources;
    void* stream;
};

struct DeviceTrial {
    Choice choice;
    DevicePlan plan; // of the chosen layout, with the points; NULL: nothing was tried
};

/// choose(), then the trial where it is worth its time (trial_budget_s). Contenders that the device has no
/// memory for beside the others are left out. Learns from the trial. choice.trial_s: without making the
/// winner's plan, which was needed anyway. Throws as the table's functions do, memory excepted.
DeviceTrial choose_tried_on_device(const DeviceTrialInput& input, const Shape& shape,
                                   const model::Machine& machine, const ChoiceOptions& options,
                                   Learned& learned);

/// What learn() takes of an execution on a GPU: its kernels and those that bring charges into records, as
/// events measured them; calls and transfers, which all layouts share and events do not see, as predicted.
/// Collection: of chunked layouts only.
Times device_times(const Candidate& candidate, const Times& events);

} // namespace graft::near
