// SPDX-License-Identifier: BSD-3-Clause
// What settings may leave to Graft: the order of expansions, the precision, N_leaf and N_group, by mac.accuracy and by what
// computes. Where the numbers come from: docs/lab/accuracy.md.
#pragma once

#include "settings/settings.hpp"

namespace graft::settings {

/// Orders up to this one are there on GPUs, in periodic boxes that are split and with Plummer softening, too.
inline constexpr int everywhere_order = 4;
/// The highest that there is at all.
inline constexpr int largest_order = 12;

/// What single precision makes a force of a box that is split wrong by, over the typical field.
inline constexpr double single_precision_of_split = 1e-6;

/// Of mac.kind max: cells are more exact by this than what is asked of all forces. Measured: docs/lab/accuracy.md.
inline constexpr double margin_of_largest = 100;
/// Whether mac.accuracy is of all forces, and something is done about it.
bool bounds_largest(const Settings& settings);

/// What is known of a call when its settings are chosen. The same on all ranks.
struct Call {
    int64_t particles = 0;     // of all ranks, about
    bool forces_alone = false; // no potential, energy or virial, and no softening length of each particle
};

/// The highest order that there is for them, whatever the call.
int highest_order(const Settings& settings, bool on_gpus);

/// The precision of tree and near fields where it is left to Graft: fp64 where mac.accuracy or ewald.accuracy is beyond
/// single precision.
Precision precision_of(const Settings& asked);

/// The settings of one computation: as asked, but for order -1, precision auto, leaf and group 0 and ewald.method auto,
/// which are chosen, and for mac.accuracy, which an order that is chosen on a GPU may make smaller. The same on all ranks.
/// on_gpus: some rank computes on a GPU, which has orders to 4 and takes sizes of its own.
Settings with_choices(const Settings& asked, bool on_gpus, const Call& call = {});

/// The same settings for a box that is split, with this mac.accuracy: where the particles say that Graft's own choice of
/// replicas does not suit them, or their forces that cells must be more exact than was asked.
Settings split_instead(const Settings& chosen, double accuracy);

} // namespace graft::settings
