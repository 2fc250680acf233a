// SPDX-License-Identifier: BSD-3-Clause
// Units in which the pairs' arithmetic holds what a caller's points and charges ask of it, on the host and on
// a GPU.
//
// A charge times 1/r^3 must be a number of the pairs' type, whatever the caller's units (near_pair.hpp). So
// coordinates, the kernel's lengths and charges are multiplied by powers of two on their way in, and sums on
// their way out: no bit of a result changes where both would be numbers.
#pragma once

#include "core/host_device.hpp"
#include "near/near_field.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::near {

/// Exponents of the largest distance between which coordinates stay as they are, and the one that others get:
/// 2^-48 of it (what the mixed pairs resolve) has a cube that is a number, and so has a charge of 2^-40 over
/// the cube of the largest one, with bits to spare for smaller charges. Of double: charges between 2^-600 and
/// 2^600; hardly any unit needs it. A softening below 2^softening counts as none.
struct UnitExponents {
    int least, most, wanted, softening;
    double phase; // most radians along an axis that the sine and cosine of vectors reduce
};
constexpr UnitExponents unit_exponents(Precision precision) {
    return precision == Precision::fp64 ? UnitExponents{-100, 100, 0, -340, 1e15}
                                        : UnitExponents{6, 12, 6, -42, 3e6};
}

/// Largest magnitude of a coordinate: squares of differences must not overflow.
constexpr double most_coordinate(Precision precision) {
    return precision == Precision::fp64 ? 1e150 : 1e18;
}

/// Largest magnitude of a charge.
constexpr double most_charge(Precision precision) {
    return precision == Precision::fp64 ? std::numeric_limits<double>::max()
                                        : static_cast<double>(std::numeric_limits<float>::max());
}

/// 2^exponent, or the end of +-most that it is beyond.
GRAFT_HD inline double power_of_two(int exponent, int most) {
    return std::ldexp(1.0, exponent < -most ? -most : (exponent > most ? most : exponent));
}
constexpr int most_length_exponent = 400; // its square over the scale of any charge is a double
constexpr int most_charge_exponent = 1022;

/// The power of two that brings charges of the pairs' type float, the largest in magnitude of which is this,
/// below 1, where they are not about that. 1 of no number.
GRAFT_HD inline double charge_scale(double largest) {
    if (!(largest > 0) || largest > 1.7976931348623157e308)
        return 1;
    const int have = std::ilogb(largest);
    return have >= -40 && have <= 0 ? 1 : power_of_two(-1 - have, most_charge_exponent);
}

/// The power of two that brings the largest distance along an axis, or the kernel's own length, to where the
/// pairs' type wants it; `now` where that still does.
inline double length_scale(const Sums& sums, double extent, double now) {
    if (sums.kernel.kernel == Kernel::logarithm || sums.kernel.kernel == Kernel::table)
        return 1; // no cubes
    const UnitExponents e = unit_exponents(sums.precision);
    const double length = std::max(sums.kernel.softening, extent);
    if (!(length > 0) || !std::isfinite(length))
        return now;
    const int have = std::ilogb(length * now);
    if (have >= e.least && have <= e.most)
        return now;
    const int alone = std::ilogb(length);
    return alone >= e.least && alone <= e.most ? 1 : power_of_two(e.wanted - alone, most_length_exponent);
}

/// The kernel of lengths that have been multiplied by `scale`.
inline KernelOptions scaled_kernel(const Sums& sums, double scale) {
    KernelOptions kernel = sums.kernel;
    const double softening = kernel.softening * scale;
    if (kernel.kernel == Kernel::laplace)
        kernel.softening =
            softening >= std::ldexp(1.0, unit_exponents(sums.precision).softening) ? softening : 0;
    kernel.wave_number /= scale;
    return kernel;
}

/// Axes of points as they come: the least and the largest number of each.
struct PointBounds {
    double least[3], most[3];

    PointBounds() {
        for (int axis = 0; axis < 3; ++axis) {
            least[axis] = std::numeric_limits<double>::infinity();
            most[axis] = -least[axis];
        }
    }
    void widen(int axis, double low, double high) {
        least[axis] = std::min(least[axis], low);
        most[axis] = std::max(most[axis], high);
    }
    /// Largest distance along an axis, 0 of no points.
    double extent(int dimension) const {
        double extent = 0;
        for (int axis = 0; axis < dimension; ++axis)
            extent = std::max(extent, most[axis] - least[axis]);
        return extent;
    }
};

} // namespace graft::near
