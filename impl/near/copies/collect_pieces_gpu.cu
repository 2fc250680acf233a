// SPDX-License-Identifier: BSD-3-Clause
// Sizes and pieces of the layouts with copies: collect_gpu.cuh. Host code.
#include "near/copies/collect_gpu.cuh"

#include <algorithm>

namespace graft::near {

namespace {

[[noreturn]] void fail_too_small(Layout layout, int64_t bytes, int64_t most_bytes) {
    core::fail(core::Status::memory,
               "near field on a GPU, layout %s: one box's copies take %lld bytes, memory allows pieces of "
               "%lld; allow "
               "more, use a deeper tree, or the layouts ranges or tiled",
               std::string(name(layout)).c_str(), static_cast<long long>(bytes),
               static_cast<long long>(most_bytes));
}

/// Cuts boxes, whose entries are known, into pieces.
void cut_boxes(const Structure& s, int64_t most, CopyPlan& plan) {
    const int64_t boxes = s.target_boxes();
    for (int64_t b = 0; b < boxes;) {
        const int64_t begin = b, base = plan.entry_offset[static_cast<size_t>(b)];
        while (b < boxes && plan.entry_offset[static_cast<size_t>(b) + 1] - base <= most)
            ++b;
        if (b == begin)
            fail_too_small(plan.layout,
                           plan.entry_bytes * (plan.entry_offset[static_cast<size_t>(b) + 1] - base),
                           plan.entry_bytes * most);
        plan.pieces.push_back({begin, b, s.target_offset[begin], s.target_offset[b], base,
                               plan.entry_offset[static_cast<size_t>(b)] - base});
    }
}

/// Cuts targets, 32 at a time, into pieces.
void cut_targets(const Structure& s, const Runs& runs, int64_t most, CopyPlan& plan) {
    const int64_t n = s.targets(), rounded = (n + 31) / 32 * 32;
    const auto start = [&](int64_t slot) { return plan.words_before(slot, s, runs); };
    if (n > 0 && plan.entries <= most) {
        plan.pieces.push_back({0, 0, 0, n, 0, plan.entries});
        return;
    }
    for (int64_t slot = 0; slot < n;) {
        const int64_t begin = slot, base = start(begin);
        while (slot < rounded && start(slot + 32) - base <= most)
            slot += 32;
        if (slot == begin)
            fail_too_small(plan.layout, plan.entry_bytes * (start(slot + 32) - base),
                           plan.entry_bytes * most);
        plan.pieces.push_back({0, 0, begin, std::min(slot, n), base, start(slot) - base});
    }
}

/// Words of each 32 targets: their longest record, side by side.
void place_groups(const Structure& s, const Runs& runs, CopyPlan& plan) {
    const int64_t n = s.targets(), groups = (n + 31) / 32;
    std::vector<int32_t> most(static_cast<size_t>(groups), 0);
    for (int64_t b = 0; b < s.target_boxes(); ++b)
        for (int64_t g = s.target_offset[b] / 32;
             s.target_offset[b] < s.target_offset[b + 1] && g <= (s.target_offset[b + 1] - 1) / 32; ++g)
            most[static_cast<size_t>(g)] =
                std::max(most[static_cast<size_t>(g)], runs.host().sources[static_cast<size_t>(b)]);
    plan.word_offset.assign(1, 0);
    for (const int32_t sources : most)
        plan.word_offset.push_back(plan.word_offset.back() + 32 * (plan.head + int64_t{plan.each} * sources));
}

/// Words of each target: as many as its box has sources.
void place_packed(const Structure& s, const Runs& runs, CopyPlan& plan) {
    plan.word_offset.resize(static_cast<size_t>(s.target_boxes()));
    for (int64_t b = 0; b < s.target_boxes(); ++b) {
        const int64_t words = plan.head + int64_t{plan.each} * runs.host().sources[static_cast<size_t>(b)];
        plan.word_offset[static_cast<size_t>(b)] = plan.entries - s.target_offset[b] * words;
        plan.entries += (s.target_offset[b + 1] - s.target_offset[b]) * words;
    }
}

} // namespace

int64_t CopyPlan::words_before(int64_t slot, const Structure& structure, const Runs& runs) const {
    if (layout == Layout::replicated_interleaved)
        return word_offset[static_cast<size_t>(slot / 32)];
    if (length > 0)
        return std::min(slot, structure.targets()) * length;
    if (slot >= structure.targets())
        return entries;
    const auto& offset = structure.target_offset;
    const int64_t box = std::upper_bound(offset.begin(), offset.end(), slot) - offset.begin() - 1;
    return places(word_offset.data(), runs.host().sources.all().data()).of_target(slot, box);
}

int64_t CopyPlan::least_piece(const Structure& structure, const Runs& runs) const {
    int64_t most = 1;
    for (size_t b = 0; b + 1 < entry_offset.size(); ++b)
        most = std::max(most, entry_offset[b + 1] - entry_offset[b]);
    for (int64_t slot = 0; entry_offset.empty() && slot < structure.targets(); slot += 32)
        most = std::max(most, words_before(slot + 32, structure, runs) - words_before(slot, structure, runs));
    return most;
}

CopyPlan make_copy_plan(Layout layout, const Structure& structure, const Runs& runs, const Sums& sums,
                        int64_t most_bytes) {
    CopyPlan plan;
    plan.layout = layout;
    const int64_t number = sums.precision == Precision::fp32 ? 4 : 8;
    if (layout == Layout::indexed || by_group(layout)) {
        if (layout == Layout::replicated_group_padded)
            plan.length = runs.host().most;
        plan.entry_bytes =
            layout == Layout::indexed ? 4 : number * (4 + (sums.components > 1 ? sums.components : 0));
        plan.entry_offset.assign(runs.host().sources.size() + 1, 0);
        for (size_t b = 0; b < runs.host().sources.size(); ++b)
            plan.entry_offset[b + 1] =
                plan.entry_offset[b] + (plan.length > 0 ? plan.length : runs.host().sources[b]);
        plan.entries = plan.entry_offset.back();
    } else {
        plan.entry_bytes = number;
        constexpr int32_t most_counted = 1 << 24; // a record's count is a number of its type
        if (number == 4 && runs.host().most > most_counted)
            core::fail(core::Status::unsupported,
                       "near field on a GPU: %s in fp32 counts up to 2^24 sources a target, found %lld",
                       std::string(name(layout)).c_str(), static_cast<long long>(runs.host().most));
        plan.head = sums.dimension + 1, plan.each = sums.dimension + sums.components;
        if (layout == Layout::replicated)
            plan.length = plan.head + int64_t{plan.each} * runs.host().most;
        else if (layout == Layout::replicated_packed)
            place_packed(structure, runs, plan);
        else
            place_groups(structure, runs, plan);
        plan.entries = plan.words_before((structure.targets() + 31) / 32 * 32, structure, runs);
    }
    const int64_t most = std::max<int64_t>(1, most_bytes / plan.entry_bytes);
    plan.entry_offset.empty() ? cut_targets(structure, runs, most, plan) : cut_boxes(structure, most, plan);
    for (const CopyPiece& piece : plan.pieces)
        plan.largest_piece = std::max(plan.largest_piece, piece.size);
    return plan;
}

} // namespace graft::near
