// SPDX-License-Identifier: BSD-3-Clause
// decompose and owner_of through the ABI: what is written, for whom, and what is refused.
#include "ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>

using namespace graft;
using namespace graft::test;

namespace {

/// Room for everything that decompose can answer, and the struct that asks for all of it.
struct Answer {
    Answer(size_t n, size_t parts)
        : owner(n, -1), permutation(n, -1), offset(parts + 1, -1),
          box(6 * parts, -1), arrays{array_of(owner),
                                     array_of(permutation.data(), GRAFT_I64, static_cast<int64_t>(n)),
                                     array_of(offset.data(), GRAFT_I64, static_cast<int64_t>(parts + 1)),
                                     array_of(box.data(), GRAFT_F64, static_cast<int64_t>(parts), 6)} {
        ask.struct_size = sizeof ask;
        ask.owner = &arrays[0];
        ask.permutation = &arrays[1];
        ask.part_offset = &arrays[2];
        ask.boxes = &arrays[3];
    }
    Answer(const Answer&) = delete;
    Answer& operator=(const Answer&) = delete;
    bool untouched() const {
        const auto is = [](const auto& values) {
            return std::all_of(values.begin(), values.end(), [](auto v) { return v == -1; });
        };
        return is(owner) && is(permutation) && is(offset) && is(box);
    }
    std::vector<int32_t> owner;
    std::vector<int64_t> permutation, offset;
    std::vector<double> box;
    graft_array arrays[4];
    graft_decomposition ask{};
};

/// A rank's particles with ids and costs, as the ABI wants them.
struct Particles {
    Particles(const Bodies& b, std::vector<int64_t> ids, std::vector<double> costs)
        : field(b.size()), call(b, field), id(std::move(ids)), cost(std::move(costs)),
          id_view(array_of(id.data(), GRAFT_I64, static_cast<int64_t>(id.size()))),
          cost_view(array_of(cost)) {
        call.particles.id = &id_view;
        call.particles.cost = &cost_view;
    }
    graft_particles& c() { return call.particles; }
    Field field;
    Call call;
    std::vector<int64_t> id;
    std::vector<double> cost;
    graft_array id_view, cost_view;
};

constexpr size_t total = 3000;

std::vector<int64_t> ids_of(size_t begin, size_t end) {
    std::vector<int64_t> ids(end - begin);
    std::iota(ids.begin(), ids.end(), static_cast<int64_t>(begin));
    return ids;
}

std::vector<double> costs_of(const std::vector<int64_t>& ids) {
    std::vector<double> costs;
    for (int64_t id : ids)
        costs.push_back(1 + static_cast<double>(id % 17));
    return costs;
}

/// The owner of every particle by id, with this many ranks.
std::vector<int32_t> owners(int size, capi::Options o, int32_t parts) {
    const Bodies all = plummer(total);
    std::vector<int32_t> result(total, -1);
    o.asked.parts = parts;
    on_contexts(size, o, [&](int rank, graft_context* context) {
        const Bodies mine = share_of(all, rank, size);
        const std::vector<int64_t> ids =
            ids_of(share_begin(total, rank, size), share_begin(total, rank + 1, size));
        Particles particles(mine, ids, costs_of(ids));
        Answer answer(mine.size(), static_cast<size_t>(parts));
        ASSERT_EQ(capi::decompose(context, &particles.c(), &answer.ask), GRAFT_OK) << capi::last_error();
        for (size_t i = 0; i < ids.size(); ++i)
            result[static_cast<size_t>(ids[i])] = answer.owner[i];
    });
    return result;
}

struct Way {
    const char* name;
    decompose::Shape shape;
    decompose::Strategy strategy;
    decompose::CutFinder finder;
};

const Way ways[] = {
    {"level histogram", decompose::Shape::orb, decompose::Strategy::level, decompose::CutFinder::histogram},
    {"level bisection", decompose::Shape::orb, decompose::Strategy::level, decompose::CutFinder::bisection},
    {"level sampled", decompose::Shape::orb, decompose::Strategy::level, decompose::CutFinder::sampled},
    {"central", decompose::Shape::orb, decompose::Strategy::central, decompose::CutFinder::histogram},
    {"halving", decompose::Shape::orb, decompose::Strategy::halving, decompose::CutFinder::histogram},
    {"prefix", decompose::Shape::prefix, decompose::Strategy::level, decompose::CutFinder::histogram},
    {"prefix central", decompose::Shape::prefix, decompose::Strategy::central, decompose::CutFinder::histogram},
};

capi::Options options_of(const Way& way) {
    capi::Options o = options(settings::Method::tree);
    o.balance.decompose.shape = way.shape;
    o.balance.decompose.strategy = way.strategy;
    o.balance.decompose.finder = way.finder;
    return o;
}

} // namespace

