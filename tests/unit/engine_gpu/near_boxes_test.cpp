// SPDX-License-Identifier: BSD-3-Clause
// Boxes that Graft makes of points in the memory of a GPU (a stand-in, see fake/): the boxes and sums of
// those on the host, read when the stream that the points come with is done.
#include "../near/near_fake_device.hpp"
#include "fake/force_gpu.hpp"
#include "fake_library.hpp"
#include "near/plan/caller_views.hpp"

#include <numeric>

namespace graft::test {
namespace {

size_t waits_before_copies = 0;
int64_t copies = 0;

int32_t fake_copy(void* to, const void* from, int64_t bytes, backend::DeviceError*) {
    if (copies++ == 0)
        waits_before_copies = FakeDevice::the().waited.size();
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return 0;
}
int32_t fake_kind(const void*, int32_t* kind, int32_t* device, backend::DeviceError*) {
    *kind = static_cast<int32_t>(backend::PointerKind::device), *device = 2;
    return 0;
}

class NearBoxesOnDevice : public testing::Test {
  protected:
    NearBoxesOnDevice() {
        table.copy = fake_copy, table.pointer_kind = fake_kind, table.near = &fake_near_table;
    }
    ~NearBoxesOnDevice() override { table = before; }
    backend::CudaTable& table = *fake_control<fake::Control>(GRAFT_FAKE_CUDA).table;
    const backend::CudaTable before = table;
    core::Memory memory;
    core::Log log;
};

TEST_F(NearBoxesOnDevice, AreThoseOfTheHostsPoints) {
    int stream = 0;
    for (const near::Boxes kind : {near::Boxes::grid, near::Boxes::level, near::Boxes::leaves})
        for (const int64_t sources : {0, 1300})
            for (const int some : {0b111, 0b010}) { // axes on the device
                NearScene scene(1500, sources, 3);
                scene.request.options.backend = settings::Backend::auto_;
                near::BoxOptions boxes;
                boxes.kind = kind, boxes.dimension = 3;
                boxes.has_box = kind == near::Boxes::grid;
                for (int axis = 0; axis < 3; ++axis)
                    boxes.cells[axis] = 4, boxes.upper[axis] = 1.0001;
                scene.request.structure = nullptr, scene.request.boxes = &boxes;
                const near::NearPlan right(memory, log, scene.request);
                for (auto* const set : {&scene.request.points.target, &scene.request.points.source})
                    for (int axis = 0; axis < 3; ++axis)
                        if ((some >> axis & 1) != 0 && (*set)[axis].present())
                            (*set)[axis].memory = particles::MemorySpace::device;
                scene.request.points.stream = &stream;
                FakeDevice::the() = {};
                copies = 0;
                near::NearPlan plan(memory, log, scene.request);
                EXPECT_EQ(plan.device(), 2) << "where the points are";
                EXPECT_EQ(FakeDevice::the().waited, std::vector<const void*>{&stream});
                EXPECT_EQ(waits_before_copies, 1);
                EXPECT_EQ(copies, (some == 0b111 ? 3 : 1) * (sources > 0 ? 2 : 1));
                const near::Shape &a = right.report().shape, &b = plan.report().shape;
                EXPECT_EQ(b.boxes, a.boxes);
                EXPECT_EQ(b.pairs, a.pairs);
                plan.execute(scene.sums());
                const std::vector<double> found = scene.potential[0];
                near::OwnedStructure same(memory);
                const auto points = [&](size_t set) {
                    const auto& at = scene.coordinate[set];
                    return near::Points{scene.n[set], at[0].data(), at[1].data(), at[2].data()};
                };
                const near::Points targets = points(0), others = points(1);
                near::build_boxes({memory, 1}, boxes, targets, sources > 0 ? &others : nullptr, same);
                scene.use(same.view());
                scene.expect_close("boxes of a GPU's points");
            }
}

/// What tests do not make a GPU's is the host's: a library that stands in for a GPU can be asked for all.
TEST(FakeCuda, AllMemoryIsTheHosts) {
    const double here = 0;
    int32_t kind = 0, device = 0;
    backend::DeviceError error;
    const backend::CudaTable& table = *fake_control<fake::Control>(GRAFT_FAKE_CUDA).table;
    ASSERT_EQ(table.pointer_kind(&here, &kind, &device, &error), 0);
    EXPECT_EQ(kind, static_cast<int32_t>(backend::PointerKind::host));
    EXPECT_EQ(device, -1);
}

TEST_F(NearBoxesOnDevice, ComeWithAnyStride) {
    std::vector<double> block(100);
    std::iota(block.begin(), block.end(), 1.0);
    core::Buffer<char> bytes(memory);
    for (const int64_t stride : {8, 24, -8, -16}) {
        particles::ArrayView view;
        view.n = 5, view.item_stride = stride, view.memory = particles::MemorySpace::device;
        view.data = reinterpret_cast<char*>(block.data() + (stride < 0 ? 40 : 3));
        const particles::ArrayView copy = near::on_host(view, bytes);
        ASSERT_TRUE(copy.on_host());
        for (int64_t i = 0; i < 5; ++i) {
            EXPECT_NE(copy.at(i), view.at(i));
            EXPECT_EQ(*reinterpret_cast<const double*>(copy.at(i)),
                      *reinterpret_cast<const double*>(view.at(i)))
                << stride;
        }
    }
}

} // namespace
} // namespace graft::test
