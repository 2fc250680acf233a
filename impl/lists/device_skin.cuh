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
// Use: criterion.skin = s; fill_criterion; build lists; watch.remember(positions). Each step:
// watch.measure(new positions); when watch.displacement() > s / 2 build anew. Verlet 1967 for the idea of the
// skin.
#pragma once

#include "backend/device.cuh"
#include "core/host_device.hpp"

#include <cmath>
#include <cstdint>

namespace graft::lists {

/// Upper bound of sum |q| d^2 about the centre after all have moved by at most skin / 2 (Cauchy-Schwarz).
GRAFT_HD inline double grown_spread(double magnitude, double spread, double skin) {
    const double root = std::sqrt(spread) + skin * std::sqrt(magnitude);
    return root * root;
}

class DeviceSkinWatch {
  public:
    explicit DeviceSkinWatch(backend::DeviceMemory& memory)
        : x_(memory, "remembered x"), y_(memory, "remembered y"), z_(memory, "remembered z"),
          displacement_(memory, "largest displacement") {}

    /// Enqueues a copy of n positions (device, any order that measure() is given, too; z may be null).
    void remember(backend::Queue& queue, int64_t n, const double* x, const double* y, const double* z);
    /// Enqueues the largest distance between these positions and the remembered ones; infinite when n differs
    /// or a coordinate is not a number. Same bits every run. Reads 48 B a particle.
    void measure(backend::Queue& queue, int64_t n, const double* x, const double* y, const double* z);
    /// On the device, of the last measure(); 1 value, host units.
    const double* displacement() const { return displacement_.data(); }

  private:
    int64_t n_ = -1;
    bool has_z_ = false;
    backend::DeviceBuffer<double> x_, y_, z_, displacement_;
};

} // namespace graft::lists
