// Which directions of a periodic box have images, and how their sum is taken: what the words of Settings
// mean.
#pragma once

#include "pipeline/settings.hpp"

namespace graft::pipeline {

/// Settings::open_axis of a wire with images along this axis only.
constexpr int wire_along(int axis) {
    return 3 + axis;
}

/// The axis without images of a slab; -1: not a slab.
inline int slab_axis(const Settings& s) {
    return s.periodic && s.open_axis < 3 ? s.open_axis : -1;
}

/// The axis with images of a wire; -1: not a wire.
inline int wire_axis(const Settings& s) {
    return s.periodic && s.open_axis >= 3 ? s.open_axis - 3 : -1;
}

/// Settings::ewald_alpha where there is no splitting but replicas of the box (far_images.hpp).
inline constexpr double no_splitting = -1;

inline bool has_replicas(const Settings& s) {
    return s.periodic && s.ewald_alpha < 0 && s.method != Method::reference;
}

/// What of a lattice no GPU sums; NULL: nothing.
inline const char* why_no_gpu_lattice(const Settings& s) {
    return wire_axis(s) >= 0 ? "a wire" : (has_replicas(s) ? "ewald.method replicas" : nullptr);
}

} // namespace graft::pipeline
