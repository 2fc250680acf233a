// SPDX-License-Identifier: BSD-3-Clause
// A periodic box on the device: the lattice sum's pairs and waves, from one splitting.
//
// What is summed: periodic/periodic.hpp. Pairs: every block of 64 targets looks at the boxes of all chunks of
// 32 sources, takes the images of their sources that are within the cut-off of its own box, and each 16 targets sum those
// within the cut-off of theirs.
// Nothing within the cut-off is left out, no pair is met twice. Waves: tiles of 4 x 8 x 8 values
// (wave_tiles.hpp). Partial sums are added in fixed order: the same bits every run. Nothing here waits;
// buffers grow only.
#pragma once

#include "forces/evaluate_gpu.cuh"
#include "forces/p2p/screen.hpp"
#include "periodic/mesh/mesh_choice.hpp"
#include "periodic/wave_tiles.hpp"

#include <vector>

namespace graft::periodic {

/// One splitting of the lattice sum, and what of the particles it was made for.
struct DeviceLattice {
    geometry::Lattice box;        // of a slab: with its vacuum
    double alpha = 1, cutoff = 1; // of the pairs
    bool pairs_elsewhere = false; // EwaldInput's: they are not summed here
    double reach() const { return pairs_elsewhere ? 0 : cutoff; }
    double largest_wave = 0;
    double accuracy = 0; // EwaldSplit's
    MeshChoice mesh;      // in place of the sum over waves, if it has an order; not over ranks, nor with Plummer's softening
    bool in_double = false; // the mesh
    double softening = 0; // Plummer's one length for all; lengths per particle: their mean square is found
    int open_axis = -1;   // of a slab
    double gap = 0;       // vacuum that a slab wants
    double longest = 0;   // softening length, of particles with one each
    bool measured = true; // false: nothing was known, so that what is found stops the computation
    bool operator==(const DeviceLattice&) const = default;
};

/// What a computation finds of particles with softening lengths, or of a slab.
struct PeriodicFacts {
    double longest;          // softening length
    double lower, upper;     // places along the open axis; upper < lower where there is none
    double magnitude;        // sum of |charge|, of particles with softening lengths
    double softening_square; // mean square of the lengths by |charge|
    double moments[2];       // of charge along the open axis, about the task's middle
};

/// What one evaluation reads and writes; particles and targets have been wrapped into the box.
struct PeriodicTask {
    forces::DeviceSources sources, targets;
    bool all = true;          // targets are the sources: `targets` is not looked at
    bool virial = false;      // wants all
    double* totals = nullptr; // where the virial's six components go
    PeriodicFacts* facts = nullptr;
    double middle = 0; // a place in a slab that its moments refer to
    // Over ranks, where the sources are those near the own targets:
    int64_t all_particles = 0; // of all ranks; 0: the sources
    const double* structure =
        nullptr;             // of all ranks' sources, as sum_structure() gives it; the facts are known
    bool tells_waves = true; // the virial of the waves is told here
    int64_t charges() const { return all_particles > 0 ? all_particles : sources.n; }
    int64_t target_count() const { return all ? sources.n : targets.n; }
};

struct PeriodicWaves;

class DevicePeriodic {
  public:
    explicit DevicePeriodic(backend::DeviceMemory& memory);
    ~DevicePeriodic();
    DevicePeriodic(const DevicePeriodic&) = delete;
    DevicePeriodic& operator=(const DevicePeriodic&) = delete;
    /// Targets that look for sources together, and parts of them that sum those near their own box.
    static constexpr int block_targets = 64, part_targets = 16;

    /// Takes a splitting; what is the same as before is kept, so that a box that stays costs nothing. Between
    /// computations. Throws Error(memory, device).
    void set(backend::Queue& queue, const DeviceLattice& lattice);
    const DeviceLattice& lattice() const { return lattice_; }
    int64_t tile_count() const { return static_cast<int64_t>(tiles_.size()); }

    /// Enqueues all of it: sets the field in an order of its own, see target_order(). `how`: pairs,
    /// softening_length, precision. Particles with softening lengths, and those of slabs, are measured first;
    /// what exceeds the splitting stops the computation (too_small), the facts then say what it needs. So do, in
    /// single precision, sources too close to targets (needs_double).
    /// Status: pairs.
    void evaluate(backend::Queue& queue, const forces::DeviceEvaluation& how, const PeriodicTask& task,
                  forces::DeviceField& field);
    /// Over ranks: enqueues the structure factors of these sources, which ranks add up: structure_size()
    /// numbers.
    void sum_structure(backend::Queue& queue, const forces::DeviceEvaluation& how, const forces::DeviceSources& sources,
                       int64_t all_particles, double* structure);
    int64_t structure_size() const { return tile_count() * 4 * WaveTile::values; }
    /// Enqueued: the facts of a part of the particles; nothing stops.
    void find_facts(backend::Queue& queue, const forces::DeviceSources& sources, const forces::DeviceSources& points,
                    int open_axis, double middle, PeriodicFacts* facts);
    /// Entry k of the field is that of target target_order()[k]; on the device, as of the last evaluate().
    const int32_t* target_order() const;
    /// Enqueues the virial's totals: behind everything else that writes there.
    void put_virial(backend::Queue& queue, const PeriodicTask& task);

    struct Work;

  private:
    void set_tiles(backend::Queue& queue, double largest);
    void sum_waves(backend::Queue& queue, PeriodicWaves& waves, const PeriodicTask& task, bool in_double);
    void make_table(backend::Queue& queue, const PeriodicFacts* facts);
    DeviceLattice lattice_;
    forces::Screen screen_;
    std::vector<WaveTile> tiles_;
    double largest_of_tiles_ = 0; // wave
    Work* work_;
};

/// Moves points by lattice vectors into the box, as Lattice::wrap; z as the others. Enqueued.
void wrap_into_box(backend::Queue& queue, const geometry::Lattice& box, int open_axis, int64_t n, double* x,
                   double* y, double* z);

} // namespace graft::periodic
