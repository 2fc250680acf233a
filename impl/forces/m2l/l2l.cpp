// SPDX-License-Identifier: BSD-3-Clause
// See l2l.hpp.
#include "forces/m2l/l2l.hpp"

namespace graft::forces {

namespace {

struct PlainOps {
    using Real = double;
    static double set(double v) { return v; }
    static double add(double a, double b) { return a + b; }
    static double mul(double a, double b) { return a * b; }
    static double fma(double a, double b, double c) { return a * b + c; }
};

#define GRAFT_LOCAL_BODY inline
#include "forces/m2l/m2l.inc"
#undef GRAFT_LOCAL_BODY

/// With h the step in the old frame's units; then each order in the new one's.
template <int degree>
void move(const LocalExpansion& from, const Frame& from_frame, const Frame& to_frame, LocalExpansion& to) {
    const double ratio = from_frame.scale / to_frame.scale;
    double h[3], power[degree + 1];
    for (int a = 0; a < 3; ++a) // both centres from the new frame's origin, where the smaller cell is
        h[a] = to.centre[a] * ratio + (to_frame.centre[a] - from_frame.centre[a]) * from_frame.scale - from.centre[a];
    PointBody<PlainOps, degree>::move(from.value.data(), h, to.value.data());
    power[0] = ratio;
    for (int l = 1; l <= degree; ++l)
        power[l] = power[l - 1] * ratio;
    for (int l = 0, k = 0; l <= degree; ++l)
        for (; k < moments::term_count(l); ++k)
            to.value[static_cast<size_t>(k)] *= power[l];
}

} // namespace

void l2l(int order, const LocalExpansion& from, const Frame& from_frame, const Frame& to_frame, LocalExpansion& to) {
    switch (order) {
    case 0:
        return move<local_order(0)>(from, from_frame, to_frame, to);
    case 1:
        return move<local_order(1)>(from, from_frame, to_frame, to);
    case 2:
        return move<local_order(2)>(from, from_frame, to_frame, to);
    case 3:
        return move<local_order(3)>(from, from_frame, to_frame, to);
    default:
        return move<local_order(4)>(from, from_frame, to_frame, to);
    }
}

} // namespace graft::forces
