// SPDX-License-Identifier: BSD-3-Clause
// The mesh of wave_mesh.hpp on the device: the same splines, influence function and corrections.
//
// Charges are spread by blocks of particles: they are added in whole numbers to the points that the block reaches, in shared
// memory, and from there to the mesh, so that the order of additions does not matter: the same bits every run. Transforms of
// lines stand in shared memory. Nothing waits.
#pragma once

#include "forces/evaluate_gpu.cuh"
#include "periodic/mesh/mesh_choice.hpp"

namespace graft::periodic {

struct MeshWavesTask {
    /// In an order in which neighbours stand together; any other takes longer. charge NULL: the targets are none of the sources.
    forces::DeviceSources sources, targets;
    double charge_scale = 1; // a power of two: of the charges in the mesh
    bool virial = false;
    double *charge = nullptr, *field = nullptr; // the net charge; [4][target]: potential and derivatives by the fractions / -2 pi
};

/// Points along an edge, at most: a line stands in shared memory twice.
inline constexpr int64_t most_mesh_points = 512;

class DeviceWaveMesh {
  public:
    explicit DeviceWaveMesh(backend::DeviceMemory& memory);
    ~DeviceWaveMesh();
    /// Enqueues the tables of a lattice and alpha; nothing where they are there. Throws Error(memory, device).
    void set(backend::Queue& queue, const geometry::Lattice& box, double alpha, const MeshChoice& choice, bool in_double);
    /// Enqueues what sum() must find done: no charges on the mesh. It may run while particles are put in order.
    void clear(backend::Queue& queue);
    /// Enqueues all of it: charge, field, and virials without the charges' own.
    void sum(backend::Queue& queue, const MeshWavesTask& task);
    /// The power of two that potentials are multiplied by, beside the charges' scale.
    double unit() const;
    /// Of the last sum with a virial: entries of six numbers each.
    const double* virials() const;
    int64_t virial_count() const;
    /// Six numbers: what a unit charge's own energy lacks; on the device.
    const double* own_virial() const;

    struct Work;

  private:
    Work* work_;
};

} // namespace graft::periodic
