// SPDX-License-Identifier: BSD-3-Clause
// The settings that make the result of a computation, one by one: what all ranks must share, and what a
// computation that is repeated on a GPU depends on.
#pragma once

#include "settings/key_traits.hpp"
#include "settings/settings.hpp"

namespace graft::settings {

/// Calls visit(value) for each: the keys that ranks share, and what is made of keys.
template <typename Visit>
void visit_shared_settings(const Settings& s, const Visit& visit) {
#define ENGINE_KEY(type, field, standard, name, takes, unit, meaning, traits)                                \
    if constexpr (((traits) & shared) != 0)                                                                  \
        visit(s.field);
#include "settings/keys.inc"
    visit(s.precision);
    visit(s.order);
    visit(s.leaf);
    visit(s.group);
    visit(s.has_box);
    for (int a = 0; a < 3; ++a) {
        visit(s.box_lower[a]);
        visit(s.box_upper[a]);
        visit(s.box_tilt[a]);
    }
    visit(s.periodic);
    visit(s.open_axis);
    visit(s.wire_axis);
}

} // namespace graft::settings
