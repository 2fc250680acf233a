// What the evaluating kernels share: how a warp takes units, its lanes' targets, and the sources of a list.
//
// Lanes: the warp is cut into 32 / P parts of P lanes; each part sums its own P of every 32 sources for all
// targets of the unit, lane l of a part for the targets l, l + P, l + 2 P ... So groups of any size fill the
// lanes but for a part of P, several targets a lane share each load from shared memory, and the parts are
// added at the end. Parts stand one item apart in shared memory, so that they read different banks.
#pragma once

#include "kernels/device_units.cuh"

namespace graft::kernels {

inline constexpr unsigned whole_warp = ~0u;

/// Where lane `lane`'s item of a tile of 32 stands in shared memory; tile_items are needed.
__device__ inline int tile_place(int lane, int part) {
    return lane + lane / part;
}
inline constexpr int tile_items = 32 + 8;

/// The next unit's number, the same for all lanes.
__device__ inline unsigned take_unit(unsigned int* counter) {
    unsigned unit = 0;
    if (threadIdx.x % 32 == 0)
        unit = atomicAdd(counter, 1u);
    return __shfl_sync(whole_warp, unit, 0);
}

inline constexpr int32_t no_source = INT32_MIN;

/// Steps through a group's sources, 32 at a time.
struct SourceCursor {
    const uint32_t* position; // of the group's entries
    const int32_t* place;
    uint32_t base;          // position of the group's first source
    int32_t entries, entry; // the entry that the next tile begins in

    __device__ SourceCursor(const EvaluationView& v, const ListSources& sources, const Unit& unit)
        : position(sources.position + v.leaf_offset[unit.group]),
          place(sources.place + v.leaf_offset[unit.group]), base(position[0]),
          entries(static_cast<int32_t>(v.leaf_offset[unit.group + 1] - v.leaf_offset[unit.group])),
          entry(unit.entry) {}

    /// The particle (or -1 - node, a heap) that is this lane's of the 32 from `begin` on; no_source behind
    /// end.
    __device__ __forceinline__ int32_t next(int32_t begin, int32_t end) {
        const int lane = threadIdx.x % 32;
        const uint32_t tile = base + static_cast<uint32_t>(begin);
        const int32_t ahead = entry + 1 + lane;
        const uint32_t start = ahead < entries ? position[ahead] - tile : 32u;
        const unsigned starts = __reduce_or_sync(whole_warp, start < 32 ? 1u << start : 0u);
        const int32_t own = entry + __popc(starts & (whole_warp >> (31 - lane)));
        entry += __popc(starts);
        if (begin + lane >= end)
            return no_source;
        const int32_t first = place[own];
        return first < 0 ? first : first + static_cast<int32_t>(tile + lane - position[own]);
    }
};

/// A source in the group's frame, in double; its charge scaled.
struct FrameSource {
    double x, y, z, charge, softening;
};

template <bool with_softening>
__device__ inline FrameSource load_source(const EvaluationView& v, const GroupFrame& frame, int32_t index) {
    const bool heap = index < 0;
    const int64_t i = heap ? v.nodes[-1 - index].first : index;
    const double charge = heap ? v.values[int64_t{-1 - index} * v.terms] : v.charge[i];
    return {fma(v.x[i], frame.scale, -frame.centre[0]), fma(v.y[i], frame.scale, -frame.centre[1]),
            fma(v.z[i], frame.scale, -frame.centre[2]), charge * v.charge_scale,
            with_softening ? v.softening[i] * frame.scale : 0.0};
}

/// Adds up the parts of a warp; all lanes get the sum.
template <typename Real>
__device__ inline Real add_parts(Real value, int part) {
    for (int step = part; step < 32; step *= 2)
        value += __shfl_xor_sync(whole_warp, value, step);
    return value;
}

/// Blocks of one warp that stay: as many as fit.
template <typename Kernel>
unsigned resident_blocks(const backend::Queue& queue, Kernel kernel, int threads) {
    int blocks = 1;
    GRAFT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0));
    return static_cast<unsigned>(blocks > 0 ? blocks : 1) * static_cast<unsigned>(queue.multiprocessors());
}

} // namespace graft::kernels
