// SPDX-License-Identifier: BSD-3-Clause
// The walk in Google Highway, compiled once per instruction set. See walk.hpp and lists.hpp.
//
// One test of a node's children (accept), one depth-first walk over it, two sinks (count, fill), and
// the transposed walk over the same test and sinks. Distances use separate multiplications and additions on
// every instruction set, so the lists do not depend on the machine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lists/walk.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "lists/walk.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "lists/criterion_of_children.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::lists::HWY_NAMESPACE {
namespace {

/// Sinks: begin(g), put(base, accepted, leaves), end(g).
struct CountSink {
    const WalkOutput& output;
    int64_t nodes = 0, leaves = 0;
    HWY_INLINE void begin(int64_t) { nodes = leaves = 0; }
    HWY_INLINE void put(int32_t, uint32_t accepted, uint32_t leaf_mask) {
        nodes += std::popcount(accepted);
        leaves += std::popcount(leaf_mask);
    }
    HWY_INLINE void end(int64_t g) {
        output.node_offset[g] = nodes;
        output.leaf_offset[g] = leaves;
    }
};

/// For each mask of 8 bits, the numbers of its set bits.
struct BitNumbers {
    alignas(64) int32_t of[256][8] = {};
    constexpr BitNumbers() {
        for (int mask = 0; mask < 256; ++mask)
            for (int bit = 0, k = 0; bit < 8; ++bit)
                if (mask >> bit & 1)
                    of[mask][k++] = bit;
    }
};
constexpr BitNumbers bit_numbers;

/// Writes base + (numbers of the set bits) at *place and moves it on; whole vectors where they end before
/// `end`.
HWY_INLINE void put_bits(int32_t base, uint32_t mask, int32_t*& place, const int32_t* end) {
    const int32_t* numbers = bit_numbers.of[mask];
    const int count = std::popcount(mask);
    if (end - place >= 8) {
        const hn::CappedTag<int32_t, 8> d;
        for (size_t k = 0; k < 8; k += hn::Lanes(d))
            hn::StoreU(hn::Add(hn::LoadU(d, numbers + k), hn::Set(d, base)), d, place + k);
    } else {
        for (int k = 0; k < count; ++k)
            place[k] = base + numbers[k];
    }
    place += count;
}

struct FillSink {
    const WalkOutput& output;
    int32_t *node = nullptr, *leaf = nullptr;
    const int32_t *node_end = nullptr, *leaf_end = nullptr;
    HWY_INLINE void begin(int64_t g) {
        node = output.nodes + output.node_offset[g];
        node_end = output.nodes + output.node_offset[g + 1];
        leaf = output.leaves + output.leaf_offset[g];
        leaf_end = output.leaves + output.leaf_offset[g + 1];
    }
    HWY_INLINE void put(int32_t base, uint32_t accepted, uint32_t leaf_mask) {
        if (accepted != 0)
            put_bits(base, accepted, node, node_end);
        if (leaf_mask != 0)
            put_bits(base, leaf_mask, leaf, leaf_end);
    }
    HWY_INLINE void end(int64_t) {}
};

/// Depth first: the entries of a node's children, then the opened children in order.
template <typename Sink>
HWY_INLINE void walk_one(const WalkInput& input, const Target& target, int32_t* stack, Sink& sink) {
    const WideTarget wide = widen(target);
    int64_t depth = 0;
    const Verdict root = judge(input, target, wide, input.root, 1, input.root_terminal ? 1 : 0);
    sink.put(input.root, root.accepted, root.leaves);
    if (root.opened != 0)
        stack[depth++] = input.root;
    while (depth > 0) {
        const Link link = input.links[stack[--depth]];
        const Verdict verdict =
            judge(input, target, wide, link.first_child, link.child_count, link.terminal_mask);
        sink.put(link.first_child, verdict.accepted, verdict.leaves);
        for (uint32_t left = verdict.opened; left != 0;) { // the last child first: it is taken last
            const int bit = std::bit_width(left) - 1;
            stack[depth++] = link.first_child + bit;
            left ^= 1u << bit;
        }
    }
}

template <typename Sink>
HWY_INLINE void walk_all(const WalkInput& input, const Group* groups, int64_t begin, int64_t end,
                         int32_t* stack, Sink& sink) {
    for (int64_t g = begin; g < end; ++g) {
        sink.begin(g);
        walk_one(input, groups[g].target, stack, sink);
        sink.end(g);
    }
}

/// The transposed walk: each node once, against those groups of the block that opened its parent.
template <typename Sink>
struct Transposed {
    const WalkInput& input;
    const Group* groups;
    Sink* sinks;

