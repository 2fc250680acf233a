// SPDX-License-Identifier: BSD-3-Clause
// The plan: sums of any layout, precision and arrangement of arrays against a plain nested loop; new charges,
// new coordinates, several right-hand sides; no allocation from the second execution on; every refusal.
#include "backend/free_memory.hpp"
#include "near_scene.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <unistd.h>

using namespace graft;
using namespace graft::test;
using core::Status;
namespace near = graft::near;

namespace {

class NearPlanTest : public testing::Test {
  protected:
    core::Memory memory;
    core::Log log;

    void expect_status(const std::function<void()>& call, Status status, const std::string& words) {
        try {
            call();
            ADD_FAILURE() << "taken, but expected: " << words;
        } catch (const core::Error& error) {
            EXPECT_EQ(error.status(), status) << error.what();
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        }
    }
};

} // namespace

TEST_F(NearPlanTest, EveryLayoutAgreesWithThePlainLoop) {
    for (int32_t layout = near::near_layout_auto; layout < near::layouts; ++layout)
        for (near::Precision precision :
             {near::Precision::fp32, near::Precision::mixed, near::Precision::fp64})
            for (int dimension : {2, 3}) {
                NearScene scene(700, 650, dimension);
                scene.request.sums.precision = precision;
                scene.request.sums.outputs = near::potential | near::gradient;
                scene.request.sums.kernel.kernel =
                    dimension == 2 ? near::Kernel::logarithm : near::Kernel::laplace;
                scene.request.sums.kernel.factor = -2.5;
                scene.request.options.layout = layout;
                near::NearPlan plan(memory, log, scene.request);
                plan.execute(scene.sums());
                scene.expect_close("layout " + std::to_string(layout));
            }
}

TEST_F(NearPlanTest, NewChargesAndNewCoordinatesWithoutAllocation) {
    NearScene scene(2000, 0, 3);
    scene.request.sums.outputs = near::potential | near::gradient;
    scene.request.options.threads = 2;
    scene.request.options.layout =
        static_cast<int32_t>(near::Layout::tiled); // auto may change it with new coordinates
    near::NearPlan plan(memory, log, scene.request);
    plan.execute(scene.sums());
    scene.expect_close("first");
    const int64_t before = memory.allocations();
    for (int k = 0; k < 3; ++k) {
        scene.new_charges();
        plan.execute(scene.sums());
        scene.expect_close("new charges");
        scene.shake(1e-3);
        plan.update(scene.request.points);
        plan.execute(scene.sums());
        scene.expect_close("new coordinates");
    }
    EXPECT_EQ(memory.allocations(), before);
    EXPECT_EQ(plan.report().allocations, 0);
    EXPECT_EQ(plan.report().executes, 7);
    EXPECT_EQ(plan.report().updates, 3);
}

TEST_F(NearPlanTest, AutoExecutesWithoutAllocationAndStaysRightOverUpdates) {
    NearScene scene(1500, 0, 3);
    near::NearPlan plan(memory, log, scene.request);
    plan.execute(scene.sums());
    for (int k = 0; k < 4; ++k) {
        scene.shake(1e-3);
        plan.update(scene.request.points);
        plan.execute(scene.sums());
        scene.expect_close("auto after an update");
        plan.execute(scene.sums());
        EXPECT_EQ(plan.report().allocations, 0);
    }
}

namespace {

struct Ledger {
    int64_t calls = 0, held = 0, refuse = -1;
};
void* ledger_allocate(void* user, int64_t bytes, int64_t alignment) {
    auto* ledger = static_cast<Ledger*>(user);
    if (ledger->calls++ == ledger->refuse)
        return nullptr;
    ledger->held += bytes;
    return std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>((bytes + 63) / 64 * 64));
}
void ledger_release(void* user, void* pointer, int64_t bytes) {
    static_cast<Ledger*>(user)->held -= bytes;
    std::free(pointer);
}

} // namespace

