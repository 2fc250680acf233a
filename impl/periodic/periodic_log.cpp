// SPDX-License-Identifier: BSD-3-Clause
// See periodic_log.hpp.
#include "periodic/periodic_log.hpp"

#include "core/error.hpp"

namespace graft::periodic {

std::string periodic_words(const settings::Settings& settings, const PeriodicWords& words) {
    const MeshChoice& mesh = words.mesh;
    const std::string waves =
        mesh.order > 0 ? core::format("waves on a mesh of %lld x %lld x %lld, splines of order %d",
                                      static_cast<long long>(mesh.count[0]), static_cast<long long>(mesh.count[1]),
                                      static_cast<long long>(mesh.count[2]), mesh.order)
                       : core::format("%s%lld wave vectors", words.about ? "about " : "", static_cast<long long>(words.vectors));
    const std::string pairs = words.cutoff > 0
                                  ? core::format("%s up to %.4g", words.cells ? "pairs and cells" : "pairs", words.cutoff)
                                  : "pairs are the host's";
    std::string text = core::format("periodic box: alpha %.4g, %s, %s, accuracy %.2g", words.alpha, pairs.c_str(), waves.c_str(),
                                    words.accuracy);
    if (settings.open_axis >= 0)
        return text +
               core::format("; a slab in a cell of %.4g along %c", words.edge, 'x' + settings.open_axis);
    const bool wire = settings.wire_axis >= 0;
    if (wire)
        text +=
            core::format("; a wire along %c in a square cell of %.4g", 'x' + settings.wire_axis, words.edge);
    if (words.net) {
        const char* const what = settings.interaction == settings::Interaction::gravity ? "mass" : "charge";
        text += wire ? core::format("; the potential of its net %s %.6g is 0 at a distance of one period",
                                    what, words.charge)
                     : core::format("; the net %s %.6g has a uniform background", what, words.charge);
    }
    return text;
}

} // namespace graft::periodic
