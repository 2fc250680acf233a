// Sizes and pieces of the layouts with copies: device_copies.cuh. Host code.
#include "kernels/near/device_copies.cuh"

#include <algorithm>

namespace graft::kernels::near {

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
void cut_targets(const Structure& s, int64_t most, CopyPlan& plan) {
    const auto start = [&](int64_t slot) {
        return plan.length > 0 ? slot * plan.length : plan.group_offset[static_cast<size_t>(slot / 32)];
    };
    const int64_t n = s.targets(), rounded = (n + 31) / 32 * 32;
    const auto end_of = [&](int64_t slot) {
        return plan.length > 0 ? start(std::min(slot, n)) : start(slot);
    };
    for (int64_t slot = 0; slot < n;) {
        const int64_t begin = slot, base = start(begin);
        while (slot < rounded && end_of(slot + 32) - base <= most)
            slot += 32;
        if (slot == begin)
            fail_too_small(plan.layout, plan.entry_bytes * (end_of(slot + 32) - base),
                           plan.entry_bytes * most);
        plan.pieces.push_back({0, 0, begin, std::min(slot, n), base, end_of(slot) - base});
    }
}

/// Words of each 32 targets: their longest record, side by side.
void place_groups(const Structure& s, const Runs& runs, const Sums& sums, CopyPlan& plan) {
    const int64_t n = s.targets(), groups = (n + 31) / 32;
    std::vector<int32_t> most(static_cast<size_t>(groups), 0);
    for (int64_t b = 0; b < s.target_boxes(); ++b)
        for (int64_t g = s.target_offset[b] / 32;
             s.target_offset[b] < s.target_offset[b + 1] && g <= (s.target_offset[b + 1] - 1) / 32; ++g)
            most[static_cast<size_t>(g)] =
                std::max(most[static_cast<size_t>(g)], runs.host_sources()[static_cast<size_t>(b)]);
    plan.group_offset.assign(static_cast<size_t>(groups) + 1, 0);
    for (int64_t g = 0; g < groups; ++g) {
        const int64_t words =
            sums.dimension + 1 + int64_t{most[static_cast<size_t>(g)]} * (sums.dimension + sums.components);
        plan.group_offset[static_cast<size_t>(g) + 1] =
            plan.group_offset[static_cast<size_t>(g)] + 32 * words;
    }
    plan.entries = plan.group_offset.back();
}

} // namespace

CopyPlan make_copy_plan(Layout layout, const Structure& structure, const Runs& runs, const Sums& sums,
                        int64_t most_bytes) {
    CopyPlan plan;
    plan.layout = layout;
    const int64_t number = sums.precision == Precision::fp32 ? 4 : 8;
    if (layout == Layout::indexed || layout == Layout::replicated_group) {
        plan.entry_bytes =
            layout == Layout::indexed ? 4 : number * (4 + (sums.components > 1 ? sums.components : 0));
        plan.entry_offset.assign(runs.host_sources().size() + 1, 0);
        for (size_t b = 0; b < runs.host_sources().size(); ++b)
            plan.entry_offset[b + 1] = plan.entry_offset[b] + runs.host_sources()[b];
        plan.entries = plan.entry_offset.back();
    } else {
        plan.entry_bytes = number;
        if (layout == Layout::replicated) {
            plan.length = sums.dimension + 1 + int64_t{runs.most()} * (sums.dimension + sums.components);
            plan.entries = plan.length * structure.targets();
        } else {
            place_groups(structure, runs, sums, plan);
        }
    }
    const int64_t most = std::max<int64_t>(1, most_bytes / plan.entry_bytes);
    plan.entry_offset.empty() ? cut_targets(structure, most, plan) : cut_boxes(structure, most, plan);
    for (const CopyPiece& piece : plan.pieces)
        plan.largest_piece = std::max(plan.largest_piece, piece.size);
    return plan;
}

} // namespace graft::kernels::near
