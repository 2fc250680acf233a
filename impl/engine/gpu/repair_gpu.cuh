// SPDX-License-Identifier: BSD-3-Clause
// What is done about a computation that stopped: larger buffers, double, other keys, a tree from the host, the
// caller's error.
#pragma once

#include "engine/gpu/steps_gpu.cuh"

#include <memory>

namespace graft::engine {

struct HostTree; // host_tree_gpu.cuh

/// Error(internal): of one computation, so many repeats that each must have found a buffer to enlarge. `what` repeats.
void check_repeats(int repeat, const char* what);

class Repair {
  public:
    Repair();
    ~Repair();

    /// Waits where the host builds the tree.
    void repair(Steps& s, const backend::DeviceStatus& status);
    /// Tree, moments and targets by the host's code, from the particles as they were imported. Waits.
    void build_on_host(Steps& s);
    /// Throws what the caller's data are refused for; waits.
    [[noreturn]] void raise_bad_value(Steps& s, const backend::DeviceStatus& status);

  private:
    void split_deep_cells(Steps& s);
    bool take_root_of_most(Steps& s);
    void build_tree_on_host(Steps& s, const backend::Executor& executor, const double* lengths);
    void choose_targets_on_host(Steps& s, const backend::Executor& executor, const double* lengths);

    std::unique_ptr<HostTree> host_tree_; // made when it is first wanted
};

} // namespace graft::engine
