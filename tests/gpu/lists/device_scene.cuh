// SPDX-License-Identifier: BSD-3-Clause
// The host's scene (tests/unit/lists/scene.hpp) and the same on the device.
#pragma once

#include "../../unit/lists/scene.hpp"
#include "device_fixture.cuh"
#include "lists/lists_gpu.cuh"

#include <algorithm>
#include <cstring>

namespace graft::test {

using lists::Criterion;
using lists::DeviceCriterion;
using lists::DeviceLists;
using lists::DeviceTargets;
using lists::DeviceWalk;
using lists::Group;
using lists::InteractionLists;
using lists::Mac;
using lists::testing::Scene;
using tree::TreeType;

/// Equal bit for bit, but that both zeros are one.
inline bool same(double a, double b) {
    return std::memcmp(&a, &b, sizeof a) == 0 || (a == 0 && b == 0);
}

inline bool same_group(const Group& a, const Group& b) {
    bool equal = a.first == b.first && a.count == b.count && same(a.target.softening, b.target.softening);
    for (int axis = 0; axis < 3; ++axis)
        equal = equal && same(a.target.box.lower[axis], b.target.box.lower[axis]) &&
                same(a.target.box.upper[axis], b.target.box.upper[axis]);
    return equal;
}

/// Sorted within each group.
inline void sort_lists(InteractionLists& lists) {
    for (int64_t g = 0; g < lists.group_count(); ++g) {
        std::sort(lists.nodes.data() + lists.node_offset[g], lists.nodes.data() + lists.node_offset[g + 1]);
        std::sort(lists.leaves.data() + lists.leaf_offset[g], lists.leaves.data() + lists.leaf_offset[g + 1]);
    }
}

class ListsTest : public DeviceTest {
  protected:
    /// Tree, criterion and targets of the scene go to the device, with room for so many list entries.
    void upload(const Scene& scene, int64_t entries = -1) {
        tree->upload(*queue, scene.tree);
        criterion->upload(*queue, scene.criterion, scene.tree.node_count());
        targets->upload(*queue, scene.targets);
        lists->nodes.resize(entries >= 0 ? entries : std::max<int64_t>(scene.lists.nodes.size(), 1));
        lists->leaves.resize(entries >= 0 ? entries : std::max<int64_t>(scene.lists.leaves.size(), 1));
    }
    void build(DeviceWalk kind, int batch = 0, int batches = 1) {
        builder->build(*queue, *tree, *criterion, *targets, kind, batch, batches, *lists);
    }
    void SetUp() override {
        DeviceTest::SetUp();
        if (IsSkipped())
            return;
        tree = std::make_unique<tree::DeviceTree>(*memory);
        criterion = std::make_unique<DeviceCriterion>(*memory);
        targets = std::make_unique<DeviceTargets>(*memory);
        lists = std::make_unique<DeviceLists>(*memory);
        builder = std::make_unique<lists::DeviceListBuilder>(*memory);
        maker = std::make_unique<lists::DeviceTargetMaker>(*memory);
    }
    void TearDown() override {
        tree.reset(), criterion.reset(), targets.reset(), lists.reset(), builder.reset(), maker.reset();
        DeviceTest::TearDown();
    }

    std::unique_ptr<tree::DeviceTree> tree;
    std::unique_ptr<DeviceCriterion> criterion;
    std::unique_ptr<DeviceTargets> targets;
    std::unique_ptr<DeviceLists> lists;
    std::unique_ptr<lists::DeviceListBuilder> builder;
    std::unique_ptr<lists::DeviceTargetMaker> maker;
};

} // namespace graft::test
