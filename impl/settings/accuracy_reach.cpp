// SPDX-License-Identifier: BSD-3-Clause
#include "settings/accuracy_reach.hpp"

#include "core/error.hpp"
#include "settings/choices.hpp"

namespace graft::settings {

std::vector<std::string> accuracy_doubts(const Settings& asked, bool on_gpus) {
    const Settings s = with_choices(asked, on_gpus);
    std::vector<std::string> doubts;
    if (s.periodic && s.ewald_accuracy > 0 && s.ewald_accuracy < single_precision_of_split && s.precision != Precision::fp64)
        doubts.push_back(core::format("ewald.accuracy %g: single precision keeps errors at about %g of a typical field; expected "
                                      "precision auto or fp64, or an ewald.accuracy of %g and more",
                                      s.ewald_accuracy, single_precision_of_split, single_precision_of_split));
    const bool no_cells = s.periodic && s.ewald_part == EwaldPart::long_range;
    if (s.method != Method::tree || s.mac != MacType::error || no_cells)
        return doubts;
    const double least = least_accuracy[s.order];
    if (bounds_largest(s)) {
        if (s.precision != Precision::fp64)
            doubts.push_back(
                core::format("mac.kind max: single precision keeps too little of forces that nearly cancel; expected precision "
                             "auto or fp64"));
        if (s.accuracy < least)
            doubts.push_back(
                core::format("mac.accuracy %g, mac.kind max: at order %d some force may be wrong by more; expected %g and "
                             "more%s",
                             asked.accuracy, s.order, margin_of_largest * least,
                             s.order < highest_order(s, on_gpus) ? ", or a higher order" : ""));
        return doubts;
    }
    if (s.precision != Precision::fp64 && s.accuracy < single_precision_floor)
        doubts.push_back(core::format("mac.accuracy %g: single precision keeps errors at about 1e-6; expected precision "
                                      "fp64, or %g and more",
                                      s.accuracy, single_precision_floor));
    else if (s.accuracy < least && s.accuracy == asked.accuracy) // else cells make up for it
        doubts.push_back(core::format("mac.accuracy %g: at order %d one force in a hundred may be wrong by more than twice "
                                      "that; expected %s%g and more, or a smaller accuracy to make up for it",
                                      s.accuracy, s.order, s.order < highest_order(s, on_gpus) ? "a higher order, " : "",
                                      least));
    if (asked.order == 1)
        doubts.push_back(core::format("mac.accuracy %g: at order 1 one force in a hundred may be wrong by 20 times that in a "
                                      "thin disc; expected order -1 (chosen for the accuracy), or 2 and more",
                                      s.accuracy));
    if (s.softening != Softening::none)
        doubts.push_back(core::format("mac.accuracy %g: where many particles lie within a softening length of each "
                                      "other, small forces may be wrong by many times that; compare with "
                                      "method reference there (graft check)",
                                      s.accuracy));
    if (s.interaction == Interaction::coulomb)
        doubts.push_back(core::format("mac.accuracy %g: where charges of both signs nearly cancel, small forces may be "
                                      "wrong by many times that; compare with method reference there (graft check)",
                                      s.accuracy));
    return doubts;
}

} // namespace graft::settings