TEST(Decompose, AnswersAreConsistentAndBalanced) {
    const Bodies all = plummer(total);
    for (const Way& way : ways)
        on_contexts(3, options_of(way), [&](int rank, graft_context* context) {
            const Bodies mine = share_of(all, rank, 3);
            const std::vector<int64_t> ids =
                ids_of(share_begin(total, rank, 3), share_begin(total, rank + 1, 3));
            Particles particles(mine, ids, std::vector<double>(ids.size(), 2.0));
            Answer answer(mine.size(), 3);
            ASSERT_EQ(capi::decompose(context, &particles.c(), &answer.ask), GRAFT_OK)
                << way.name << ": " << capi::last_error();
            double imbalance = 0, parts = 0;
            EXPECT_EQ(capi::query(context, "decompose.imbalance_count", &imbalance), GRAFT_OK);
            EXPECT_LE(imbalance, 1.001) << way.name << ": 1000 each";
            EXPECT_EQ(capi::query(context, "decompose.parts", &parts), GRAFT_OK);
            EXPECT_EQ(parts, 3);
            EXPECT_EQ(answer.offset[0], 0);
            EXPECT_EQ(answer.offset[3], static_cast<int64_t>(mine.size()));
            std::vector<int> seen(mine.size());
            for (size_t part = 0; part < 3; ++part)
                for (int64_t k = answer.offset[part]; k < answer.offset[part + 1]; ++k) {
                    const size_t i = static_cast<size_t>(answer.permutation[static_cast<size_t>(k)]);
                    ASSERT_LT(i, mine.size());
                    ++seen[i];
                    EXPECT_EQ(answer.owner[i], static_cast<int32_t>(part));
                    const double x[3] = {mine.x[i], mine.y[i], mine.z[i]};
                    for (size_t a = 0; a < 3; ++a) {
                        EXPECT_GE(x[a], answer.box[6 * part + a]) << way.name;
                        EXPECT_LE(x[a], answer.box[6 * part + 3 + a]) << way.name;
                    }
                }
            EXPECT_EQ(seen, std::vector<int>(mine.size(), 1)) << "a permutation";
            std::vector<int64_t> found(mine.size(), -1);
            const graft_array found_view =
                array_of(found.data(), GRAFT_I64, static_cast<int64_t>(found.size()));
            ASSERT_EQ(capi::owner_of(context, &particles.c(), &found_view), GRAFT_OK)
                << way.name << ": " << capi::last_error();
            for (size_t i = 0; i < found.size(); ++i)
                EXPECT_EQ(found[i], answer.owner[i]) << way.name << " particle " << i;
        });
}

TEST(Decompose, OwnersDoNotDependOnRanksOrWays) {
    const std::vector<int32_t> orb = owners(1, options_of(ways[0]), 4);
    for (int size : {2, 4})
        for (const Way& way : ways) {
            if (way.shape != decompose::Shape::orb || (way.strategy == decompose::Strategy::halving && size != 4))
                continue;
            EXPECT_EQ(owners(size, options_of(way), 4), orb) << way.name << " on " << size;
        }
    const std::vector<int32_t> prefix = owners(1, options_of(ways[5]), 5);
    EXPECT_EQ(owners(3, options_of(ways[5]), 5), prefix);
    EXPECT_EQ(owners(3, options_of(ways[6]), 5), prefix);
}

TEST(Decompose, FortranCountsFromOneAndFloatsDo) {
    const Bodies all = plummer(100);
    capi::Options o = options(settings::Method::tree);
    o.asked.parts = 4;
    Context context(o);
    Particles particles(all, ids_of(0, 100), std::vector<double>(100, 1.0));
    Answer answer(100, 4);
    ASSERT_EQ(capi::decompose(context, &particles.c(), &answer.ask), GRAFT_OK) << capi::last_error();
    std::vector<int32_t> order(100, -1), offset(5, -1);
    std::vector<float> box(24);
    graft_array order_view = array_of(order), offset_view = array_of(offset),
                box_view = array_of(box.data(), GRAFT_F32, 4, 6);
    order_view.flags = offset_view.flags = GRAFT_ARRAY_INDEX_FROM_1;
    graft_decomposition ask{};
    ask.struct_size = sizeof ask;
    ask.permutation = &order_view;
    ask.part_offset = &offset_view;
    ask.boxes = &box_view;
    ASSERT_EQ(capi::decompose(context, &particles.c(), &ask), GRAFT_OK) << capi::last_error();
    for (size_t i = 0; i < 100; ++i)
        EXPECT_EQ(order[i], answer.permutation[i] + 1);
    for (size_t p = 0; p < 5; ++p)
        EXPECT_EQ(offset[p], answer.offset[p] + 1);
    for (size_t k = 0; k < 24; ++k)
        EXPECT_EQ(box[k], static_cast<float>(answer.box[k]));
}

