// SPDX-License-Identifier: BSD-3-Clause
// Bytes of the device layouts before they are built: layout_gpu.cuh. Host code.
#include "near/layouts/layout_base_gpu.cuh"
#include "near/mutual.hpp"

#include <algorithm>

namespace graft::near {

double device_bytes_of(Layout layout, const Structure& structure, const Shape& shape,
                       const DeviceLayoutOptions& options) {
    const auto boxes = static_cast<double>(shape.boxes), targets = static_cast<double>(shape.targets);
    const bool single = shape.precision == Precision::fp32;
    const double number = single ? 4 : 8, words = shape.dimension + shape.components;
    const double runs =
        16 * boxes + 8 * static_cast<double>(shape.runs) + 8; // offsets, runs, sources, own places
    const double lists = runs + 4 * (boxes + 1) +
                         4 * (targets + static_cast<double>(structure.target_index.size()) +
                              static_cast<double>(structure.same ? 0 : structure.source_index.size()));
    const double points =
        single ? DevicePoints<float>::bytes_of(structure, shape.components, layout != Layout::indexed)
               : DevicePoints<double>::bytes_of(structure, shape.components, layout != Layout::indexed);
    const double gathered = static_cast<double>(shape.gathered);
    const double record = number * (shape.dimension + 1 + static_cast<double>(shape.most_sources) * words);
    double copies = 0, fixed = points;
    switch (layout) {
    case Layout::ranges:
        return lists + fixed;
    case Layout::tiled: // units, warps (at most one a unit, at most one a box and 32 targets), meetings
        return lists + fixed + 24 * boxes + 16 * targets / 32 +
               bytes_of_pairs_once(shape, options.most_bytes);
    case Layout::tiled_split:
        return lists + fixed + 2 * (24 * boxes + 16 * targets / 32) + runs + 24 * boxes;
    case Layout::indexed:
        fixed += 8 * (boxes + 1) + 4 * targets;
        copies = 4 * gathered;
        break;
    case Layout::replicated_group:
        fixed += 8 * (boxes + 1);
        copies = number * (4 + (shape.components > 1 ? shape.components : 0)) * gathered;
        break;
    case Layout::replicated_group_padded:
        copies = number * (4 + (shape.components > 1 ? shape.components : 0)) * boxes *
                 static_cast<double>(shape.most_sources);
        break;
    case Layout::replicated:
        copies = targets * record;
        break;
    case Layout::replicated_packed:
        fixed += 8 * boxes;
        copies = number * (targets * (shape.dimension + 1) + static_cast<double>(shape.pairs) * words);
        break;
    case Layout::replicated_interleaved: // at most: each 32 targets are as long as their longest
        fixed += 8 * (targets / 32 + 1), copies = (targets + 31) * record;
        break;
    }
    if (options.collect_on_host)
        fixed += number * std::max(targets, static_cast<double>(shape.sources)) * (6 + shape.components);
    const double most = static_cast<double>(options.most_bytes);
    return lists + (most > 0 ? std::min(fixed + copies, std::max(most, fixed)) : fixed + copies);
}

} // namespace graft::near
