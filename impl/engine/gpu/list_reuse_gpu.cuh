// SPDX-License-Identifier: BSD-3-Clause
// Lists that serve several computations (deck keys gpu.list_reuse, gpu.list_skin): tree and lists stay as
// they are, places, moments and boxes are the new ones; a device-side watch stops the computation when a
// particle has moved by more than the skin or a charge has changed, and end() then builds all anew.
//
// Kept are lists of all particles, in one batch, of an octree that the device built, between computations of
// equal settings. What else is computed in between (subsets, points, another n) ends them. The criterion
// holds for the moved particles (skin_gpu.cuh); the error MAC's factor of a group is that of the build.
#pragma once

#include "engine/import_inputs_gpu.cuh"
#include "lists/skin_gpu.cuh"

#include <vector>

namespace graft::engine {

class KeptLists {
  public:
    explicit KeptLists(backend::DeviceMemory& memory) : watch_(memory) {}

    /// Whether this computation takes them; what it does not take is forgotten.
    bool take(const DeviceJob& job);
    void forget() { valid_ = false; }
    // Enqueued, both.
    /// Where the particles are whose lists are built.
    void remember(Computation& c, const ImportStep& from);
    /// Stops the computation where lists do not hold any more.
    void watch(Computation& c, const ImportStep& from);
    /// After a computation that needs no repair, in so many batches.
    void account(Computation& c, int batches);

    /// Of the build.
    const backend::DeviceStatus& status() const { return status_; }
    int64_t built() const { return built_; } // computations, since creation
    int64_t reused() const { return reused_; }

  private:
    lists::DeviceSkinWatch watch_;
    bool valid_ = false;
    int served_ = 0; // computations, beside the one that built them
    std::vector<uint64_t> key_;
    backend::DeviceStatus status_{};
    int64_t built_ = 0, reused_ = 0;
};

} // namespace graft::engine
