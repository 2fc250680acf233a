// SPDX-License-Identifier: BSD-3-Clause
// One step of a walk by the lanes of a warp or the threads of a block: each has a child of an opened node.
// For the .cu files of this room only.
#pragma once

#include "lists/walk_gpu.cuh"

namespace graft::lists::device {

/// Stack of a warp: room for the reserve of max_device_levels and a wide step.
inline constexpr int warp_stack_capacity = 768;

/// The kind of tree: lanes for the children of one node.
template <int width, bool is_keeping, bool is_plain>
struct Kind {
    static constexpr int children = width;
    static constexpr bool keeping = is_keeping, plain = is_plain;
};

/// One child of the opened nodes stack[top ... top + take), for lane (thread) number `lane`.
struct Child {
    int32_t node;
    bool there;
};
template <class K>
__device__ inline Child child_of(const uint32_t* stack, int32_t top, int32_t take, int32_t lane) {
    const int32_t slot = lane / K::children, number = lane % K::children;
    if (slot >= take)
        return {0, false};
    const uint32_t link = stack[top + slot];
    return {static_cast<int32_t>(link >> 3) + number, number <= static_cast<int32_t>(link & 7)};
}

/// What became of a child.
struct Outcome {
    bool accepted = false, leaf = false, opened = false;
    uint32_t link = 0;
};
template <class K>
__device__ inline Outcome look_at(const WalkView& view, const Target& target, const Child& child) {
    if (!child.there)
        return {};
    const Verdict verdict = judge<K::plain>(view, target, child.node);
    const bool refused = !verdict.accepted;
    return {verdict.accepted, refused && verdict.link == 0, refused && verdict.link != 0, verdict.link};
}

__device__ inline int32_t set_below(uint32_t mask) {
    uint32_t below;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    return __popc(mask & below);
}

} // namespace graft::lists::device
