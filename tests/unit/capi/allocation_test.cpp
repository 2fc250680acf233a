// SPDX-License-Identifier: BSD-3-Clause
// Memory: every allocation refused in turn, and none at all in the steady state.
#include "host.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

using namespace graft;
using namespace graft::test;

namespace {

/// Counts, and refuses call number `refuse`; remembers what is held so that leaks show.
struct Ledger {
    std::atomic<int64_t> calls{0};
    std::atomic<int64_t> held{0};
    int64_t refuse = -1;
};

void* ledger_allocate(void* user, int64_t bytes, int64_t alignment) {
    auto* ledger = static_cast<Ledger*>(user);
    if (ledger->calls.fetch_add(1) == ledger->refuse)
        return nullptr;
    ledger->held += bytes;
    return std::aligned_alloc(static_cast<size_t>(alignment), (static_cast<size_t>(bytes) + 63) / 64 * 64);
}

void ledger_release(void* user, void* pointer, int64_t bytes) {
    static_cast<Ledger*>(user)->held -= bytes;
    std::free(pointer);
}

graft_allocator allocator_of(Ledger& ledger) {
    graft_allocator a{};
    a.struct_size = sizeof a;
    a.user = &ledger;
    a.allocate = ledger_allocate;
    a.release = ledger_release;
    return a;
}

/// What everyone writes first: malloc, which knows nothing of alignment; one byte of 8 too far to be sure.
void* careless_allocate(void*, int64_t bytes, int64_t) {
    char* block = static_cast<char*>(std::aligned_alloc(64, (static_cast<size_t>(bytes) + 8 + 63) / 64 * 64));
    return block != nullptr ? block + 8 : nullptr;
}

void careless_release(void*, void* pointer, int64_t) {
    std::free(static_cast<char*>(pointer) - 8);
}

struct Variant {
    settings::Method method;
    tree::TreeType tree;
    settings::MacType mac;
    settings::Precision precision;
};

const Variant variants[] = {
    {settings::Method::tree, tree::TreeType::octree, settings::MacType::box, settings::Precision::mixed},
    {settings::Method::tree, tree::TreeType::orb, settings::MacType::error, settings::Precision::fp64},
    {settings::Method::direct, tree::TreeType::octree, settings::MacType::edge, settings::Precision::fp32},
    {settings::Method::reference, tree::TreeType::octree, settings::MacType::edge, settings::Precision::fp64},
};

capi::Options options_of(const Variant& v) {
    capi::Options o = options(v.method, v.precision);
    o.engine.tree_type = v.tree;
    o.engine.mac = v.mac;
    o.engine.threads = 2;
    return o;
}

} // namespace

TEST(Allocation, RefusedAtEveryPointInTurn) {
    const Bodies b = plummer(3000);
    for (const Variant& variant : variants) {
        bool succeeded = false;
        int64_t refused = 0;
        for (int64_t k = 0; !succeeded && k < 1000; ++k) {
            Ledger ledger;
            ledger.refuse = k;
            const graft_allocator allocator = allocator_of(ledger);
            {
                Field f(3000, 8.0);
                Context context(options_of(variant), &allocator);
                Call call(b, f);
                int32_t status = context.status;
                if (status == GRAFT_OK)
                    status = capi::compute(context, &call.particles, &call.results);
                succeeded = status == GRAFT_OK;
                if (!succeeded) {
                    ++refused;
                    ASSERT_EQ(status, GRAFT_ERROR_MEMORY) << capi::last_error();
                    ASSERT_EQ(f.ax[0], 8.0) << "outputs are touched though the call failed";
                    ASSERT_EQ(f.energy, 0.0);
                    if (context != nullptr) { // the context lives on
                        ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK);
                        ASSERT_NE(f.ax[0], 8.0);
                    }
                }
            }
            ASSERT_EQ(ledger.held, 0) << "memory held after destroy, refusal " << k;
        }
        EXPECT_TRUE(succeeded);
        EXPECT_GT(refused, 5) << "the engine takes its memory from the host's allocator";
    }
}

TEST(Allocation, NoneInTheSteadyState) {
    Bodies b = plummer(5000);
    for (const Variant& variant : variants) {
        Ledger ledger;
        const graft_allocator allocator = allocator_of(ledger);
        Field f(5000);
        capi::Options o = options_of(variant);
        o.engine.threads = 1;
        Context context(o, &allocator);
        Call call(b, f);
        for (int k = 0; k < 3; ++k)
            ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK);
        const int64_t before = ledger.calls;
        for (int k = 0; k < 5; ++k)
            ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK);
        EXPECT_EQ(ledger.calls, before);
    }
}

TEST(Allocator, WhatIgnoresTheAlignmentIsRefusedWithTheAddress) {
    graft_allocator allocator{};
    allocator.struct_size = sizeof allocator;
    allocator.allocate = careless_allocate, allocator.release = careless_release;
    Context context(options(settings::Method::tree, settings::Precision::mixed), &allocator);
    if (context.status == GRAFT_OK) {
        Bodies b = plummer(2000);
        Field f(2000);
        Call call(b, f);
        context.status = capi::compute(context, &call.particles, &call.results);
    }
    EXPECT_EQ(context.status, GRAFT_ERROR_ARGUMENT);
    EXPECT_NE(std::string(capi::last_error()).find("multiple of 64"), std::string::npos) << capi::last_error();
    EXPECT_NE(std::string(capi::last_error()).find("0x"), std::string::npos) << capi::last_error();
}

TEST(Allocation, ReleasedMemoryIsGivenBackAndTakenAnew) {
    for (const Variant& variant : variants) {
        Ledger ledger;
        const graft_allocator allocator = allocator_of(ledger);
        capi::Options o = options_of(variant);
        o.engine.mac_history = true; // the last accelerations are no memory to be filled anew
        Context context(o, &allocator), kept(o);
        const Bodies b = plummer(2000);
        Field f(2000), wanted(2000);
        Call call(b, f), call_kept(b, wanted);
        ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
        ASSERT_EQ(capi::compute(kept, &call_kept.particles, &call_kept.results), GRAFT_OK);
        const int64_t before = ledger.held;
        double total = 0, again = 0;
        ASSERT_EQ(capi::query(context, "interactions.p2p", &total), GRAFT_OK);
        ASSERT_EQ(capi::context_release_memory(context), GRAFT_OK) << capi::last_error();
        EXPECT_LT(ledger.held, 40000) << "of " << before;
        EXPECT_EQ(capi::query(context, "interactions.p2p", &again), GRAFT_OK) << "figures stay";
        EXPECT_EQ(again, total);
        ASSERT_EQ(capi::context_release_memory(context), GRAFT_OK) << "twice is fine";
        ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
        ASSERT_EQ(capi::compute(kept, &call_kept.particles, &call_kept.results), GRAFT_OK);
        EXPECT_EQ(f.ax, wanted.ax);
        EXPECT_EQ(f.potential, wanted.potential);
        EXPECT_EQ(f.virial, wanted.virial);
    }
}
