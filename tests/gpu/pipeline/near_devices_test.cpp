// A near-field plan on one and on several GPUs of this host: the same bits, the times of both, arrays of the
// host and of the first GPU, nothing allocated from the second execution on.
#include "kernels/near/bench.hpp"
#include "kernels/near/device_near.hpp"
#include "pipeline/near_devices.hpp"

#include "core/timer.hpp"

#include "library_fixture.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

using namespace graft;
using particles::ArrayView;
using particles::ElementType;
namespace near = kernels::near;

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

/// A case in fp32, host arrays or arrays on the first GPU.
struct Job {
    Job(const near::BenchCase& one_, const backend::CudaTable& table_, bool on_device)
        : one(one_), table(table_), structure(one_.structure()) {
        sums.precision = near::Precision::fp32, sums.outputs = 3;
        shape = near::shape_of(structure, sums);
        const std::vector<double>* const from[] = {&one.x, &one.y, &one.z, &one.charge};
        for (int k = 0; k < 8; ++k) {
            host.emplace_back(one.x.size(), -1.0f);
            if (k < 4)
                host[static_cast<size_t>(k)].assign(from[k]->begin(), from[k]->end());
        }
        for (auto& column : host) {
            views.push_back(view_of(column));
            void* pointer = nullptr;
            const auto bytes = static_cast<int64_t>(4 * column.size());
            backend::DeviceError error;
            if (on_device) {
                backend::raise(table.allocate(0, bytes, &pointer, &error), error);
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
                table.release(0, pointer);
    }
    Job(const Job&) = delete;

    /// Seconds of an execution, the least of some; the sums lie in `host` afterwards.
    double run(core::Memory& memory, int32_t count, int repeats) {
        pipeline::NearOptions options;
        const pipeline::NearSideInput input{memory, structure, shape, sums, options};
        const core::Timer create;
        const auto side = pipeline::make_near_devices(input, table, 0, count, near::Layout::tiled, "");
        pipeline::NearPoints points;
        points.targets = points.sources = one.points();
        for (size_t axis = 0; axis < 3; ++axis)
            points.target[axis] = views[axis];
        side->set_points(points);
        create_s = create.seconds();
        pipeline::NearSums wanted;
        wanted.charge[0] = views[3], wanted.potential[0] = views[4];
        for (size_t axis = 0; axis < 3; ++axis)
            wanted.gradient[0][axis] = views[5 + axis];
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
        pipeline::NearReport report;
        side->report(report);
        kernel_s = report.times.kernel_s;
        for (size_t k = 4; k < 8; ++k)
            if (pointers[k] != nullptr) {
                backend::DeviceError error;
                backend::raise(table.copy(host[k].data(), pointers[k], 4 * one.points(), &error), error);
            }
        return least_s;
    }

    const near::BenchCase& one;
    const backend::CudaTable& table;
    near::Structure structure;
    near::Sums sums;
    near::Shape shape;
    std::vector<std::vector<float>> host;
    std::vector<ArrayView> views;
    std::vector<void*> pointers;
    double create_s = 0, kernel_s = 0;
};

TEST_F(NearDevices, SameBitsOnSeveralAndTheirTimes) {
    for (const double density : {64.0, 8.0}) {
        near::BenchGrid grid;
        grid.points = 2000000, grid.density = density, grid.sorted = true;
        const near::BenchCase one = near::make_case(grid);
        for (const bool on_device : {false, true}) {
            Job job(one, *table, on_device);
            std::vector<std::vector<float>> right;
            for (int32_t count = 1; count <= devices; count *= 2) {
                const double execution_s = job.run(memory, count, 5);
                std::printf(
                    "%g points a box, %lld points, arrays on the %s, %d GPUs: create %.1f ms, execution "
                    "%.2f ms, kernel %.3f ms, %.4g pairs/s of the kernel\n",
                    density, static_cast<long long>(one.points()), on_device ? "first GPU" : "host", count,
                    1e3 * job.create_s, 1e3 * execution_s, 1e3 * job.kernel_s,
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

} // namespace
