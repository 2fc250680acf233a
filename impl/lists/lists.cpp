// SPDX-License-Identifier: BSD-3-Clause
// The passes of list building around the walk. See lists.hpp.
#include "lists/lists.hpp"

#include "backend/scan.hpp"
#include "lists/walk.hpp"

namespace graft::lists {

namespace {

constexpr int64_t walk_block = 64; // groups handed to a thread at once

WalkOutput output_of(InteractionLists& lists) {
    return {lists.node_offset.data(), lists.leaf_offset.data(), lists.nodes.data(), lists.leaves.data()};
}

} // namespace

WalkInput walk_input(const tree::Tree& tree, const Criterion& criterion) {
    return {criterion.cx.data(),        criterion.cy.data(),
            criterion.cz.data(),        criterion.a.data(),
            criterion.b.data(),         criterion.links.data(),
            tree.boxes.data(),          criterion.softening.empty() ? nullptr : criterion.softening.data(),
            criterion.softening_length, criterion.compact_softening,
            criterion.cutoff,           criterion.root,
            criterion.root_terminal,    criterion.levels};
}

void ListBuilder::build(const backend::Executor& executor, const tree::Tree& tree, const Criterion& criterion,
                        const Group* groups, int64_t count, WalkKind kind, InteractionLists& lists) {
    lists.node_offset.resize(count + 1);
    lists.leaf_offset.resize(count + 1);
    lists.node_offset[count] = lists.leaf_offset[count] = 0;
    if (tree.node_count() == 0 || count == 0) {
        std::fill(lists.node_offset.begin(), lists.node_offset.end(), 0);
        std::fill(lists.leaf_offset.begin(), lists.leaf_offset.end(), 0);
        lists.nodes.clear();
        lists.leaves.clear();
        return;
    }
    stacks_.resize(executor.threads * walk_scratch(criterion.levels));
    const WalkInput input = walk_input(tree, criterion);
    const bool transposed = kind == WalkKind::transposed;
    const int64_t scratch = walk_scratch(input.levels), block = transposed ? transposed_block : walk_block;
    const auto pass = [&](auto&& walk) {
        const WalkOutput output = output_of(lists);
        executor.for_blocks(count, block, [&](int64_t begin, int64_t end, int thread) {
            walk(input, groups, begin, end, stacks_.data() + thread * scratch, output);
        });
    };
    pass(transposed ? count_transposed : count_groups);
    scan(executor, count, lists);
    pass(transposed ? fill_transposed : fill_groups);
}

/// Counts become offsets; the lists get their size.
void ListBuilder::scan(const backend::Executor& executor, int64_t count, InteractionLists& lists) {
    const auto scan_one = [&](core::Buffer<int64_t>& offset, core::Buffer<int64_t>& sums,
                              core::Buffer<int32_t>& entries) {
        const int64_t total = backend::exclusive_scan<int64_t>(
            executor, count, [&](int64_t i) { return offset[i]; }, offset.data(), sums);
        offset[count] = total;
        entries.resize(total);
    };
    scan_one(lists.node_offset, node_sums_, lists.nodes);
    scan_one(lists.leaf_offset, leaf_sums_, lists.leaves);
}

} // namespace graft::lists
