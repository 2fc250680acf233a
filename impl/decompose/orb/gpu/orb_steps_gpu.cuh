// SPDX-License-Identifier: BSD-3-Clause
// The steps of device ORB as functions that enqueue; each is compiled for coordinates in float and double.
#pragma once

#include "decompose/orb/gpu/orb_state_gpu.cuh"

namespace graft::decompose {

/// Throws Error(argument).
void orb_check_options(const DeviceOrbPoints& points, const DeviceOrbOptions& o);

/// Checks and box of all points: cell 1 opened. box: 8 words of scratch. order bits: lower as images.
template <typename T>
void orb_bounds(backend::Queue& queue, const OrbView<T>& view, int64_t n, uint64_t* box);
template <typename T>
void orb_open_root(backend::Queue& queue, const OrbView<T>& view, int64_t n, const uint64_t* box,
                   const unsigned long long* weight);

/// Tiles of the roots 2^level ..., of which there are `view.tiles.roots`.
template <typename T>
void orb_make_tiles(backend::Queue& queue, const OrbView<T>& view);
template <typename T>
void orb_take_samples(backend::Queue& queue, const OrbView<T>& view);
/// Brackets of the cells of level `level`, which is number `step` of the round.
template <typename T>
void orb_bracket(backend::Queue& queue, const OrbView<T>& view, int level, int step, int samples_per_cell,
                 double sigmas);
/// Counts and lists; on the last step of the round also the tiles' histograms.
template <typename T>
void orb_count(backend::Queue& queue, const OrbView<T>& view, int level, int step);
/// Brackets that missed: lists again.
template <typename T>
void orb_count_again(backend::Queue& queue, const OrbView<T>& view, int level, int step);
/// After the first pass: which brackets missed.
template <typename T>
void orb_check(backend::Queue& queue, const OrbView<T>& view, int level);
/// Selects in the lists, cuts the cells, opens their children.
template <typename T>
void orb_select(backend::Queue& queue, const OrbView<T>& view, int level);
/// After the first digit: finds the crossing points of cells first ... first + cells - 1, and what follows
/// them.
template <typename T>
void orb_finish(backend::Queue& queue, const OrbView<T>& view, int32_t first, int32_t cells, int64_t points);
/// Listed points into the tiles' histograms, then these into places.
template <typename T>
void orb_place_listed(backend::Queue& queue, const OrbView<T>& view, int level, int step);
template <typename T>
void orb_move(backend::Queue& queue, const OrbView<T>& view, const OrbArrays<T>& to);

} // namespace graft::decompose
