// SPDX-License-Identifier: BSD-3-Clause
// Lists that are used again while particles move: a criterion with a margin, and a watch on how far they
// went.
//
// With criterion.skin = s > 0 a node is accepted only if the criterion holds for it and for the target
// wherever their particles go by at most s / 2 each: radius and edges of the node grow by s, faces of boxes
// and the expansion's centre move by s / 2, so that box distances shrink by at most sqrt(3) s:
//     dist(target box, c) > max(a * f, b(radius + s, edge + s)) + sqrt(3) s,
// and likewise for the distance that compact softening asks for.
// Lists hold every particle once whatever moves, and the error bound of the criterion holds for the moved
// particles (their moments computed anew on the same nodes). The caller's `reach` of the error MAC must be
// that of the grown node: pass error_reach() the grown_spread() below and radius + s. Not covered: the factor
// of a group, whose acceleration changes with time.
//
// Use: criterion.skin = s; fill_criterion; build lists; watch.remember(particles). Each step:
// watch.measure(particles); when watch.displacement() > s / 2 build anew. Verlet 1967 for the idea of the
// skin.
#pragma once

#include "backend/queue_gpu.cuh"
#include "core/host_device.hpp"

#include <cmath>
#include <cstdint>

namespace graft::lists {

/// Upper bound of sum |q| d^2 about the centre after all have moved by at most skin / 2 (Cauchy-Schwarz).
GRAFT_HD inline double grown_spread(double magnitude, double spread, double skin) {
    const double root = std::sqrt(spread) + skin * std::sqrt(magnitude);
    return root * root;
}

/// What a computation stops with when kept lists do not hold any more: not a buffer too small, nor bad input.
inline constexpr auto moved = static_cast<backend::StopReason>(4);

/// What lists depend on: positions (z may be null) and, where given, numbers that must not change at all.
struct WatchedParticles {
    int64_t n = 0;
    const double *x = nullptr, *y = nullptr, *z = nullptr;
    const double *charge = nullptr, *softening = nullptr;
};

class DeviceSkinWatch {
  public:
    explicit DeviceSkinWatch(backend::DeviceMemory& memory)
        : x_(memory, "remembered x"), y_(memory, "remembered y"), z_(memory, "remembered z"),
          charge_(memory, "remembered charges"), softening_(memory, "remembered softening"),
          displacement_(memory, "largest displacement") {}

    /// Enqueues a copy (device arrays, in any order that measure() is given, too).
    void remember(backend::Queue& queue, const WatchedParticles& particles);
    /// Enqueues the largest distance between these positions and the remembered ones; infinite when n
    /// differs, a charge or softening length does, or a coordinate is not a number. Same bits every run.
    /// Reads 48 B a particle, 64 with charges, 80 with softening.
    void measure(backend::Queue& queue, const WatchedParticles& particles);
    /// Enqueues: the computation stops with `moved` if the last measure() is above `most`.
    void stop_beyond(backend::Queue& queue, double most);
    /// On the device, of the last measure(); 1 value, host units.
    const double* displacement() const { return displacement_.data(); }

  private:
    WatchedParticles remembered() const;
    int64_t n_ = -1;
    backend::DeviceBuffer<double> x_, y_, z_, charge_, softening_, displacement_;
};

} // namespace graft::lists
