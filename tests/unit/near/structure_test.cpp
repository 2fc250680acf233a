// SPDX-License-Identifier: BSD-3-Clause
// Structures of callers: what is taken, and each way to be wrong, refused by array and item. Boxes made here:
// complete (every pair of touching boxes), disjoint, in the paper's case with its L, t and D.
#include "near/boxes.hpp"
#include "near_integers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace graft;
using namespace graft::near;
using graft::test::integers;

namespace {

/// Three target boxes over 5 targets, two source boxes over 4 sources.
struct Lists {
    std::vector<int64_t> target_offset{0, 2, 2, 5}, source_offset{0, 1, 4}, neighbour_offset{0, 2, 3, 4};
    std::vector<int32_t> neighbour{0, 1, 1, 0};
    std::vector<int32_t> target_index{4, 3, 2, 1, 0}, source_index{0, 2, 1, 3};
    int64_t targets = 5, sources = 4;
    bool indexed = false, same = false;

    StructureInput input(int64_t base = 0) const {
        StructureInput s;
        s.target_offset = integers(target_offset, "target_offset", base);
        s.neighbour_offset = integers(neighbour_offset, "neighbour_offset", base);
        s.neighbour = integers(neighbour, "neighbour", base);
        s.source_offset.name = "source_offset";
        s.target_index.name = "target_index";
        s.source_index.name = "source_index";
        if (!same)
            s.source_offset = integers(source_offset, "source_offset", base);
        if (indexed)
            s.target_index = integers(target_index, "target_index", base);
        if (indexed && !same)
            s.source_index = integers(source_index, "source_index", base);
        s.targets = targets;
        s.sources = same ? targets : sources;
        s.same = same;
        return s;
    }
};

class NearStructure : public testing::Test {
  protected:
    core::Memory memory;
    backend::Executor executor{memory, 2};
    OwnedStructure owned{memory};

    void expect_refused(const StructureInput& input, core::Status status,
                        const std::vector<std::string>& words) {
        try {
            read_structure(executor, input, owned);
            FAIL() << "taken, but expected " << words[0];
        } catch (const core::Error& error) {
            EXPECT_EQ(error.status(), status) << error.what();
            for (const std::string& word : words)
                EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
                    << error.what() << " lacks " << word;
        }
    }
    void expect_refused(const std::function<void(Lists&)>& change, core::Status status,
                        const std::vector<std::string>& words) {
        Lists lists;
        change(lists);
        expect_refused(lists.input(), status, words);
    }
};

using core::Status;

} // namespace

TEST_F(NearStructure, TakenAsItIs) {
    Lists lists;
    read_structure(executor, lists.input(), owned);
    const Structure s = owned.view();
    EXPECT_EQ(s.target_boxes(), 3);
    EXPECT_EQ(s.source_boxes(), 2);
    EXPECT_EQ(s.targets(), 5);
    EXPECT_EQ(s.sources(), 4);
    EXPECT_FALSE(s.same);
    EXPECT_TRUE(std::ranges::equal(s.neighbour, lists.neighbour));
    Sums sums;
    const Shape shape = shape_of(s, sums);
    EXPECT_EQ(shape.pairs, 2 * 4 + 0 * 3 + 3 * 1);
    EXPECT_EQ(shape.largest, 3);
    EXPECT_EQ(shape.most_sources, 4);
    EXPECT_DOUBLE_EQ(shape.mean, 5.0 / 3);
    EXPECT_DOUBLE_EQ(shape.warp_pairs, 32 * 4 + 32 * 1);
}

TEST_F(NearStructure, CountedFrom1AndIndexed) {
    Lists lists, from_1;
    lists.indexed = from_1.indexed = true;
    for (auto* list : {&from_1.target_offset, &from_1.source_offset, &from_1.neighbour_offset})
        for (int64_t& value : *list)
            ++value;
    for (auto* list : {&from_1.neighbour, &from_1.target_index, &from_1.source_index})
        for (int32_t& value : *list)
            ++value;
    read_structure(executor, lists.input(), owned);
    OwnedStructure other(memory);
    read_structure(executor, from_1.input(1), other);
    EXPECT_TRUE(std::ranges::equal(owned.view().target_offset, other.view().target_offset));
    EXPECT_TRUE(std::ranges::equal(owned.view().neighbour, other.view().neighbour));
    EXPECT_TRUE(std::ranges::equal(owned.view().target_index, other.view().target_index));
    EXPECT_TRUE(std::ranges::equal(owned.view().source_index, other.view().source_index));
    EXPECT_EQ(other.view().target_index[0], 4);
}

