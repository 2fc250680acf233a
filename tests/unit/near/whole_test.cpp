// SPDX-License-Identifier: BSD-3-Clause
// Which structures may sum each pair of boxes once, and their lists of later boxes, against loops over all
// pairs.
#include "near/mutual.hpp"
#include "near/structure_parts.hpp"
#include "near/tiles/tile_rule.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>
#include <vector>

using namespace graft::near;

namespace {

/// Boxes of one to three points with the lists of a set of pairs.
struct Boxes {
    std::vector<int64_t> offset{0}, list_offset{0};
    std::vector<int32_t> list;

    Boxes(int32_t boxes, const std::set<std::pair<int32_t, int32_t>>& pairs, int64_t points = 0) {
        for (int32_t b = 0; b < boxes; ++b) {
            offset.push_back(offset.back() + (points > 0 ? points : 1 + b % 3));
            for (auto p = pairs.lower_bound({b, 0}); p != pairs.end() && p->first == b; ++p)
                list.push_back(p->second);
            list_offset.push_back(static_cast<int64_t>(list.size()));
        }
    }
    Structure structure() const {
        Structure s;
        s.target_offset = s.source_offset = offset;
        s.neighbour_offset = list_offset, s.neighbour = list, s.same = true;
        return s;
    }
};

std::set<std::pair<int32_t, int32_t>> random_pairs(int32_t boxes, int count, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::set<std::pair<int32_t, int32_t>> pairs;
    for (int k = 0; k < count; ++k) {
        const auto a = static_cast<int32_t>(random() % static_cast<uint64_t>(boxes));
        const auto b = static_cast<int32_t>(random() % static_cast<uint64_t>(boxes));
        pairs.insert({a, b}), pairs.insert({b, a});
    }
    return pairs;
}

/// By the definition.
bool mutual(const std::set<std::pair<int32_t, int32_t>>& pairs) {
    std::set<int32_t> with_list;
    for (const auto& [a, b] : pairs)
        with_list.insert(a);
    for (const auto& [a, b] : pairs)
        if (with_list.count(b) > 0 && pairs.count({b, a}) == 0)
            return false;
    return true;
}

} // namespace

TEST(NearMutual, ListsThatNameEachOther) {
    std::mt19937_64 random(5);
    int yes = 0, no = 0;
    for (uint64_t seed = 0; seed < 400; ++seed) {
        const int32_t boxes = 12;
        auto pairs = random_pairs(boxes, 25, seed);
        if (seed % 3 == 1) // a box loses its list
            for (const auto empty = static_cast<int32_t>(random() % boxes);
                 const auto& pair : random_pairs(boxes, 400, 1))
                if (pair.first == empty)
                    pairs.erase(pair);
        if (seed % 4 == 1) { // some box loses one
            auto gone = pairs.begin();
            std::advance(gone, static_cast<std::ptrdiff_t>(random() % pairs.size()));
            pairs.erase(gone);
        }
        const Boxes made(boxes, pairs);
        Structure s = made.structure();
        EXPECT_EQ(has_mutual_lists(s), mutual(pairs)) << seed;
        (mutual(pairs) ? yes : no) += 1;
        s.same = false;
        EXPECT_FALSE(has_mutual_lists(s));
    }
    EXPECT_GT(yes, 100);
    EXPECT_GT(no, 50);
}

TEST(NearMutual, LaterBoxesAreEveryPairOnce) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
        const int32_t boxes = 20;
        auto pairs = random_pairs(boxes, 60, seed);
        std::erase_if(pairs, [](const auto& pair) { return pair.first % 5 == 2; });
        const Boxes made(boxes, pairs);
        const Structure s = made.structure();
        ASSERT_TRUE(has_mutual_lists(s));
        const LaterBoxes later = later_boxes(s);
        std::set<std::pair<int32_t, int32_t>> want, got;
        for (const auto& [a, b] : pairs)
            if (a != b)
                want.insert({std::min(a, b), std::max(a, b)});
        for (int32_t b = 0; b < boxes; ++b)
            for (int64_t e = later.offset[static_cast<size_t>(b)];
                 e < later.offset[static_cast<size_t>(b) + 1]; ++e) {
                const int32_t other = later.box[static_cast<size_t>(e)];
                EXPECT_TRUE(got.insert({b, other}).second);
                EXPECT_TRUE(e == later.offset[static_cast<size_t>(b)] ||
                            later.box[static_cast<size_t>(e) - 1] < other);
            }
        EXPECT_EQ(got, want);
    }
}

