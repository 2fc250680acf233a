// SPDX-License-Identifier: BSD-3-Clause
// The near-field plans of a context: who owns them, which was used last, what query tells of it.
#pragma once

#include "entries.hpp"
#include "query_figures.hpp"

#include "near/plan/near_plan.hpp"

#include <graft/types.h>

#include <memory>
#include <vector>

struct graft_near_plan {
    graft_near_plan(graft::core::Memory& memory, const graft::core::Log& log,
                    const graft::near::NearRequest& request)
        : plan(memory, log, request) {}
    graft::near::NearPlan plan;
};

namespace graft::capi {

/// What the deck says of near fields, beside what a plan says itself.
struct NearDefaults {
    int32_t layout = near::near_layout_auto;
    near::Precision precision = near::Precision::mixed;
    int32_t most = 15;
    int32_t devices = 1;
    double memory_bytes = 0, expected_executes = 0;
    std::shared_ptr<const model::Machine> machine; // of the deck's machine file; NULL: none
    std::string machine_file;
};

NearDefaults near_defaults(const Options& options);

class NearPlans {
  public:
    explicit NearPlans(const NearDefaults& defaults) : defaults_(defaults) {}

    const NearDefaults& defaults() const { return defaults_; }
    void set_defaults(const NearDefaults& defaults) { defaults_ = defaults; } // of later plans
    graft_near_plan* add(std::unique_ptr<graft_near_plan> plan);
    /// The plan, which becomes the last one used. Throws Error(argument) when it is not one of these.
    near::NearPlan& use(graft_near_plan* plan);
    /// Destroys one of these.
    void remove(graft_near_plan* plan);

    const graft_near_plan* last() const { return last_; }
    /// Of the last plan used; its figures stay until another one is made when it is gone (query keeps them).
    Figures::Content figures() const;

  private:
    NearDefaults defaults_;
    std::vector<std::unique_ptr<graft_near_plan>> plans_;
    graft_near_plan* last_ = nullptr;
};

} // namespace graft::capi
