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

#include "lists/verdict.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::lists::HWY_NAMESPACE {
namespace {

constexpr double touch = 1.05;

struct WideLimit {
    V centre[3], radius, allowed;
    int degree;
};

HWY_INLINE WideLimit widen(const CellFarLimit& limit) {
    const D d;
    return {{hn::Set(d, limit.centre[0]), hn::Set(d, limit.centre[1]), hn::Set(d, limit.centre[2])},
            hn::Set(d, limit.radius),
            hn::Set(d, limit.allowed),
            limit.degree};
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
        const V rim = hn::Mul(hn::Set(d, touch), hn::Add(limit.radius, hn::LoadU(d, nodes.radius.data() + at)));
        const V both = hn::Add(limit.radius, hn::LoadU(d, nodes.extent.data() + at));
        const V both_square = hn::Mul(both, both), ratio = hn::Div(square, both_square);
        const V magnitude = hn::LoadU(d, nodes.magnitude.data() + at);
        V most = hn::Mul(hn::Mul(limit.allowed, both_square), ratio);
        for (int k = 0; k < limit.degree / 2; ++k)
            most = hn::Mul(most, ratio);
        const auto small = limit.degree % 2 == 0
                               ? hn::Le(magnitude, most)
                               : hn::Le(hn::Mul(magnitude, magnitude), hn::Mul(hn::Mul(most, most), ratio));
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
               const core::Buffer<Undecided>& from, Undecided* stack, core::Buffer<int32_t>& far,
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
            uint32_t larger = 0;
            for (uint32_t bits = verdict.opened; bits != 0; bits &= bits - 1)
                if (input.boxes[some.first + std::countr_zero(bits)].longest_edge() > size)
                    larger |= bits & (0 - bits);
            const uint32_t keep = some.mask & ~far_ones & ~larger;
            if (keep != 0 && (verdict.accepted | verdict.leaves | verdict.opened) != 0)
                left.push_back({some.first, static_cast<uint8_t>(keep & (verdict.accepted | verdict.leaves | verdict.opened)),
                                some.terminal, 0});
            depth = push_children(input, some.first, larger, stack, depth);
        }
    }
}

void walk_group(const WalkInput& input, const FarNodes& nodes, const Target& target, const CellFarLimit* limit,
                const core::Buffer<Undecided>& from, Undecided* stack, core::Buffer<int32_t>& far,
                core::Buffer<int32_t>& near, core::Buffer<int32_t>& leaves) {
    const WideTarget wide = widen(target);
    const WideLimit wide_limit = limit != nullptr ? widen(*limit) : WideLimit{};
    for (const Undecided& entry : from) {
        stack[0] = entry;
        for (int64_t depth = 1; depth > 0;) {
            const Undecided some = stack[--depth];
            const auto count = static_cast<uint32_t>(std::bit_width(uint32_t{some.mask}));
            const Verdict verdict = judge_some(input, target, wide, some, count);
            const uint32_t far_ones = limit != nullptr && verdict.accepted != 0
                                          ? verdict.accepted & far_from(input, nodes, wide_limit, some.first, count)
                                          : 0;
            append(some.first, far_ones, far);
            append(some.first, verdict.accepted & ~far_ones, near);
            append(some.first, verdict.leaves, leaves);
            depth = push_children(input, some.first, verdict.opened, stack, depth);
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
               const core::Buffer<Undecided>& from, Undecided* stack, core::Buffer<int32_t>& far,
               core::Buffer<Undecided>& left) {
    HWY_DYNAMIC_DISPATCH(walk_cell)(input, nodes, target, limit, from, stack, far, left);
}

void walk_group(const WalkInput& input, const FarNodes& nodes, const Target& target, const CellFarLimit* limit,
                const core::Buffer<Undecided>& from, Undecided* stack, core::Buffer<int32_t>& far,
                core::Buffer<int32_t>& near, core::Buffer<int32_t>& leaves) {
    HWY_DYNAMIC_DISPATCH(walk_group)(input, nodes, target, limit, from, stack, far, near, leaves);
}

/// Seven nodes a level, and the entry that the walk begins with.
int64_t dual_walk_stack(int levels) {
    return 8 * (int64_t{levels} + 2);
}

CellFarLimit::CellFarLimit(const Target& target, int order, int degree)
    : allowed(cell_far_share(order)), degree(degree) {
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
    const int64_t own = m.spread.size();
    const double ratio = std::min(theta, closest_ratio); // radius / b
    for (core::Buffer<double>* values : {&magnitude, &extent, &radius}) {
        values->resize(nodes + Criterion::padding);
        std::fill(values->begin() + nodes, values->end(), 0.0);
    }
    executor.for_each(nodes, [&](int64_t k) {
        magnitude[k] = m.magnitude[k];
        if (k < own) {
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
