// SPDX-License-Identifier: BSD-3-Clause
// Arrays in device memory through the table: the same bits as host arrays give, in any mix and layout;
// pointers that are not what the caller says are refused by name.
#include "device_host.hpp"

using namespace graft::test;

namespace {

class DeviceArrays : public DeviceHost {
  protected:
    void SetUp() override {
        DeviceHost::SetUp();
        xyz = plummer_points(test_size(20000, 800));
        n = static_cast<int64_t>(xyz.size() / 3);
    }
    std::vector<double> xyz;
    int64_t n = 0;
};

TEST_F(DeviceArrays, GiveTheFieldThatTheCpuGives) {
    set("precision", "fp64");
    const std::vector<double> cpu = field_of(xyz, "cpu"), host = field_of(xyz, "gpu");
    EXPECT_LT(difference(host, cpu), 3e-3);
    create();
    const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), -1));
    compute(Call(positions.view(3), out.view(3)));
    EXPECT_EQ(out.get(), host) << "device and host arrays take one way through the engine";
    EXPECT_EQ(words("backend"), "gpu");
}

TEST_F(DeviceArrays, AutoFindsOutWhereAnArrayIs) {
    const std::vector<double> host = field_of(xyz, "gpu");
    create();
    const OnDevice<double> positions(xyz);
    std::vector<double> out(xyz.size(), -1);
    graft_array in = positions.view(3);
    in.memory = GRAFT_MEMORY_AUTO;
    compute(Call(in, array_at(out.data(), n, GRAFT_MEMORY_AUTO, 3)));
    EXPECT_EQ(out, host);
}

TEST_F(DeviceArrays, ManagedMemoryWorksOnBothSides) {
    const std::vector<double> host = field_of(xyz, "gpu");
    create();
    double* managed = nullptr;
    ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&managed), xyz.size() * sizeof(double)),
              cudaSuccess);
    const OnDevice<double> positions(xyz);
    Cases cases(3);
    for (int32_t memory : {GRAFT_MEMORY_MANAGED, GRAFT_MEMORY_AUTO, GRAFT_MEMORY_DEVICE, GRAFT_MEMORY_HOST}) {
        if (cases.skip())
            continue;
        std::fill(managed, managed + xyz.size(), -1.0);
        compute(Call(positions.view(3), array_at(managed, n, memory, 3)));
        EXPECT_EQ(std::vector<double>(managed, managed + xyz.size()), host) << "memory " << memory;
    }
    cudaFree(managed);
}

TEST_F(DeviceArrays, StridesAndTypesOfHosts) {
    std::vector<double> records; // x y z h m
    std::vector<float> single;
    for (int64_t i = 0; i < n; ++i)
        for (int c = 0; c < 5; ++c)
            records.push_back(
                c < 3 ? static_cast<double>(static_cast<float>(xyz[static_cast<size_t>(3 * i + c)]))
                      : 1.0 + c);
    for (int c = 0; c < 3; ++c) // columns
        for (int64_t i = 0; i < n; ++i)
            single.push_back(static_cast<float>(xyz[static_cast<size_t>(3 * i + c)]));
    create();
    const OnDevice<double> aos(records), out(std::vector<double>(xyz.size(), -1));
    Call packed(array_at(aos.data(), n, GRAFT_MEMORY_DEVICE, 3, 40), out.view(3));
    packed.views[0].bytes = (n - 1) * 40 + 24;
    packed.particles.charge = packed.keep(2, array_at(aos.data() + 4, n, GRAFT_MEMORY_DEVICE, 1, 40));
    packed.views[2].bytes = (n - 1) * 40 + 8;
    compute(packed);
    const OnDevice<float> soa(single);
    std::vector<double> columns(xyz.size(), -1);
    Call split(array_at(soa.data(), n, GRAFT_MEMORY_DEVICE), array_at(columns.data(), n, GRAFT_MEMORY_HOST));
    split.particles.position[1] = split.keep(2, array_at(soa.data() + n, n, GRAFT_MEMORY_DEVICE));
    split.particles.position[2] = split.keep(3, array_at(soa.data() + 2 * n, n, GRAFT_MEMORY_DEVICE));
    split.results.acceleration[1] = split.keep(4, array_at(columns.data() + n, n, GRAFT_MEMORY_HOST));
    split.results.acceleration[2] = split.keep(5, array_at(columns.data() + 2 * n, n, GRAFT_MEMORY_HOST));
    split.particles.charge_all = 5;
    compute(split);
    const std::vector<double> first = out.get();
    for (int64_t i = 0; i < n; ++i)
        for (int c = 0; c < 3; ++c)
            ASSERT_EQ(first[static_cast<size_t>(3 * i + c)], columns[static_cast<size_t>(c * n + i)])
                << "particle " << i << ", axis " << c;
}

