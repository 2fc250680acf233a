// SPDX-License-Identifier: BSD-3-Clause
// What the kernels of a periodic box share: parameters, launchers, and how a source stands in float.
#pragma once

#include "periodic/periodic_gpu.cuh"
#include "periodic/plummer_waves.hpp"
#include "forces/frame_resolution.hpp"
#include "forces/p2p/screen_gpu.cuh"

namespace graft::periodic {

/// 32 consecutive sources, or 32 consecutive chunks: their box; extent: half of it in units of the edges.
inline constexpr int chunk_sources = 32;
struct SourceChunk {
    double centre[3], half[3], extent[3];
};

/// A source as kernels in float read it: from its chunk's centre, in units of the frame, and what rounding took off.
struct alignas(16) ChunkSource {
    float x, y, z, q;
    float rest[3];
    uint32_t print; // of its coordinates: fingerprint()
};

/// All chunks of the sources.
struct SourceChunks {
    const SourceChunk *boxes, *supers; // supers: of 32 chunks each
    const ChunkSource* near_centre;    // for kernels in float
    int64_t count;
};

/// Equal for equal coordinates, hardly ever else. A pair nearer than a float and its rest can tell apart is one particle, or
/// two at one place, which do nothing to each other, or two that only double tells apart.
__device__ __forceinline__ uint32_t fingerprint(double x, double y, double z) {
    uint32_t print = 0;
    const auto mix = [&](int word) {
        print = (print ^ static_cast<uint32_t>(word)) * 0x85ebca6bU;
        print ^= print >> 15; // else two signs that change leave it as it is
    };
    for (const double value : {x + 0.0, y + 0.0, z + 0.0}) // no -0
        mix(__double2loint(value)), mix(__double2hiint(value));
    return print;
}

/// A coordinate in float, and what rounding took off it.
__device__ __forceinline__ float split_float(double value, float& rest) {
    const float rounded = static_cast<float>(value);
    rest = static_cast<float>(value - static_cast<double>(rounded));
    return rounded;
}

/// All that the pair kernels read; a kernel parameter. Blocks are of 64 targets.
template <typename T>
struct PeriodicPairs {
    forces::DeviceSources sources, targets;
    geometry::Lattice box;
    double inverse[3]; // 1 / edge
    SourceChunks chunks;
    double cutoff, reach_square, scale;
    double close;                // in float: pairs nearer than this are told of
    int64_t blocks, part, parts; // a part: so many chunks
    double length;               // the one length for all
    int64_t charges;             // of all ranks
    bool keeps_itself;           // a target's own potential is taken off later: it must be there (frame_resolution.hpp)
    T added;                     // to r^2, where that is one number for all: pair_tiny() or Plummer's eps^2
    const PeriodicFacts* facts;  // of Plummer lengths per particle
    double charge_scale;
    double* partial; // [part][component][target], units of the frame
    double* virial;  // [part][block][6]
    int32_t* found_close; // 1: where pairs were too close for float, or a target's own potential is lost
    const backend::DeviceStatus* status;
    forces::ScreenTerms<T> screen;
};
inline constexpr int64_t periodic_block = DevicePeriodic::block_targets;
inline constexpr int64_t periodic_part_step = 4; // chunks

/// Blocks of the pair kernels that a multiprocessor is to hold, by registers.
template <typename T>
constexpr int resident_pair_blocks(forces::DevicePair kind, bool virial) {
    return sizeof(T) == 8 ? 2 : (kind == forces::DevicePair::constant && !virial ? 6 : 4);
}

/// In float (softened by more than a constant: in a file of its own) and double.
void launch_periodic_pairs(backend::Queue& queue, forces::DevicePair kind, bool potential, bool virial,
                           const PeriodicPairs<float>& in);
void launch_periodic_soft_pairs(backend::Queue& queue, forces::DevicePair kind, bool potential, bool virial,
                                const PeriodicPairs<float>& in);
void launch_periodic_pairs(backend::Queue& queue, forces::DevicePair kind, bool potential, bool virial,
                           const PeriodicPairs<double>& in);

/// Weights of a value's two waves +k and -k, and their slopes -d/d(k^2) of the weight over the weight.
struct WaveEntry {
    double plus, minus, plus_slope, minus_slope;
};

/// What is not in the sums: of a net charge of 1, over the volume, and of each unit charge.
struct ChargeTerms {
    Background background;
    OwnTerms own;
};

/// Writes the table of all tiles, and the terms of charges. `facts`: null, or what the mean square of the softening lengths
/// is taken from; else it is `square`.
struct WaveTableTask {
    geometry::Lattice box;
    double alpha, cutoff, largest, square;
    const PeriodicFacts* facts;
    const WaveTile* tiles;
    int64_t tile_count;
    WaveEntry* table;
    ChargeTerms* terms;
};
void make_wave_table(backend::Queue& queue, const WaveTableTask& task);

/// Finds the facts, and stops a computation that was split for others (too_small).
struct MeasureTask {
    forces::DeviceSources sources, points; // points may be none
    DeviceLattice lattice;
    double middle;   // that moments refer to
    double* partial; // measure_partials
    PeriodicFacts* facts;
};
inline constexpr int64_t measure_partials = 7 * 128;
void measure(backend::Queue& queue, const MeasureTask& task);

/// What waves add up to for one value of a tile: sums for the field, see ewald_waves_gpu.cuh.
template <typename T>
struct alignas(4 * sizeof(T)) WaveWeights {
    T plus[2], minus[2];
};

struct PeriodicWaves {
    forces::DeviceSources sources, targets;
    geometry::Lattice box;
    const WaveEntry* table;    // [tile][value]
    double charge_scale, unit; // powers of two: of the charges in T, and of lengths
    const WaveTile* tiles;
    int32_t tile_count;
    int64_t chunk; // particles, a multiple of 32
    int32_t chunks;
    int32_t groups, group_tiles; // of tiles, in the field
    double* structure;           // [chunk][tile][4][value]
    void* weighted;              // WaveWeights<T> [tile][value]
    uint32_t* rows;              // a bit for each row of a tile that has a vector
    double* tile_virial;         // [tile][6]
    double* charge;              // the net charge
    double* field;               // [group][4][target]: potential and its derivatives by the fractions
    const backend::DeviceStatus* status;
};

/// Structure factors of chunks: a launch; and their weights and field: two.
void launch_structure_float(backend::Queue& queue, const PeriodicWaves& in);
void launch_structure_double(backend::Queue& queue, const PeriodicWaves& in);
void launch_waves_float(backend::Queue& queue, const PeriodicWaves& in);
void launch_waves_double(backend::Queue& queue, const PeriodicWaves& in);

} // namespace graft::periodic