TEST_F(NearStructure, PointsOutsideOfAllBoxesAreLeftOut) {
    Lists lists;
    lists.indexed = true;
    lists.targets = 100;
    lists.target_index = {99, 3, 50, 1, 0};
    read_structure(executor, lists.input(), owned);
    EXPECT_EQ(owned.view().targets(), 5);
}

TEST_F(NearStructure, EmptyIsFine) {
    Lists lists;
    lists.target_offset = lists.source_offset = lists.neighbour_offset = {0};
    lists.neighbour.clear();
    lists.targets = lists.sources = 0;
    read_structure(executor, lists.input(), owned);
    EXPECT_EQ(owned.view().target_boxes(), 0);
    EXPECT_EQ(shape_of(owned.view(), Sums()).pairs, 0);
}

TEST_F(NearStructure, WrongOffsets) {
    expect_refused([](Lists& l) { l.target_offset = {}; }, Status::array, {"target_offset", "no items"});
    expect_refused([](Lists& l) { l.target_offset[0] = 1; }, Status::value, {"target_offset", "item 0 is 1"});
    expect_refused([](Lists& l) { l.target_offset[2] = 1; }, Status::value,
                   {"target_offset", "item 2", "is 1", "before it, 2"});
    expect_refused([](Lists& l) { l.target_offset[1] = -9; }, Status::value,
                   {"target_offset", "item 1", "-9"});
    expect_refused([](Lists& l) { l.source_offset[2] = 0; }, Status::value, {"source_offset", "item 2"});
    expect_refused([](Lists& l) { l.neighbour_offset[3] = 2; }, Status::value,
                   {"neighbour_offset", "item 3"});
    expect_refused([](Lists& l) { l.neighbour_offset[3] = 7; }, Status::array,
                   {"neighbour_offset", "last item is 7", "4 items in the lists"});
    expect_refused([](Lists& l) { l.neighbour_offset.push_back(4); }, Status::array,
                   {"neighbour_offset", "n is 5", "expected 4", "target_offset"});
    expect_refused([](Lists& l) { l.targets = 6; }, Status::array,
                   {"target_index", "hold 5 targets", "of 6"});
    expect_refused([](Lists& l) { l.sources = 3; }, Status::array,
                   {"source_index", "hold 4 sources", "of 3"});
    expect_refused([](Lists& l) { l.target_offset[3] = INT64_MAX; }, Status::array, {"target_index"});
}

TEST_F(NearStructure, WrongLists) {
    expect_refused([](Lists& l) { l.neighbour[2] = 2; }, Status::value,
                   {"neighbour", "item 2", "is 2", "0 to 1"});
    expect_refused([](Lists& l) { l.neighbour[3] = -1; }, Status::value, {"neighbour", "item 3", "-1"});
    expect_refused([](Lists& l) { l.neighbour[3] = INT32_MIN; }, Status::value, {"neighbour", "item 3"});
    expect_refused(
        [](Lists& l) {
            l.neighbour = {1, 0, 1, 0};
        },
        Status::value, {"neighbour", "item 1", "target box 0", "is 0 after 1"});
    expect_refused(
        [](Lists& l) {
            l.neighbour = {1, 1, 1, 0};
        },
        Status::value, {"neighbour", "item 1", "1 again"});
}

TEST_F(NearStructure, WrongIndices) {
    const auto indexed = [&](const std::function<void(Lists&)>& change, core::Status status,
                             const std::vector<std::string>& words) {
        expect_refused(
            [&](Lists& l) {
                l.indexed = true;
                change(l);
            },
            status, words);
    };
    indexed([](Lists& l) { l.target_index[3] = 5; }, Status::value,
            {"target_index", "item 3", "is 5", "0 to 4"});
    indexed([](Lists& l) { l.source_index[0] = -2; }, Status::value, {"source_index", "item 0", "-2"});
    indexed([](Lists& l) { l.target_index[4] = 3; }, Status::value,
            {"target_index", "item 4", "is 3", "earlier"});
    indexed([](Lists& l) { l.source_index.pop_back(); }, Status::array,
            {"source_offset", "4", "3 source indices"});
}

