// SPDX-License-Identifier: BSD-3-Clause
// A near-field plan through the table of libgraft_cuda.so: arrays of any layout and place, added sums,
// refusals.
#include "layout_scene.cuh"

#include "near/plan/near_table.hpp"

#include <cmath>
#include <cstring>

namespace graft::test {

namespace {

using particles::ArrayView;
using particles::ElementType;
using particles::MemorySpace;

struct PlanTest : DeviceTest {
    using DeviceTest::get;
    using DeviceTest::memory;
    using DeviceTest::put;
    const near::DeviceNearTable& table = near::device_near_table();
    backend::DeviceError error;

    void* create(const LayoutScene& scene, const near::Structure& structure, const near::Sums& sums,
                 near::Layout layout = near::Layout::tiled) {
        (void)scene;
        near::DeviceNearOptions options;
        options.layout = layout;
        void* plan = nullptr;
        EXPECT_EQ(table.create(&options, &structure, &sums, &plan, &error), 0) << error.message;
        return plan;
    }
    static ArrayView view(void* data, ElementType type, int64_t n, int64_t stride, MemorySpace where) {
        return {static_cast<char*>(data), type, 1, n, stride, 8, where};
    }
};

/// Rows of x y z q in `T`, and rows of p gx gy gz.
template <typename T>
struct Rows {
    std::vector<T> in, out;
    explicit Rows(const LayoutScene& scene) {
        const auto n = static_cast<size_t>(scene.target.n());
        in.resize(4 * n), out.assign(4 * n, T(1));
        for (size_t i = 0; i < n; ++i) {
            for (size_t axis = 0; axis < 3; ++axis)
                in[4 * i + axis] = static_cast<T>(scene.target.at[axis][i]);
            in[4 * i + 3] = static_cast<T>(scene.charge[0][i]);
        }
    }
};

/// Rows of doubles in host memory with the views of a call for their potentials.
struct HostRows : Rows<double> {
    ArrayView points[3], charge;
    near::DeviceNearOutputs outputs;
    explicit HostRows(const LayoutScene& scene) : Rows<double>(scene) {
        const auto host = [&](double* first) {
            return PlanTest::view(first, ElementType::f64, scene.target.n(), 32, MemorySpace::host);
        };
        for (int axis = 0; axis < 3; ++axis)
            points[axis] = host(in.data() + axis);
        charge = host(in.data() + 3);
        outputs.potential[0] = host(out.data());
    }
};

template <typename T>
void run_rows(PlanTest& test, near::Precision precision, bool on_device, bool add, bool in_place) {
    LayoutSceneOptions o;
    o.shuffled = true;
    const LayoutScene scene = make_layout_scene(o);
    const near::Structure structure = scene.structure();
    near::Sums sums;
    sums.outputs = 3, sums.precision = precision;
    void* plan = test.create(scene, structure, sums);
    Rows<T> rows(scene);
    const int64_t n = scene.target.n();
    backend::DeviceBuffer<T> in(*test.memory, "in"), out(*test.memory, "out");
    if (on_device) {
        test.put(rows.in, in), test.put(rows.out, out);
    }
    const auto type = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;
    const MemorySpace where = on_device ? MemorySpace::device : MemorySpace::host;
    T* const from = on_device ? in.data() : rows.in.data();
    T* const to = on_device ? out.data() : rows.out.data();
    const int64_t row = 4 * static_cast<int64_t>(sizeof(T)),
                  step = in_place ? static_cast<int64_t>(sizeof(T)) : row;
    ArrayView points[3];
    for (int axis = 0; axis < 3; ++axis)
        points[axis] = test.view(from + axis, type, n, row, where);
    const ArrayView charge = test.view(from + 3, type, n, row, where);
    near::DeviceNearOutputs outputs;
    for (int k = 0; k < 4; ++k) { // columns, or rows
        ArrayView& output = k == 0 ? outputs.potential[0] : outputs.gradient[0][k - 1];
        output = test.view(in_place ? to + k * n : to + k, type, n, step, where);
        output.add = add;
    }
    ASSERT_EQ(test.table.set_points(plan, points, nullptr, nullptr, &test.error), 0) << test.error.message;
    near::DeviceNearReport report;
    int64_t allocations = 0;
    for (int turn = 0; turn < 3; ++turn) {
        ASSERT_EQ(test.table.begin(plan, &charge, &outputs, nullptr, &test.error), 0) << test.error.message;
        ASSERT_EQ(test.table.end(plan, &report, &test.error), 0) << test.error.message;
        if (turn == 1)
            EXPECT_EQ(report.allocations, allocations);
        allocations = report.allocations;
    }
    test.table.destroy(plan);
    const std::vector<T> got = on_device ? test.get(out.data(), 4 * n) : rows.out;
    NearReference right = near_reference(scene, sums);
    std::vector<T> sorted(static_cast<size_t>(4 * n));
    for (int k = 0; k < 4; ++k)
        for (int64_t i = 0; i < n; ++i) {
            const T v = got[static_cast<size_t>(in_place ? k * n + i : 4 * i + k)];
            sorted[static_cast<size_t>(k * n + i)] = v;
            double& want = (k == 0 ? right.potential[0] : right.gradient[0][k - 1])[static_cast<size_t>(i)];
            if (add) // three times, to 1
                want = 1 + 3 * want;
        }
    if (add)
        for (auto* sizes : {&right.potential_size[0], &right.gradient_size[0]})
            for (double& size : *sizes)
                size = 1 + 3 * size;
    const double eps = precision == near::Precision::fp64 && sizeof(T) == 8 ? 0x1p-52 : 0x1p-23;
    EXPECT_LE(worst_error(sorted, right, sums, eps), 6);
    EXPECT_EQ(report.pairs, std::accumulate(right.sources.begin(), right.sources.end(), 0.0));
}

TEST_F(PlanTest, ArraysOfAnyKindAndPlace) {
    Cases cases(3);
    for (const bool on_device : {false, true})
        for (const bool add : {false, true})
            for (const bool in_place : {false, true}) {
                if (cases.skip())
                    continue;
                run_rows<float>(*this, near::Precision::fp32, on_device, add, in_place);
                run_rows<double>(*this, near::Precision::fp64, on_device, add, in_place);
                run_rows<float>(*this, near::Precision::fp64, on_device, add, in_place);
                run_rows<double>(*this, near::Precision::fp32, on_device, add, in_place);
            }
}

/// Of arrays on the first GPU that a stream fills late, and whose sums it copies at once. With one GPU both
/// parts are on it.
TEST_F(PlanTest, PartsHaveTheBitsOfTheWholeInTheOrderOfAStream) {
    LayoutSceneOptions o;
    o.shuffled = true;
    const LayoutScene scene = make_layout_scene(o);
    const near::Structure structure = scene.structure();
    near::Sums sums;
    sums.outputs = 3, sums.precision = near::Precision::fp32;
    const Rows<float> rows(scene);
    const int64_t n = scene.target.n();
    backend::DeviceBuffer<float> in(*memory, "in"), late(*memory, "late"), out(*memory, "out"),
        copy(*memory, "copy");
    backend::DeviceBuffer<char> large(*memory, "large");
    put(rows.in, in), put(rows.in, late), put(rows.out, out), put(rows.out, copy);
    large.resize(int64_t{64} << 20);
    ArrayView points[3];
    near::DeviceNearOutputs outputs;
    for (int axis = 0; axis < 3; ++axis) {
        points[axis] = view(in.data() + axis, ElementType::f32, n, 16, MemorySpace::device);
        outputs.gradient[0][axis] = view(out.data() + 1 + axis, ElementType::f32, n, 16, MemorySpace::device);
    }
    outputs.potential[0] = view(out.data(), ElementType::f32, n, 16, MemorySpace::device);
    const ArrayView charge = view(late.data() + 3, ElementType::f32, n, 16, MemorySpace::device);
    const auto done = [&](int32_t status) { ASSERT_EQ(status, 0) << error.message; };
    near::DeviceNearReport report;
    void* const whole = create(scene, structure, sums);
    done(table.set_points(whole, points, nullptr, nullptr, &error));
    done(table.begin(whole, &charge, &outputs, nullptr, &error));
    done(table.end(whole, &report, &error));
    table.destroy(whole);
    const std::vector<float> right = get(out.data(), 4 * n);
    put(rows.out, out);

    int devices = 1;
    ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    const std::vector<near::StructurePart> parts = near::cut_structure(structure, 2);
    const near::Structure views[2] = {parts[0].view(), parts[1].view()};
    void* plan[2] = {};
    near::PointBounds all;
    for (size_t k = 0; k < 2; ++k) {
        const near::PartPoints own = parts[k].points();
        near::DeviceNearOptions options;
        options.part = &own, options.device = static_cast<int32_t>(k) % devices;
        done(table.create(&options, &views[k], &sums, &plan[k], &error));
    }
    for (void* one : plan)
        done(table.send_points(one, points, nullptr, stream, &error));
    for (void* one : plan)
        done(table.see_points(one, &all, &error));
    for (void* one : plan)
        done(table.take_points(one, &all, &error));
    for (int turn = 0; turn < 2; ++turn) {
        const size_t bytes = 16 * static_cast<size_t>(n);
        ASSERT_EQ(cudaMemsetAsync(late.data(), 0, bytes, stream), cudaSuccess);
        for (int k = 0; k < 40; ++k) // a millisecond
            ASSERT_EQ(cudaMemsetAsync(large.data(), k, static_cast<size_t>(large.size()), stream),
                      cudaSuccess);
        ASSERT_EQ(cudaMemcpyAsync(late.data(), in.data(), bytes, cudaMemcpyDeviceToDevice, stream),
                  cudaSuccess);
        for (void* one : plan)
            done(table.send_charges(one, &charge, &outputs, stream, &error));
        for (void* one : plan)
            done(table.sum(one, &outputs, &error));
        ASSERT_EQ(cudaMemcpyAsync(copy.data(), out.data(), bytes, cudaMemcpyDeviceToDevice, stream),
                  cudaSuccess);
        ASSERT_EQ(cudaMemsetAsync(out.data(), 0, bytes, stream), cudaSuccess);
        for (void* one : plan)
            done(table.see_sums(one, &error));
        for (void* one : plan)
            done(table.end(one, &report, &error));
        ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        EXPECT_TRUE(get(copy.data(), 4 * n) == right) << "turn " << turn;
    }
    for (void* one : plan)
        table.destroy(one);
    (void)cudaStreamDestroy(stream);
}

TEST_F(PlanTest, NumbersThatAreNoneAreNamed) {
    LayoutScene scene = make_layout_scene({});
    const near::Structure structure = scene.structure();
    near::Sums sums;
    void* plan = create(scene, structure, sums);
    HostRows rows(scene);
    rows.in[4 * 17 + 1] = rows.in[4 * 300 + 1] = std::nan("");
    EXPECT_EQ(table.set_points(plan, rows.points, nullptr, nullptr, &error),
              static_cast<int32_t>(core::Status::value));
    EXPECT_NE(std::strstr(error.message, "target y[17]"), nullptr) << error.message;
    rows.in[4 * 17 + 1] = rows.in[4 * 300 + 1] = 0.5;
    ASSERT_EQ(table.set_points(plan, rows.points, nullptr, nullptr, &error), 0) << error.message;
    rows.in[4 * 5 + 3] = HUGE_VAL;
    ASSERT_EQ(table.begin(plan, &rows.charge, &rows.outputs, nullptr, &error), 0) << error.message;
    near::DeviceNearReport report;
    EXPECT_EQ(table.end(plan, &report, &error), static_cast<int32_t>(core::Status::value));
    EXPECT_NE(std::strstr(error.message, "charge component 0[5]"), nullptr) << error.message;
    EXPECT_EQ(rows.out[0], 1) << "sums of bad charges were written";
    rows.in[4 * 5 + 3] = 1;
    ASSERT_EQ(table.begin(plan, &rows.charge, &rows.outputs, nullptr, &error), 0);
    EXPECT_EQ(table.end(plan, &report, &error), 0) << error.message;
    EXPECT_NE(rows.out[0], 1);
    table.destroy(plan);
}

TEST_F(PlanTest, CoordinatesBeyondTheArithmeticAreRefusedAndTheOldOnesStay) {
    LayoutScene scene = make_layout_scene({});
    const near::Structure structure = scene.structure();
    for (const near::Precision precision :
         {near::Precision::fp32, near::Precision::mixed, near::Precision::fp64}) {
        near::Sums sums;
        sums.precision = precision;
        void* plan = create(scene, structure, sums);
        HostRows rows(scene);
        near::DeviceNearReport report;
        const auto execute = [&] {
            ASSERT_EQ(table.begin(plan, &rows.charge, &rows.outputs, nullptr, &error), 0) << error.message;
            ASSERT_EQ(table.end(plan, &report, &error), 0) << error.message;
        };
        ASSERT_EQ(table.set_points(plan, rows.points, nullptr, nullptr, &error), 0) << error.message;
        execute();
        const std::vector<double> before = rows.out;
        rows.in[4 * 17 + 1] = 2 * near::most_coordinate(precision);
        EXPECT_EQ(table.set_points(plan, rows.points, nullptr, nullptr, &error),
                  static_cast<int32_t>(core::Status::value));
        EXPECT_NE(std::strstr(error.message, "target y[17]"), nullptr) << error.message;
        std::fill(rows.out.begin(), rows.out.end(), 1);
        execute();
        EXPECT_EQ(rows.out, before) << "precision " << static_cast<int>(precision);
        table.destroy(plan);
    }
}

/// A record's count of sources is a number of its type.
TEST_F(PlanTest, RecordsOfMoreSourcesThanAFloatCountsAreRefused) {
    const std::vector<int64_t> targets{0, 1}, sources{0, (1 << 24) + 3}, list_offset{0, 1};
    const std::vector<int32_t> list{0};
    near::Structure structure;
    structure.target_offset = targets, structure.source_offset = sources;
    structure.neighbour_offset = list_offset, structure.neighbour = list;
    structure.same = false;
    near::Sums sums;
    for (const near::Layout layout :
         {near::Layout::replicated, near::Layout::replicated_packed, near::Layout::replicated_interleaved}) {
        sums.precision = near::Precision::fp32;
        near::DeviceNearOptions options;
        options.layout = layout;
        void* plan = nullptr;
        EXPECT_EQ(table.create(&options, &structure, &sums, &plan, &error),
                  static_cast<int32_t>(core::Status::unsupported));
        EXPECT_NE(std::strstr(error.message, "up to 2^24 sources a target, found 16777219"), nullptr)
            << error.message;
        table.destroy(plan);
    }
    sums.precision = near::Precision::fp64;
    table.destroy(create({}, structure, sums, near::Layout::replicated));
}

} // namespace

} // namespace graft::test
