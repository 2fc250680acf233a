// Whether a computation sums far cells as polynomials of its groups (deck key local), and why not.
//
// Far is said in errors allowed (lists/far_cells.hpp): only the error criterion knows them. A Plummer length
// of each particle's own makes a cell another function for each target, which no polynomial of the group is.
#pragma once

#include "pipeline/settings.hpp"

namespace graft::pipeline {

/// What a cell costs that goes into a group's polynomial, in cells that meet a target.
inline constexpr int64_t m2l_cells = 8;

enum class LocalPlace { cpu, gpu };

/// "on", or "off: " and why. plummer_each: every particle has a Plummer length of its own.
inline const char* local_words(const Settings& settings, bool plummer_each, LocalPlace place) {
    if (settings.local == Local::off)
        return "off: local is off";
    if (settings.mac != MacType::error)
        return "off: the criterion is not mac.type error";
    if (settings.periodic)
        return "off: the box is periodic";
    if (plummer_each)
        return "off: every particle has a Plummer length of its own";
    if (place == LocalPlace::gpu)
        return "off: on a GPU every cell meets its targets one by one";
    return settings.local == Local::auto_ && settings.order == 0 ? "off: no faster at order 0" : "on";
}

/// Whether words say so.
inline bool is_on(const char* words) {
    return words[1] == 'n';
}

} // namespace graft::pipeline
