// SPDX-License-Identifier: BSD-3-Clause
// See tile_rule.hpp.
#include "near/tiles/tile_rule.hpp"

#include "near/tiles/tile_shapes.hpp"

namespace graft::near {

int32_t small_box_blocks(const Structure& s, std::span<const int32_t> sources) {
    int64_t small = 0, blocks = 0;
    for (int64_t b = 0; b < s.target_boxes(); ++b) {
        const int64_t n = s.target_offset[b + 1] - s.target_offset[b];
        if (n == 0 || n >= tile_blocks[0].from)
            continue;
        const int64_t begin = s.neighbour_offset[b], end = s.neighbour_offset[b + 1];
        int64_t m = sources.empty() ? 0 : sources[static_cast<size_t>(b)];
        for (int64_t e = begin; e < end && sources.empty(); ++e)
            m += s.source_offset[s.neighbour[e] + 1] - s.source_offset[s.neighbour[e]];
        ++small;
        if (near::block_kind(static_cast<int32_t>(n), static_cast<double>(m),
                              static_cast<double>(end - begin)) >= 0)
            ++blocks;
    }
    const double share = small > 0 ? static_cast<double>(blocks) / static_cast<double>(small) : 1;
    return share >= block_share ? 1 : 0;
}

} // namespace graft::near
