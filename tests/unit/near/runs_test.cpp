// SPDX-License-Identifier: BSD-3-Clause
// Neighbour boxes as runs of consecutive sources, which host threads make for a GPU: against what stands in
// the lists, slot by slot.
#include "near/source_runs.hpp"
#include "near_case.hpp"

#include <gtest/gtest.h>

#include <numeric>

using namespace graft::near;

namespace {

/// Slots of a box's neighbours in the order of its list; `own`: where its own ones begin, -1: not there.
struct Listed {
    std::vector<int32_t> slots;
    int32_t own = -1;
};

Listed listed(const Structure& s, const RunsOptions& options, int64_t box) {
    Listed list;
    const bool has_targets = s.target_offset[box] < s.target_offset[box + 1];
    for (int64_t e = s.neighbour_offset[box]; e < s.neighbour_offset[box + 1]; ++e) {
        const int64_t other = s.neighbour[e];
        const bool itself = s.same && other == box;
        if ((itself ? !options.itself : !options.others) || !(has_targets || options.empty))
            continue;
        if (itself)
            list.own = static_cast<int32_t>(list.slots.size());
        for (int64_t slot = s.source_offset[other]; slot < s.source_offset[other + 1]; ++slot)
            list.slots.push_back(static_cast<int32_t>(slot));
    }
    return list;
}

/// Of one box, and that no two runs could be one.
void expect_box(const HostRuns& runs, const Listed& right, size_t box) {
    std::vector<int32_t> slots;
    for (auto r = static_cast<size_t>(runs.offset[box]); r < static_cast<size_t>(runs.offset[box + 1]); ++r) {
        const SlotRun run = runs.run[r];
        EXPECT_LT(run.x, run.y);
        EXPECT_TRUE(slots.empty() || slots.back() + 1 < run.x) << "box " << box;
        slots.resize(slots.size() + static_cast<size_t>(run.y - run.x));
        std::iota(slots.end() - (run.y - run.x), slots.end(), run.x);
    }
    EXPECT_EQ(slots, right.slots) << "box " << box;
    EXPECT_EQ(runs.sources[box], static_cast<int32_t>(right.slots.size()));
    if (!runs.own.empty()) {
        EXPECT_EQ(runs.own[box], right.own) << "box " << box;
    }
}

void expect_runs(const Structure& s, const RunsOptions& options) {
    const HostRuns runs = merge_runs(s, options);
    int64_t most = 0, pairs = 0;
    ASSERT_EQ(static_cast<int64_t>(runs.offset.size()), s.target_boxes() + 1);
    EXPECT_EQ(runs.offset[0], 0);
    EXPECT_EQ(runs.own.empty(), !(s.same && options.itself));
    for (int64_t b = 0; b < s.target_boxes(); ++b) {
        const Listed right = listed(s, options, b);
        expect_box(runs, right, static_cast<size_t>(b));
        const auto m = static_cast<int64_t>(right.slots.size());
        most = std::max(most, m), pairs += m * (s.target_offset[b + 1] - s.target_offset[b]);
    }
    EXPECT_EQ(runs.offset[runs.offset.size() - 1], static_cast<int64_t>(runs.run.size()));
    EXPECT_EQ(runs.most, most);
    EXPECT_EQ(runs.pairs, pairs);
}

/// More boxes than a thread takes at a time, half of them empty, or none; targets that are the sources, or
/// not.
TEST(NearRuns, AreTheListsSlotBySlot) {
    for (const int64_t boxes : {1, 37, 2500})
        for (const int64_t most : {1, 9})
            for (const bool same : {true, false}) {
                near_case::Shape shape;
                shape.boxes = boxes, shape.most = most, shape.same = same;
                shape.neighbours = boxes == 1 ? 0 : 8;
                const near_case::Case one = near_case::make_case(shape, 1, false, 3);
                const Structure s = one.structure();
                for (const bool itself : {true, false})
                    for (const bool others : {true, false})
                        for (const bool empty : {true, false})
                            for (const int32_t threads : {1, 3})
                                expect_runs(s, {itself, others, empty, threads});
            }
}

} // namespace
