// SPDX-License-Identifier: BSD-3-Clause
// See harmonic_moments.hpp.
#include "moments/harmonic_moments.hpp"

#include "core/plain_ops.hpp"
#include "moments/harmonics.hpp"

#include <algorithm>
#include <array>

GRAFT_BEFORE_BODIES(); // inlined bodies are the target's
namespace graft::moments {

namespace {

using Plain = HWY_NAMESPACE::Harmonics<core::PlainOps>;
using Numbers = std::array<double, harmonic_count(max_order)>;

} // namespace

void harmonic_p2m(int order, const TreeArrays& tree, int32_t index, const MomentArrays& m) {
    const tree::Node node = tree.nodes[index];
    const int count = harmonic_count(order);
    const double inverse = 1 / m.rho[index];
    double* const to = m.values + int64_t{index} * count;
    std::fill_n(to, count, 0.0);
    Numbers one;
    for (int64_t i = node.first; i < node.first + node.count; ++i) {
        const double back[3] = {(m.cx[index] - tree.x[i]) * inverse, (m.cy[index] - tree.y[i]) * inverse,
                                (m.cz[index] - tree.z[i]) * inverse};
        Plain::regular(order, back, one.data());
        for (int k = 0; k < count; ++k)
            to[k] += tree.charge[i] * one[static_cast<size_t>(k)];
    }
}

void harmonic_m2m(int order, const TreeArrays& tree, int32_t index, const MomentArrays& m) {
    const tree::Node node = tree.nodes[index];
    const int count = harmonic_count(order);
    const double inverse = 1 / m.rho[index];
    double* const to = m.values + int64_t{index} * count;
    std::fill_n(to, count, 0.0);
    Numbers shift, child;
    for (int32_t k = node.first_child; k < node.first_child + node.child_count; ++k) {
        const double back[3] = {(m.cx[index] - m.cx[k]) * inverse, (m.cy[index] - m.cy[k]) * inverse,
                                (m.cz[index] - m.cz[k]) * inverse};
        const double* const given = m.values + int64_t{k} * count;
        const double ratio = m.radius[k] > 0 ? m.rho[k] * inverse : 0; // the length of a point is any
        Plain::scale(order, ratio, [&](int i) GRAFT_BODY_LAMBDA { return given[i]; }, child.data());
        Plain::regular(order, back, shift.data());
        Plain::multiply(order, shift.data(), child.data(), to);
    }
}

} // namespace graft::moments
GRAFT_AFTER_BODIES();
