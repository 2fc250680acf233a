// SPDX-License-Identifier: BSD-3-Clause
// Near fields as hosts might ask for them: arrays at any address and stride in any memory, points that are in
// no box, charges that are not finite; against a plain double loop.
#include "hostile_scene.hpp"

#include <memory>
#include <numeric>

using namespace graft::test;

namespace {

/// Points in the unit cube, 3 boxes along each axis and all neighbours; some points are in no box. Every
/// other point then moves along x, by `apart`, and stays in its box.
struct Boxes {
    int64_t n = 0, components = 1;
    bool add = false;
    std::vector<double> at, charge; // xyz xyz ..., c0 c1 ... of each
    std::vector<int64_t> offset = {0}, index, list_offset = {0}, list;
    Boxes(Dice& dice, int64_t points, bool some_outside, double apart = 0)
        : n(points), components(1 + dice.below(3)) {
        std::vector<std::vector<int64_t>> held(27);
        for (int64_t i = 0; i < n; ++i) {
            int64_t box = 0;
            for (int a = 0; a < 3; ++a) {
                at.push_back(as_single(dice.uniform()));
                box = 3 * box + std::min<int64_t>(2, static_cast<int64_t>(3 * at.back()));
            }
            if (!some_outside || !dice.one_in(3))
                held[static_cast<size_t>(box)].push_back(i);
            for (int64_t c = 0; c < components; ++c)
                charge.push_back(as_single(dice.normal()));
        }
        for (int64_t b = 0; b < 27; ++b) {
            index.insert(index.end(), held[static_cast<size_t>(b)].rbegin(),
                         held[static_cast<size_t>(b)].rend());
            offset.push_back(static_cast<int64_t>(index.size()));
            for (int64_t other = 0; other < 27; ++other)
                if (std::abs(b / 9 - other / 9) <= 1 && std::abs(b / 3 % 3 - other / 3 % 3) <= 1 &&
                    std::abs(b % 3 - other % 3) <= 1)
                    list.push_back(other);
            list_offset.push_back(static_cast<int64_t>(list.size()));
        }
        for (size_t i = 0; i < static_cast<size_t>(n); i += 2)
            at[3 * i] = as_single(at[3 * i] + apart);
        add = dice.one_in(3);
    }
    /// Potentials, and their magnitudes' sums: 1/r over the neighbours' points but itself; where nothing is
    /// written, `before`.
    std::vector<double> potentials(double before, std::vector<double>& size) const {
        std::vector<double> phi(static_cast<size_t>(n * components), before);
        size.assign(phi.size(), 1);
        for (size_t b = 0; b < 27; ++b)
            for (int64_t s = offset[b]; s < offset[b + 1]; ++s)
                for (int64_t c = 0; c < components; ++c) {
                    const auto i = static_cast<size_t>(index[static_cast<size_t>(s)]);
                    const size_t to = i * static_cast<size_t>(components) + static_cast<size_t>(c);
                    double sum = 0;
                    size[to] = 1e-12;
                    for (int64_t k = list_offset[b]; k < list_offset[b + 1]; ++k) {
                        const auto other = static_cast<size_t>(list[static_cast<size_t>(k)]);
                        for (int64_t t = offset[other]; t < offset[other + 1]; ++t) {
                            const auto j = static_cast<size_t>(index[static_cast<size_t>(t)]);
                            const double r = std::hypot(at[3 * i] - at[3 * j], at[3 * i + 1] - at[3 * j + 1],
                                                        at[3 * i + 2] - at[3 * j + 2]);
                            const double q =
                                charge[j * static_cast<size_t>(components) + static_cast<size_t>(c)];
                            if (r > 0)
                                sum += q / r, size[to] += std::abs(q) / r;
                        }
                    }
                    phi[to] = sum + (add ? before : 0);
                }
        return phi;
    }
};

class HostileNear : public DeviceHost {
  protected:
    void TearDown() override {
        if (api != nullptr && context != nullptr)
            api->near_field_destroy(context, &plan);
        DeviceHost::TearDown();
    }
    Place any_place(Dice& dice) {
        return dice.of({Place::pageable, Place::pinned, Place::device, Place::managed});
    }
    graft_near_field description(const Boxes& boxes) {
        graft_near_field d{};
        d.struct_size = sizeof d;
        d.dimension = 3;
        d.components = static_cast<int32_t>(boxes.components);
        const std::vector<int64_t>* const lists[] = {&boxes.offset, &boxes.list_offset, &boxes.list,
                                                     &boxes.index};
        const graft_array** const to[] = {&d.target_offset, &d.neighbour_offset, &d.neighbour,
                                          &d.target_index};
        for (int k = 0; k < 4; ++k) {
            views[k] = array_at(lists[k]->data(), static_cast<int64_t>(lists[k]->size()), GRAFT_MEMORY_HOST);
            *to[k] = &views[k];
        }
        d.target_count = boxes.n;
        return d;
    }
    /// Boxes whose arrays are all in device memory, described.
    struct Resident {
        Resident(HostileNear& host, Dice& dice, int64_t n)
            : boxes(dice, n, false), field(host.description(boxes)) {
            field.target_position[0] = &x;
            sums.struct_size = sizeof sums;
            sums.charge[0] = &q, sums.potential[0] = &phi;
        }
        Resident(const Resident&) = delete;
        Resident& operator=(const Resident&) = delete;

