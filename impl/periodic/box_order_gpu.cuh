// SPDX-License-Identifier: BSD-3-Clause
// Particles of a periodic box along a curve, so that those near each other in memory are so in space.
//
// Keys are Hilbert's of cubic cells, of so few bits that a cell has about an eighth of a particle, or up to two where that
// spares a pass of the radix sort: two or three passes. Morton's curve jumps, and a block of targets that straddles a jump is as
// large as the box. Equal keys keep their order: the same order every run.
#pragma once

#include "periodic/periodic_kernels_gpu.cuh"

namespace graft::periodic {

/// What is made of sources on the way; null: not made.
struct ChunkOutput {
    SourceChunk *chunks = nullptr, *supers = nullptr; // boxes of 32 sources, and of 32 of these
    ChunkSource* near_centre = nullptr;
    double scale = 1, charge_scale = 1; // of near_centre
};

class PeriodicOrder {
  public:
    explicit PeriodicOrder(backend::DeviceMemory& memory);
    /// Enqueued: copies of the arrays in order (a null softening or charge stays null), and their chunks.
    forces::DeviceSources sort(backend::Queue& queue, const geometry::Lattice& box, const forces::DeviceSources& from,
                               const ChunkOutput& to);
    /// Where each stood before.
    const int32_t* order() const { return order_.data(); }

  private:
    backend::DeviceBuffer<uint32_t> keys_, sorted_;
    backend::DeviceBuffer<int32_t> index_, order_;
    backend::DeviceBuffer<double> x_, y_, z_, charge_, softening_;
};

} // namespace graft::periodic
