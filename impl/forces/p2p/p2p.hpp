// SPDX-License-Identifier: BSD-3-Clause
// P2P: every target of a block against every source of a block, directly.
//
// Sources stand in the lanes of a vector and targets are broadcast: the fill of a group of targets wastes no
// lane. Coordinates are those of a Frame (frame.hpp): relative to the group's centre and of size about 1, so
// that float's range and precision serve any unit system. Results: a = sum q d / r^3 (d = source - target)
// and p = sum q / r, in frame units, added to double arrays. The order of summation is fixed: equal inputs
// give equal bits on equal SIMD targets.
#pragma once

#include "forces/softening.hpp"

#include <cstdint>

namespace graft::forces {

/// Source counts must be multiples of this: fill up with charge 0 at finite places.
inline constexpr int64_t source_pad = 16;
/// Target arrays must be readable, and output arrays writable, up to the next multiple of this.
inline constexpr int64_t target_pad = 4;

template <typename T>
struct Sources {
    const T *x = nullptr, *y = nullptr, *z = nullptr, *q = nullptr;
    const T* s = nullptr; // softening_term() in frame units; per-particle variants only
    int64_t count = 0;    // a multiple of source_pad; arrays aligned to 64 bytes
};

template <typename T>
struct Targets {
    const T *x = nullptr, *y = nullptr, *z = nullptr;
    const T* s = nullptr; // as in Sources
    int64_t count = 0;
};

/// Frame units; `potential` may be NULL without the potential. Aliases of the inputs are not allowed.
struct FieldSums {
    double *ax = nullptr, *ay = nullptr, *az = nullptr, *potential = nullptr;
};

class Screen;

/// Periodic boxes: pairs keep what the screen (screen.hpp) leaves of them up to the cut-off, in frame units;
/// no screen: all of it. With Plummer's softening the long-range part is erf(alpha s) / s,
/// s^2 = r^2 + length^2: `softening` is that length (0: none), and the cut-off one of s.
struct Screening {
    const Screen* screen = nullptr;
    double cutoff = 0;
    double softening = 0;
};

/// Adds the field of the sources at the targets. T is float or double; `length` is the one softening length
/// in frame units (Plummer's eps, the spline's h); sums are kept in T over `chunk` sources, then added up in
/// double (chunk <= 0: over all of them). No status: the caller has checked everything.
/// Cost: sources.count * targets.count.
template <typename T>
void p2p(const PairVariant& variant, double length, const Sources<T>& sources, const Targets<T>& targets,
         int64_t chunk, const FieldSums& sums, const Screening& screening = {});

} // namespace graft::forces