TEST(Decompose, TwoDimensions) {
    const Bodies all = plummer(400);
    capi::Options o = options(settings::Method::tree);
    o.engine.dimension = 2;
    o.asked.parts = 7;
    Context context(o);
    Particles particles(all, ids_of(0, 400), std::vector<double>(400, 1.0));
    particles.c().position[2] = nullptr;
    Answer answer(400, 7);
    ASSERT_EQ(capi::decompose(context, &particles.c(), &answer.ask), GRAFT_OK) << capi::last_error();
    std::vector<int> count(7);
    for (int32_t part : answer.owner)
        ++count[static_cast<size_t>(part)];
    EXPECT_LE(*std::max_element(count.begin(), count.end()), 58);
    for (size_t part = 0; part < 7; ++part)
        EXPECT_EQ(answer.box[6 * part + 2], 0) << "z of a box in two dimensions";
}

TEST(Decompose, ARankMayHaveNothingAndAskForNothing) {
    const Bodies all = plummer(300);
    on_contexts(4, options(settings::Method::tree), [&](int rank, graft_context* context) {
        const Bodies mine = rank == 1 ? all : Bodies();
        Particles particles(mine, rank == 1 ? ids_of(0, 300) : ids_of(0, 0), {});
        particles.c().cost = nullptr;
        if (rank == 2)
            particles.c().id = nullptr; // nothing to give an id to
        Answer answer(mine.size(), 4);
        if (rank != 1)
            answer.ask.boxes = answer.ask.permutation = answer.ask.part_offset = nullptr;
        ASSERT_EQ(capi::decompose(context, &particles.c(), &answer.ask), GRAFT_OK) << capi::last_error();
        if (rank == 1) {
            EXPECT_EQ(std::count(answer.owner.begin(), answer.owner.end(), 3), 75);
            EXPECT_EQ(answer.offset[4], 300);
        }
    });
}

TEST(Decompose, BadInputOnOneRankIsEveryRanksFailure) {
    const Bodies all = plummer(300);
    capi::Options o = options(settings::Method::tree);
    for (int bad = 0; bad < 3; ++bad)
        on_contexts(3, o, [&](int rank, graft_context* context) {
            const bool guilty = rank == bad;
            Bodies mine = share_of(all, rank, 3);
            Particles particles(mine, ids_of(share_begin(300, rank, 3), share_begin(300, rank + 1, 3)),
                                std::vector<double>(100, 1.0));
            Answer answer(100, 3);
            const auto expect = [&](int32_t status, int32_t expected, const char* words) {
                EXPECT_EQ(status, expected) << capi::last_error();
                EXPECT_NE(std::string(capi::last_error()).find(words), std::string::npos)
                    << capi::last_error();
                EXPECT_TRUE(answer.untouched());
            };
            const auto run = [&] { return capi::decompose(context, &particles.c(), &answer.ask); };
            std::vector<int32_t> found(100, -1);
            const graft_array found_view = array_of(found);
            expect(capi::owner_of(context, &particles.c(), &found_view), GRAFT_ERROR_CALL_ORDER,
                   "no domains");
            expect(capi::decompose(context, guilty ? nullptr : &particles.c(), &answer.ask),
                   GRAFT_ERROR_ARGUMENT, "particles is NULL");
            expect(capi::decompose(context, &particles.c(), guilty ? nullptr : &answer.ask),
                   GRAFT_ERROR_ARGUMENT, "decomposition is NULL");
            answer.ask.flags = guilty ? 2 : 0;
            expect(run(), GRAFT_ERROR_ABI, "flags");
            answer.ask.flags = 0;
            particles.c().n = guilty ? -1 : 100;
            expect(run(), GRAFT_ERROR_ARGUMENT, "-1");
            particles.c().n = 100;
            particles.cost[50] = guilty ? -2 : 1;
            expect(run(), GRAFT_ERROR_VALUE, "cost");
            particles.cost[50] = 1;
            particles.id[7] = guilty ? -8 : 7 + 100 * rank;
            expect(run(), GRAFT_ERROR_VALUE, "id: item 7");
            particles.id[7] = 7 + 100 * rank;
            mine.y[3] = guilty ? NAN : 0;
            expect(run(), GRAFT_ERROR_VALUE, "position y");
            mine.y[3] = 0;
            particles.c().id = guilty ? nullptr : &particles.id_view;
            expect(run(), GRAFT_ERROR_ARGUMENT, "id is given on some ranks only");
            particles.c().id = &particles.id_view;
            answer.arrays[3].components = guilty ? 5 : 6;
            expect(run(), GRAFT_ERROR_ARRAY, "boxes");
            answer.arrays[3].components = 6;
            answer.arrays[0].flags = guilty ? GRAFT_ARRAY_INDEX_FROM_1 : 0;
            expect(run(), GRAFT_ERROR_ARRAY, "count from 0");
            answer.arrays[0].flags = 0;
            EXPECT_EQ(run(), GRAFT_OK) << capi::last_error();
            EXPECT_EQ(capi::owner_of(context, &particles.c(), guilty ? nullptr : &found_view),
                      GRAFT_ERROR_ARGUMENT);
            EXPECT_EQ(found, std::vector<int32_t>(100, -1));
        });
}
