// SPDX-License-Identifier: BSD-3-Clause
// See tile_shapes.hpp.
#include "near/tiles/tile_shapes.hpp"

#include <algorithm>
#include <cmath>

namespace graft::near {

namespace {

/// Slots of a whole warp for `n` targets of one box with m sources, its units' share of the warp.
/// Loop: 90 a source that is read by each lane; 200 for 32 that go through shared memory, and 1.5 to read
/// one: mostly latency that 4 warps a scheduler do not hide.
double slots_of(const TileShape& s, double n, double m, const TileRule& rule) {
    const double parts = 1 << s.log_y, lanes = (1 << s.log_p) * parts;
    const double units = std::ceil(n / s.unit_targets()), mixed = lanes < 32 ? 1.1 : 1.0;
    const double steps = std::ceil(m / parts);
    const double read = s.shared ? 1.5 + 200.0 / (1 << s.log_p) : 90.0;
    const double check = s.shared ? 0 : (s.targets > 1 ? 0.5 : 2);
    const double sum = mixed * steps * (s.targets * (rule.pair + check) + read);
    const double reduce = 2.0 * s.log_y * rule.values * s.targets;
    return units * lanes / 32 * (sum + reduce + 60 + 8 * s.targets);
}

/// Slots of a block's warps: a row of sources takes one read and a loop's end beside its pairs.
double block_slots_of(const TileBlockKind& kind, int32_t n, int32_t targets, double m, const TileRule& rule) {
    constexpr double row = 6, fixed = 700;
    const double rows = std::ceil(m / block_streams(kind, n, targets));
    const double pieces = std::ceil(static_cast<double>(n) / (kind.threads * targets));
    return pieces * kind.threads / 32 * (rows * (targets * rule.pair + row) + fixed);
}

/// T of a block, the larger one of two that cost as much.
TileShape best_block(int32_t n, double m, int32_t block, const TileRule& rule) {
    TileShape best;
    best.block = block;
    const TileBlockKind& kind = tile_blocks[best.block];
    for (int32_t targets = kind.most; targets >= kind.least; --targets) {
        const double cost = block_slots_of(kind, n, targets, m, rule);
        if (cost < best.cost) {
            best.cost = cost;
            best.targets = targets;
        }
    }
    return best;
}

int32_t rounded_targets(int32_t targets, const TileRule& rule) {
    if (rule.every)
        return targets;
    int32_t power = 1;
    while (power < targets)
        power *= 2;
    return power;
}

} // namespace

TileShape best_tile_shape(int32_t n, double m, int32_t block, const TileRule& rule) {
    if (rule.every && block >= 0 && rule.target_lanes == 0 && rule.source_lanes == 0)
        return best_block(n, m, block, rule);
    TileShape best;
    for (int32_t log_p = 0; log_p <= 5; ++log_p)
        for (int32_t log_y = 0; log_p + log_y <= 5; ++log_y) {
            if ((rule.target_lanes > 0 && rule.target_lanes != 1 << log_p) ||
                (rule.source_lanes > 0 && rule.source_lanes != 1 << log_y))
                continue;
            const int32_t lanes = 1 << log_p, wanted = (n + lanes - 1) / lanes;
            const int32_t units = (wanted + rule.most - 1) / rule.most;
            TileShape shape;
            shape.targets = std::min(rule.most, rounded_targets((wanted + units - 1) / units, rule));
            shape.log_p = log_p;
            shape.log_y = log_y;
            for (const bool shared : {false, true}) {
                if (shared && log_p + log_y != 5)
                    continue;
                shape.shared = shared;
                shape.cost = slots_of(shape, n, m, rule);
                if (shape.cost < best.cost)
                    best = shape;
            }
        }
    return best;
}

namespace {

constexpr double once_row = 8; // slots of a source's loads, store and loop

/// Instructions of a warp with T to a lane: rows of later sources and the first steps, in which lanes wait
/// for the first source to come to them, and rows of its own box.
double once_steps(int32_t n, int32_t t, double own_points, double m, double pair, double own) {
    const int32_t lanes = (n + t - 1) / t, streams = 32 / lanes;
    return (m / streams + lanes) * (pair * t + once_row) + own_points / streams * (own * t + once_row);
}

} // namespace

int32_t once_targets(int32_t n) {
    double least_cost = std::numeric_limits<double>::infinity();
    int32_t best = once_most;
    for (int32_t t = once_most; t >= once_least && (n + t - 1) / t <= 32; --t) {
        const double cost = once_steps(n, t, n, 12.4 * n, 19, 17);
        if (cost < least_cost) {
            least_cost = cost;
            best = t;
        }
    }
    return best;
}

double once_slots(int32_t n, double own_points, double m, double pair, double own) {
    return 32 * once_steps(n, once_targets(n), own_points, m, pair, own);
}

} // namespace graft::near
