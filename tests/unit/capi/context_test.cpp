// SPDX-License-Identifier: BSD-3-Clause
// Contexts: calls in the wrong order, two threads, life and death, boxes and units.
#include "ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#ifdef _OPENMP
#include <omp.h>
#endif

using namespace graft;
using namespace graft::test;

TEST(Context, CallOrderAndBusy) {
    double value = 0;
    Context context(options(settings::Method::tree));
    EXPECT_EQ(capi::query(context, "time_s.total", &value), GRAFT_ERROR_ABSENT);
    Bodies b = plummer(100000);
    Field f(100000);
    Call call(b, f);
    ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK);
    EXPECT_EQ(capi::query(context, "time_s.total", &value), GRAFT_OK);
    EXPECT_GT(value, 0);
    EXPECT_EQ(capi::query(context, "predicted_s.total", &value), GRAFT_ERROR_ABSENT)
        << "no model: absent, not zero";
    std::atomic<int> busy{0};
    std::thread other([&] {
        Field g(100000);
        Call second(b, g);
        for (int done = 0;
             done < 20 && (done == 0 || busy == 0);) { // the queries below may hold the context: try again
            const int32_t status = capi::compute(context, &second.particles, &second.results);
            ASSERT_TRUE(status == GRAFT_OK || status == GRAFT_ERROR_BUSY) << capi::last_error();
            done += status == GRAFT_OK ? 1 : 0;
        }
    });
    for (int k = 0; k < 100000 && busy == 0; ++k) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        busy = capi::query(context, "n", &value) == GRAFT_ERROR_BUSY ? 1 : 0;
    }
    other.join();
    EXPECT_EQ(busy, 1);
}

