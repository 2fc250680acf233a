// SPDX-License-Identifier: BSD-3-Clause
// Where a cell of points is to be cut: the rule that every finder and every strategy follows.
//
// Let the points of the cell stand in the order of ordering.hpp and W(k) be the weight of the first k. Wanted
// is W(k) nearest to T = W parts_left / parts. The crossing point is the first one whose inclusion takes the
// left past T (or past the most points allowed); k either stops before it or takes it in, whichever is nearer
// to T, stopping before it when both are as near. k stays in [least, most]: no part stays empty while the
// cell has as many points as parts, no part gets a second point while it has fewer, and no part is left with
// more than `cap` points. A cell whose points all weigh nothing is cut by their number. All in integers, so
// every way of finding the crossing point gives the same cut.
#pragma once

#include "core/host_device.hpp"
#include "decompose/orb/left_filled.hpp"
#include "decompose/weights.hpp"

#include <algorithm>
#include <cstdint>

namespace graft::decompose {

struct CutGoal {
    int64_t count = 0;     // points of the cell, over all ranks
    Wide weight = 0;       // their weight, or their number when they weigh nothing
    bool by_count = false; // they weigh nothing
    int32_t parts = 0, parts_left = 0;
    int64_t least = 0, most = 0; // points allowed on the left

    CutGoal() = default;
    /// parts >= 2. cap: most points of a part, 0 = no cap; count <= cap * parts.
    GRAFT_HD CutGoal(int64_t count, Wide weight, int32_t parts, int64_t cap)
        : CutGoal(count, weight, parts, static_cast<int32_t>(leaves_left(parts)), cap) {}
    GRAFT_HD CutGoal(int64_t count, Wide weight, int32_t parts, int32_t parts_left, int64_t cap)
        : count(count), weight(weight == 0 ? static_cast<Wide>(count) : weight), by_count(weight == 0),
          parts(parts), parts_left(parts_left) {
        const int64_t right = parts - parts_left, left = parts_left;
        least = std::min(left, std::max<int64_t>(0, count - right));
        most = std::max(count - right, std::min(count, left));
        if (cap > 0 && cap < count) {
            least = std::max(least, count - right * std::min(cap, count));
            most = std::min(most, left * std::min(cap, count));
        }
    }

    /// The first k points, of weight w, reach past the wanted cut: true for all k from some k on, at the
    /// latest from count on when count > 0.
    GRAFT_HD bool past(int64_t k, Wide w) const {
        return k > most || (k > least && measure(k, w) * parts > weight * parts_left);
    }
    /// |W(k) - T| * parts.
    GRAFT_HD Wide error(int64_t k, Wide w) const {
        const Wide have = measure(k, w) * parts, want = weight * parts_left;
        return have > want ? have - want : want - have;
    }
    /// The crossing point, which makes k - 1 points of weight `before` into k of weight `after`, belongs
    /// left.
    GRAFT_HD bool takes(int64_t k, Wide before, Wide after) const {
        return k <= most && error(k, after) < error(k - 1, before);
    }
    /// A cut that leaves k points of weight w on the left is allowed and at most `slack` off in weight.
    GRAFT_HD bool good_enough(int64_t k, Wide w, Wide slack) const {
        return k >= least && k <= most && error(k, w) <= slack * parts;
    }

  private:
    GRAFT_HD Wide measure(int64_t k, Wide w) const { return by_count ? static_cast<Wide>(k) : w; }
};

} // namespace graft::decompose
