// SPDX-License-Identifier: BSD-3-Clause
// See dual_walk.hpp.
#include "lists/dual_walk.hpp"

#include "lists/error_reach.hpp"
#include "lists/node_criterion.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lists/dual_walk.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "lists/criterion_of_children.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::lists::HWY_NAMESPACE {
namespace {

/// Small nodes of harmonic orders are as many as a large one has: each of little error, and all of one sign.
constexpr double touch = 1.05, harmonic_touch = 1.6;

struct WideLimit {
    V centre[3], radius, allowed;
    int degree;
    bool bounds_rim;
};

/// value (sqrt(square) / length)^power
HWY_INLINE V times_ratio(V value, V square, V length, int power) {
    const V ratio = hn::Div(square, hn::Mul(length, length));
    for (int k = 0; k < power / 2; ++k)
        value = hn::Mul(value, ratio);
    return power % 2 == 0 ? value : hn::Mul(value, hn::Sqrt(ratio));
}

HWY_INLINE WideLimit widen(const CellFarLimit& limit) {
    const D d;
    return {{hn::Set(d, limit.centre[0]), hn::Set(d, limit.centre[1]), hn::Set(d, limit.centre[2])},
            hn::Set(d, limit.radius),
            hn::Set(d, limit.allowed),
            limit.degree, limit.opens_near};
}

/// Bit c: node base + c is far; for c < count only.
HWY_INLINE uint32_t far_from(const WalkInput& input, const FarNodes& nodes, const WideLimit& limit, int32_t base,
                             uint32_t count) {
    const D d;
    uint32_t bits = 0;
    for (uint32_t c = 0; c < count; c += static_cast<uint32_t>(hn::Lanes(d))) {
        const int64_t at = int64_t{base} + c;
        const V dx = hn::Sub(hn::LoadU(d, input.cx + at), limit.centre[0]);
        const V dy = hn::Sub(hn::LoadU(d, input.cy + at), limit.centre[1]);
        const V dz = hn::Sub(hn::LoadU(d, input.cz + at), limit.centre[2]);
        const V square =
            hn::Add(hn::Add(rounded(hn::Mul(dx, dx)), rounded(hn::Mul(dy, dy))), rounded(hn::Mul(dz, dz)));
        const V rim = hn::Mul(hn::Set(d, limit.bounds_rim ? harmonic_touch : touch),
                              hn::Add(limit.radius, hn::LoadU(d, nodes.radius.data() + at)));
        const V extent = hn::LoadU(d, nodes.extent.data() + at), magnitude = hn::LoadU(d, nodes.magnitude.data() + at);
        const V most = hn::Mul(limit.allowed, square);
        auto small = hn::Le(magnitude, times_ratio(most, square, hn::Add(limit.radius, extent), limit.degree));
        if (limit.bounds_rim) {
            const V rim_part = hn::Mul(hn::Mul(magnitude, extent), extent);
            const V rim_square = hn::LoadU(d, nodes.radius.data() + at);
            const V ratio = times_ratio(most, square, hn::Add(limit.radius, rim_square), limit.degree);
            small = hn::And(small, hn::Le(rim_part, hn::Mul(hn::Mul(rim_square, rim_square), ratio)));
        }
        uint8_t some[8] = {};
        hn::StoreMaskBits(d, hn::And(small, hn::Gt(square, hn::Mul(rim, rim))), some);
        bits |= static_cast<uint32_t>(some[0]) << c;
    }
    return bits & ((1u << count) - 1);
}

HWY_INLINE Undecided children_of(const WalkInput& input, int32_t node) {
    const Link link = input.links[node];
    return {link.first_child, static_cast<uint8_t>((1u << link.child_count) - 1), link.terminal_mask, 0};
}

/// What the criterion says of the children in the mask.
HWY_INLINE Verdict judge_some(const WalkInput& input, const Target& target, const WideTarget& wide,
                              const Undecided& some, uint32_t count) {
    Verdict verdict = judge(input, target, wide, some.first, count, some.terminal);
    verdict.accepted &= some.mask;
    verdict.leaves &= some.mask;
    verdict.opened &= some.mask;
    return verdict;
}

HWY_INLINE void append(int32_t first, uint32_t mask, core::Buffer<int32_t>& entries) {
    for (; mask != 0; mask &= mask - 1)
        entries.push_back(first + std::countr_zero(mask));
}

/// Those of the nodes in the mask that are longer than `size`.
HWY_INLINE uint32_t larger_than(const WalkInput& input, int32_t first, uint32_t mask, double size) {
    uint32_t larger = 0;
    for (; mask != 0; mask &= mask - 1)
        if (input.boxes[first + std::countr_zero(mask)].longest_edge() > size)
            larger |= mask & (0 - mask);
    return larger;
}

/// The last child first: it is taken last.
HWY_INLINE int64_t push_children(const WalkInput& input, int32_t first, uint32_t mask, Undecided* stack, int64_t depth) {
    while (mask != 0) {
        const int bit = std::bit_width(mask) - 1;
        mask ^= 1u << bit;
        stack[depth++] = children_of(input, first + bit);
    }
    return depth;
}

} // namespace