    /// `met`: numbers of the groups that opened `node`; scratch: room for the levels below.
    void open(int32_t node, const int32_t* met, int32_t met_count, int32_t* scratch) {
        const Link link = input.links[node];
        int32_t* opened = scratch;
        int32_t* below = scratch + met_count;
        uint32_t any = 0;
        for (int32_t k = 0; k < met_count; ++k) {
            const Target& target = groups[met[k]].target;
            const Verdict verdict =
                judge(input, target, widen(target), link.first_child, link.child_count, link.terminal_mask);
            sinks[met[k]].put(link.first_child, verdict.accepted, verdict.leaves);
            opened[k] = static_cast<int32_t>(verdict.opened);
            any |= verdict.opened;
        }
        for (; any != 0; any &= any - 1) {
            const int child = std::countr_zero(any);
            int32_t count = 0;
            for (int32_t k = 0; k < met_count; ++k) {
                below[count] = met[k];
                count += opened[k] >> child & 1;
            }
            open(link.first_child + child, below, count, below + count);
        }
    }
};

template <typename Sink>
HWY_INLINE void walk_transposed(const WalkInput& input, const Group* groups, int64_t begin, int64_t end,
                                int32_t* scratch, const WalkOutput& output) {
    std::array<Sink, transposed_block> sinks = [&]<size_t... i>(std::index_sequence<i...>) {
        return std::array<Sink, transposed_block>{((void)i, Sink{output})...};
    }
    (std::make_index_sequence<transposed_block>());
    int32_t met_count = 0;
    for (int32_t k = 0; k < end - begin; ++k) {
        sinks[k].begin(begin + k);
        const Target& target = groups[begin + k].target;
        const Verdict root = judge(input, target, widen(target), input.root, 1, input.root_terminal ? 1 : 0);
        sinks[k].put(input.root, root.accepted, root.leaves);
        scratch[met_count] = k;
        met_count += root.opened != 0;
    }
    if (met_count > 0)
        Transposed<Sink>{input, groups + begin, sinks.data()}.open(input.root, scratch, met_count,
                                                                   scratch + met_count);
    for (int64_t k = 0; k < end - begin; ++k)
        sinks[k].end(begin + k);
}

/// Calls visit(number of the target) for every set bit.
template <typename Visit>
HWY_INLINE void for_bits(uint64_t bits, const Visit& visit) {
    for (; bits != 0; bits &= bits - 1)
        visit(std::countr_zero(bits));
}

} // namespace

void refuse(const WalkInput& input, int32_t base, int node_count, const Group* groups, const int32_t* ids,
            int64_t count, uint8_t* refused) {
    for (int64_t k = 0; k < count; ++k) {
        const Target& target = groups[ids[k]].target;
        const Verdict verdict =
            judge(input, target, widen(target), base, static_cast<uint32_t>(node_count), 0);
        refused[k] = static_cast<uint8_t>(verdict.opened);
    }
}

