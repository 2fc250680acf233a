// SPDX-License-Identifier: BSD-3-Clause
// What the log says of a periodic box's sum, whoever computes it.
#pragma once

#include "periodic/mesh/mesh_choice.hpp"
#include "settings/settings.hpp"

#include <cstdint>
#include <string>

namespace graft::periodic {

struct PeriodicWords {
    double alpha = 0, cutoff = 0; // of Ewald's splitting
    bool cells = false;           // beside pairs
    int64_t vectors = 0;          // of the half space
    MeshChoice mesh;              // in place of these, if it has an order
    bool about = false;           // so many, more or less
    double accuracy = 0;
    double edge = 0;   // of the cell across a slab or a wire
    bool net = false;  // there is more of it than rounding
    double charge = 0; // the net one, in the host's units
};

std::string periodic_words(const settings::Settings& settings, const PeriodicWords& words);

} // namespace graft::periodic