        Boxes boxes;
        int32_t components = static_cast<int32_t>(boxes.components);
        OnDevice<double> at{boxes.at}, charge{boxes.charge}, out{boxes.charge};
        graft_array x = at.view(3), q = charge.view(components), phi = out.view(components);
        graft_near_field field;
        graft_near_sums sums{};
    };
    void make(const Resident& r) {
        ASSERT_EQ(api->near_field_create(context, &r.field, &plan), GRAFT_OK) << api->last_error();
    }
    void execute(const Resident& r) {
        ASSERT_EQ(api->near_field_execute(context, plan, &r.sums), GRAFT_OK) << api->last_error();
    }
    void destroy() { ASSERT_EQ(api->near_field_destroy(context, &plan), GRAFT_OK); }

    graft_array views[4];
    graft_near_plan* plan = nullptr;
};

TEST_F(HostileNear, ArraysAnywhereAndPointsInNoBox) {
    Cases cases(7);
    for (int64_t round = 0; round < 120; ++round) {
        if (cases.skip())
            continue;
        Dice dice(static_cast<uint64_t>(9000 + round));
        const int64_t points = dice.of<int64_t>({0, 1, 33, 300, 2000});
        const int32_t precision =
            dice.of({GRAFT_PRECISION_FP32, GRAFT_PRECISION_MIXED, GRAFT_PRECISION_FP64});
        double apart = dice.of({0.0, 0.0, 1e3, 1e5, 1e9, 1e15});
        if (precision == GRAFT_PRECISION_MIXED) // two floats: 48 bits of the extent
            apart = std::min(apart, 1e5);
        const Boxes boxes(dice, points, dice.one_in(2), apart);
        graft_near_field d = description(boxes);
        d.precision = precision;
        d.layout = dice.of({0, GRAFT_NEAR_LAYOUT_RANGES, GRAFT_NEAR_LAYOUT_REPLICATED_GROUP, GRAFT_NEAR_LAYOUT_TILED,
                            GRAFT_NEAR_LAYOUT_TILED_SPLIT, GRAFT_NEAR_LAYOUT_REPLICATED_GROUP_PADDED});
        SCOPED_TRACE("round " + std::to_string(round) + ", n " + std::to_string(boxes.n) + ", in boxes " +
                     std::to_string(boxes.index.size()) + ", components " + std::to_string(boxes.components) +
                     ", precision " + std::to_string(d.precision) + ", layout " + std::to_string(d.layout) +
                     ", apart " + std::to_string(apart) + (boxes.add ? ", add" : ""));
        create();
        const int narrow = GRAFT_F32, wide = GRAFT_F64;
        const Placed at(dice, any_place(dice), dice.of({narrow, wide}), boxes.at, 3),
            charge(dice, any_place(dice), dice.of({narrow, wide}), boxes.charge,
                   static_cast<int>(boxes.components));
        Placed out(dice, any_place(dice), dice.of({narrow, wide}),
                   std::vector<double>(boxes.charge.size(), 0.25), static_cast<int>(boxes.components));
        d.target_position[0] = &at.view();
        ASSERT_EQ(api->near_field_create(context, &d, &plan), GRAFT_OK) << api->last_error();
        graft_near_sums sums{};
        sums.struct_size = sizeof sums;
        graft_array potential = out.view();
        potential.flags = boxes.add ? GRAFT_ARRAY_ADD : 0;
        sums.charge[0] = &charge.view(), sums.potential[0] = &potential;
        std::vector<double> size;
        const std::vector<double> exact = boxes.potentials(0.25, size);
        for (int turn = 0; turn < 2; ++turn) {
            out.refill();
            ASSERT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
            const std::vector<double> found = out.get();
            for (size_t k = 0; k < found.size(); ++k)
                ASSERT_NEAR(found[k], exact[k], 1e-5 * size[k] + 1e-6) << "item " << k;
        }
        std::vector<double> spoilt = boxes.charge;
        if (!spoilt.empty()) {
            spoilt[spoilt.size() / 2] = std::nan("");
            const Placed bad(dice, any_place(dice), wide, spoilt, static_cast<int>(boxes.components));
            sums.charge[0] = &bad.view();
            out.refill();
            expect_error(api->near_field_execute(context, plan, &sums), GRAFT_ERROR_VALUE, "charge");
        }
        ASSERT_EQ(api->near_field_destroy(context, &plan), GRAFT_OK);
        if (HasFailure())
            return;
    }
}

/// Boxes made of arrays anywhere, with strides, of floats or doubles, have the bits of those made of the
/// host's: grids, levels, leaves; sums in the caller's order, new coordinates included.
TEST_F(HostileNear, BoxesOfArraysAnywhere) {
    const auto points = [](Dice& dice, int64_t n) {
        std::vector<double> at;
        for (int64_t k = 0; k < 3 * n; ++k)
            at.push_back(as_single(dice.uniform()));
        return at;
    };
    for (int64_t round = 0; round < 36; ++round) {
        Dice dice(static_cast<uint64_t>(9500 + round));
        const int64_t n = dice.of<int64_t>({33, 700, 3000}), m = dice.of<int64_t>({0, 500});
        const int narrow = GRAFT_F32, wide = GRAFT_F64;
        const int32_t boxes = dice.of({GRAFT_NEAR_BOXES_GRID, GRAFT_NEAR_BOXES_LEVEL, GRAFT_NEAR_BOXES_LEAVES});
        const std::vector<double> at[2] = {points(dice, n), points(dice, n)}, from = points(dice, m),
                                  charge = points(dice, m > 0 ? m : n);
        SCOPED_TRACE("round " + std::to_string(round) + ", boxes " + std::to_string(boxes) + ", n " +
                     std::to_string(n) + ", sources " + std::to_string(m));
        set("backend", "gpu");
        create();
        std::vector<double> right[2];
        for (const Place place : {Place::pageable, Place::device, Place::managed, Place::device}) {
            const int32_t type = dice.of({narrow, wide});
            const Placed first(dice, place, type, at[0], 3), second(dice, place, type, at[1], 3),
                sources(dice, place, type, from, 3), charges(dice, place, wide, charge, 3);
            Placed out(dice, place, wide, std::vector<double>(static_cast<size_t>(3 * n), -1), 3);
            graft_near_field d{};
            d.struct_size = sizeof d;
            d.dimension = 3, d.components = 3, d.boxes = boxes, d.precision = GRAFT_PRECISION_FP64;
            d.layout = GRAFT_NEAR_LAYOUT_RANGES, d.target_count = n, d.source_count = m;
            for (int axis = 0; axis < 3; ++axis)
                d.cells[axis] = 4, d.upper[axis] = boxes == GRAFT_NEAR_BOXES_GRID ? 1.0001 : 0;
            d.target_position[0] = &first.view(), d.source_position[0] = m > 0 ? &sources.view() : nullptr;
            ASSERT_EQ(api->near_field_create(context, &d, &plan), GRAFT_OK) << api->last_error();
            graft_near_sums sums{};
            sums.struct_size = sizeof sums;
            sums.charge[0] = &charges.view(), sums.potential[0] = &out.view();
            for (const int turn : {0, 1}) {
                if (turn == 1) {
                    d.target_position[0] = &second.view();
                    ASSERT_EQ(api->near_field_update(context, plan, &d), GRAFT_OK) << api->last_error();
                }
                ASSERT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
                const std::vector<double> found = out.get();
                if (place == Place::pageable)
                    right[turn] = found;
                ASSERT_EQ(found, right[turn]) << "place " << static_cast<int>(place) << ", turn " << turn;
            }
            ASSERT_EQ(api->near_field_destroy(context, &plan), GRAFT_OK);
        }
    }
}

/// What stands on the host's stream before near_field_create is seen by the boxes: points that are all in one
/// place until the stream has copied the right ones, behind other work.
TEST_F(HostileNear, BoxesWaitForTheStreamOfTheirPoints) {
    Dice dice(11);
    const Boxes boxes(dice, 3000, false);
    const OnDevice<double> at(std::vector<double>(boxes.at.size(), 0.5)), charge(boxes.charge),
        out(boxes.charge), work(std::vector<double>(size_t{1} << 24));
    const auto components = static_cast<int32_t>(boxes.components);
    const graft_array x = at.view(3), q = charge.view(components), phi = out.view(components);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    create();
    ASSERT_EQ(api->context_set_stream(context, stream), GRAFT_OK);
    graft_near_field d{};
    d.struct_size = sizeof d;
    d.dimension = 3, d.components = components, d.boxes = GRAFT_NEAR_BOXES_LEVEL, d.target_count = boxes.n;
    d.target_position[0] = &x;
    for (int k = 0; k < 40; ++k) // some milliseconds
        ASSERT_EQ(cudaMemsetAsync(work.data(), k, size_t{8} << 24, stream), cudaSuccess);
    ASSERT_EQ(
        cudaMemcpyAsync(at.data(), boxes.at.data(), 8 * boxes.at.size(), cudaMemcpyHostToDevice, stream),
        cudaSuccess);
    ASSERT_EQ(api->near_field_create(context, &d, &plan), GRAFT_OK) << api->last_error();
    double height = 0;
    ASSERT_EQ(api->query(context, "near.height", &height), GRAFT_OK) << api->last_error();
    EXPECT_GT(height, 3) << "3000 points in one place are one box";
    EXPECT_LT(height, 8) << "or cannot be told apart";
    graft_near_sums sums{};
    sums.struct_size = sizeof sums;
    sums.charge[0] = &q, sums.potential[0] = &phi;
    ASSERT_EQ(api->near_field_execute(context, plan, &sums), GRAFT_OK) << api->last_error();
    ASSERT_EQ(api->near_field_destroy(context, &plan), GRAFT_OK);

    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(out.data(), 0, 8, stream), cudaSuccess);
    expect_error(api->near_field_create(context, &d, &plan), GRAFT_ERROR_ARGUMENT, "capture");
    ASSERT_NO_FATAL_FAILURE(end_capture(stream, 1));
    ASSERT_EQ(api->context_set_stream(context, nullptr), GRAFT_OK);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

/// Boxes of the caller's lists, or made of all axes wherever they are.
TEST_F(HostileNear, OneAxisOnTheDevice) {
    Dice dice(5);
    const Boxes boxes(dice, 500, false);
    std::vector<double> axis[3];
    for (size_t k = 0; k < boxes.at.size(); ++k)
        axis[k % 3].push_back(boxes.at[k]);
    const OnDevice<double> y(axis[1]);
    const graft_array x = array_at(axis[0].data(), 500, GRAFT_MEMORY_HOST), on_device = y.view(),
                      z = array_at(axis[2].data(), 500, GRAFT_MEMORY_HOST);
    for (const char* backend : {"auto", "gpu"}) {
        set("backend", backend);
        create();
        graft_near_field d{};
        d.struct_size = sizeof d;
        d.dimension = 3, d.boxes = GRAFT_NEAR_BOXES_LEAVES, d.target_count = 500;
        d.target_position[0] = &x, d.target_position[1] = &on_device, d.target_position[2] = &z;
        ASSERT_EQ(api->near_field_create(context, &d, &plan), GRAFT_OK) << api->last_error();
        ASSERT_EQ(api->near_field_destroy(context, &plan), GRAFT_OK);
        d = description(boxes);
        d.target_position[0] = &x, d.target_position[1] = &on_device, d.target_position[2] = &z;
        d.components = 1;
        ASSERT_EQ(api->near_field_create(context, &d, &plan), GRAFT_OK) << api->last_error();
        ASSERT_EQ(api->near_field_destroy(context, &plan), GRAFT_OK);
    }
}

TEST_F(HostileNear, ArraysOfAnotherDeviceThanThePlans) {
    int devices = 0;
    ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    if (devices < 2)
        GTEST_SKIP() << "one device only";
    Dice dice(6);
    Resident r(*this, dice, 500);
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    const OnDevice<double> charge_there(r.boxes.charge);
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    graft_array q_there = charge_there.view(r.components);
    q_there.device = 1;
    create();
    ASSERT_NO_FATAL_FAILURE(make(r));
    r.sums.charge[0] = &q_there;
    expect_error(api->near_field_execute(context, plan, &r.sums), GRAFT_ERROR_ARRAY,
                 "the plan is on device 0");
    r.sums.charge[0] = &r.q;
    ASSERT_NO_FATAL_FAILURE(execute(r));
}

/// A plan's life while the host captures a graph on a stream of its own; and on the very stream given to
/// Graft, where a call can only be refused, but the end of an execution that was begun before.
TEST_F(HostileNear, CapturesAreNotDisturbed) {
    Dice dice(8);
    const Resident r(*this, dice, 2000);
    create();
    ASSERT_NO_FATAL_FAILURE(make(r));
    ASSERT_NO_FATAL_FAILURE(execute(r));
    const std::vector<double> expected = r.out.get();
    ASSERT_NO_FATAL_FAILURE(destroy()); // there are blocks to be taken again

    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(r.out.data(), 0, 8, stream), cudaSuccess);
    for (int turn = 0; turn < 2; ++turn) {
        ASSERT_NO_FATAL_FAILURE(make(r));
        ASSERT_NO_FATAL_FAILURE(execute(r));
        ASSERT_EQ(api->near_field_update(context, plan, &r.field), GRAFT_OK) << api->last_error();
        ASSERT_NO_FATAL_FAILURE(execute(r));
        ASSERT_NO_FATAL_FAILURE(destroy());
    }
    ASSERT_NO_FATAL_FAILURE(end_capture(stream, 1));
    EXPECT_EQ(r.out.get(), expected);

