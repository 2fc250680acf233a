// What the kernels of a periodic box share: their parameters and launchers.
#pragma once

#include "kernels/device_periodic.cuh"
#include "kernels/device_screen.cuh"

namespace graft::kernels {

/// 32 consecutive sources: their box; extent: half of it in units of the edges.
inline constexpr int chunk_sources = 32;
struct SourceChunk {
    double centre[3], half[3], extent[3];
};

/// All that the pair kernels read; a kernel parameter. Blocks are of 64 targets.
template <typename T>
struct PeriodicPairs {
    DeviceSources sources, targets;
    geometry::Lattice box;
    double inverse[3]; // 1 / edge
    const SourceChunk* chunks;
    int64_t chunk_count;
    double cutoff, reach_square, scale;
    int64_t blocks, part, parts; // a part: so many chunks
    double length;               // one softening length for all
    double charge_scale;
    double* partial; // [part][component][target], units of the frame
    double* virial;  // [part][block][6]
    const backend::DeviceStatus* status;
    ScreenTerms<T> screen;
};
inline constexpr int64_t periodic_block = DevicePeriodic::block_targets;
inline constexpr int64_t periodic_part_step = 4; // chunks

/// Without softening or with the spline, in float (the latter in a file of its own) and double.
void launch_periodic_pairs(backend::Queue& queue, DevicePair kind, bool potential, bool virial,
                           const PeriodicPairs<float>& in);
void launch_periodic_soft_pairs(backend::Queue& queue, bool potential, bool virial,
                                const PeriodicPairs<float>& in);
void launch_periodic_pairs(backend::Queue& queue, DevicePair kind, bool potential, bool virial,
                           const PeriodicPairs<double>& in);

/// What waves add up to for one value of a tile: sums for the field, see device_periodic_waves.cuh.
template <typename T>
struct alignas(4 * sizeof(T)) WaveWeights {
    T plus[2], minus[2];
};

struct PeriodicWaves {
    DeviceSources sources, targets;
    geometry::Lattice box;
    double alpha, largest;
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

/// Structure factors, their weights, their field: three launches.
void launch_periodic_waves_float(backend::Queue& queue, const PeriodicWaves& in);
void launch_periodic_waves_double(backend::Queue& queue, const PeriodicWaves& in);

} // namespace graft::kernels
