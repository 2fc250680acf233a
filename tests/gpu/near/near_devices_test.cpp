// SPDX-License-Identifier: BSD-3-Clause
// A near-field plan on one and on several GPUs of this host: the same bits, the times of both, arrays of the
// host and of any of the GPUs, nothing allocated from the second execution on.
#include "study/bench/bench_near.hpp"
#include "near/plan/near_table.hpp"
#include "near/plan/gpu_plans.hpp"

#include "core/timer.hpp"

#include "library_fixture.hpp"
#include "small.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

using namespace graft;
using particles::ArrayView;
using particles::ElementType;

class NearDevices : public graft::test::LibraryTest {
  protected:
    core::Memory memory;
};

ArrayView view_of(std::vector<float>& values) {
    ArrayView view;
    view.data = reinterpret_cast<char*>(values.data()), view.type = ElementType::f32;
    view.n = static_cast<int64_t>(values.size()), view.item_stride = view.component_stride = 4;
    return view;
}

/// A case in fp32, host arrays or arrays on a GPU.
struct Job {
    /// device: -1: host arrays. Charges are multiplied by `unit`.
    Job(const study::BenchCase& one_, const backend::CudaTable& table_, int32_t device_,
        near::Kernel kernel = near::Kernel::laplace, float unit = 1)
        : one(one_), table(table_), structure(one_.structure()), device(device_) {
        sums.precision = near::Precision::fp32, sums.outputs = 3;
        sums.kernel.kernel = kernel;
        if (kernel == near::Kernel::yukawa)
            sums.kernel.wave_number = 3;
        shape = near::shape_of(structure, sums);
        const std::vector<double>* const from[] = {&one.x, &one.y, &one.z, &one.charge};
        for (int k = 0; k < 8; ++k) {
            host.emplace_back(one.x.size(), -1.0f);
            if (k < 4)
                host[static_cast<size_t>(k)].assign(from[k]->begin(), from[k]->end());
        }
        for (float& q : host[3])
            q *= unit;
        for (auto& column : host) {
            views.push_back(view_of(column));
            void* pointer = nullptr;
            const auto bytes = static_cast<int64_t>(4 * column.size());
            backend::DeviceError error;
            if (device >= 0) {
                backend::raise(table.allocate(device, bytes, &pointer, &error), error);
                backend::raise(table.copy(pointer, column.data(), bytes, &error), error);
                views.back().data = static_cast<char*>(pointer);
                views.back().memory = particles::MemorySpace::device;
            }
            pointers.push_back(pointer);
        }
    }
    ~Job() {
        for (void* pointer : pointers)
            if (pointer != nullptr)
                table.release(device, pointer);
    }
    Job(const Job&) = delete;

    /// Seconds of an execution, the least of some; the sums lie in `host` afterwards.
    double run(core::Memory& memory, int32_t count, int repeats, bool add = false) {
        near::NearOptions options;
        options.layout = static_cast<int32_t>(near::Layout::tiled);
        const near::PlanBackendInput input{memory, structure, shape, sums, options};
        near::NearPoints points;
        points.targets = points.sources = one.points();
        for (size_t axis = 0; axis < 3; ++axis)
            points.target[axis] = views[axis];
        const core::Timer create;
        const auto side =
            count == 1 ? near::make_near_one_device(input, *table.near, std::max(0, device), points)
                       : near::make_near_devices(input, table, 0, count, near::Layout::tiled,
                                                 near::ChosenBy::caller);
        side->set_points(points);
        create_s = create.seconds();
        near::NearSums wanted;
        wanted.charge[0] = views[3], wanted.potential[0] = views[4];
        for (size_t axis = 0; axis < 3; ++axis)
            wanted.gradient[0][axis] = views[5 + axis];
        wanted.potential[0].add = add;
        for (ArrayView& view : wanted.gradient[0])
            view.add = add;
        double least_s = 1e300;
        for (int k = 0; k < repeats; ++k) {
            const int64_t before = memory.allocations();
            const core::Timer timer;
            side->begin(wanted, nullptr);
            side->end();
            least_s = std::min(least_s, timer.seconds());
            if (k > 0) {
                EXPECT_EQ(memory.allocations(), before);
                EXPECT_EQ(side->allocations(), 0) << "on a GPU";
            }
        }
        near::NearReport report;
        side->report(report);
        kernel_s = report.times.kernel_s;
        for (size_t k = 4; k < 8; ++k)
            if (pointers[k] != nullptr) {
                backend::DeviceError error;
                backend::raise(table.copy(host[k].data(), pointers[k], 4 * one.points(), &error), error);
            }
        return least_s;
    }