TEST_F(NearStructure, MissingAndContradicting) {
    StructureInput input = Lists().input();
    input.neighbour = {};
    input.neighbour.name = "neighbour";
    expect_refused(input, Status::argument, {"neighbour is NULL"});
    input = Lists().input();
    input.source_offset = {};
    input.source_offset.name = "source_offset";
    expect_refused(input, Status::argument, {"source_offset is NULL"});
    input = Lists().input();
    input.same = true;
    expect_refused(input, Status::argument, {"source_offset is given", "the same"});
    input = Lists().input();
    input.sources = int64_t{1} << 31;
    expect_refused(input, Status::unsupported, {"2147483648 sources", "2147483647"});
}

namespace {

struct Cloud {
    std::vector<double> x, y, z;
    Points points() const { return {static_cast<int64_t>(x.size()), x.data(), y.data(), z.data()}; }
};

Cloud cloud(int64_t n, unsigned seed, bool clustered) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    Cloud c;
    for (int64_t i = 0; i < n; ++i) {
        const double scale = clustered && i % 2 == 0 ? 1e-3 : 1;
        c.x.push_back(uniform(random) * scale);
        c.y.push_back(uniform(random) * scale);
        c.z.push_back(uniform(random) * scale);
    }
    return c;
}

/// Every point is in exactly one box, and every list ascends and is symmetric.
void expect_sound(const Structure& s, int64_t targets, int64_t sources) {
    ASSERT_EQ(s.targets(), targets);
    ASSERT_EQ(s.sources(), sources);
    EXPECT_EQ(std::set<int64_t>(s.target_index.begin(), s.target_index.end()).size(),
              static_cast<size_t>(targets));
    EXPECT_EQ(std::set<int64_t>(s.source_index.begin(), s.source_index.end()).size(),
              static_cast<size_t>(sources));
    std::set<std::pair<int64_t, int64_t>> pairs;
    for (int64_t b = 0; b < s.target_boxes(); ++b)
        for (int64_t k = s.neighbour_offset[b]; k < s.neighbour_offset[b + 1]; ++k) {
            if (k > s.neighbour_offset[b]) {
                EXPECT_LT(s.neighbour[k - 1], s.neighbour[k]);
            }
            pairs.insert({b, s.neighbour[k]});
        }
    for (const auto& [a, b] : pairs)
        EXPECT_TRUE(pairs.contains({b, a})) << a << " " << b;
}

/// Boxes touch where no axis has a gap: found from the points' own cells, level by level, in integers.
struct IntegerCell {
    int64_t begin[3], end[3]; // in units of 2^-20 of the edge
};

bool touch(const IntegerCell& a, const IntegerCell& b, int dimension) {
    for (int axis = 0; axis < dimension; ++axis)
        if (a.begin[axis] > b.end[axis] || b.begin[axis] > a.end[axis])
            return false;
    return true;
}

/// The quadtree (octree) by plain recursion over the points themselves, in Morton order.
void split(const std::vector<std::array<int64_t, 3>>& p, const std::vector<int>& inside, IntegerCell cell,
           size_t most, int level, int fixed, int dimension, std::vector<IntegerCell>& cells,
           std::vector<std::vector<int>>& held) {
    if (inside.empty())
        return;
    if (fixed >= 0 ? level == fixed : inside.size() <= most) {
        cells.push_back(cell);
        held.push_back(inside);
        return;
    }
    for (int child = 0; child < 1 << dimension; ++child) {
        IntegerCell part = cell;
        for (int a = 0; a < dimension; ++a) {
            const int64_t middle = (cell.begin[a] + cell.end[a]) / 2;
            (child >> a & 1 ? part.begin[a] : part.end[a]) = middle;
        }
        std::vector<int> kept;
        for (int i : inside) {
            bool in = true;
            for (int a = 0; a < dimension; ++a)
                in &= p[static_cast<size_t>(i)][static_cast<size_t>(a)] >= part.begin[a] &&
                      p[static_cast<size_t>(i)][static_cast<size_t>(a)] < part.end[a];
            if (in)
                kept.push_back(i);
        }
        split(p, kept, part, most, level + 1, fixed, dimension, cells, held);
    }
}

