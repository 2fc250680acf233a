// SPDX-License-Identifier: BSD-3-Clause
// Who computes a request, where, and why: the CPU, or which GPU. All ranks on GPUs, or none, or as each rank asks.
#pragma once

#include "engine/request.hpp"
#include "settings/choices.hpp"

#include <string>

namespace graft::engine {

/// Fewer particles than this are on a CPU core before a GPU has launched its kernels
/// (docs/lab/gpu/engine.md).
inline constexpr int64_t least_for_gpu = 2048;

struct Placement {
    bool gpu = false;
    bool beside_gpus = false; // on the CPU, while other ranks compute on GPUs
    int32_t device = -1;    // of the GPU
    std::string why;        // on the CPU
    settings::Call call;    // of all ranks
    NamedView device_array; // one that only a GPU can reach; of the request

    /// Error(unsupported) where the CPU is to compute with arrays in device memory.
    void require_reach() const;
    std::string words() const; // for the log
};

class BackendChoice {
  public:
    /// Other ranks: what was known of their GPUs is not.
    void forget_ranks() { ranks_device_ = -1; }

    /// Collective. held: the GPU of the last computation, -1: none. Throws, on all ranks, what check() does, and
    /// where a GPU is asked for and cannot be had.
    Placement choose(comm::Communicator& comm, const settings::Settings& settings, const Request& request,
                     int32_t held);

  private:
    void choose_alone(Placement& placement, comm::Communicator& comm, const settings::Settings& settings,
                      const Request& request, int32_t held);
    void choose_over_ranks(Placement& placement, comm::Communicator& comm, const settings::Settings& settings,
                           const Request& request);
    void choose_asked(Placement& placement, comm::Communicator& comm, const settings::Settings& settings,
                      bool mixed);
    void choose_auto(Placement& placement, comm::Communicator& comm, const settings::Settings& settings,
                     const Request& request);
    bool gpu_of_its_own(comm::Communicator& comm, int32_t device);

    int32_t ranks_device_ = -1; // the GPU that each_has_a_gpu_ speaks of
    bool each_has_a_gpu_ = false;
};

} // namespace graft::engine
