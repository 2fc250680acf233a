// SPDX-License-Identifier: BSD-3-Clause
// What a result array may say of itself (read-only, add), structs of zeros, and the text of a context's last failure.
#include "host.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>

using namespace graft;
using namespace graft::test;

namespace {

bool mentions(const char* word) {
    return std::string(capi::last_error()).find(word) != std::string::npos;
}

std::string error_of(graft_context* context) {
    char text[2048];
    EXPECT_EQ(capi::context_error(context, text, sizeof text, nullptr), GRAFT_OK);
    return text;
}

TEST(Results, EachArrayIsAddedToOrOverwritten) {
    for (const settings::Method method :
         {settings::Method::direct, settings::Method::tree, settings::Method::reference}) {
        const Bodies b = plummer(200);
        Field once(200), mixed(200, 3);
        mixed.virial.fill(3), mixed.energy = 3;
        Context context(options(method));
        Call first(b, once), second(b, mixed);
        ASSERT_EQ(capi::compute(context, &first.particles, &first.results), GRAFT_OK) << capi::last_error();
        second.out[1].flags = second.out[3].flags = second.out[5].flags =
            GRAFT_ARRAY_ADD; // y, potential, energy
        ASSERT_EQ(capi::compute(context, &second.particles, &second.results), GRAFT_OK) << capi::last_error();
        for (size_t i = 0; i < 200; ++i) {
            EXPECT_EQ(mixed.ax[i], once.ax[i]);
            EXPECT_EQ(mixed.ay[i], once.ay[i] + 3);
            EXPECT_EQ(mixed.az[i], once.az[i]);
            EXPECT_EQ(mixed.potential[i], once.potential[i] + 3);
        }
        EXPECT_EQ(mixed.virial, once.virial);
        EXPECT_EQ(mixed.energy, once.energy + 3);
    }
}

TEST(Results, ReadOnlyArraysAreRefusedByName) {
    const Bodies b = plummer(50);
    Field f(50, 7);
    Context context(options(settings::Method::direct));
    const char* names[] = {"results.acceleration[0]", "results.acceleration[1]", "results.acceleration[2]",
                           "results.potential",       "results.virial",          "results.energy"};
    for (int k = 0; k < 6; ++k) {
        Call call(b, f);
        for (graft_array& input : call.arrays)
            input.flags = GRAFT_ARRAY_READ_ONLY; // as views of const are; ADD on inputs is ignored
        call.arrays[3].flags |= GRAFT_ARRAY_ADD;
        call.out[k].flags = GRAFT_ARRAY_READ_ONLY;
        EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_ERROR_ARRAY);
        EXPECT_TRUE(mentions(names[k]) && mentions("read-only")) << capi::last_error();
        EXPECT_EQ(capi::compute_begin(context, &call.particles, &call.results), GRAFT_ERROR_ARRAY);
        call.out[k].flags = 0;
        EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    }
    Call call(b, f);
    call.results.virial = call.results.energy = nullptr;
    call.out[3].flags = GRAFT_ARRAY_READ_ONLY;
    EXPECT_EQ(capi::field_at(context, &call.particles, &call.particles, &call.results), GRAFT_ERROR_ARRAY);
}

TEST(Results, WhatReplacesTakesNeitherReadOnlyNorAdd) {
    const Bodies b = plummer(50);
    Field f(50);
    Context context(options(settings::Method::direct));
    Call call(b, f);
    std::vector<int32_t> owner(50), order(50), offset(2);
    std::vector<double> boxes(6);
    for (const uint32_t flag : {GRAFT_ARRAY_READ_ONLY, GRAFT_ARRAY_ADD}) {
        graft_array arrays[4] = {array_of(owner), array_of(order), array_of(offset),
                                 array_of(boxes.data(), GRAFT_F64, 1, 6)};
        graft_decomposition d{};
        d.struct_size = sizeof d;
        const graft_array** const slots[4] = {&d.owner, &d.permutation, &d.part_offset, &d.boxes};
        Context fresh(options(settings::Method::direct)); // arguments are looked at before domains are missed
        arrays[0].flags = flag;
        EXPECT_EQ(capi::owner_of(fresh, &call.particles, &arrays[0]), GRAFT_ERROR_ARRAY);
        EXPECT_TRUE(mentions("owner")) << capi::last_error();
        arrays[0].flags = 0;
        EXPECT_EQ(capi::owner_of(fresh, &call.particles, &arrays[0]), GRAFT_ERROR_CALL_ORDER);
        for (int k = 0; k < 4; ++k) {
            *slots[k] = &arrays[k];
            arrays[k].flags = flag;
            EXPECT_EQ(capi::decompose(context, &call.particles, &d), GRAFT_ERROR_ARRAY) << k;
            EXPECT_TRUE(mentions("decomposition.")) << capi::last_error();
            arrays[k].flags = 0;
        }
        ASSERT_EQ(capi::decompose(context, &call.particles, &d), GRAFT_OK) << capi::last_error();
        arrays[0].flags = flag;
        EXPECT_EQ(capi::owner_of(context, &call.particles, &arrays[0]), GRAFT_ERROR_ARRAY);
        graft_balancing balancing{};
        balancing.struct_size = sizeof balancing;
        balancing.owner = &arrays[0];
        EXPECT_EQ(capi::balance(context, &call.particles, &balancing), GRAFT_ERROR_ARRAY);
        int64_t after = 0;
        arrays[0].flags = GRAFT_ARRAY_READ_ONLY; // an input here
        ASSERT_EQ(capi::migrate_plan(context, &arrays[0], &after), GRAFT_OK) << capi::last_error();
        const graft_array *from = &call.arrays[0], *to = &call.out[0];
        call.out[0].flags = flag;
        EXPECT_EQ(capi::migrate(context, 1, &from, &to), GRAFT_ERROR_ARRAY);
        EXPECT_TRUE(mentions("to[0]")) << capi::last_error();
        call.out[0].flags = 0;
        EXPECT_EQ(capi::migrate(context, 1, &from, &to), GRAFT_OK) << capi::last_error();
    }
}

