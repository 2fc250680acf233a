// SPDX-License-Identifier: BSD-3-Clause
// Whether a computation sums far cells as polynomials of its groups (deck key local), and why not.
//
// Far is said in errors allowed (lists/far_cells.hpp): only the error criterion knows them. A Plummer length
// of each particle's own makes a cell another function for each target, which no polynomial of the group is.
#pragma once

#include "settings/settings.hpp"

#include <string>

namespace graft::forces {

/// What a cell costs that goes into a group's polynomial, in cells that meet a target.
inline constexpr int64_t m2l_cells = 8;

/// On a GPU polynomials pay from so many groups on, a warp each (docs/lab/gpu/local.md).
inline constexpr int64_t least_far_groups = 1024;

enum class M2lDevice { cpu, gpu };

/// NULL where far cells become polynomials, else why they do not. plummer_each: every particle has a Plummer
/// length of its own.
inline const char* why_not_local(const settings::Settings& settings, bool plummer_each, M2lDevice place) {
    if (settings.local == settings::Local::off)
        return "local is off";
    if (settings.mac != settings::MacType::error)
        return "the criterion is not mac.type error";
    if (settings.periodic)
        return "the box is periodic";
    if (plummer_each)
        return "every particle has a Plummer length of its own";
    if (place == M2lDevice::cpu)
        return settings.local == settings::Local::auto_ && settings.order == 0 ? "no faster at order 0" : nullptr;
    if (settings.order != 2 || settings.precision == settings::Precision::fp64)
        return "on a GPU only for order 2 in fp32 and mixed";
    if (settings.device.kernel > 1)
        return "study.kernel is one that has no polynomials";
    return nullptr;
}

/// Whether on a CPU cells of targets hand far cells' polynomials down to the cells below them, where
/// why_not_local() says nothing against polynomials: not in a tree that gives the bits of any number of ranks, nor with
/// lists that are made by a pass over the sources.
inline bool inherits(const settings::Settings& settings) {
    return settings.tree_scope == settings::TreeScope::local && settings.walk == settings::Walk::group;
}

/// What query_text tells of it.
inline std::string local_words(const char* why_not) {
    return why_not != nullptr ? std::string("off: ") + why_not : "on";
}

} // namespace graft::forces
