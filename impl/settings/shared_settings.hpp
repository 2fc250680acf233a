// The settings that make the result of a computation, one by one: what all ranks must share, and what a
// computation that is repeated on a GPU depends on.
#pragma once

#include "settings/settings.hpp"

namespace graft::settings {

/// Calls visit(value) for each. A new member of Settings does not compile until it is named here, and so
/// visited or left out on purpose.
template <typename Visit>
void visit_shared_settings(const Settings& settings, const Visit& visit) {
    const auto& [method, precision, interaction, dimension, threads, tree_type, tree_scope, exchange, leaf,
                 group, mac, theta, accuracy, mac_history, order, local, walk, softening, softening_length,
                 constant, has_box, box_lower, box_upper, periodic, open_axis, wire_axis, replicas, box_tilt,
                 ewald_accuracy, ewald_alpha, backend, device, tuned] = settings;
    visit(method), visit(precision), visit(interaction), visit(dimension);
    visit(tree_type), visit(tree_scope), visit(exchange), visit(leaf), visit(group);
    visit(mac), visit(theta), visit(accuracy), visit(mac_history), visit(order), visit(local);
    visit(softening), visit(softening_length), visit(constant), visit(has_box);
    for (int a = 0; a < 3; ++a)
        visit(box_lower[a]), visit(box_upper[a]), visit(box_tilt[a]);
    visit(periodic), visit(open_axis), visit(wire_axis), visit(replicas);
    visit(ewald_accuracy), visit(ewald_alpha);
}

} // namespace graft::settings
