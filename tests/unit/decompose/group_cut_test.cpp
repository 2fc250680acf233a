// SPDX-License-Identifier: BSD-3-Clause
// The cut of one cell over a group of ranks against a full sort: huge weights, coordinates at the ends of the
// doubles, keys, heaps, any number of bins.
#include "sets_on_ranks.hpp"

#include "decompose/halving/group_cut.hpp"

using namespace sets;

namespace {

/// Number of items that go left, by the written rule.
template <typename AnyItem>
int64_t expected_left(std::vector<AnyItem> items, const CutGoal& goal, std::vector<AnyItem>& sorted) {
    std::sort(items.begin(), items.end(), [](const AnyItem& a, const AnyItem& b) {
        return a.image(0) != b.image(0) ? a.image(0) < b.image(0) : a.id < b.id;
    });
    sorted = items;
    int64_t best = -1, k = 0;
    Wide weight = 0, least = 0;
    for (;; ++k) { // nearest to the goal, the first of several: the rule but for points without weight
        if (k >= goal.least && k <= goal.most && (best < 0 || goal.error(k, weight) < least))
            best = k, least = goal.error(k, weight);
        if (k == static_cast<int64_t>(items.size()))
            return best;
        weight += items[static_cast<size_t>(k)].weight;
    }
}

template <typename AnyItem>
void expect_cut(const std::vector<AnyItem>& items, GroupQuestion question, int ranks, int32_t parts) {
    Wide total = 0;
    for (const AnyItem& item : items)
        total += item.weight;
    question.goal = CutGoal(static_cast<int64_t>(items.size()), total, parts, 0);
    std::vector<AnyItem> sorted;
    const int64_t left = expected_left(items, question.goal, sorted);
    comm::run_ranks(ranks, [&](comm::Communicator& comm) {
        core::Memory memory;
        GroupCut<AnyItem> cut(memory);
        const auto n = static_cast<int64_t>(items.size());
        const int64_t begin = n * comm.rank() / ranks, end = n * (comm.rank() + 1) / ranks;
        cut.reserve_bins(question.bins);
        cut.reserve(end - begin);
        const GroupAnswer answer = cut.find(comm, items.data() + begin, end - begin, question, false, false);
        EXPECT_FALSE(answer.failed || answer.crowded);
        EXPECT_EQ(answer.count, left);
        EXPECT_LT(answer.rounds, 30);
        Wide weight = 0;
        for (int64_t k = 0; k < n; ++k) {
            const AnyItem& item = sorted[static_cast<size_t>(k)];
            EXPECT_EQ(is_left(answer.border, item, 0), k < left) << k;
            weight += k < left ? item.weight : 0;
        }
        EXPECT_TRUE(answer.weight == weight);
    });
}

std::vector<Item> items_at(const std::vector<double>& places, int64_t n, uint64_t heaviest, uint32_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Item> items;
    for (int64_t i = 0; i < n; ++i)
        items.push_back(
            {{places[random() % places.size()], 0, 0}, 1 + random() % heaviest, i * 7919 % 10007 - 5000});
    return items;
}

GroupQuestion question_over(const std::vector<double>& places, int bins, int64_t few) {
    GroupQuestion question;
    question.lower = *std::min_element(places.begin(), places.end());
    question.upper = *std::max_element(places.begin(), places.end());
    question.bins = bins;
    question.few = few;
    return question;
}

} // namespace

TEST(GroupCut, PlacesAtTheEndsOfTheDoubles) {
    constexpr double tiny = 5e-324, huge = 1.7e308, one = 1.0000000000000002;
    const std::vector<std::vector<double>> sets = {
        {-huge, huge},
        {-huge, -1, 0, 1, huge},
        {0, tiny, 2 * tiny, 3 * tiny},
        {-tiny, -0.0, 0.0, tiny},
        {-1e-300, 1e-300, 1e300},
        {1, one, 1e16, 1e16 + 2},
        {1, one},
        {-3, -3, -3, 7},
    };
    for (const std::vector<double>& places : sets)
        for (const int bins : {0, 2, 3, 100})
            for (const int64_t few : {0, 5})
                for (const int32_t parts : {2, 3, 7})
                    expect_cut(items_at(places, 300, 1000, 3), question_over(places, bins, few), 3, parts);
}

TEST(GroupCut, HugeWeightsNeedThreeLanes) {
    const std::vector<double> places = {-2, -1, 0.5, 0.75, 3, 8, 9, 10};
    for (const uint64_t heaviest : {uint64_t{1} << 40, uint64_t{1} << 62})
        for (const int64_t few : {0, 20})
            expect_cut(items_at(places, 500, heaviest, 4), question_over(places, 0, few), 4, 5);
}

TEST(GroupCut, UnitWeights) {
    const std::vector<double> places = {1, 2, 3, 4, 5, 6, 7};
    GroupQuestion question = question_over(places, 0, 0);
    question.unit = true;
    for (const int32_t parts : {2, 3, 5, 9})
        expect_cut(items_at(places, 400, 1, 5), question, 3, parts);
}

TEST(GroupCut, Keys) {
    std::mt19937_64 random(6);
    for (const int shift : {1, 30, 60}) {
        std::vector<KeyItem> items;
        for (int64_t i = 0; i < 600; ++i)
            items.push_back({random() >> shift, 1 + random() % 50, i});
        GroupQuestion question;
        question.last_key = (uint64_t{1} << 63) - 1;
        for (const int bins : {0, 2, 64})
            for (const int64_t few : {0, 12})
                question.bins = bins, question.few = few, expect_cut(items, question, 4, 3);
    }
}
