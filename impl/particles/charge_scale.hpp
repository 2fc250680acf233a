// SPDX-License-Identifier: BSD-3-Clause
// The power of two that charges are multiplied by, so that single precision has range to spare in any units.
#pragma once

#include "core/host_device.hpp"

#include <cmath>

namespace graft::particles {

/// Brings `total`, the sum of magnitudes, into [0.4, 0.8); 1 for a total of zero, 0 for one that is not
/// finite. The limits are no power of two: a total that is one, as masses of a normalised model have, gives
/// the same scale whatever the rounding of the sum.
GRAFT_HD inline double charge_scale(double total) {
    if (total == 0)
        return 1;
    if (!(total <= 1.79769313486231570e308))
        return 0;
    int exponent = 0;
    frexp(total * 0.625, &exponent); // [0.5, 1) * 2^exponent
    exponent += 1;
    return ldexp(1.0, exponent > 1000 ? -1000 : (exponent < -1000 ? 1000 : -exponent));
}

} // namespace graft::particles
