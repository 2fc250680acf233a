// SPDX-License-Identifier: BSD-3-Clause
// See request.hpp.
#include "engine/request.hpp"

#include "engine/checks.hpp"

namespace graft::engine {

void check(const settings::Settings& settings, const Request& request) {
    const ParticleInput& particles = request.particles;
    check_count(particles.n, "particles");
    if (!particles.charge.present() && particles.n > 0)
        check_charge_all(particles.charge_all);
    if (particles.softening.present() && settings.softening == settings::Softening::none)
        refuse_needless_softening();
    if (request.points != nullptr)
        check_count(request.points->n, "points");
    else if (particles.has_active && particles.has_target)
        refuse_two_target_sets();
    check_order(settings);
    check_kind(settings, particles.softening.present());
    check_part(settings);
}

NamedView device_array(const Request& request) {
    const ParticleInput& particles = request.particles;
    const ParticleInput* const points = request.points;
    const Outputs& outputs = request.outputs;
    const NamedView views[] = {{"particles.position", &particles.position[0]},
                               {"particles.position", &particles.position[1]},
                               {"particles.position", &particles.position[2]},
                               {"particles.charge", &particles.charge},
                               {"particles.softening", &particles.softening},
                               {"particles.active", &particles.active},
                               {"particles.target_index", &particles.target},
                               {"points.position", points != nullptr ? &points->position[0] : nullptr},
                               {"points.position", points != nullptr ? &points->position[1] : nullptr},
                               {"points.position", points != nullptr ? &points->position[2] : nullptr},
                               {"results.acceleration", &outputs.acceleration[0]},
                               {"results.acceleration", &outputs.acceleration[1]},
                               {"results.acceleration", &outputs.acceleration[2]},
                               {"results.potential", &outputs.potential},
                               {"results.virial", &outputs.virial},
                               {"results.energy", &outputs.energy}};
    for (const NamedView& named : views)
        if (named.view != nullptr && named.view->present() && !named.view->on_host())
            return named;
    return {};
}

} // namespace graft::engine
