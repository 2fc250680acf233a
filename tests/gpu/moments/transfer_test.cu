// SPDX-License-Identifier: BSD-3-Clause
// Host moments to the device and back: nothing changes.
#include "moments/moments_gpu.cuh"

#include "../tree/same_tree.cuh"
#include "../tree/tree_inputs.cuh"
#include "device_fixture.cuh"

namespace {

using namespace graft;

class MomentsTransfer : public test::DeviceTest {};

TEST_F(MomentsTransfer, ThereAndBack) {
    moments::DeviceMoments device(*memory);
    for (int order = 0; order <= moments::cartesian_order; ++order) {
        const test::HostTree host(test::make_cloud(test::Shape::mixed, 2000), {}, order % 2 == 0);
        core::Memory host_memory;
        moments::Moments made(host_memory), back(host_memory);
        moments::compute_moments({host_memory, 2}, host.tree, order, made);
        device.upload(*queue, made, host.tree.node_count() + 100);
        device.download(*queue, host.tree.node_count(), back);
        test::expect_same(back.values, made.values, "values");
        test::expect_same(back.rho, made.rho, "rho");
        test::expect_same(back.softening_square, made.softening_square, "softening_square");
        EXPECT_EQ(back.order, order);
    }
}

} // namespace