void expect_boxes(const BoxOptions& options, bool clustered, int fixed_level) {
    core::Memory memory;
    const backend::Executor executor{memory, 2};
    const int64_t unit = 1 << 20;
    const Cloud c = cloud(600, 5, clustered);
    BoxOptions o = options;
    o.has_box = true;
    for (int a = 0; a < 3; ++a)
        o.upper[a] = 1;
    OwnedStructure owned(memory);
    const BoxReport report = build_boxes(executor, o, c.points(), nullptr, owned);
    const Structure s = owned.view();
    expect_sound(s, 600, 600);
    std::vector<std::array<int64_t, 3>> p(600);
    std::vector<int> all;
    for (int i = 0; i < 600; ++i) {
        const double* const axes[3] = {c.x.data(), c.y.data(), c.z.data()};
        for (size_t a = 0; a < 3; ++a)
            p[static_cast<size_t>(i)][a] = static_cast<int64_t>(axes[a][i] * static_cast<double>(unit));
        all.push_back(i);
    }
    std::vector<IntegerCell> cells;
    std::vector<std::vector<int>> held;
    split(p, all, {{0, 0, 0}, {unit, unit, unit}}, static_cast<size_t>(o.most), 0, fixed_level, o.dimension,
          cells, held);
    ASSERT_EQ(s.target_boxes(), static_cast<int64_t>(cells.size()));
    EXPECT_EQ(report.boxes, static_cast<int64_t>(cells.size()));
    for (size_t b = 0; b < cells.size(); ++b) {
        const std::vector<int> mine(s.target_index.begin() + s.target_offset[b],
                                    s.target_index.begin() + s.target_offset[b + 1]);
        EXPECT_TRUE(std::ranges::is_permutation(mine, held[b])) << "box " << b;
        std::vector<int32_t> expected;
        for (size_t other = 0; other < cells.size(); ++other)
            if (touch(cells[b], cells[other], o.dimension))
                expected.push_back(static_cast<int32_t>(other));
        EXPECT_TRUE(std::ranges::equal(
            s.neighbour.subspan(static_cast<size_t>(s.neighbour_offset[b]),
                                static_cast<size_t>(s.neighbour_offset[b + 1] - s.neighbour_offset[b])),
            expected))
            << "box " << b;
    }
}

} // namespace

TEST(NearBoxes, LevelIsWhatPlainRecursionFinds) {
    for (int dimension : {2, 3})
        for (int level : {0, 1, 3}) {
            BoxOptions options;
            options.dimension = dimension;
            options.height = level + 1;
            expect_boxes(options, false, level);
        }
}

TEST(NearBoxes, LeavesAreWhatPlainRecursionFinds) {
    for (int dimension : {2, 3})
        for (bool clustered : {false, true})
            for (int64_t most : {1000, 15, 3}) {
                BoxOptions options;
                options.kind = Boxes::leaves;
                options.dimension = dimension;
                options.most = most;
                expect_boxes(options, clustered, -1);
            }
}

TEST(NearBoxes, GridOfCells) {
    core::Memory memory;
    const backend::Executor executor{memory, 1};
    const Cloud t = cloud(500, 1, false), q = cloud(300, 2, false);
    BoxOptions o;
    o.kind = Boxes::grid;
    o.has_box = true;
    const int32_t cells[3] = {4, 3, 5};
    for (int a = 0; a < 3; ++a) {
        o.upper[a] = 1;
        o.cells[a] = cells[a];
    }
    OwnedStructure owned(memory);
    const Points sources = q.points();
    const BoxReport report = build_boxes(executor, o, t.points(), &sources, owned);
    const Structure s = owned.view();
    expect_sound(s, 500, 300);
    EXPECT_EQ(report.cells, 60);
    EXPECT_DOUBLE_EQ(report.density, 500.0 / 60);
    // Every pair of points whose cells differ by at most one along each axis, and no other.
    std::vector<int64_t> box_of(300);
    for (int64_t b = 0; b < s.source_boxes(); ++b)
        for (int64_t k = s.source_offset[b]; k < s.source_offset[b + 1]; ++k)
            box_of[static_cast<size_t>(s.source_index[k])] = b;
    const auto cell = [&](const Cloud& c, size_t i, int a) {
        return static_cast<int>((a == 0 ? c.x[i] : a == 1 ? c.y[i] : c.z[i]) * cells[a]);
    };
    for (int64_t b = 0; b < s.target_boxes(); ++b)
        for (int64_t k = s.target_offset[b]; k < s.target_offset[b + 1]; ++k)
            for (size_t j = 0; j < 300; ++j) {
                bool near = true;
                for (int a = 0; a < 3; ++a)
                    near &= std::abs(cell(t, static_cast<size_t>(s.target_index[k]), a) - cell(q, j, a)) <= 1;
                const auto list = s.neighbour.subspan(
                    static_cast<size_t>(s.neighbour_offset[b]),
                    static_cast<size_t>(s.neighbour_offset[b + 1] - s.neighbour_offset[b]));
                EXPECT_EQ(std::ranges::binary_search(list, static_cast<int32_t>(box_of[j])), near);
            }
}

