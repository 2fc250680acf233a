// SPDX-License-Identifier: BSD-3-Clause
// Where a computation runs, and computations in two halves, as far as a machine without a GPU can tell.
#include "backend/gpu_library.hpp"
#include "engine/solver.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace {

using namespace graft;
using core::Error;
using core::Status;
using particles::ElementType;
using particles::MemorySpace;

class Backend : public ::testing::Test {
  protected:
    void SetUp() override {
        for (int a = 0; a < 3; ++a) {
            input.position[a] = view(place[a]);
            outputs.acceleration[a] = view(result[a]);
        }
        input.n = 3;
        input.charge_all = 2;
    }
    static particles::ArrayView view(std::vector<double>& values) {
        return {reinterpret_cast<char*>(values.data()), ElementType::f64, 1, 3, 8, 8};
    }
    static Error error_of(const std::function<void()>& body) {
        try {
            body();
        } catch (const Error& error) {
            return error;
        }
        return Error(Status::ok, "no error");
    }
    std::vector<double> place[3] = {{0, 1, 0}, {0, 0, 2}, {0, 0, 0}};
    std::vector<double> result[3] = {{7, 7, 7}, {7, 7, 7}, {7, 7, 7}};
    engine::ParticleInput input;
    engine::Outputs outputs;
    settings::Settings settings;
    core::Memory memory;
};

TEST_F(Backend, CpuNamesArraysThatItCannotReach) {
    engine::Solver solver(settings, memory);
    input.position[1].memory = MemorySpace::device;
    const Error position = error_of([&] { solver.compute(input, outputs); });
    EXPECT_EQ(position.status(), Status::unsupported);
    EXPECT_NE(std::string(position.what()).find("particles.position is in device memory"), std::string::npos)
        << position.what();
    input.position[1].memory = MemorySpace::managed; // the CPU reads it, too
    outputs.acceleration[2].memory = MemorySpace::device;
    const Error result_error = error_of([&] { solver.compute(input, outputs); });
    EXPECT_NE(std::string(result_error.what()).find("results.acceleration"), std::string::npos)
        << result_error.what();
    outputs.acceleration[2].memory = MemorySpace::host;
    EXPECT_NO_THROW(solver.compute(input, outputs));
}

TEST_F(Backend, AutoTakesTheCpuForFewParticles) {
    settings.backend = settings::Backend::auto_;
    engine::Solver solver(settings, memory);
    solver.compute(input, outputs);
    EXPECT_STREQ(solver.report().backend, "cpu");
    EXPECT_GT(result[0][0], 0);
}

TEST_F(Backend, CudaWithoutADeviceSaysWhatIsMissing) {
    std::string why;
    if (backend::find_cuda(&why) != nullptr)
        GTEST_SKIP() << "there is a device";
    settings.backend = settings::Backend::cuda;
    engine::Solver solver(settings, memory);
    const Error error = error_of([&] { solver.compute(input, outputs); });
    EXPECT_EQ(error.status(), Status::device);
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    EXPECT_EQ(result[0][0], 7) << "outputs are untouched";
    settings.backend = settings::Backend::auto_;
    engine::Solver either(settings, memory);
    input.charge = view(place[0]);
    input.charge.memory = MemorySpace::device;
    const Error array = error_of([&] { either.compute(input, outputs); });
    EXPECT_EQ(array.status(), Status::unsupported);
    EXPECT_NE(std::string(array.what()).find("particles.charge"), std::string::npos) << array.what();
}

TEST_F(Backend, TheCpuBuildsInTwoPhasesWhereTheDeckSaysSo) {
    settings.backend = settings::Backend::cpu;
    engine::Solver levels(settings, memory);
    levels.compute(input, outputs);
    const std::vector<double> expected = result[1];
    settings.device.build = settings::build_two_phase;
    engine::Solver phases(settings, memory);
    phases.compute(input, outputs);
    EXPECT_EQ(expected, result[1]) << "the same tree, the same bits";
    settings.device.top_depth =
        0; // refused by the construction in two phases alone: so it is the one that runs
    engine::Solver refused(settings, memory);
    EXPECT_EQ(error_of([&] { refused.compute(input, outputs); }).status(), Status::argument);
}

TEST_F(Backend, HalvesComeInTurn) {
    engine::Solver solver(settings, memory);
    EXPECT_EQ(error_of([&] { solver.end_compute(); }).status(), Status::call_order);
    solver.begin_compute(input, outputs, nullptr);
    EXPECT_EQ(error_of([&] { solver.begin_compute(input, outputs, nullptr); }).status(), Status::call_order);
    EXPECT_EQ(error_of([&] { solver.compute(input, outputs); }).status(), Status::call_order);
    EXPECT_EQ(error_of([&] { solver.field_at(input, input, outputs); }).status(), Status::call_order);
    solver.end_compute();
    const double half = result[0][0];
    solver.compute(input, outputs);
    EXPECT_EQ(result[0][0], half);
    EXPECT_EQ(error_of([&] { solver.end_compute(); }).status(), Status::call_order);
    input.n = -1;
    EXPECT_EQ(error_of([&] { solver.begin_compute(input, outputs, nullptr); }).status(), Status::argument);
    EXPECT_EQ(error_of([&] { solver.end_compute(); }).status(), Status::call_order) << "a begin that failed";
}

} // namespace
