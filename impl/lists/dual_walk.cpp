// SPDX-License-Identifier: BSD-3-Clause
// See dual_walk.hpp.
#include "lists/dual_walk.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lists/dual_walk.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "lists/verdict.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::lists::HWY_NAMESPACE {
namespace {

HWY_INLINE Undecided children_of(const WalkInput& input, int32_t node) {
    const Link link = input.links[node];
    return {link.first_child, static_cast<uint8_t>((1u << link.child_count) - 1), link.terminal_mask, 0};
}

/// What the criterion says of the children in the mask.
HWY_INLINE Verdict judge_some(const WalkInput& input, const Target& target, const WideTarget& wide, const Undecided& some) {
    const auto count = static_cast<uint32_t>(std::bit_width(uint32_t{some.mask}));
    Verdict verdict = judge(input, target, wide, some.first, count, some.terminal);
    verdict.accepted &= some.mask, verdict.leaves &= some.mask, verdict.opened &= some.mask;
    return verdict;
}

} // namespace

void walk_cell(const WalkInput& input, const double* magnitude, const Target& target, const FarLimit& limit,
               const Undecided* from, int64_t count, Undecided* stack, core::Buffer<int32_t>& far,
               core::Buffer<Undecided>& left) {
    const WideTarget wide = widen(target);
    const double size = target.box.longest_edge();
    for (int64_t k = 0; k < count; ++k) {
        stack[0] = from[k];
        for (int64_t depth = 1; depth > 0;) {
            const Undecided some = stack[--depth];
            const Verdict verdict = judge_some(input, target, wide, some);
            uint32_t keep = verdict.leaves;
            for (uint32_t bits = verdict.accepted; bits != 0; bits &= bits - 1) {
                const int32_t node = some.first + std::countr_zero(bits);
                if (is_far(limit, magnitude[node], input.cx[node], input.cy[node], input.cz[node]))
                    far.push_back(node);
                else
                    keep |= bits & (0 - bits);
            }
            for (uint32_t bits = verdict.opened; bits != 0;) { // the last one first: it is taken last
                const int bit = std::bit_width(bits) - 1;
                bits ^= 1u << bit;
                if (input.boxes[some.first + bit].longest_edge() > size)
                    stack[depth++] = children_of(input, some.first + bit);
                else
                    keep |= 1u << bit;
            }
            if (keep != 0)
                left.push_back({some.first, static_cast<uint8_t>(keep), some.terminal, 0});
        }
    }
}

void walk_group(const WalkInput& input, const Target& target, const Undecided* from, int64_t count,
                Undecided* stack, core::Buffer<int32_t>& nodes, core::Buffer<int32_t>& leaves) {
    const WideTarget wide = widen(target);
    for (int64_t k = 0; k < count; ++k) {
        stack[0] = from[k];
        for (int64_t depth = 1; depth > 0;) {
            const Undecided some = stack[--depth];
            const Verdict verdict = judge_some(input, target, wide, some);
            for (uint32_t bits = verdict.accepted; bits != 0; bits &= bits - 1)
                nodes.push_back(some.first + std::countr_zero(bits));
            for (uint32_t bits = verdict.leaves; bits != 0; bits &= bits - 1)
                leaves.push_back(some.first + std::countr_zero(bits));
            for (uint32_t bits = verdict.opened; bits != 0;) {
                const int bit = std::bit_width(bits) - 1;
                bits ^= 1u << bit;
                stack[depth++] = children_of(input, some.first + bit);
            }
        }
    }
}

} // namespace graft::lists::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::lists {

HWY_EXPORT(walk_cell);
HWY_EXPORT(walk_group);

void walk_cell(const WalkInput& input, const double* magnitude, const Target& target, const FarLimit& limit,
               const Undecided* from, int64_t count, Undecided* stack, core::Buffer<int32_t>& far,
               core::Buffer<Undecided>& left) {
    HWY_DYNAMIC_DISPATCH(walk_cell)(input, magnitude, target, limit, from, count, stack, far, left);
}

void walk_group(const WalkInput& input, const Target& target, const Undecided* from, int64_t count,
                Undecided* stack, core::Buffer<int32_t>& nodes, core::Buffer<int32_t>& leaves) {
    HWY_DYNAMIC_DISPATCH(walk_group)(input, target, from, count, stack, nodes, leaves);
}

} // namespace graft::lists
#endif