void open_for_targets(const WalkInput& input, int32_t root_begin, int32_t root_end, const Target* targets,
                      int count, uint8_t* terminal, core::Buffer<Opening>& openings) {
    const uint64_t all = count == 0 ? 0 : ~uint64_t{0} >> (64 - count);
    int64_t next = openings.size();
    for (int32_t root = root_begin; root < root_end; ++root) {
        uint8_t& is_terminal = terminal[root - root_begin];
        uint64_t opened_by = 0, wanted_by = 0;
        for_bits(all, [&](int t) {
            const Verdict verdict = judge(input, targets[t], widen(targets[t]), root, 1, is_terminal);
            opened_by |= uint64_t{verdict.opened} << t;
            wanted_by |= uint64_t{verdict.leaves} << t;
        });
        is_terminal = wanted_by != 0;
        if (opened_by != 0)
            openings.push_back({root, 0, 0, 0, opened_by});
    }
    for (; next < openings.size(); ++next) {
        const Link link = input.links[openings[next].node];
        uint64_t opened_by[8] = {};
        uint32_t opened = 0, leaves = 0;
        for_bits(openings[next].targets, [&](int t) {
            const Verdict verdict = judge(input, targets[t], widen(targets[t]), link.first_child,
                                          link.child_count, link.terminal_mask);
            opened |= verdict.opened;
            leaves |= verdict.leaves;
            for_bits(verdict.opened, [&](int c) { opened_by[c] |= uint64_t{1} << t; });
        });
        openings[next].opened = static_cast<uint8_t>(opened);
        openings[next].leaves = static_cast<uint8_t>(leaves);
        for_bits(opened, [&](int c) { openings.push_back({link.first_child + c, 0, 0, 0, opened_by[c]}); });
    }
}

void count_groups(const WalkInput& input, const Group* groups, int64_t begin, int64_t end, int32_t* scratch,
                  const WalkOutput& output) {
    CountSink sink{output};
    walk_all(input, groups, begin, end, scratch, sink);
}

void fill_groups(const WalkInput& input, const Group* groups, int64_t begin, int64_t end, int32_t* scratch,
                 const WalkOutput& output) {
    FillSink sink{output};
    walk_all(input, groups, begin, end, scratch, sink);
}

void count_transposed(const WalkInput& input, const Group* groups, int64_t begin, int64_t end,
                      int32_t* scratch, const WalkOutput& output) {
    walk_transposed<CountSink>(input, groups, begin, end, scratch, output);
}

void fill_transposed(const WalkInput& input, const Group* groups, int64_t begin, int64_t end,
                     int32_t* scratch, const WalkOutput& output) {
    walk_transposed<FillSink>(input, groups, begin, end, scratch, output);
}

} // namespace graft::lists::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::lists {

HWY_EXPORT(refuse);
HWY_EXPORT(open_for_targets);
HWY_EXPORT(count_groups);
HWY_EXPORT(fill_groups);
HWY_EXPORT(count_transposed);
HWY_EXPORT(fill_transposed);

void refuse(const WalkInput& input, int32_t base, int node_count, const Group* groups, const int32_t* ids,
            int64_t count, uint8_t* refused) {
    HWY_DYNAMIC_DISPATCH(refuse)(input, base, node_count, groups, ids, count, refused);
}

void open_for_targets(const WalkInput& input, int32_t root_begin, int32_t root_end, const Target* targets,
                      int count, uint8_t* terminal, core::Buffer<Opening>& openings) {
    HWY_DYNAMIC_DISPATCH(open_for_targets)(input, root_begin, root_end, targets, count, terminal, openings);
}

int64_t walk_scratch(int levels) {
    // The stack of one walk holds at most 7 nodes a level; the transposed one two numbers per level and
    // group.
    return (int64_t{levels} + 2) * std::max<int64_t>(8, 2 * transposed_block);
}

void count_groups(const WalkInput& input, const Group* groups, int64_t begin, int64_t end, int32_t* scratch,
                  const WalkOutput& output) {
    HWY_DYNAMIC_DISPATCH(count_groups)(input, groups, begin, end, scratch, output);
}

void fill_groups(const WalkInput& input, const Group* groups, int64_t begin, int64_t end, int32_t* scratch,
                 const WalkOutput& output) {
    HWY_DYNAMIC_DISPATCH(fill_groups)(input, groups, begin, end, scratch, output);
}

void count_transposed(const WalkInput& input, const Group* groups, int64_t begin, int64_t end,
                      int32_t* scratch, const WalkOutput& output) {
    HWY_DYNAMIC_DISPATCH(count_transposed)(input, groups, begin, end, scratch, output);
}

void fill_transposed(const WalkInput& input, const Group* groups, int64_t begin, int64_t end,
                     int32_t* scratch, const WalkOutput& output) {
    HWY_DYNAMIC_DISPATCH(fill_transposed)(input, groups, begin, end, scratch, output);
}

} // namespace graft::lists
#endif
