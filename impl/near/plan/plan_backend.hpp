// SPDX-License-Identifier: BSD-3-Clause
// What a plan needs of the place where it computes: this host, or a GPU.
#pragma once

#include "near/plan/near_plan.hpp"

namespace graft::near {

class PlanBackend {
  public:
    virtual ~PlanBackend() = default;
    /// Checked by the plan on the host; arrays on a device are checked here. Throws Error(value, memory,
    /// device), and argument for points that the kernel cannot take; the points stay as they were with value
    /// and argument.
    virtual void set_points(const NearPoints& points) = 0;
    virtual void begin(const NearSums& sums, void* stream) = 0;
    virtual void end() = 0;
    /// The GPU whose arrays it takes; -1: any, or none.
    virtual int32_t device() const { return -1; }
    /// On a device, by the last execution.
    virtual int64_t allocations() const { return 0; }
    /// Fills in layout, times, bytes, chunks, names.
    virtual void report(NearReport& report) const = 0;
};

/// All of it must outlive the backend.
struct PlanBackendInput {
    core::Memory& memory;
    const Structure& structure;
    const Shape& shape;
    const Sums& sums;
    const NearOptions& options;
};

std::unique_ptr<PlanBackend> make_near_host(const PlanBackendInput& input);
/// NULL where the host shall compute: backend cpu, or auto without a GPU, or with too little work for one.
/// Throws Error(device) when a GPU is needed, by the backend or the arrays, and there is none.
std::unique_ptr<PlanBackend> make_near_device(const PlanBackendInput& input, const NearPoints& points);

inline constexpr const char* near_axis_names[2][3] = {{"target x", "target y", "target z"},
                                                      {"source x", "source y", "source z"}};

} // namespace graft::near