TEST_F(NearPlanTest, MemoryRefusedAtEveryPointInTurn) {
    for (int32_t layout = 0; layout < near::layouts; ++layout) {
        bool done = false;
        int64_t refused = 0;
        for (int64_t k = 0; !done && k < 300; ++k) {
            Ledger ledger;
            ledger.refuse = k;
            {
                core::Memory small({&ledger, ledger_allocate, ledger_release});
                NearScene scene(200, 150, 3);
                scene.request.options.layout = layout;
                try {
                    near::NearPlan plan(small, log, scene.request);
                    plan.execute(scene.sums());
                    scene.expect_close("at last");
                    done = true;
                } catch (const core::Error& error) {
                    EXPECT_EQ(error.status(), Status::memory) << error.what();
                    ++refused;
                }
            }
            EXPECT_EQ(ledger.held, 0)
                << "leaked by layout " << layout << " when allocation " << k << " was refused";
        }
        EXPECT_TRUE(done);
        EXPECT_GT(refused, 5);
    }
}

TEST_F(NearPlanTest, SeveralComplexRightHandSides) {
    NearScene scene(500, 450, 3, 6);
    scene.request.sums.kernel.kernel = near::Kernel::helmholtz;
    scene.request.sums.kernel.wave_number = 7;
    scene.request.sums.outputs = near::potential | near::gradient;
    near::NearPlan plan(memory, log, scene.request);
    plan.execute(scene.sums());
    scene.expect_close("helmholtz");
}

TEST_F(NearPlanTest, AddsAndLeavesPointsOutsideOfBoxesAlone) {
    NearScene scene(300, 0, 3);
    const int64_t left_out = scene.leave_out(40);
    near::NearPlan plan(memory, log, scene.request);
    scene.fill_outputs(3.0);
    near::NearSums sums = scene.sums();
    set_add(sums, true);
    plan.execute(sums);
    scene.expect_close("added", 3.0);
    set_add(sums, false);
    scene.fill_outputs(5.0);
    plan.execute(sums);
    EXPECT_EQ(scene.outputs_equal_to(5.0), left_out);
}

TEST_F(NearPlanTest, SameBitsForAnyThreadsAndChunks) {
    std::vector<double> first;
    for (int threads : {1, 2, 5})
        for (double most : {0.0, 2e6})
            for (int32_t layout = 0; layout < near::layouts; ++layout) {
                NearScene scene(1500, 0, 3);
                scene.request.options.threads = threads;
                scene.request.options.layout = layout;
                if (most > 0 && near::name(static_cast<near::Layout>(layout)).starts_with("replicated"))
                    scene.request.options.most_bytes = most;
                near::NearPlan plan(memory, log, scene.request);
                plan.execute(scene.sums());
                if (threads == 1 && most == 0)
                    first.insert(first.end(), scene.potential[0].begin(), scene.potential[0].end());
                const auto expected = first.begin() + layout * 1500;
                EXPECT_TRUE(std::equal(scene.potential[0].begin(), scene.potential[0].end(), expected))
                    << layout << " with " << threads << " threads, " << most << " bytes";
            }
}

TEST_F(NearPlanTest, BoxesMadeHere) {
    for (near::Boxes kind : {near::Boxes::grid, near::Boxes::level, near::Boxes::leaves}) {
        NearScene scene(3000, 0, 2);
        near::BoxOptions boxes;
        boxes.kind = kind;
        boxes.dimension = 2;
        boxes.has_box = kind == near::Boxes::grid;
        for (int a = 0; a < 3; ++a) {
            boxes.upper[a] = 1.0001;
            boxes.cells[a] = 16;
        }
        scene.request.structure = nullptr;
        scene.request.boxes = &boxes;
        scene.request.sums.kernel.kernel = near::Kernel::logarithm;
        near::NearPlan plan(memory, log, scene.request);
        plan.execute(scene.sums());
        near::OwnedStructure same(memory); // the boxes themselves are tested in near_structure_test.cpp
        const near::Points points{3000, scene.coordinate[0][0].data(), scene.coordinate[0][1].data(),
                                  nullptr};
        near::build_boxes({memory, 1}, boxes, points, nullptr, same);
        scene.use(same.view());
        scene.expect_close("boxes made here");
        if (kind == near::Boxes::level) {
            EXPECT_LE(plan.report().boxes.largest, 15);
            EXPECT_GE(plan.report().boxes.height, 3);
        }
    }
}

