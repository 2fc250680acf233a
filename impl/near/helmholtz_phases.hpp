// SPDX-License-Identifier: BSD-3-Clause
// Which waves a near field sums, on the host and on a GPU.
#pragma once

#include "core/error.hpp"
#include "near/near_units.hpp"

namespace graft::near {

/// Throws Error(argument) where the phase between points that are `extent` apart along an axis is more
/// radians than the precision of the pairs tells apart.
inline void require_phases(const Sums& sums, double extent) {
    const double phase = extent * sums.kernel.wave_number, most = unit_exponents(sums.precision).phase;
    if (sums.kernel.kernel == Kernel::helmholtz && phase > most)
        core::fail(core::Status::argument,
                   "near field: wave_number %g times the points' extent along an axis, %g, is %g radians; "
                   "expected at most %g in precision %s, where phases are lost beyond",
                   sums.kernel.wave_number, extent, phase, most, std::string(name(sums.precision)).c_str());
}

} // namespace graft::near
