// Frames, see frame.hpp.
#include "kernels/frame.hpp"

#include <cmath>

namespace graft::kernels {

template <typename T>
Frame make_frame(const geometry::Box& box, double fallback_length) {
    Frame frame;
    if (box.empty())
        return frame;
    double length = box.longest_edge();
    if (!(length > 0))
        length = fallback_length;
    int exponent = 0;
    if (length > 0 && std::isfinite(length))
        std::frexp(length, &exponent); // length = [0.5, 1) * 2^exponent
    frame.scale = std::ldexp(1.0, exponent > 1000 ? -1000 : (exponent < -1000 ? 1000 : -exponent));
    for (int axis = 0; axis < 3; ++axis)
        frame.centre[axis] = sizeof(T) == 4 ? box.centre(axis) : 0.0;
    return frame;
}

template Frame make_frame<float>(const geometry::Box&, double);
template Frame make_frame<double>(const geometry::Box&, double);

} // namespace graft::kernels
