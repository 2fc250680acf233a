// A periodic box on the device: the lattice sum's pairs and waves, from one splitting.
//
// What is summed: pipeline/periodic.hpp. Pairs: every block of 64 targets looks at the boxes of all chunks of
// 32 sources, takes the images of their sources that are within the cut-off of its own box, and sums those.
// Nothing within the cut-off is left out, no pair is met twice. Waves: tiles of 4 x 8 x 8 values
// (wave_tiles.hpp). Partial sums are added in fixed order: the same bits every run. Nothing here waits;
// buffers grow only.
#pragma once

#include "kernels/device_evaluate.cuh"
#include "kernels/screen.hpp"
#include "kernels/wave_tiles.hpp"

#include <vector>

namespace graft::kernels {

/// One splitting of the lattice sum.
struct DeviceLattice {
    geometry::Lattice box;
    double alpha = 1, cutoff = 1; // of the pairs
    double largest_wave = 0;
};

/// What one evaluation reads and writes; particles and targets have been wrapped into the box.
struct PeriodicTask {
    DeviceSources sources, targets;
    bool all = true;          // targets are the sources: `targets` is not looked at
    bool virial = false;      // wants all
    double* totals = nullptr; // where the virial's six components go
    int64_t target_count() const { return all ? sources.n : targets.n; }
};

class DevicePeriodic {
  public:
    explicit DevicePeriodic(backend::DeviceMemory& memory);
    ~DevicePeriodic();
    DevicePeriodic(const DevicePeriodic&) = delete;
    DevicePeriodic& operator=(const DevicePeriodic&) = delete;
    /// Targets that look for sources together.
    static constexpr int block_targets = 64;

    /// Takes a splitting; what is the same as before is kept, so that a box that stays costs nothing. Between
    /// computations. Throws Error(memory, device).
    void set(backend::Queue& queue, const DeviceLattice& lattice);
    const DeviceLattice& lattice() const { return lattice_; }
    int64_t tile_count() const { return static_cast<int64_t>(tiles_.size()); }

    /// Enqueues all of it (softening: none or the spline): sets the field in an order of its own, see
    /// target_order(). `how`: pairs, softening_length, precision. Status: pairs.
    void evaluate(backend::Queue& queue, const DeviceEvaluation& how, const PeriodicTask& task,
                  DeviceField& field);
    /// Entry k of the field is that of target target_order()[k]; on the device, as of the last evaluate().
    const int32_t* target_order() const;
    /// Enqueues the virial's totals: behind everything else that writes there.
    void put_virial(backend::Queue& queue, const PeriodicTask& task);

    struct Work;

  private:
    DeviceLattice lattice_;
    Screen screen_;
    std::vector<WaveTile> tiles_;
    Work* work_;
};

/// Moves points by lattice vectors into the box, as Lattice::wrap; z as the others. Enqueued. `softening`
/// (may be null): lengths above `longest` stop the computation with too_small and the status word below.
void wrap_into_box(backend::Queue& queue, const geometry::Lattice& box, int64_t n, double* x, double* y,
                   double* z, const double* softening, double longest);
/// Of DeviceStatus::spare (0: lists/device_points.cu, 1: device_evaluate.cuh): the bits of the largest length
/// above `longest`.
inline constexpr int longest_softening_word = 2;

} // namespace graft::kernels