TEST_F(NearPlanTest, NothingAtAll) {
    NearScene scene(0, 0, 3);
    near::NearPlan plan(memory, log, scene.request);
    plan.execute(scene.sums());
    EXPECT_EQ(plan.report().shape.pairs, 0);
}

TEST_F(NearPlanTest, RefusesWhatTheKernelWouldIgnoreOrCannotBe) {
    const auto refused = [&](const std::function<void(near::Sums&)>& change, const char* words,
                             Status status = Status::argument) {
        NearScene scene(50, 0, 3);
        change(scene.request.sums);
        expect_status([&] { near::NearPlan plan(memory, log, scene.request); }, status, words);
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    refused([](near::Sums& s) { s.components = 0; }, "components is 0");
    refused([](near::Sums& s) { s.components = 17; }, "components is 17");
    refused([](near::Sums& s) { s.kernel.kernel = near::Kernel::helmholtz; }, "even number");
    refused([](near::Sums& s) { s.outputs = 0; }, "outputs is 0");
    refused([](near::Sums& s) { s.outputs = 4; }, "outputs is 4");
    refused([](near::Sums& s) { s.kernel.softening = -1; }, "softening is -1");
    refused([](near::Sums& s) { s.kernel.wave_number = 1; }, "wave_number is 1");
    refused([&](near::Sums& s) { s.kernel.factor = nan; }, "factor is nan");
    refused(
        [](near::Sums& s) {
            s.kernel.kernel = near::Kernel::yukawa;
            s.kernel.softening = 1;
        },
        "softening is 1");
    refused([](near::Sums& s) { s.kernel.kernel = near::Kernel::table; }, "0 knots");
    static const double knots[3] = {1, nan, 3};
    refused([](near::Sums& s) { s.kernel.table = {0, 1, {knots, 3}, {knots, 3}}; }, "a table is given");
    refused(
        [](near::Sums& s) {
            s.kernel.kernel = near::Kernel::table;
            s.kernel.table = {0, 0, {knots, 3}, {knots, 3}};
        },
        "step 0");
    refused(
        [](near::Sums& s) {
            s.kernel.kernel = near::Kernel::table;
            s.kernel.table = {0, 1, {knots, 3}, {knots, 3}};
        },
        "knot 1", Status::value);
}

TEST_F(NearPlanTest, RefusesBadNumbersByNameAndItem) {
    NearScene scene(100, 80, 3);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    scene.coordinate[1][2][77] = nan;
    expect_status([&] { near::NearPlan plan(memory, log, scene.request); }, Status::value,
                  "source z: item 77");
    scene.coordinate[1][2][77] = 0.5;
    near::NearPlan plan(memory, log, scene.request);
    scene.charge[0][13] = std::numeric_limits<double>::infinity();
    scene.fill_outputs(9);
    expect_status([&] { plan.execute(scene.sums()); }, Status::value, "charge[0]: item 13");
    EXPECT_EQ(scene.outputs_equal_to(9), 100); // nothing written
    scene.charge[0][13] = 1;
    plan.execute(scene.sums());
    scene.expect_close("after a refusal");
    const double old = scene.coordinate[0][0][5];
    scene.coordinate[0][0][5] = 1e200;
    expect_status([&] { plan.update(scene.request.points); }, Status::value, "target x: item 5");
    scene.coordinate[0][0][5] = old;
    plan.execute(scene.sums()); // with the coordinates it had
    scene.expect_close("after a refused update");
}

TEST_F(NearPlanTest, RefusesDeviceArraysOnTheCpu) {
    for (const int64_t sources : {0, 40}) {
        NearScene scene(60, sources, 3);
        scene.request.options.backend = settings::Backend::cpu;
        particles::ArrayView& z =
            (sources > 0 ? scene.request.points.source : scene.request.points.target)[2];
        z.memory = particles::MemorySpace::device;
        const auto make = [&] { near::NearPlan plan(memory, log, scene.request); };
        expect_status(make, Status::unsupported, "coordinates are in device memory");
        z.memory = particles::MemorySpace::host;
        make();
    }
}

TEST_F(NearPlanTest, RefusesOverlapsButNotMembersOfOneStruct) {
    NearScene scene(64, 0, 3);
    scene.request.sums.outputs = near::potential | near::gradient;
    near::NearPlan plan(memory, log, scene.request);
    near::NearSums sums = scene.sums();
    sums.gradient[0][1] = sums.potential[0];
    expect_status([&] { plan.execute(sums); }, Status::array, "overlap");
    sums = scene.sums();
    sums.potential[0] = sums.charge[0];
    expect_status([&] { plan.execute(sums); }, Status::array, "charge[0] and potential[0]");
    sums = scene.sums();
    sums.gradient[0][0].data = sums.potential[0].data + 63 * 8; // one item
    expect_status([&] { plan.execute(sums); }, Status::array, "overlap");
    std::vector<double> rows(64 * 5);
    sums = scene.sums();
    for (int64_t k = 0; k < 4; ++k) {
        particles::ArrayView& view = k == 3 ? sums.potential[0] : sums.gradient[0][static_cast<size_t>(k)];
        view.data = reinterpret_cast<char*>(rows.data() + k);
        view.item_stride = 5 * 8;
    }
    plan.execute(sums);
    near::NearSums plain = scene.sums();
    plan.execute(plain);
    for (size_t i = 0; i < 64; ++i)
        EXPECT_EQ(rows[5 * i + 3], scene.potential[0][i]);
    sums.potential[0].item_stride = 8; // now across the rows, at another stride
    expect_status([&] { plan.execute(sums); }, Status::array, "overlap");
}

TEST_F(NearPlanTest, RefusesOtherPointsMissingArraysAndDisorder) {
    NearScene scene(100, 80, 3);
    near::NearPlan plan(memory, log, scene.request);
    NearScene other(100, 81, 3);
    expect_status([&] { plan.update(other.request.points); }, Status::argument, "expected the same points");
    near::NearSums sums = scene.sums();
    sums.charge[0] = {};
    expect_status([&] { plan.execute(sums); }, Status::argument, "charge component 0 is missing");
    sums = scene.sums();
    sums.charge[0].n = 79;
    expect_status([&] { plan.execute(sums); }, Status::array, "79 items");
    sums = scene.sums();
    sums.gradient[0][2] = sums.potential[0];
    expect_status([&] { plan.execute(sums); }, Status::argument, "made without gradients");
    expect_status([&] { plan.end(); }, Status::call_order, "nothing is in flight");
    plan.begin(scene.sums(), nullptr);
    expect_status([&] { plan.execute(scene.sums()); }, Status::call_order, "in flight");
    expect_status([&] { plan.update(scene.request.points); }, Status::call_order, "in flight");
    plan.end();
    scene.expect_close("after all that");
}

TEST_F(NearPlanTest, ALayoutOverTheCapIsRefusedNotTried) {
    NearScene scene(4000, 0, 3);
    scene.request.options.layout = static_cast<int32_t>(near::Layout::replicated);
    scene.request.options.most_bytes = 1000;
    expect_status([&] { near::NearPlan plan(memory, log, scene.request); }, Status::memory,
                  "near_field.memory");
    scene.request.options.layout = 99;
    expect_status([&] { near::NearPlan plan(memory, log, scene.request); }, Status::argument,
                  "layout is 99");
}

TEST_F(NearPlanTest, CoordinatesThatAreRefusedLeaveTheOldOnes) {
    NearScene scene(60, 0, 3, 2);
    scene.request.sums.kernel.kernel = near::Kernel::helmholtz;
    scene.request.sums.kernel.wave_number = 10;
    near::NearPlan plan(memory, log, scene.request);
    plan.execute(scene.sums());
    const auto before = scene.coordinate;
    const double bad = std::numeric_limits<double>::quiet_NaN();
    for (const auto& [factor, status, words] :
         {std::tuple{1e15, Status::argument, "where phases are lost"}, {bad, Status::value, "target x"}}) {
        scene.multiply(factor);
        expect_status([&] { plan.update(scene.request.points); }, status, words);
        scene.coordinate = before;
        scene.new_charges();
        plan.execute(scene.sums());
        scene.expect_close("after coordinates that were refused");
    }
}

TEST_F(NearPlanTest, WithoutACapTheFreeMemoryIsOne) {
    const double free = backend::free_memory();
    EXPECT_GT(free, 1e6);
    EXPECT_LE(free,
              static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)));

    NearScene scene(4000, 0, 3);
    scene.request.options.layout = static_cast<int32_t>(near::Layout::replicated);
    near::NearPlan whole(memory, log, scene.request);
    EXPECT_EQ(whole.report().chunks, 1);
    const double bytes = static_cast<double>(whole.report().bytes_layout);
    scene.request.options.free_bytes = 0.5 * bytes;
    {
        near::NearPlan plan(memory, log, scene.request);
        plan.execute(scene.sums());
        scene.expect_close("in chunks");
        EXPECT_GT(plan.report().chunks, 2);
        EXPECT_LE(static_cast<double>(plan.report().bytes_layout), 0.375 * bytes);
    }
    scene.request.options.free_bytes = 1000;
    expect_status([&] { near::NearPlan plan(memory, log, scene.request); }, Status::memory,
                  "memory that is free");
    scene.request.options.most_bytes = bytes; // the caller's word counts
    near::NearPlan asked(memory, log, scene.request);
    EXPECT_EQ(asked.report().chunks, 1);
}

