// Frames, see frame.hpp.
#include "forces/frame.hpp"

#include <algorithm>
#include <cmath>

namespace graft::forces {

namespace {

/// Largest distance in a frame, as a power of two: its cube is in range, and so are the places of targets that
/// double can tell apart.
template <typename T>
constexpr int reach_exponent = sizeof(T) == 4 ? 40 : 300;

} // namespace

template <typename T>
Frame make_frame(const geometry::Box& box, double fallback_length, double reach) {
    Frame frame;
    if (box.empty())
        return frame;
    double length = box.longest_edge();
    if (!(length > 0))
        length = fallback_length;
    int exponent = 0;
    if (length > 0 && std::isfinite(length))
        std::frexp(length, &exponent); // length = [0.5, 1) * 2^exponent
    if (reach > 0 && std::isfinite(reach))
        exponent = std::max(exponent, std::ilogb(reach) - reach_exponent<T>);
    frame.scale = std::ldexp(1.0, exponent > 1000 ? -1000 : (exponent < -1000 ? 1000 : -exponent));
    for (int axis = 0; axis < 3; ++axis)
        frame.centre[axis] = sizeof(T) == 4 ? box.centre(axis) : 0.0;
    return frame;
}

template Frame make_frame<float>(const geometry::Box&, double, double);
template Frame make_frame<double>(const geometry::Box&, double, double);

} // namespace graft::forces
