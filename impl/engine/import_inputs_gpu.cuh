// SPDX-License-Identifier: BSD-3-Clause
// Import on the device: the host's arrays as contiguous doubles there, in the host's order.
#pragma once

#include "engine/gpu/computation_gpu.cuh"
#include "particles/staging_gpu.cuh"
#include "tree/tree_gpu.cuh"

namespace graft::engine {

class ImportStep {
  public:
    explicit ImportStep(backend::DeviceMemory& memory);

    /// Enqueued; counts the targets where the job does not say how many (a mask in device memory: waits).
    void import_particles(Computation& c);
    /// Enqueued: positions into the periodic box.
    void wrap(Computation& c);
    /// Targets that no tree has ordered; enqueues the gathering of chosen particles.
    forces::DeviceSources targets(Computation& c);

    forces::DeviceSources sources(const DeviceJob& job) const;
    tree::DeviceParticleView view(const DeviceJob& job) const;
    const uint8_t* active() const { return active_.data(); } // marks of particles that are targets
    const int32_t* chosen() const { return chosen_.data(); } // their numbers, after targets()
    int64_t waits() const { return staging_.slot_waits(); }
    /// Marks, for the host to read.
    const backend::DeviceBuffer<uint8_t>& marks() const { return active_; }

    backend::DeviceBuffer<double> x, y, z, charge, softening;
    backend::DeviceBuffer<double> point_x, point_y, point_z, point_length; // targets that are not all
    backend::DeviceBuffer<double> point_charge; // of chosen particles in a periodic box, whose waves they feel, too

  private:
    void import_group(Computation& c, int count, const particles::DeviceRealImport* imports, int64_t n);
    void import_targets(Computation& c);
    void import_host_targets(Computation& c);

    particles::DeviceStaging staging_;
    backend::DeviceBuffer<uint8_t> active_;
    backend::DeviceBuffer<uint32_t> owner_;
    backend::PinnedBuffer<uint8_t> host_active_;
    backend::DeviceBuffer<int32_t> chosen_, chosen_count_; // direct method: active particles
};

} // namespace graft::engine
