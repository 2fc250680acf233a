// SPDX-License-Identifier: BSD-3-Clause
#include "settings/accuracy_reach.hpp"

#include "core/error.hpp"

namespace graft::settings {

namespace {

std::string warning_of(const Settings& s) {
    if (s.precision != Precision::fp64 && s.accuracy < single_precision_floor)
        return core::format(
            "mac.accuracy %g: single precision keeps errors at about 1e-6; expected precision "
            "fp64, or %g and more",
            s.accuracy, single_precision_floor);
    if (s.accuracy < least_accuracy_of(s.order))
        return core::format(
            "mac.accuracy %g: at order %d one force in a hundred is wrong by more than twice "
            "that; expected a higher order, %g and more, or a smaller accuracy to make up for it",
            s.accuracy, s.order, least_accuracy_of(s.order));
    return "";
}

} // namespace

AccuracyDoubt accuracy_doubt(const Settings& s) {
    AccuracyDoubt doubt;
    if (s.method != Method::tree || s.mac != MacType::error)
        return doubt;
    doubt.warning = warning_of(s);
    if (s.softening != Softening::none)
        doubt.caution =
            core::format("mac.accuracy %g: where many particles lie within a softening length of each "
                         "other, small forces may be wrong by many times that; compare with "
                         "method direct there (graft check)",
                         s.accuracy);
    return doubt;
}

} // namespace graft::settings
