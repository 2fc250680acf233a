// SPDX-License-Identifier: BSD-3-Clause
// One target's sums by plain numbers, for the paper's two layouts: sources come one after the other.
#pragma once

#include "near/close_pairs.hpp"
#include "near/radial.hpp"

GRAFT_BEFORE_BODIES(); // radial() is inlined into what has its target alone
namespace graft::near {

/// What a scalar loop needs to know of a pair: sources(j, place, charges) gives source j of `count`.
/// Mixed precision: differences in T, pairs in V, sums in double.
template <Form form, bool slope, int dimension, typename T, typename V, typename Sources>
void sum_target(const Constants<V>& c, const T (&at)[3], int64_t count, int64_t own, int32_t components,
                double* sums, Sources&& sources) {
    const PlainOps<V> ops;
    constexpr int wide = form == Form::helmholtz ? 2 : 1;
    for (int64_t j = 0; j < count; ++j) {
        T place[3];
        const auto charge = sources(j, place);
        V d[dimension], r2 = 0;
        for (int axis = 0; axis < dimension; ++axis) {
            d[axis] = static_cast<V>(place[axis] - at[axis]);
            r2 += d[axis] * d[axis];
        }
        if (may_be_regular(form) && j == own)
            continue;
        if (slope && has_cube(form) && r2 < least_cubed<V>)
            continue;
        const auto k = HWY_NAMESPACE::radial<form, true, slope>(ops, r2, c);
        for (int32_t p = 0; p < components; p += wide) {
            HWY_NAMESPACE::PointSum<V, wide, dimension> pair{};
            V q[wide];
            for (int w = 0; w < wide; ++w)
                q[w] = static_cast<V>(charge(p + w));
            HWY_NAMESPACE::add_charges<form, true, slope>(ops, d, q, k, pair);
            for (int w = 0; w < wide; ++w) {
                double* out = sums + sums_per_component * (p + w);
                out[0] += pair.potential[w];
                if constexpr (slope)
                    for (int axis = 0; axis < dimension; ++axis)
                        out[1 + axis] += pair.gradient[w][axis];
            }
        }
    }
}

} // namespace graft::near
GRAFT_AFTER_BODIES();

namespace graft::near {

/// Calls body.template operator()<form, slope, dimension>() for what the sums ask.
template <typename Body>
void choose_scalar(Form form, const Sums& sums, Body&& body) {
    const auto with_form = [&]<Form f>() {
        const bool slope = (sums.outputs & gradient) != 0;
        if (sums.dimension == 2)
            slope ? body.template operator()<f, true, 2>() : body.template operator()<f, false, 2>();
        else
            slope ? body.template operator()<f, true, 3>() : body.template operator()<f, false, 3>();
    };
    switch (form) {
    case Form::laplace:
        return with_form.template operator()<Form::laplace>();
    case Form::softened:
        return with_form.template operator()<Form::softened>();
    case Form::logarithm:
        return with_form.template operator()<Form::logarithm>();
    case Form::yukawa:
        return with_form.template operator()<Form::yukawa>();
    case Form::helmholtz:
        return with_form.template operator()<Form::helmholtz>();
    default:
        return with_form.template operator()<Form::table>();
    }
}

} // namespace graft::near
