// SPDX-License-Identifier: BSD-3-Clause
// Everything a computation is steered by, validated: the fields of keys.inc, and what is made of them.
#pragma once

#include "settings/gpu_options.hpp"
#include "tree/tree.hpp"

#include <cstdint>

namespace graft::settings {

enum class Method : int32_t { direct, tree, reference };
enum class Precision : int32_t { fp32, mixed, fp64, auto_ };
enum class Interaction : int32_t { gravity, coulomb };
enum class MacType : int32_t { edge, box, error };
enum class Softening : int32_t { none, plummer, spline };
enum class Walk : int32_t { group, transposed };
/// Whether cells far from a group of targets are summed as one polynomial of the group (m2l_choice.hpp).
enum class Local : int32_t { auto_, off, on };
/// What mac.accuracy is of: 99 forces of 100, or all (engine/doubtful_targets.hpp).
enum class MacKind : int32_t { usual, max };
/// How the images of a periodic box are summed (periodic/periodic.hpp). auto_: by the call, see choices.hpp.
enum class LatticeSum : int32_t { auto_, split, replicas };
enum class LongRange : int32_t { auto_, sum, mesh };
/// Of a split sum: all, or without its pairs, which are then the host's.
enum class EwaldPart : int32_t { all, long_range };
/// Over ranks: a tree per rank over its own particles, or one root cube and key grid for all ranks (octree
/// only).
enum class TreeScope : int32_t { local, global };
/// Over ranks: a rank sends what the others' domains may need, or they ask for the nodes they come to open.
enum class Exchange : int32_t { push, fetch };

/// Where a computation runs. auto_: on a GPU where there is one and the work is worth the way there.
enum class Backend : int32_t { auto_, cpu, cuda };

struct Settings {
#define ENGINE_KEY(type, field, standard, ...) type field = standard;
#include "settings/keys.inc"
    // Those that with_choices() (choices.hpp) chooses where they are left to Graft:
    Precision precision = Precision::mixed; // auto_
    int order = 2;                          // -1
    int leaf = 64, group = 128;             // 0; N_leaf and N_group
    bool replicas = false;                  // by lattice_sum
    bool order_left = false, precision_left = false; // to Graft
    Walk walk = Walk::group;
    bool has_box = false;
    double box_lower[3] = {0, 0, 0};
    double box_upper[3] = {0, 0, 0};
    bool periodic = false; // the box has images: along all axes, unless one of the next two says otherwise
    int open_axis = -1;    // of a slab, which has none along it; -1: no slab
    int wire_axis = -1;    // of a wire, which has some along it only; -1: no wire
    double box_tilt[3] = {0, 0, 0};
    Backend backend = Backend::cpu;
    DeviceOptions device;
    bool tuned = true; // leaf and group are the user's; false: the GPU takes sizes that suit it
};

} // namespace graft::settings
