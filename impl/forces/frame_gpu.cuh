// SPDX-License-Identifier: BSD-3-Clause
// make_frame() of frame.hpp in a CUDA thread: the same numbers, bit for bit.
#pragma once

#include "forces/frame.hpp"

#include <cuda_runtime.h>

namespace graft::forces {

/// So that `length` is at most 2^limit in the frame.
__device__ inline int at_least(int exponent, double length, int limit) {
    return length > 0 && isfinite(length) ? max(exponent, ilogb(length) - limit) : exponent;
}

/// As make_frame<T>(box, fallback_length, reach, softening); the box as two corners. An empty box gives the
/// unit frame.
template <typename T>
__device__ inline Frame make_device_frame(const double (&lower)[3], const double (&upper)[3],
                                          double fallback_length, double reach, double softening = 0) {
    Frame frame;
    if (!(lower[0] <= upper[0]))
        return frame;
    double length = fmax(fmax(upper[0] - lower[0], upper[1] - lower[1]), upper[2] - lower[2]);
    if (!(length > 0))
        length = fallback_length;
    int exponent = 0;
    if (length > 0 && isfinite(length))
        frexp(length, &exponent); // length = [0.5, 1) * 2^exponent
    if (sizeof(T) == 8)
        exponent = min(exponent, softening > 0 ? min(ilogb(softening) + 250, 200) : 200);
    exponent = at_least(exponent, reach, reach_exponent<T>);
    exponent = at_least(exponent, softening, softening_exponent<T>);
    frame.scale = ldexp(1.0, exponent > 1000 ? -1000 : (exponent < -1000 ? 1000 : -exponent));
    for (int axis = 0; axis < 3; ++axis)
        frame.centre[axis] = sizeof(T) == 4 ? __dadd_rn(0.5 * lower[axis], 0.5 * upper[axis]) : 0.0;
    return frame;
}

/// Charges below, as multiples of about the mean, and softening lengths above, frame units, are summed in double:
/// what one such charge adds within one such length is the least that single precision has a number for.
inline constexpr double lightest_charge = 0x1p-50, longest_softening = 0x1p16;

/// Whether powers of the longest softening length leave single precision in a frame that is made without it.
__device__ inline bool softened_too_far(const Frame& frame, double longest) {
    return longest * frame.scale > longest_softening;
}

} // namespace graft::forces