    const study::BenchCase& one;
    const backend::CudaTable& table;
    near::Structure structure;
    int32_t device;
    near::Sums sums;
    near::Shape shape;
    std::vector<std::vector<float>> host;
    std::vector<ArrayView> views;
    std::vector<void*> pointers;
    double create_s = 0, kernel_s = 0;
};

TEST_F(NearDevices, SameBitsOnSeveralAndTheirTimes) {
    struct Asked {
        double density;
        bool sorted;
        near::Kernel kernel;
    };
    for (const Asked& asked :
         {Asked{64, true, near::Kernel::laplace}, Asked{8, true, near::Kernel::laplace},
          Asked{64, false, near::Kernel::laplace}, Asked{256, true, near::Kernel::laplace},
          Asked{64, true, near::Kernel::yukawa}}) {
        study::BenchGrid grid;
        grid.points = 2000000, grid.density = asked.density, grid.sorted = asked.sorted;
        const study::BenchCase one = study::make_case(grid);
        for (const int32_t device : {-1, 0}) {
            Job job(one, *table, device, asked.kernel);
            std::vector<std::vector<float>> right;
            double one_s = 0;
            for (int32_t count = 1; count <= devices; count *= 2) {
                const double execution_s = job.run(memory, count, 7);
                one_s = count == 1 ? execution_s : one_s;
                std::printf("%g points a box, %s, kernel %d, %lld points, arrays on the %s, %d GPUs: create "
                            "%.1f ms, execution %.3f ms (%.3f of one), kernel %.3f ms, %.4g pairs/s of the "
                            "kernel\n",
                            asked.density, asked.sorted ? "sorted" : "at random",
                            static_cast<int>(asked.kernel), static_cast<long long>(one.points()),
                            device < 0 ? "host" : "first GPU", count, 1e3 * job.create_s, 1e3 * execution_s,
                            execution_s / one_s, 1e3 * job.kernel_s,
                            static_cast<double>(job.shape.pairs) / job.kernel_s);
                const std::vector<std::vector<float>> found(job.host.begin() + 4, job.host.end());
                if (count == 1)
                    right = found;
                for (size_t k = 0; k < found.size(); ++k)
                    EXPECT_TRUE(found[k] == right[k]) << count << " GPUs, output " << k;
                EXPECT_EQ(std::count(found[0].begin(), found[0].end(), -1.0f), 0);
            }
        }
    }
}

/// Small, as sanitizers like it: every place of the arrays, sums added, charges in a unit that the library
/// changes, points in order and at random.
TEST_F(NearDevices, ArraysOnAnyGpuHaveTheBitsOfHostArrays) {
    graft::test::Cases cases(5);
    for (const bool sorted : {true, false}) {
        study::BenchGrid grid;
        grid.points = graft::test::test_size(5000, 1000), grid.density = 20, grid.sorted = sorted;
        const study::BenchCase one = study::make_case(grid);
        for (const bool add : {false, true})
            for (const float unit : {1.0f, 0x1p80f}) {
                Job right(one, *table, -1, near::Kernel::laplace, unit);
                right.run(memory, 1, 2, add);
                for (int32_t device = -1; device < devices; ++device)
                    for (int32_t count = 1; count <= devices; ++count) {
                        if (cases.skip())
                            continue;
                        Job job(one, *table, device, near::Kernel::laplace, unit);
                        job.run(memory, count, 2, add);
                        for (size_t k = 4; k < 8; ++k)
                            EXPECT_TRUE(job.host[k] == right.host[k])
                                << "arrays on " << device << ", " << count << " GPUs, output " << k - 4
                                << ", added " << add << ", sorted " << sorted << ", unit " << unit;
                    }
            }
    }
}

} // namespace
