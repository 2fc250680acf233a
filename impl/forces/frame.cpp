// SPDX-License-Identifier: BSD-3-Clause
// Frames, see frame.hpp.
#include "forces/frame.hpp"

#include <algorithm>
#include <cmath>

namespace graft::forces {

namespace {

/// So that `length` is at most 2^limit in the frame.
int at_least(int exponent, double length, int limit) {
    return length > 0 && std::isfinite(length) ? std::max(exponent, std::ilogb(length) - limit) : exponent;
}

} // namespace

template <typename T>
Frame make_frame(const geometry::Box& box, double fallback_length, double reach, double softening) {
    Frame frame;
    if (box.empty())
        return frame;
    double length = box.longest_edge();
    if (!(length > 0))
        length = fallback_length;
    int exponent = 0;
    if (length > 0 && std::isfinite(length))
        std::frexp(length, &exponent); // length = [0.5, 1) * 2^exponent
    // In double, squares of distances and softening stay far above what is added to every r^2 (vector_ops.hpp).
    if (sizeof(T) == 8)
        exponent = std::min(exponent, softening > 0 ? std::min(std::ilogb(softening) + 250, 200) : 200);
    exponent = at_least(exponent, reach, reach_exponent<T>);
    exponent = at_least(exponent, softening, softening_exponent<T>);
    frame.scale = std::ldexp(1.0, exponent > 1000 ? -1000 : (exponent < -1000 ? 1000 : -exponent));
    for (int axis = 0; axis < 3; ++axis)
        frame.centre[axis] = sizeof(T) == 4 ? box.centre(axis) : 0.0;
    return frame;
}

template <typename T>
double served_distance(const Frame& frame, double softening, double lightest) {
    int longest = softening_exponent<T>;
    if (sizeof(T) == 4 && lightest > 0) { // the least normal number, 2^-126, at the distances that T resolves, 2^-14
        const int room = 126 - 14 + std::ilogb(lightest);
        longest = std::min(longest, std::max(room, 0) / 3);
    }
    return softening * frame.scale > std::ldexp(2.0, longest) ? 0 : std::ldexp(1 / frame.scale, reach_exponent<T>);
}

template Frame make_frame<float>(const geometry::Box&, double, double, double);
template Frame make_frame<double>(const geometry::Box&, double, double, double);
template double served_distance<float>(const Frame&, double, double);
template double served_distance<double>(const Frame&, double, double);

} // namespace graft::forces