void walk_cell(const WalkInput& input, const FarNodes& nodes, const Target& target, const CellFarLimit& limit,
               std::span<const Undecided> from, Undecided* stack, core::Buffer<int32_t>& far,
               core::Buffer<Undecided>& left) {
    const WideTarget wide = widen(target);
    const WideLimit wide_limit = widen(limit);
    const double size = target.box.longest_edge();
    for (const Undecided& entry : from) {
        stack[0] = entry;
        for (int64_t depth = 1; depth > 0;) {
            const Undecided some = stack[--depth];
            const auto count = static_cast<uint32_t>(std::bit_width(uint32_t{some.mask}));
            const Verdict verdict = judge_some(input, target, wide, some, count);
            const uint32_t far_ones =
                verdict.accepted != 0 ? verdict.accepted & far_from(input, nodes, wide_limit, some.first, count) : 0;
            append(some.first, far_ones, far);
            const uint32_t near_ones = limit.opens_near ? verdict.accepted & ~far_ones & ~uint32_t{some.terminal} : 0;
            const uint32_t larger = larger_than(input, some.first, verdict.opened | near_ones, size);
            const uint32_t keep = some.mask & ~far_ones & ~larger;
            if (keep != 0 && (verdict.accepted | verdict.leaves | verdict.opened) != 0)
                left.push_back({some.first, static_cast<uint8_t>(keep & (verdict.accepted | verdict.leaves | verdict.opened)),
                                some.terminal, entry.image});
            depth = push_children(input, some.first, larger, stack, depth);
        }
    }
}

void walk_group(const WalkInput& input, const FarNodes& nodes, const Target& target, const CellFarLimit* limit,
                std::span<const Undecided> from, Undecided* stack, core::Buffer<int32_t>& far,
                core::Buffer<int32_t>& near, core::Buffer<int32_t>& leaves) {
    const WideTarget wide = widen(target);
    const WideLimit wide_limit = limit != nullptr ? widen(*limit) : WideLimit{};
    const double size = target.box.longest_edge();
    for (const Undecided& entry : from) {
        stack[0] = entry;
        for (int64_t depth = 1; depth > 0;) {
            const Undecided some = stack[--depth];
            const auto count = static_cast<uint32_t>(std::bit_width(uint32_t{some.mask}));
            const Verdict verdict = judge_some(input, target, wide, some, count);
            const uint32_t far_ones = limit != nullptr && verdict.accepted != 0
                                          ? verdict.accepted & far_from(input, nodes, wide_limit, some.first, count)
                                          : 0;
            uint32_t near_ones = verdict.accepted & ~far_ones, at_leaves = verdict.leaves, opened = verdict.opened;
            if (limit != nullptr && limit->opens_near && near_ones != 0) {
                opened |= larger_than(input, some.first, near_ones & ~uint32_t{some.terminal}, size);
                near_ones &= ~opened;
                if (some.first + static_cast<int32_t>(count) <= nodes.own)
                    at_leaves |= near_ones & some.terminal;
                near_ones &= ~at_leaves;
            }
            append(some.first, far_ones, far);
            append(some.first, near_ones, near);
            append(some.first, at_leaves, leaves);
            depth = push_children(input, some.first, opened, stack, depth);
        }
    }
}

} // namespace graft::lists::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::lists {

HWY_EXPORT(walk_cell);
HWY_EXPORT(walk_group);

void walk_cell(const WalkInput& input, const FarNodes& nodes, const Target& target, const CellFarLimit& limit,
               std::span<const Undecided> from, Undecided* stack, core::Buffer<int32_t>& far,
               core::Buffer<Undecided>& left) {
    HWY_DYNAMIC_DISPATCH(walk_cell)(input, nodes, target, limit, from, stack, far, left);
}

void walk_group(const WalkInput& input, const FarNodes& nodes, const Target& target, const CellFarLimit* limit,
                std::span<const Undecided> from, Undecided* stack, core::Buffer<int32_t>& far,
                core::Buffer<int32_t>& near, core::Buffer<int32_t>& leaves) {
    HWY_DYNAMIC_DISPATCH(walk_group)(input, nodes, target, limit, from, stack, far, near, leaves);
}

/// Seven nodes a level, and the entry that the walk begins with.
int64_t dual_walk_stack(int levels) {
    return 8 * (int64_t{levels} + 2);
}

CellFarLimit::CellFarLimit(const Target& target, int order, int degree)
    : allowed(cell_far_share(order)), degree(degree), opens_near(moments::is_harmonic(order)) {
    double square = 0;
    for (int a = 0; a < 3; ++a) {
        const double half = 0.5 * target.box.upper[a] - 0.5 * target.box.lower[a];
        centre[a] = 0.5 * target.box.lower[a] + 0.5 * target.box.upper[a];
        square += half * half;
    }
    radius = std::sqrt(square);
    const double inverse = 1 / target.factor;
    for (int k = 0; k < order + 3; ++k)
        allowed *= inverse;
}

void FarNodes::fill(const backend::Executor& executor, const moments::Moments& m, const Criterion& criterion,
                    double theta, int64_t nodes) {
    const int64_t known = m.spread.size();
    const double ratio = std::min(theta, closest_ratio); // radius / b
    for (core::Buffer<double>* values : {&magnitude, &extent, &radius}) {
        values->resize(nodes + Criterion::padding);
        std::fill(values->begin() + nodes, values->end(), 0.0);
    }
    executor.for_each(nodes, [&](int64_t k) {
        magnitude[k] = m.magnitude[k];
        if (k < known) {
            radius[k] = m.radius[k];
            extent[k] = m.magnitude[k] > 0 ? std::sqrt(m.spread[k] / m.magnitude[k]) : 0;
        } else {
            radius[k] = std::min(m.radius[k], ratio * criterion.b[k]);
            extent[k] = extent_of_reach(m.order, m.magnitude[k], criterion.a[k], radius[k]);
        }
    });
}

} // namespace graft::lists
#endif
