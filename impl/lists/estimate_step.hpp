// SPDX-License-Identifier: BSD-3-Clause
// What the estimate of accelerations does with a node, on CPU and GPU: opening angle 1, monopoles, softened as the
// forces are, nodes too close softened by their own size, too.
#pragma once

#include "core/host_device.hpp"
#include "geometry/box.hpp"
#include "settings/settings.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace graft::lists {

/// The upper half of a double: its whole range, to one part in a million.
class ShortDouble {
  public:
    ShortDouble() = default;
    GRAFT_HD ShortDouble(double value) { // NOLINT(google-explicit-constructor): a number
#ifdef __CUDA_ARCH__
        upper_ = static_cast<uint32_t>(__double2hiint(value));
#else
        upper_ = static_cast<uint32_t>(std::bit_cast<uint64_t>(value) >> 32);
#endif
    }
    GRAFT_HD operator double() const { // NOLINT(google-explicit-constructor)
#ifdef __CUDA_ARCH__
        return __hiloint2double(static_cast<int>(upper_), 0);
#else
        return std::bit_cast<double>(static_cast<uint64_t>(upper_) << 32);
#endif
    }

  private:
    uint32_t upper_ = 0;
};

/// What the walk reads of a node on a GPU, and what ranks with GPUs tell each other of it.
struct alignas(16) EstimateNode {
    double x, y, z, magnitude;
    ShortDouble edge, softening; // its length; 0 when there is one for all
    int32_t first_child, child_count;
};

struct EstimateSum {
    double x = 0, y = 0, z = 0, total = 0;
};

/// How the forces are softened.
struct EstimateSoftening {
    bool spline;
    double one; // the length, when there is one for all; 0: none, or nodes and targets have their own

    EstimateSoftening(const settings::Settings& settings, bool per_particle)
        : spline(settings.softening == settings::Softening::spline),
          one(per_particle || settings.softening == settings::Softening::none ? 0 : settings.softening_length) {}

    /// Of a node: what its particles are softened by, the longest of them, or the mean of Plummer's squares.
    GRAFT_HD double of_node(double longest, double mean_square) const { return spline ? longest : sqrt(mean_square); }

    /// The square of a distance, softened: Plummer's is exact; a spline of length h is Newton's force beyond h / 2,
    /// and below about that of a sphere of that radius.
    GRAFT_HD double square(double r2, double node, double target) const {
        if (!spline)
            return r2 + (one * one + 0.5 * (node * node + target * target));
        const double h = geometry::larger(one, geometry::larger(node, target));
        return geometry::larger(r2, 0.25 * h * h);
    }
};

GRAFT_HD inline bool coarse_opens(double edge, double r2) {
    return edge * edge > r2;
}

/// Whether targets at one place are heavier than all others of their group together, `total` with them. The field there
/// is theirs then, which they do not feel: the estimate is made without them, too, and the smaller one counts.
GRAFT_HD inline bool dominates(double there, double total) {
    return 2 * there > total;
}

/// Adds a node of this magnitude and edge at (x, y, z), squared distance r2, `softened` by the forces' softening, from
/// a group of size `extent`.
GRAFT_HD inline void coarse_add(double magnitude, double edge, double extent, double x, double y, double z,
                                double r2, double softened, EstimateSum& sum) {
    const double soft = edge > extent ? edge : extent;
    const double s2 = softened + (edge * edge > r2 || extent * extent > r2 ? soft * soft : 0);
    if (s2 == 0 || r2 == 0)
        return;
#ifdef __CUDA_ARCH__ // roots and divisions in double are most of the walk
    double inverse, inverse_distance;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(s2)); // 20 bits: an estimate
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(inverse_distance) : "d"(r2));
    const double force = magnitude * inverse * inverse * inverse, distance = r2 * inverse_distance;
#else
    const double force = magnitude / (s2 * sqrt(s2)), distance = sqrt(r2);
#endif
    sum.x += force * x;
    sum.y += force * y;
    sum.z += force * z;
    sum.total += force * distance;
}

/// A place where forces cancel does not ask for the impossible.
GRAFT_HD inline double coarse_size(const EstimateSum& sum) {
    constexpr double least_share = 0.05;
#ifdef __CUDA_ARCH__
    const double size = norm3d(sum.x, sum.y, sum.z);
#else
    const double size = std::hypot(sum.x, sum.y, sum.z); // squares may leave double
#endif
    return size > least_share * sum.total ? size : least_share * sum.total;
}

} // namespace graft::lists
