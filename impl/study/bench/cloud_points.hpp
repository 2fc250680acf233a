// SPDX-License-Identifier: BSD-3-Clause
// The point sets that measurements make, one body for host and device: point i depends on the seed and i
// alone.
//
// Plummer (scale radius 1) by the inverse of its mass profile; uniform: the unit cube. Both
// sides take their own pow and cos: coordinates differ in the last bit of a double, as single precision
// rarely at all.
#pragma once

#include "core/host_device.hpp"

#include <cmath>
#include <cstdint>

namespace graft::study {

/// plummer_cut: at 99.9 % of the mass, 38.7 scale radii. The whole one's outermost of n is at sqrt(1.5 n):
/// from 2.7e8 points on, cells of the core are then too deep for 63-bit keys.
enum class Cloud : int32_t { plummer = 0, uniform = 1, plummer_cut = 2 };

/// Numbers in (0, 1) of point i: splitmix64 over a counter.
struct CloudRandom {
    uint64_t state;
    GRAFT_HD CloudRandom(uint64_t seed, int64_t i)
        : state(seed * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(i) * 8) {}
    GRAFT_HD double uniform() {
        uint64_t z = ++state * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
    }
};

GRAFT_HD inline void cloud_point(Cloud cloud, uint64_t seed, int64_t i, double (&p)[3]) {
    CloudRandom random(seed, i);
    if (cloud == Cloud::uniform) {
        for (double& coordinate : p)
            coordinate = random.uniform();
        return;
    }
    constexpr double pi = 3.14159265358979323846;
    const double mass = random.uniform() * (cloud == Cloud::plummer_cut ? 0.999 : 1.0);
    const double r = 1 / std::sqrt(std::pow(mass, -2.0 / 3.0) - 1);
    const double c = 2 * random.uniform() - 1, phi = 2 * pi * random.uniform();
    const double s = std::sqrt(1 - c * c);
    p[0] = r * s * std::cos(phi);
    p[1] = r * s * std::sin(phi);
    p[2] = r * c;
}

} // namespace graft::study
