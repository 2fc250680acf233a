// Everything a computation is steered by, validated. The numbers of the enums are those of graft/types.h.
#pragma once

#include "settings/gpu_options.hpp"
#include "tree/tree.hpp"

#include <cstdint>

namespace graft::settings {

enum class Method : int32_t { direct = 0, tree = 1, reference = 2 };
enum class Precision : int32_t { fp32 = 0, mixed = 1, fp64 = 2 };
enum class Interaction : int32_t { gravity = 0, coulomb = 1 };
enum class MacType : int32_t { edge = 0, box = 1, error = 2 };
enum class Softening : int32_t { none = 0, plummer = 1, spline = 2 };
enum class Walk : int32_t { group = 0, transposed = 1 };
/// Whether cells far from a group of targets are summed as one polynomial of the group (m2l_choice.hpp).
enum class Local : int32_t { auto_ = 0, off = 1, on = 2 };
/// Over ranks: a tree per rank over its own particles, or one root cube and key grid for all ranks (octree
/// only).
enum class TreeScope : int32_t { local = 0, global = 1 };
/// Over ranks: a rank sends what the others' domains may need, or they ask for the nodes they come to open.
enum class Exchange : int32_t { push = 0, fetch = 1 };

/// Where a computation runs. auto_: on a GPU where there is one and the work is worth the way there.
enum class Backend : int32_t { auto_ = 0, cpu = 1, cuda = 2 };

struct Settings {
    Method method = Method::tree;
    Precision precision = Precision::mixed;
    Interaction interaction = Interaction::gravity;
    int dimension = 3;
    int threads = 0; // 0 = what the host's OpenMP would use
    tree::TreeType tree_type = tree::TreeType::octree;
    TreeScope tree_scope = TreeScope::local;
    Exchange exchange = Exchange::push;
    int leaf = 64;   // N_leaf
    int group = 128; // N_group
    MacType mac = MacType::error;
    double theta = 1.0;       // error MAC: the opening angle is never larger
    double accuracy = 1e-3;   // error MAC: error per node over the group's acceleration
    bool mac_history = false; // error MAC: use the last call's accelerations
    int order = 2;
    Local local = Local::auto_;
    Walk walk = Walk::group;
    Softening softening = Softening::none;
    double softening_length = 0;
    double constant = 1;
    bool has_box = false;
    double box_lower[3] = {0, 0, 0};
    double box_upper[3] = {0, 0, 0};
    bool periodic = false; // the box has images: along all axes, unless one of the next two says otherwise
    int open_axis = -1;    // of a slab, which has none along it; -1: no slab
    int wire_axis = -1;    // of a wire, which has some along it only; -1: no wire
    bool replicas = false; // images of the whole box (replica_field.hpp) instead of Ewald's splitting
    double box_tilt[3] = {0, 0, 0};
    double ewald_accuracy = 0; // rms error of the lattice sum over the rms force; 0 = chosen
    double ewald_alpha = 0;    // 1 / length of the splitting; 0 = chosen
    Backend backend = Backend::cpu;
    DeviceOptions device;
    bool tuned = true; // leaf and group are the user's; false: the GPU takes sizes that suit it
};

} // namespace graft::settings