TEST(Results, SumsOfNearFieldsAreAddedToEachByItself) {
    Context context(options(settings::Method::direct));
    const Bodies b = plummer(60);
    const graft_array axes[3] = {array_of(b.x), array_of(b.y), array_of(b.z)}, charge = array_of(b.q);
    graft_near_field d{};
    d.struct_size = sizeof d;
    d.dimension = 3, d.boxes = GRAFT_NEAR_BOXES_LEAVES, d.target_count = 60,
    d.precision = GRAFT_PRECISION_FP64;
    d.outputs = GRAFT_NEAR_POTENTIAL | GRAFT_NEAR_GRADIENT;
    for (int a = 0; a < 3; ++a)
        d.target_position[a] = &axes[a];
    graft_near_plan* plan = nullptr;
    ASSERT_EQ(capi::near_field_create(context, &d, &plan), GRAFT_OK) << capi::last_error();
    std::vector<double> out[2][4];
    for (int turn = 0; turn < 2; ++turn) {
        graft_array views[4];
        for (int k = 0; k < 4; ++k) {
            out[turn][k].assign(60, 2.0);
            views[k] = array_of(out[turn][k]);
        }
        views[0].flags = views[2].flags = turn == 1 ? GRAFT_ARRAY_ADD : 0;
        graft_near_sums sums{};
        sums.struct_size = sizeof sums;
        sums.charge[0] = &charge, sums.potential[0] = &views[0];
        for (int a = 0; a < 3; ++a)
            sums.gradient[a] = &views[1 + a];
        ASSERT_EQ(capi::near_field_execute(context, plan, &sums), GRAFT_OK) << capi::last_error();
        views[3].flags = GRAFT_ARRAY_READ_ONLY;
        EXPECT_EQ(capi::near_field_execute(context, plan, &sums), GRAFT_ERROR_ARRAY);
        EXPECT_TRUE(mentions("sums.gradient[2]")) << capi::last_error();
    }
    for (int k = 0; k < 4; ++k)
        for (size_t i = 0; i < 60; ++i)
            EXPECT_EQ(out[1][k][i], out[0][k][i] + (k == 0 || k == 2 ? 2.0 : 0.0)) << k;
}

