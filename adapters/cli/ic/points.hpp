// SPDX-License-Identifier: BSD-3-Clause
// Points and weights for measuring partitioners, one at a time: point i of a set is the same whoever makes
// it, so ranks (and other programs: tests/perf/zoltan_rcb.cpp) make their own share of one input.
#pragma once

#include "ic/random.hpp"

#include <cmath>
#include <cstdint>

namespace graft::cli {

/// A particle as a record of 32 bytes.
struct PointRecord {
    double x, y, z, weight;
};

enum class PointSet { plummer, uniform };
enum class PointWeights { unit, lognormal };

/// Point i of the set: Plummer's sphere of scale radius 1 (the positions of `graft ic plummer`, before the
/// barycentre is moved to 0), or the unit cube. Weights: 1, or exp(normal).
inline PointRecord make_point(PointSet set, PointWeights weights, std::uint64_t seed, std::uint64_t i) {
    PointRecord p{};
    Random random(seed, 3, i);
    if (set == PointSet::plummer) {
        const double enclosed = random.uniform();
        random.direction(1.0 / std::sqrt(std::pow(enclosed, -2.0 / 3.0) - 1.0), p.x, p.y, p.z);
    } else {
        p.x = random.uniform();
        p.y = random.uniform();
        p.z = random.uniform();
    }
    p.weight = weights == PointWeights::unit ? 1.0 : std::exp(Random(seed, 4, i).normal());
    return p;
}

} // namespace graft::cli
