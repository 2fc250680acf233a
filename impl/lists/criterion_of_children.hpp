// SPDX-License-Identifier: BSD-3-Clause
// The test of a node's children by the acceptance criterion, on the SIMD instructions of the machine: what all walks share.
// Distances use separate multiplications and additions on every instruction set, so the lists do not depend on the machine.
// Read once per SIMD target.
#if defined(GRAFT_LISTS_CRITERION_OF_CHILDREN_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_LISTS_CRITERION_OF_CHILDREN_HPP
#undef GRAFT_LISTS_CRITERION_OF_CHILDREN_HPP
#else
#define GRAFT_LISTS_CRITERION_OF_CHILDREN_HPP
#endif

#include "core/instruction_sets.hpp"
#include "lists/walk.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace graft::lists::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using V = hn::Vec<D>;

/// Keeps the compiler from fusing this product into a later addition.
HWY_INLINE V rounded(V product) {
#if defined(__GNUC__) && GRAFT_X86_VECTORS
    asm("" : "+v"(product.raw));
#endif
    return product;
}

/// A target, one value in all lanes each.
struct WideTarget {
    V lower[3], upper[3], factor;
};

HWY_INLINE WideTarget widen(const Target& target) {
    const D d;
    WideTarget wide;
    for (int axis = 0; axis < 3; ++axis) {
        wide.lower[axis] = hn::Set(d, target.box.lower[axis]);
        wide.upper[axis] = hn::Set(d, target.box.upper[axis]);
    }
    wide.factor = hn::Set(d, target.factor);
    return wide;
}

HWY_INLINE V axis_distance(V lower, V upper, V centre) {
    return hn::Max(hn::Max(hn::Sub(lower, centre), hn::Sub(centre, upper)), hn::Zero(D()));
}

/// Bit c: node base + c is far enough from the target; for c < count only.
HWY_INLINE uint32_t far_enough(const WalkInput& input, const WideTarget& target, int32_t base,
                               uint32_t count) {
    const D d;
    uint32_t bits = 0;
    for (uint32_t c = 0; c < count; c += static_cast<uint32_t>(hn::Lanes(d))) {
        const int64_t at = int64_t{base} + c;
        const V dx = axis_distance(target.lower[0], target.upper[0], hn::LoadU(d, input.cx + at));
        const V dy = axis_distance(target.lower[1], target.upper[1], hn::LoadU(d, input.cy + at));
        const V dz = axis_distance(target.lower[2], target.upper[2], hn::LoadU(d, input.cz + at));
        const V square =
            hn::Add(hn::Add(rounded(hn::Mul(dx, dx)), rounded(hn::Mul(dy, dy))), rounded(hn::Mul(dz, dz)));
        const V radius =
            hn::Max(rounded(hn::Mul(hn::LoadU(d, input.a + at), target.factor)), hn::LoadU(d, input.b + at));
        uint8_t some[8] = {};
        hn::StoreMaskBits(d, hn::Gt(square, hn::Mul(radius, radius)), some);
        bits |= static_cast<uint32_t>(some[0]) << c;
    }
    return bits & ((1u << count) - 1);
}

/// Between the boxes of a target and a node.
HWY_INLINE double square_of_gap(const WalkInput& input, const Target& target, int32_t node) {
    const geometry::Box& box = input.boxes[node];
    double square = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const double gap = std::max(
            {box.lower[axis] - target.box.upper[axis], target.box.lower[axis] - box.upper[axis], 0.0});
        double product = gap * gap;
#if defined(__GNUC__) && HWY_ARCH_X86
        asm("" : "+x"(product));
#endif
        square += product;
    }
    return square;
}

/// Compact softening: no particle of the node may be inside the softening length of any target.
HWY_INLINE bool clear_of_softening(const WalkInput& input, const Target& target, int32_t node) {
    const double square = square_of_gap(input, target, node);
    const double length = input.softening != nullptr ? std::max(input.softening[node], target.softening)
                                                     : input.softening_length;
    return square >= length * length;
}

/// The children of one node, sorted out for one target.
struct Verdict {
    uint32_t accepted, leaves, opened;
};

HWY_INLINE Verdict judge(const WalkInput& input, const Target& target, const WideTarget& wide, int32_t base,
                         uint32_t count, uint32_t terminal) {
    uint32_t accepted = far_enough(input, wide, base, count);
    if (input.compact_softening)
        for (uint32_t left = accepted; left != 0; left &= left - 1)
            if (!clear_of_softening(input, target, base + std::countr_zero(left)))
                accepted &= ~(left & (0 - left));
    uint32_t rest = ~accepted & ((1u << count) - 1);
    if (input.cutoff < std::numeric_limits<double>::infinity())
        for (uint32_t c = 0; c < count; ++c)
            if (square_of_gap(input, target, base + static_cast<int32_t>(c)) > input.cutoff * input.cutoff) {
                accepted &= ~(1u << c);
                rest &= ~(1u << c);
            }
    return {accepted, rest & terminal, rest & ~terminal};
}

} // namespace
} // namespace graft::lists::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