TEST(Context, TwoContextsInTwoThreads) {
    Bodies b = plummer(5000);
    Field f[2] = {Field(5000), Field(5000)};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([&, t] {
            capi::Options o = options(settings::Method::tree);
            o.engine.threads = 2;
            Context context(o);
            Call call(b, f[t]);
            for (int k = 0; k < 5; ++k)
                ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK);
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(f[0].ax, f[1].ax);
}

#ifdef _OPENMP
/// Like omp_set_num_threads while it lives; it counts for this thread only.
class OpenMpThreads {
  public:
    explicit OpenMpThreads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
    ~OpenMpThreads() { omp_set_num_threads(before_); }
    OpenMpThreads(const OpenMpThreads&) = delete;
    OpenMpThreads& operator=(const OpenMpThreads&) = delete;

  private:
    int before_;
};

void expect_too_many(int32_t status, const char* entry) {
    EXPECT_EQ(status, GRAFT_ERROR_ARGUMENT) << entry;
    const std::string text = capi::last_error();
    EXPECT_NE(text.find("1000000 threads"), std::string::npos) << entry << ": " << text;
}

TEST(Context, ThreadsThatCannotBeHadAreRefusedInEachCall) {
    capi::Options o = options(settings::Method::tree);
    o.engine.threads = 0;
    Context context(o);
    const Bodies b = plummer(200);
    Field f(200, 7);
    Call call(b, f);
    const graft_array charge = array_of(b.q);
    std::vector<double> sum(200);
    const graft_array potential = array_of(sum);
    graft_near_field near{};
    near.struct_size = sizeof near;
    near.dimension = 3, near.boxes = GRAFT_NEAR_BOXES_LEAVES, near.target_count = 200;
    near.outputs = GRAFT_NEAR_POTENTIAL;
    for (int a = 0; a < 3; ++a)
        near.target_position[a] = &call.arrays[a];
    graft_near_sums sums{};
    sums.struct_size = sizeof sums;
    sums.charge[0] = &charge, sums.potential[0] = &potential;
    graft_near_plan *plan = nullptr, *other = nullptr;
    ASSERT_EQ(capi::near_field_create(context, &near, &plan), GRAFT_OK) << capi::last_error();
    graft_decomposition parts{};
    parts.struct_size = sizeof parts;
    {
        const OpenMpThreads many(1000000);
        expect_too_many(capi::compute(context, &call.particles, &call.results), "compute");
        expect_too_many(capi::compute_begin(context, &call.particles, &call.results), "compute_begin");
        call.results.virial = call.results.energy = nullptr;
        expect_too_many(capi::field_at(context, &call.particles, &call.particles, &call.results), "field_at");
        expect_too_many(capi::decompose(context, &call.particles, &parts), "decompose");
        expect_too_many(capi::near_field_create(context, &near, &other), "near_field_create");
        expect_too_many(capi::near_field_update(context, plan, &near), "near_field_update");
        expect_too_many(capi::near_field_execute(context, plan, &sums), "near_field_execute");
        expect_too_many(capi::near_field_begin(context, plan, &sums), "near_field_begin");
    }
    EXPECT_EQ(f.ax[0], 7);
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    EXPECT_EQ(capi::near_field_execute(context, plan, &sums), GRAFT_OK) << capi::last_error();
}

TEST(Context, ThreadsThatOneRankCannotHaveAreRefusedOnAll) {
    capi::Options o = options(settings::Method::tree);
    o.engine.threads = 0;
    on_contexts(2, o, [](int rank, graft_context* context) {
        const Bodies b = plummer(100);
        Field f(100, 7);
        Call call(b, f);
        {
            const OpenMpThreads many(rank == 1 ? 1000000 : 1);
            expect_too_many(capi::compute(context, &call.particles, &call.results), "compute");
        }
        EXPECT_EQ(f.ax[0], 7);
        EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    });
}
#endif

TEST(Context, TenThousandCreateDestroy) {
    for (int k = 0; k < 10000; ++k) {
        graft_context* context = nullptr;
        ASSERT_EQ(capi::context_create(options(settings::Method::tree), nullptr, &context), GRAFT_OK);
        ASSERT_EQ(capi::context_destroy(&context), GRAFT_OK);
        ASSERT_EQ(context, nullptr);
    }
    EXPECT_EQ(capi::context_destroy(nullptr), GRAFT_OK);
}

TEST(Context, APeriodicBoxFromTheOptionsAndFromTheHost) {
    capi::Options with_box = options(settings::Method::tree);
    with_box.asked.precision = settings::Precision::fp64, with_box.engine.interaction = settings::Interaction::coulomb;
    with_box.engine.ewald_accuracy = 1e-12;
    with_box.asked.periodic = 1;
    graft_context* refused = nullptr;
    EXPECT_EQ(capi::context_create(with_box, nullptr, &refused), GRAFT_ERROR_ARGUMENT) << "no edges";
    with_box.asked.box_x = with_box.asked.box_y = with_box.asked.box_z = 2;
    Context context(with_box);
    Bodies one;
    one.add(5, 5, 5, 1);
    Field field(1);
    Call call(one, field);
    ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    EXPECT_NEAR(field.energy, -0.25 * 2.837297479480619, 1e-10) << "a Wigner crystal of edge 2";
    graft_box box{};
    box.struct_size = sizeof box;
    for (int a = 0; a < 3; ++a)
        box.upper[a] = 1, box.periodic[a] = 1;
    ASSERT_EQ(capi::context_set_box(context, &box), GRAFT_OK) << capi::last_error();
    ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    EXPECT_NEAR(field.energy, -0.5 * 2.837297479480619, 1e-10);
}

TEST(Context, AxesWithoutImagesNeedNoEdge) {
    for (const int32_t periodic : {4, 5}) { // xy, x
        double energy[2] = {};
        for (const bool given : {false, true}) {
            capi::Options values = options(settings::Method::direct);
            values.asked.precision = settings::Precision::fp64, values.asked.periodic = periodic;
            values.asked.box_x = values.asked.box_y = 2, values.asked.box_lower_z = 1;
            if (periodic == 5 && !given)
                values.asked.box_y = 0;
            values.asked.box_z = given ? 7 : 0;
            Context context(values);
            Bodies b = plummer(20);
            Field field(20);
            Call call(b, field);
            ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
            energy[given] = field.energy;
            values.asked.box_x = 0; // has images
            graft_context* refused = nullptr;
            EXPECT_EQ(capi::context_create(values, nullptr, &refused), GRAFT_ERROR_ARGUMENT);
        }
        EXPECT_EQ(energy[0], energy[1]);
    }
}

TEST(Context, BoxesAndUnits) {
    Context context(options(settings::Method::tree));
    graft_box box{};
    box.struct_size = sizeof box;
    EXPECT_EQ(capi::context_set_box(context, &box), GRAFT_ERROR_ARGUMENT);
    for (int a = 0; a < 3; ++a)
        box.lower[a] = -2000, box.upper[a] = 2000;
    EXPECT_EQ(capi::context_set_box(context, &box), GRAFT_OK) << capi::last_error();
    Bodies b = plummer(1000);
    Field f(1000), free_field(1000);
    Call call(b, f);
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    box.lower[1] = 0.5;
    EXPECT_EQ(capi::context_set_box(context, &box), GRAFT_OK);
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_ERROR_VALUE)
        << "particles outside the box";
    box.periodic[0] = 1;
    EXPECT_EQ(capi::context_set_box(context, &box), GRAFT_OK) << "a wire: " << capi::last_error();
    box.tilt[2] = 100;
    EXPECT_EQ(capi::context_set_box(context, &box), GRAFT_ERROR_ARGUMENT) << "a wire with a tilt";
    box.tilt[2] = 0, box.periodic[0] = 2;
    EXPECT_EQ(capi::context_set_box(context, &box), GRAFT_ERROR_ARGUMENT);
    box.periodic[0] = 0, box.tilt[1] = 1;
    EXPECT_EQ(capi::context_set_box(context, &box), GRAFT_ERROR_ARGUMENT) << "an open box has no tilt";
    box.periodic[0] = box.periodic[1] = box.periodic[2] = 1, box.tilt[1] = 2001;
    EXPECT_EQ(capi::context_set_box(context, &box), GRAFT_ERROR_ARGUMENT) << "more than half an edge";
    box.tilt[1] = 0, box.periodic[2] = 0;
    EXPECT_EQ(capi::context_set_box(context, &box), GRAFT_OK) << "a slab: " << capi::last_error();
    box.tilt[1] = 100;
    EXPECT_EQ(capi::context_set_box(context, &box), GRAFT_ERROR_ARGUMENT)
        << "a tilt to the axis without images";
    box = {};
    box.struct_size = sizeof box;
    EXPECT_EQ(capi::context_set_box(context, nullptr), GRAFT_OK);
    graft_units units{};
    units.struct_size = sizeof units;
    units.length_m = 1.495978707e11, units.mass_kg = 1.98892e30, units.time_s = 86400;
    ASSERT_EQ(capi::context_set_units(context, &units), GRAFT_OK) << capi::last_error();
    Bodies pair;
    pair.add(0, 0, 0, 1), pair.add(1, 0, 0, 0);
    Field g(2);
    Call sun(pair, g);
    ASSERT_EQ(capi::compute(context, &sun.particles, &sun.results), GRAFT_OK);
    EXPECT_NEAR(-g.ax[1], 2.9591e-4, 1e-7) << "Gauss's constant squared, in AU^3 / (Msun day^2)";
    units.length_m = 0;
    EXPECT_EQ(capi::context_set_units(context, &units), GRAFT_ERROR_ARGUMENT);
}
