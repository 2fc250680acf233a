// SPDX-License-Identifier: BSD-3-Clause
// An even structure for tests of the near field's model.
#pragma once

#include "near/choice/near_time.hpp"

namespace graft::model {

/// n points, `density` a box, all boxes full, neighbourhoods of 9 or 27 boxes in 4 runs.
inline near::NearTimeInput problem(double n, double density, int dimension, int precision = 2) {
    near::NearTimeInput p;
    p.targets = p.sources = n;
    p.boxes = n / density;
    p.neighbours = p.boxes * (dimension == 2 ? 9 : 27);
    p.gathered = p.neighbours * density;
    p.pairs = p.gathered * density;
    p.lane_pairs = p.pairs * 1.5, p.row_slots = p.pairs * 1.25, p.group_slots = p.gathered * 1.1;
    p.runs = p.boxes * 4;
    p.dimension = dimension, p.precision = precision, p.kernel = dimension == 2 ? 1 : 0;
    p.layout_bytes = 40 * p.gathered;
    return p;
}

} // namespace graft::model