TEST(NearBoxes, ThePapersTree) {
    core::Memory memory;
    const backend::Executor executor{memory, 2};
    const Cloud c = cloud(20000, 3, false);
    BoxOptions o;
    o.dimension = 2;
    OwnedStructure owned(memory);
    const BoxReport report = build_boxes(executor, o, c.points(), nullptr, owned);
    EXPECT_LE(report.largest, 15); // CT
    EXPECT_FALSE(report.too_coarse);
    EXPECT_EQ(report.cells, std::pow(4, report.height - 1)); // 4^(L-1) boxes
    EXPECT_DOUBLE_EQ(report.density, 20000 / report.cells);
    const int32_t height = report.height;
    o.height = height - 1;
    EXPECT_GT(build_boxes(executor, o, c.points(), nullptr, owned).largest,
              15);         // raised no further than needed
    o.height = height + 3; // i = 3
    EXPECT_EQ(build_boxes(executor, o, c.points(), nullptr, owned).height, height + 3);
    o.height = 0;
    EXPECT_EQ(build_boxes(executor, o, cloud(10, 1, false).points(), nullptr, owned).height, 3); // least L
}

TEST(NearBoxes, CoincidentFewAndNone) {
    core::Memory memory;
    const backend::Executor executor{memory, 1};
    Cloud c;
    c.x = c.y = c.z = std::vector<double>(40, 7.0);
    for (Boxes kind : {Boxes::level, Boxes::leaves})
        for (int dimension : {2, 3}) {
            BoxOptions o;
            o.kind = kind;
            o.dimension = dimension;
            OwnedStructure owned(memory);
            const BoxReport report = build_boxes(executor, o, c.points(), nullptr, owned);
            EXPECT_EQ(report.boxes, 1);
            EXPECT_EQ(report.largest, 40);
            EXPECT_TRUE(report.too_coarse);
            const Points none, one{1, c.x.data(), c.y.data(), c.z.data()};
            EXPECT_EQ(build_boxes(executor, o, none, nullptr, owned).boxes, 0);
            EXPECT_EQ(build_boxes(executor, o, one, nullptr, owned).boxes, 1);
            build_boxes(executor, o, one, &none, owned);
            expect_sound(owned.view(), 1, 0);
        }
}

TEST(NearBoxes, Refused) {
    core::Memory memory;
    const backend::Executor executor{memory, 1};
    const Cloud c = cloud(10, 1, false);
    OwnedStructure owned(memory);
    const auto refused = [&](const std::function<void(BoxOptions&)>& change, core::Status status,
                             const char* words) {
        BoxOptions o;
        change(o);
        try {
            build_boxes(executor, o, c.points(), nullptr, owned);
            ADD_FAILURE() << words;
        } catch (const core::Error& error) {
            EXPECT_EQ(error.status(), status) << error.what();
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        }
    };
    refused([](BoxOptions& o) { o.dimension = 4; }, Status::argument, "dimension is 4");
    refused([](BoxOptions& o) { o.most = 0; }, Status::argument, "at most 0");
    refused([](BoxOptions& o) { o.height = 40; }, Status::argument, "height is 40");
    refused([](BoxOptions& o) { o.kind = Boxes::grid; }, Status::argument, "a grid needs its box");
    const auto boxed = [](BoxOptions& o, double upper) {
        o.has_box = true;
        std::fill(o.upper, o.upper + 3, upper);
    };
    refused([&](BoxOptions& o) { boxed(o, 0); }, Status::argument, "axis 0 goes from 0 to 0");
    refused([&](BoxOptions& o) { boxed(o, NAN); }, Status::argument, "nan");
    refused([&](BoxOptions& o) { boxed(o, 0.01); }, Status::value, "outside of the box");
    refused(
        [&](BoxOptions& o) {
            boxed(o, 1);
            o.kind = Boxes::grid;
            o.cells[1] = 0;
        },
        Status::argument, "0 cells along axis 1");
    refused(
        [&](BoxOptions& o) {
            boxed(o, 1);
            o.kind = Boxes::grid;
            std::fill(o.cells, o.cells + 3, INT32_MAX);
        },
        Status::unsupported, "2^62");
}