TEST_F(DeviceArrays, ActiveOnesAddAndSums) {
    create();
    std::vector<int32_t> active(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i)
        active[static_cast<size_t>(i)] = i % 3 == 0;
    const OnDevice<double> positions(xyz), out(std::vector<double>(xyz.size(), 0.25));
    const OnDevice<int32_t> flags(active);
    double energy = 0;
    compute(Call(positions.view(3), out.view(3)));
    const std::vector<double> whole = out.get();
    const OnDevice<double> added(std::vector<double>(xyz.size(), 0.25));
    Call call(positions.view(3), added.view(3));
    call.particles.active = call.keep(2, flags.view());
    call.results.energy = call.keep(3, array_at(&energy, 1, GRAFT_MEMORY_HOST));
    call.views[1].flags = call.views[3].flags = GRAFT_ARRAY_ADD;
    compute(call);
    const std::vector<double> part = added.get();
    for (size_t k = 0; k < part.size(); ++k)
        if (k / 3 % 3 != 0)
            ASSERT_EQ(part[k], 0.25) << "an inactive particle was touched";
        else
            ASSERT_NEAR(part[k], whole[k] + 0.25, 5e-3 * (1 + std::abs(whole[k])));
    EXPECT_LT(energy, 0);
}

TEST_F(DeviceArrays, FieldAtPoints) {
    create();
    const OnDevice<double> positions(xyz), points(std::vector<double>{30, 0, 0, 0, 40, 0}),
        out(std::vector<double>(6, -1));
    Call sources(positions.view(3), out.view(3)), at(points.view(3), out.view(3));
    at.views[1].n = 2;
    ASSERT_EQ(api->field_at(context, &sources.particles, &at.particles, &at.results), GRAFT_OK)
        << api->last_error();
    const std::vector<double> a = out.get();
    EXPECT_NEAR(a[0], -1.0 / 900, 2e-4);
    EXPECT_NEAR(a[4], -1.0 / 1600, 2e-4);
}

TEST_F(DeviceArrays, PointersThatAreNotWhatIsSaid) {
    create();
    const OnDevice<double> positions(xyz);
    std::vector<double> out(xyz.size(), -1);
    const graft_array host_out = array_at(out.data(), n, GRAFT_MEMORY_HOST, 3);
    const auto attempt = [&](const graft_array& in, const graft_array& to) {
        const Call call(in, to);
        return api->compute(context, &call.particles, &call.results);
    };
    graft_array wrong = array_at(xyz.data(), n, GRAFT_MEMORY_DEVICE, 3);
    expect_error(attempt(wrong, host_out), GRAFT_ERROR_ARRAY,
                 "particles.position[0]: memory is GRAFT_MEMORY_DEVICE");
    wrong.memory = GRAFT_MEMORY_MANAGED;
    expect_error(attempt(wrong, host_out), GRAFT_ERROR_ARRAY, "host memory");
    wrong = positions.view(3);
    wrong.memory = GRAFT_MEMORY_HOST;
    expect_error(attempt(wrong, host_out), GRAFT_ERROR_ARRAY, "device memory");
    wrong = positions.view(3);
    wrong.device = 7;
    expect_error(attempt(wrong, host_out), GRAFT_ERROR_ARRAY, "device is 7");
    wrong = positions.view(3);
    wrong.bytes -= 1;
    expect_error(attempt(wrong, host_out), GRAFT_ERROR_ARRAY, "particles.position[0]");
    EXPECT_EQ(std::count(out.begin(), out.end(), -1.0), static_cast<int64_t>(out.size()));
    compute(Call(positions.view(3), host_out));
}

TEST_F(DeviceArrays, DecomposeSaysThatItTakesHostArrays) {
    create();
    const OnDevice<double> positions(xyz);
    const Call call(positions.view(3), positions.view(3));
    graft_decomposition decomposition{};
    decomposition.struct_size = sizeof decomposition;
    expect_error(api->decompose(context, &call.particles, &decomposition), GRAFT_ERROR_UNSUPPORTED,
                 "host arrays only");
}

} // namespace
