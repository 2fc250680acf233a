// Waves whose phases the pairs' arithmetic still knows, on the host and on a GPU.
#pragma once

#include "core/error.hpp"
#include "kernels/near/units.hpp"

#include <string>

namespace graft::kernels::near {

/// Whether sines and cosines of e^{ikr} would be those of rounding errors; extent: the largest distance along
/// an axis, in the caller's lengths.
inline bool loses_phases(const Sums& sums, double extent) {
    return sums.kernel.kernel == Kernel::helmholtz &&
           extent * sums.kernel.wave_number > unit_exponents(sums.precision).phase;
}

[[noreturn]] inline void fail_lost_phases(const Sums& sums, double extent) {
    core::fail(core::Status::argument,
               "near field: wave_number %g times the points' extent along an axis, %g, is %g radians; "
               "expected at most %g in precision %s, where phases are lost beyond",
               sums.kernel.wave_number, extent, extent * sums.kernel.wave_number,
               unit_exponents(sums.precision).phase, std::string(name(sums.precision)).c_str());
}

} // namespace graft::kernels::near