    ASSERT_EQ(api->context_set_stream(context, stream), GRAFT_OK);
    ASSERT_NO_FATAL_FAILURE(make(r));
    ASSERT_EQ(cudaMemsetAsync(r.out.data(), 0, 8, stream), cudaSuccess);
    ASSERT_EQ(api->near_field_begin(context, plan, &r.sums), GRAFT_OK) << api->last_error();
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    ASSERT_EQ(api->near_field_end(context, plan), GRAFT_OK) << api->last_error();
    expect_error(api->near_field_execute(context, plan, &r.sums), GRAFT_ERROR_ARGUMENT, "capture");
    graft_near_plan* none = nullptr;
    expect_error(api->near_field_create(context, &r.field, &none), GRAFT_ERROR_ARGUMENT, "capture");
    ASSERT_NO_FATAL_FAILURE(end_capture(stream, 0));
    EXPECT_EQ(r.out.get(), expected);
    ASSERT_NO_FATAL_FAILURE(execute(r));
    ASSERT_EQ(api->context_set_stream(context, nullptr), GRAFT_OK);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(HostileNear, CoordinatesThatAreRefusedLeaveTheOldOnes) {
    Dice dice(10);
    const Resident r(*this, dice, 2000);
    create();
    ASSERT_NO_FATAL_FAILURE(make(r));
    ASSERT_NO_FATAL_FAILURE(execute(r));
    const std::vector<double> expected = r.out.get();
    std::vector<double> bad = r.boxes.at;
    bad[3 * 700 + 1] = std::nan("");
    const OnDevice<double> spoilt(bad);
    const graft_array x = spoilt.view(3);
    graft_near_field field = r.field;
    field.target_position[0] = &x;
    expect_error(api->near_field_update(context, plan, &field), GRAFT_ERROR_VALUE, "target y[700]");
    ASSERT_NO_FATAL_FAILURE(execute(r));
    EXPECT_EQ(r.out.get(), expected);
}

/// A plan that goes with an execution still on its way gives back no memory that the kernels use.
TEST_F(HostileNear, DestroyedBetweenBeginAndEnd) {
    Dice dice(9);
    const Resident r(*this, dice, 2000);
    create();
    std::vector<double> expected;
    for (int round = 0; round < 20; ++round) {
        ASSERT_NO_FATAL_FAILURE(make(r));
        ASSERT_EQ(api->near_field_begin(context, plan, &r.sums), GRAFT_OK) << api->last_error();
        ASSERT_NO_FATAL_FAILURE(destroy());
        ASSERT_NO_FATAL_FAILURE(make(r));
        ASSERT_NO_FATAL_FAILURE(execute(r));
        const std::vector<double> found = r.out.get();
        ASSERT_TRUE(round == 0 || found == expected) << "round " << round;
        expected = found;
        ASSERT_NO_FATAL_FAILURE(destroy());
    }
}

} // namespace
