// SPDX-License-Identifier: BSD-3-Clause
// How a periodic box's sum is taken: what Settings say of it together.
#pragma once

#include "settings/settings.hpp"

namespace graft::periodic {

inline bool has_replicas(const settings::Settings& s) {
    return s.periodic && s.replicas && s.method != settings::Method::reference;
}

/// Whether the pairs of a split sum are the host's.
inline bool is_long_range(const settings::Settings& s) {
    return s.periodic && s.ewald_part == settings::EwaldPart::long_range;
}

/// What of a lattice no GPU sums; NULL: nothing.
inline const char* why_no_gpu_lattice(const settings::Settings& s) {
    const bool replicas = s.lattice_sum == settings::LatticeSum::replicas && s.method != settings::Method::reference;
    if (!s.periodic)
        return nullptr;
    return s.wire_axis >= 0 ? "a wire" : replicas ? "ewald.method replicas" : nullptr;
}

} // namespace graft::periodic