TEST(ZeroedStructs, AreValidOrRefusedByName) {
    Context context(options(settings::Method::direct));
    const Bodies b = plummer(20);
    Field f(20);
    Call call(b, f);
    call.particles.charge = nullptr;
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_ERROR_ARGUMENT);
    EXPECT_TRUE(mentions("particles.charge is NULL") && mentions("charge_all is 0")) << capi::last_error();
    EXPECT_EQ(f.ax[0], 0);
    EXPECT_EQ(capi::field_at(context, &call.particles, &call.particles, &call.results), GRAFT_ERROR_ARGUMENT);
    EXPECT_TRUE(mentions("sources.charge")) << capi::last_error();
    call.particles.charge_all = 1;
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    graft_particles nobody{};
    nobody.struct_size = sizeof nobody;
    graft_results nothing{};
    nothing.struct_size = sizeof nothing;
    EXPECT_EQ(capi::compute(context, &nobody, &nothing), GRAFT_OK) << capi::last_error();
    graft_box box{};
    box.struct_size = sizeof box;
    EXPECT_EQ(capi::context_set_box(context, &box), GRAFT_ERROR_ARGUMENT);
    graft_units units{};
    units.struct_size = sizeof units;
    EXPECT_EQ(capi::context_set_units(context, &units), GRAFT_ERROR_ARGUMENT);
    graft_decomposition decomposition{};
    decomposition.struct_size = sizeof decomposition;
    EXPECT_EQ(capi::decompose(context, &nobody, &decomposition), GRAFT_OK) << capi::last_error();
    graft_balancing balancing{};
    balancing.struct_size = sizeof balancing;
    EXPECT_EQ(capi::balance(context, &nobody, &balancing), GRAFT_ERROR_ARGUMENT);
    EXPECT_TRUE(mentions("balancing.owner")) << capi::last_error();
    graft_objects objects{};
    objects.struct_size = sizeof objects;
    EXPECT_EQ(capi::balance_objects(context, &objects), GRAFT_ERROR_ARGUMENT);
    EXPECT_TRUE(mentions("objects.owner")) << capi::last_error();
    graft_near_field near{};
    near.struct_size = sizeof near;
    graft_near_plan* plan = nullptr;
    EXPECT_EQ(capi::near_field_create(context, &near, &plan), GRAFT_ERROR_ARGUMENT);
    EXPECT_TRUE(mentions("near_field.dimension")) << capi::last_error();
    graft_array array{};
    array.struct_size = sizeof array;
    call.particles.charge = &array;
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_ERROR_ARRAY);
    EXPECT_TRUE(mentions("particles.charge")) << capi::last_error();
    graft_allocator allocator{};
    allocator.struct_size = sizeof allocator;
    graft_context* refused = nullptr;
    EXPECT_EQ(capi::context_create(options(settings::Method::direct), &allocator, &refused),
              GRAFT_ERROR_ARGUMENT);
    graft_device_allocator device{};
    device.struct_size = sizeof device;
    EXPECT_EQ(capi::context_set_device_allocator(context, &device), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(capi::context_set_device_allocator(context, nullptr), GRAFT_OK);
    graft_comm_v1 comm{};
    comm.struct_size = sizeof comm;
    EXPECT_EQ(capi::context_set_communicator(context, &comm), GRAFT_ERROR_ARGUMENT);
}

TEST(ContextError, IsOfTheContextAndOfAnyThread) {
    Context one(options(settings::Method::direct)), other(options(settings::Method::direct));
    EXPECT_EQ(error_of(one), "");
    std::thread([&] { EXPECT_EQ(capi::compute(one, nullptr, nullptr), GRAFT_ERROR_ARGUMENT); }).join();
    EXPECT_STREQ(capi::last_error(), capi::last_error());
    const std::string text = error_of(one);
    EXPECT_NE(text.find("particles is NULL"), std::string::npos) << text;
    EXPECT_EQ(error_of(other), "");
    char small[4] = "xyz";
    int64_t needed = 0;
    EXPECT_EQ(capi::context_error(one, small, 3, &needed), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(needed, static_cast<int64_t>(text.size()) + 1);
    EXPECT_EQ(small[0], '\0');
    EXPECT_EQ(capi::context_error(one, nullptr, 0, &needed), GRAFT_OK);
    EXPECT_EQ(capi::context_error(nullptr, small, 3, nullptr), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(error_of(one), text) << "asking changes nothing";
    double value = 0;
    EXPECT_EQ(capi::query(one, "no.such", &value), GRAFT_ERROR_ABSENT);
    EXPECT_NE(error_of(one), text);
}

TEST(Flight, CanBeAskedForOnTheCpu) {
    Context context(options(settings::Method::tree));
    const Bodies b = plummer(100);
    Field f(100);
    Call call(b, f);
    int32_t done = -1;
    void* event = &done;
    EXPECT_EQ(capi::compute_poll(context, &done), GRAFT_ERROR_CALL_ORDER);
    EXPECT_EQ(capi::compute_event(context, &event), GRAFT_ERROR_CALL_ORDER);
    call.results.flags = GRAFT_RESULTS_NO_REPAIR;
    ASSERT_EQ(capi::compute_begin(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    EXPECT_EQ(capi::compute_poll(context, nullptr), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(capi::compute_event(context, nullptr), GRAFT_ERROR_ARGUMENT);
    ASSERT_EQ(capi::compute_poll(context, &done), GRAFT_OK);
    EXPECT_EQ(done, 1);
    ASSERT_EQ(capi::compute_event(context, &event), GRAFT_OK);
    EXPECT_EQ(event, nullptr);
    EXPECT_EQ(capi::context_release_memory(context), GRAFT_ERROR_CALL_ORDER);
    EXPECT_EQ(capi::context_change(context, [](capi::Options& o) { o.engine.theta = 0.5; }),
              GRAFT_ERROR_CALL_ORDER);
    EXPECT_EQ(capi::compute_end(context), GRAFT_OK);
    EXPECT_EQ(capi::compute_poll(context, &done), GRAFT_ERROR_CALL_ORDER);
}

} // namespace
