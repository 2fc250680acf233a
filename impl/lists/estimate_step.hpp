// SPDX-License-Identifier: BSD-3-Clause
// What the estimate of accelerations does with a node, on CPU and GPU: opening angle 1, monopoles, nodes too
// close softened by their own size.
#pragma once

#include "core/host_device.hpp"

#include <cmath>
#include <cstdint>

namespace graft::lists {

/// What the walk reads of a node on a GPU, and what ranks with GPUs tell each other of it.
struct alignas(16) EstimateNode {
    double x, y, z, magnitude, edge;
    int32_t first_child, child_count;
};

struct EstimateSum {
    double x = 0, y = 0, z = 0, total = 0;
};

GRAFT_HD inline bool coarse_opens(double edge, double r2) {
    return edge * edge > r2;
}

/// Adds a node of this magnitude and edge at (x, y, z), squared distance r2, from a group of size `extent`.
GRAFT_HD inline void coarse_add(double magnitude, double edge, double extent, double x, double y, double z,
                                double r2, EstimateSum& sum) {
    const double soft = edge > extent ? edge : extent;
    const double s2 = r2 + (edge * edge > r2 || extent * extent > r2 ? soft * soft : 0);
    if (s2 == 0)
        return;
#ifdef __CUDA_ARCH__ // roots and divisions in double are most of the walk
    double inverse;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(s2)); // 20 bits: an estimate
    const double force = magnitude * inverse * inverse * inverse;
    const double distance = s2 == r2 ? r2 * inverse : sqrt(r2);
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
