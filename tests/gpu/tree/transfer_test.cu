// SPDX-License-Identifier: BSD-3-Clause
// A host tree to the device and back: nothing changes, for both tree types.
#include "tree/tree_gpu.cuh"

#include "device_fixture.cuh"
#include "same_tree.cuh"
#include "tree_inputs.cuh"

namespace {

using namespace graft;

class TreeTransfer : public test::DeviceTest {};

TEST_F(TreeTransfer, ThereAndBack) {
    tree::DeviceTree device(*memory);
    for (const auto type : {tree::TreeType::octree, tree::TreeType::orb})
        for (const int64_t n : {1000, 0, 1, 33, 5000}) {
            tree::TreeOptions options;
            options.type = type;
            const test::HostTree host(test::make_cloud(test::Shape::plummer, n), options, n != 33);
            device.upload(*queue, host.tree);
            test::HostTree back;
            device.download(*queue, back.tree);
            test::expect_same_tree(back.tree, host.tree);
        }
}

} // namespace
