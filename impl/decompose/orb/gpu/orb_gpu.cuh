// SPDX-License-Identifier: BSD-3-Clause
// Orthogonal recursive bisection on one GPU: the cells, cuts, owners and order that the CPU's level strategy
// gives, to the last bit, for points that lie on the device.
//
// Levels are done in rounds of up to four. Within a round no point moves: each level is one pass that reads
// the coordinates the cuts so far are made of, counts what lies below a bracket around each cell's cut and
// lists what lies in it; the cut is then selected exactly within the list, by coordinate, then id. At the end
// of the round every point moves once, stably, into up to sixteen children. The host never waits and knows no
// count: kernels read what earlier kernels found. Brackets come from samples; one that misses its cut costs a
// second pass, no more. Bytes a point (4-byte coordinates): round of levels 1-4: 4 + 8 + 12 + 12 to count,
// 32 to move. Source: rehmann2022 sections 3.3 and 6; what is new is in docs/lab/gpu/orb.md.
#pragma once

#include "backend/queue_gpu.cuh"
#include "decompose/decompose.hpp"

#include <cstdint>
#include <vector>

namespace graft::decompose {

/// Points on the device: n values each, contiguous; z NULL in two dimensions; cost (>= 0) NULL: 1 each;
/// id NULL: the index. They are read until run()'s work is done.
struct DeviceOrbPoints {
    int64_t n = 0;
    bool fp64 = false;
    const void* x = nullptr;
    const void* y = nullptr;
    const void* z = nullptr;
    const double* cost = nullptr;
    const int64_t* id = nullptr;
};

struct DeviceOrbOptions {
    int32_t parts = 1;
    int dimension = 3;
    double mix = 1;           // as Options::mix
    int64_t cap = 0;          // as Options::cap
    int levels_per_round = 4; // 1 ... 4
    int samples_per_cell = 4096;
    double bracket_sigmas = 3.5;
};

/// What one run took, by steps; filled when timed is set, valid after the queue's wait().
struct DeviceOrbTimes {
    double bounds_ms = 0, sample_ms = 0, bracket_ms = 0, count_ms = 0, select_ms = 0, move_ms = 0,
           total_ms = 0;
    double level_ms[64] = {0}; // without moving
    int levels = 0, rounds = 0;
};

class DeviceOrb {
  public:
    explicit DeviceOrb(backend::Queue& queue);
    ~DeviceOrb();
    DeviceOrb(const DeviceOrb&) = delete;
    DeviceOrb& operator=(const DeviceOrb&) = delete;

    /// Enqueues everything; allocates only when larger than before. Throws Error(argument) for options out
    /// of range, Error(memory). A value that is not finite (or a negative cost) becomes status word
    /// first_bad, stop = bad_value. Memory: 2 (4 + coordinates + weight) bytes a point, and about 1 more.
    void run(const DeviceOrbPoints& points, const DeviceOrbOptions& options, bool timed = false);

    // Of the last run, on the device, until the next one:
    const void* column(int axis) const; // coordinates in the order of the parts
    const uint32_t* index() const;      // their indices: rising within a part (the CPU's permutation)
    const int64_t* part_offset() const; // parts + 1

    /// Waits. The heap of cells as the CPU has it (cells[1] the root), ties of points without ids are
    /// indices.
    void fetch_cells(std::vector<Cell>& cells);
    /// Waits. Throws Error(value) that names what run() could not use: a coordinate or cost that is no finite
    /// number, or two points with one place and one id.
    void check();
    /// Waits. Second passes because a bracket missed its cut, over all levels.
    int64_t missed_brackets();
    /// Waits.
    DeviceOrbTimes times();

    struct Work;

  private:
    backend::Queue& queue_;
    Work* work_;
};

} // namespace graft::decompose
