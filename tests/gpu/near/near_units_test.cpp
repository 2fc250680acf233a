// SPDX-License-Identifier: BSD-3-Clause
// Near fields on a GPU in any unit of length and charge: the host's tests, of arrays of the host and of the
// GPU.
#include "library_fixture.hpp"
#include "near_units.hpp"

namespace {

using namespace graft;
using graft::test::NearScene;

class NearUnits : public graft::test::LibraryTest {
  protected:
    void run(NearScene& scene) {
        scene.slack = 8; // roots of 2^-22.9
        scene.request.options.backend = settings::Backend::cuda;
        near::NearPlan plan(memory, log, scene.request);
        plan.execute(scene.sums());
    }
    /// Copies of all arrays on the first GPU; the sums come back.
    void run_on_device(NearScene& scene) {
        scene.slack = 8;
        near::NearRequest request = scene.request;
        request.options.backend = settings::Backend::cuda;
        for (auto* const set : {&request.points.target, &request.points.source})
            for (particles::ArrayView& axis : *set)
                axis = to_device(axis);
        near::NearPlan plan(memory, log, request);
        const near::NearSums on_host = scene.sums();
        near::NearSums sums = on_host;
        for (size_t c = 0; c < scene.charge.size(); ++c) {
            sums.charge[c] = to_device(sums.charge[c]);
            sums.potential[c] = to_device(sums.potential[c]);
            for (particles::ArrayView& axis : sums.gradient[c])
                axis = to_device(axis);
        }
        for (int turn = 0; turn < 2; ++turn)
            plan.execute(sums);
        for (size_t c = 0; c < scene.charge.size(); ++c) {
            to_host(sums.potential[c], on_host.potential[c]);
            for (size_t a = 0; a < 3; ++a)
                to_host(sums.gradient[c][a], on_host.gradient[c][a]);
        }
        for (void* pointer : pointers)
            table->release(0, pointer);
        pointers.clear();
    }
    particles::ArrayView to_device(particles::ArrayView view) {
        if (!view.present() || view.n == 0)
            return view;
        void* pointer = nullptr;
        backend::DeviceError error;
        backend::raise(table->allocate(0, 8 * view.n, &pointer, &error), error);
        backend::raise(table->copy(pointer, view.data, 8 * view.n, &error), error);
        pointers.push_back(pointer);
        view.data = static_cast<char*>(pointer), view.memory = particles::MemorySpace::device;
        return view;
    }
    void to_host(const particles::ArrayView& from, const particles::ArrayView& to) {
        backend::DeviceError error;
        if (to.present() && to.n > 0)
            backend::raise(table->copy(to.data, from.data, 8 * to.n, &error), error);
    }
    core::Memory memory;
    core::Log log;
    std::vector<void*> pointers;
};

TEST_F(NearUnits, OfHostArrays) {
    graft::test::expect_all_near_units([this](NearScene& scene) { run(scene); });
}

TEST_F(NearUnits, OfDeviceArrays) {
    graft::test::expect_all_near_units([this](NearScene& scene) { run_on_device(scene); });
}

TEST_F(NearUnits, NewCoordinatesMayBeInAnotherUnit) {
    graft::test::new_coordinates_may_be_in_another_unit(settings::Backend::cuda);
}

TEST_F(NearUnits, PhasesThatAreLostAreRefused) {
    graft::test::phases_that_are_lost_are_refused(settings::Backend::cuda, 8);
}

/// Sums of one set of charges in single precision and of another 2^96 times as large, in turns by one plan.
TEST_F(NearUnits, ChargesMayChangeTheirUnitFromExecutionToExecution) {
    NearScene scene(500, 0, 3);
    scene.request.sums.precision = graft::test::near::Precision::mixed;
    scene.request.sums.outputs = 3;
    scene.request.options.backend = settings::Backend::cuda;
    near::NearPlan plan(memory, log, scene.request);
    std::vector<double> first;
    const double unit = std::ldexp(1, 96);
    double now = 1;
    for (const double factor : {1.0, unit, 1 / unit, 1 / unit, unit}) { // products: 1, 2^96, 1, 2^-96, 1
        for (double& q : scene.charge[0])
            q *= factor;
        plan.execute(scene.sums());
        now *= factor;
        const std::vector<double> found = graft::test::without_unit(scene, 1);
        if (first.empty())
            first = found;
        for (size_t k = 0; k < found.size(); ++k)
            ASSERT_EQ(found[k], now * first[k]) << k << " of charges times " << now;
    }
}

/// What execution is refused with; "" where it is not.
template <typename Body>
std::string refusal(const Body& body) {
    try {
        body();
    } catch (const core::Error& error) {
        return "status " + std::to_string(static_cast<int>(error.status())) + ": " + error.what();
    }
    return "";
}

/// Sums that are no finite numbers are refused as on the host, from arrays of the host and of the GPU, and the
/// plan goes on.
TEST_F(NearUnits, ResultsThatAreNotFiniteAreValue) {
    using graft::test::near::Precision;
    for (const Precision precision : {Precision::mixed, Precision::fp64})
        for (const bool add : {false, true}) {
            NearScene scene(500, 0, 3, 2);
            scene.request.sums.precision = precision;
            scene.request.sums.outputs = 3;
            scene.request.sums.kernel.factor = 1e303;
            scene.fill_outputs(0.125);
            const auto sums = [&] {
                near::NearSums all = scene.sums();
                for (particles::ArrayView& view : all.potential)
                    view.add = add;
                for (auto& of_component : all.gradient)
                    for (particles::ArrayView& view : of_component)
                        view.add = add;
                return all;
            };
            const auto large = [&](double by) {
                for (auto& component : scene.charge)
                    for (double& q : component)
                        q *= by;
            };
            scene.request.options.backend = settings::Backend::cpu;
            near::NearPlan host(memory, log, scene.request);
            scene.request.options.backend = settings::Backend::cuda;
            near::NearPlan gpu(memory, log, scene.request);
            large(1e10);
            const std::string words = refusal([&] { host.execute(sums()); });
            EXPECT_FALSE(words.empty());
            EXPECT_EQ(refusal([&] { gpu.execute(sums()); }), words);
            if (!add) {
                EXPECT_EQ(refusal([&] { run_on_device(scene); }), words);
            }
            for (const auto& component : scene.potential)
                for (const double value : component)
                    ASSERT_EQ(value, 0.125) << "written on failure";
            large(1e-20);
            EXPECT_EQ(refusal([&] { gpu.execute(sums()); }), "");
        }
}

} // namespace
