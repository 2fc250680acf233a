// SPDX-License-Identifier: BSD-3-Clause
// How close pairs are softened, and which variant of the pair force a call wants.
//
// Sources: Plummer 1911; the compact spline is Springel 2005 (MNRAS 364, 1105), eq. 4 and appendix: h is the
// support, the force is exactly Newtonian at r >= h.
#pragma once

#include "core/host_device.hpp"

#include <cstdint>

namespace graft::forces {

enum class Softening : int32_t { none = 0, plummer = 1, spline = 2 };

struct PairVariant {
    Softening softening = Softening::none;
    bool per_particle = false; // a length per particle, else one for all
    bool potential = false;    // also the sums of q / r
};

/// The number that the kernels keep per particle, so that combining two particles is one operation:
/// Plummer: eps_i^2 / 2, as eps_ij^2 = (eps_i^2 + eps_j^2) / 2; spline: h_i, as h_ij = max(h_i, h_j); none:
/// 0.
GRAFT_HD inline double softening_term(Softening softening, double length) {
    return softening == Softening::plummer ? 0.5 * length * length
                                           : (softening == Softening::spline ? length : 0.0);
}

/// What one particle adds to the potential sum at its own place, per unit charge: 1/eps, 2.8/h, or 0 when
/// unsoftened. The kernels add it when a target is among its sources; the caller takes it off again.
GRAFT_HD inline double self_potential(Softening softening, double length) {
    if (softening == Softening::none || !(length > 0))
        return 0;
    return (softening == Softening::plummer ? 1.0 : 2.8) / length;
}

} // namespace graft::forces