/// A part of a mutual whole is mutual, and has the whole's later boxes of every box that its own ones need.
TEST(NearMutual, PartsAreMutualToo) {
    const Boxes made(40, random_pairs(40, 150, 3));
    for (const StructurePart& part : cut_structure(made.structure(), 4))
        EXPECT_TRUE(has_mutual_lists(part.view()));
}

TEST(NearMutual, WhichSumsPairsOnce) {
    std::set<std::pair<int32_t, int32_t>> pairs;
    for (int32_t b = 0; b < 4096; ++b)
        for (const int32_t other : {b - 1, b, b + 1})
            if (other >= 0 && other < 4096)
                pairs.insert({b, other});
    const Boxes dense(4096, pairs, 32), sparse(4096, pairs, 12);
    Sums sums;
    sums.precision = Precision::fp32;
    EXPECT_TRUE(sums_pairs_once(dense.structure(), sums, 0));
    EXPECT_TRUE(sums_pairs_once(dense.structure(), sums, int64_t{64} << 20));
    EXPECT_FALSE(sums_pairs_once(dense.structure(), sums, int64_t{4} << 20));
    EXPECT_FALSE(sums_pairs_once(sparse.structure(), sums, 0));
    sums.components = 2;
    EXPECT_FALSE(sums_pairs_once(dense.structure(), sums, 0));
    sums.components = 1, sums.precision = Precision::mixed;
    EXPECT_FALSE(sums_pairs_once(dense.structure(), sums, 0));
    sums.precision = Precision::fp32, sums.kernel.kernel = Kernel::yukawa;
    EXPECT_FALSE(sums_pairs_once(dense.structure(), sums, 0));
    sums.kernel.kernel = Kernel::laplace;
    Boxes one_full(4096, pairs, 32);
    for (size_t b = 2000; b < one_full.offset.size(); ++b)
        one_full.offset[b] += int64_t{1} << 20;
    EXPECT_FALSE(sums_pairs_once(one_full.structure(), sums, 0));
    pairs.erase({7, 8});
    EXPECT_FALSE(sums_pairs_once(Boxes(4096, pairs, 32).structure(), sums, 0));
}

/// Boxes in a row, thirteen in a list: all where nearly all would, else each for itself.
TEST(NearTileRule, SmallBoxesTakeBlocksWhereNearlyAllDo) {
    std::set<std::pair<int32_t, int32_t>> pairs;
    constexpr int32_t boxes = 300;
    for (int32_t b = 0; b < boxes; ++b)
        for (int32_t other = std::max(0, b - 6); other <= std::min(boxes - 1, b + 6); ++other)
            pairs.insert({b, other});
    EXPECT_EQ(small_box_blocks(Boxes(boxes, pairs, 8).structure()), 1);
    EXPECT_EQ(small_box_blocks(Boxes(boxes, pairs, 5).structure()), 0);
    EXPECT_EQ(small_box_blocks(Boxes(boxes, pairs, 40).structure()), 1); // none is small
    Boxes mixed(boxes, pairs, 8);
    for (int32_t b = boxes / 2; b < boxes; ++b) // the second half has 5 points a box
        mixed.offset[static_cast<size_t>(b) + 1] = mixed.offset[static_cast<size_t>(b)] + 5;
    EXPECT_EQ(small_box_blocks(mixed.structure()), 0);
}
