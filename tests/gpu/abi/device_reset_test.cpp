// SPDX-License-Identifier: BSD-3-Clause
// What a host does to its GPU while Graft has memory there: it resets the device, destroys a context of its
// own, ends without destroying its plans. Each in a process of its own.
#include "device_host.hpp"

#include "driver.hpp"
#include "own_process.hpp"

#include <algorithm>
#include <memory>

using namespace graft::test;

namespace {

/// A near field of the points of a cloud in the boxes of one level: host arrays, one charge.
class NearHost {
  public:
    explicit NearHost(const std::vector<double>& points) : xyz(points), sum(points.size() / 3, -1) {
        q.assign(sum.size(), 1);
        const auto n = static_cast<int64_t>(sum.size());
        place = array_at(xyz.data(), n, GRAFT_MEMORY_HOST, 3);
        charge = array_at(q.data(), n, GRAFT_MEMORY_HOST);
        potential = array_at(sum.data(), n, GRAFT_MEMORY_HOST);
        field.struct_size = sizeof field;
        field.dimension = 3, field.boxes = GRAFT_NEAR_BOXES_LEVEL, field.height = 4;
        field.layout = GRAFT_NEAR_LAYOUT_TILED, field.precision = GRAFT_PRECISION_FP64;
        field.target_count = n, field.target_position[0] = &place;
        sums.struct_size = sizeof sums;
        sums.charge[0] = &charge, sums.potential[0] = &potential;
    }
    /// A plan's whole life, and its sums.
    std::vector<double> potentials(const graft_api_v1& api, graft_context* context) {
        graft_near_plan* plan = nullptr;
        EXPECT_EQ(api.near_field_create(context, &field, &plan), GRAFT_OK) << api.last_error();
        EXPECT_EQ(api.near_field_execute(context, plan, &sums), GRAFT_OK) << api.last_error();
        EXPECT_EQ(api.near_field_destroy(context, &plan), GRAFT_OK) << api.last_error();
        return sum;
    }
    std::vector<double> xyz, q, sum;
    graft_array place{}, charge{}, potential{};
    graft_near_field field{};
    graft_near_sums sums{};
};

/// Destroys a plan and a context when the process ends, after all that was made later than itself.
struct LastOwner {
    const graft_api_v1* api = nullptr;
    graft_context* context = nullptr;
    graft_near_plan* plan = nullptr;
    ~LastOwner() {
        if (api == nullptr)
            return;
        api->near_field_destroy(context, &plan);
        api->context_destroy(&context);
    }
} last_owner; // made before the library is there

class DeviceResetDeathTest : public DeviceHost {
  protected:
    void SetUp() override {
        DeviceHost::SetUp();
        xyz = plummer_points(5000);
    }
    /// With arrays of the context that is current.
    std::vector<double> field_there() {
        const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
        const Call call(positions.view(3), out.view(3));
        for (int k = 0; k < 4; ++k) // as a graph in the end
            compute(call);
        return out.get();
    }
    std::vector<double> xyz;
};

TEST_F(DeviceResetDeathTest, WhatIsMadeAfterAResetWorks) {
    in_own_process([&] {
        NearHost near(xyz);
        create();
        const std::vector<double> field = field_there(), sums = near.potentials(*api, context);
        for (int turn = 0; turn < 2; ++turn) {
            api->context_destroy(&context);
            EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
            create();
            EXPECT_EQ(field_there(), field);
            EXPECT_EQ(near.potentials(*api, context), sums);
            EXPECT_EQ(near.potentials(*api, context), sums);
        }
    });
}

TEST_F(DeviceResetDeathTest, AContextGoesOnAfterAResetAndLeavesTheHostsMemoryAlone) {
    in_own_process([&] {
        NearHost near(xyz);
        create();
        graft_near_plan* plan = nullptr;
        EXPECT_EQ(api->near_field_create(context, &near.field, &plan), GRAFT_OK) << api->last_error();
        const std::vector<double> field = field_there();
        EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
        const std::vector<double> pattern(1 << 20, 42);
        std::vector<std::unique_ptr<OnDevice<double>>> mine; // where Graft's arrays were
        for (int k = 0; k < 20; ++k)
            mine.push_back(std::make_unique<OnDevice<double>>(pattern));
        EXPECT_EQ(field_there(), field);
        expect_error(api->near_field_execute(context, plan, &near.sums), GRAFT_ERROR_DEVICE,
                     "has been reset");
        api->near_field_destroy(context, &plan);
        EXPECT_EQ(field_there(), field);
        near.potentials(*api, context);
        api->context_destroy(&context);
        for (const auto& array : mine)
            EXPECT_EQ(array->get(), pattern);
    });
}

/// Nobody but Graft uses the device after the reset.
TEST_F(DeviceResetDeathTest, AResetTakesWhatIsInFlight) {
    in_own_process([&] {
        const std::vector<double> expected = field_of(xyz, "gpu");
        std::vector<double> out(xyz.size(), -1);
        const auto n = static_cast<int64_t>(xyz.size() / 3);
        const Call call(array_at(xyz.data(), n, GRAFT_MEMORY_HOST, 3),
                        array_at(out.data(), n, GRAFT_MEMORY_HOST, 3));
        for (int turn = 0; turn < 2; ++turn) {
            EXPECT_EQ(cudaFree(nullptr), cudaSuccess); // resets nothing that it has not used itself
            EXPECT_EQ(api->compute_begin(context, &call.particles, &call.results), GRAFT_OK)
                << api->last_error();
            EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
            std::fill(out.begin(), out.end(), -1);
            expect_error(api->compute_end(context), GRAFT_ERROR_DEVICE, "has reset device 0");
            EXPECT_EQ(std::count(out.begin(), out.end(), -1.0), static_cast<int64_t>(out.size()));
            expect_error(api->compute_end(context), GRAFT_ERROR_CALL_ORDER, "no computation is in flight");
            compute(call);
            EXPECT_EQ(out, expected);
            EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
            EXPECT_EQ(cudaDeviceReset(), cudaSuccess); // with nothing in flight
            compute(call);
            EXPECT_EQ(out, expected);
        }
        api->context_destroy(&context);
    });
}

/// The next context may have the address of the last one.
TEST_F(DeviceResetDeathTest, ContextsOfTheHostComeAndGo) {
    in_own_process([&] {
        std::vector<double> first;
        for (int turn = 0; turn < 4; ++turn) {
            CUcontext const own = own_context(0);
            if (context == nullptr)
                create();
            const std::vector<double> field = field_there();
            if (turn == 0)
                first = field;
            EXPECT_EQ(field, first) << turn;
            destroy(own);
        }
        EXPECT_FALSE(primary_is_active(0));
        api->context_destroy(&context);
        EXPECT_FALSE(primary_is_active(0));
    });
}

TEST_F(DeviceResetDeathTest, APlanMayGoAfterTheLibrarysOwnStatics) {
    in_own_process([&] {
        static NearHost near(xyz);
        create();
        const std::vector<double> sums = near.potentials(*api, context); // memory is kept
        EXPECT_EQ(api->near_field_create(context, &near.field, &last_owner.plan), GRAFT_OK);
        EXPECT_EQ(api->near_field_execute(context, last_owner.plan, &near.sums), GRAFT_OK);
        EXPECT_EQ(near.sum, sums);
        last_owner.api = api, last_owner.context = context;
    });
}

} // namespace
