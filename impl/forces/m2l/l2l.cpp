// SPDX-License-Identifier: BSD-3-Clause
// See l2l.hpp.
#include "forces/m2l/l2l.hpp"

#include "core/plain_ops.hpp"
#include "forces/m2l/m2l_body.hpp"
#include "moments/harmonics.hpp"

#include <algorithm>

namespace graft::forces {

namespace {

using core::PlainOps;

GRAFT_BEFORE_BODIES();
void move_harmonic(int degree, const double* from, const double (&h)[3], double* to) {
    using Terms = moments::HWY_NAMESPACE::Harmonics<PlainOps>;
    double w[moments::harmonic_count(max_local_order)], table[moments::max_table];
    std::copy_n(from, moments::harmonic_count(degree), table);
    Terms::complete(degree, table);
    Terms::regular(degree, h, w);
    double factor[max_local_order + 1];
    std::fill_n(factor, degree + 1, 1.0);
    std::fill_n(to, moments::harmonic_count(degree), 0.0);
    Terms::correlate(moments::products_of_l2l(degree), degree, w, table, factor, to);
}

/// With h the step in the old frame's units.
void move(int order, const double* from, const double (&h)[3], double* to) {
    switch (order) {
    case 0:
        return HWY_NAMESPACE::PointBody<PlainOps, local_order(0)>::move(from, h, to);
    case 1:
        return HWY_NAMESPACE::PointBody<PlainOps, local_order(1)>::move(from, h, to);
    case 2:
        return HWY_NAMESPACE::PointBody<PlainOps, local_order(2)>::move(from, h, to);
    case 3:
        return HWY_NAMESPACE::PointBody<PlainOps, local_order(3)>::move(from, h, to);
    case 4:
        return HWY_NAMESPACE::PointBody<PlainOps, local_order(4)>::move(from, h, to);
    default:
        return move_harmonic(local_order(order), from, h, to);
    }
}
GRAFT_AFTER_BODIES();

} // namespace

void l2l(int order, const LocalExpansion& from, const Frame& from_frame, const Frame& to_frame, LocalExpansion& to) {
    const double ratio = from_frame.scale / to_frame.scale;
    double h[3];
    for (int a = 0; a < 3; ++a) // both centres from the new frame's origin, where the smaller cell is
        h[a] = to.centre[a] * ratio + (to_frame.centre[a] - from_frame.centre[a]) * from_frame.scale - from.centre[a];
    move(order, from.value.data(), h, to.value.data());
    double power = ratio; // each order in the new frame's units
    for (int l = 0, k = 0; l <= local_order(order); ++l, power *= ratio)
        for (const int end = moments::is_harmonic(order) ? moments::harmonic_count(l) : moments::term_count(l); k < end; ++k)
            if (double& value = to.value[static_cast<size_t>(k)]; value != 0) // the power may be infinite
                value *= power;
}

} // namespace graft::forces