/// A machine on which ranges is chosen for its collection, and replicated_group once that turns out quick and
/// executions slow; it is then refused its memory.
TEST_F(NearPlanTest, AnUpdateThatFailsHalfWayIsSaidByTheNextExecution) {
    auto machine = std::make_shared<model::Machine>();
    machine->name = "made up";
    for (int k = 0; k < near::layouts; ++k) {
        model::NearLayoutCosts& costs = machine->near.layouts[static_cast<size_t>(k)];
        costs.layout = k, costs.number_bytes = 8, costs.error = 0.01;
        const auto layout = static_cast<near::Layout>(k);
        costs.kernel.call_s = layout == near::Layout::ranges             ? 1.5e-5
                              : layout == near::Layout::replicated_group ? 5e-6
                                                                         : 1;
        costs.collection.call_s = layout == near::Layout::replicated_group ? 0.01012 : 0.01;
    }
    Ledger ledger;
    core::Memory scarce({&ledger, ledger_allocate, ledger_release});
    NearScene scene(700, 0, 3);
    scene.request.options.machine = machine;
    near::NearPlan plan(scarce, log, scene.request);
    ASSERT_EQ(plan.report().layout, near::Layout::ranges);
    plan.execute(scene.sums());
    ledger.refuse = ledger.calls;
    expect_status([&] { plan.update(scene.request.points); }, Status::memory, "");
    expect_status([&] { plan.execute(scene.sums()); }, Status::call_order, "last update of this plan failed");
    ledger.refuse = -1;
    plan.update(scene.request.points);
    plan.execute(scene.sums());
    scene.expect_close("after an update that succeeded");
}
