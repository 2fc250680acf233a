// SPDX-License-Identifier: BSD-3-Clause
// Far cells that super groups share: in no group's list, far for the box around all their groups, and with
// the groups' own lists just what the lists are without sharing. Lists that are split while they are built.
#include "device_scene.cuh"
#include "lists/far_cells_gpu.cuh"
#include "lists/walk_gpu.cuh"
#include "lists/far_cells.hpp"

namespace graft::test {
namespace {

constexpr int order = 2, degree = 5;

class SharedFarTest : public ListsTest {
  protected:
    struct Shared {
        std::vector<std::vector<int32_t>> cells; // of each super group
        lists::DeviceSharedFar layout;
    };
    void prepare(Scene& scene, int group) {
        scene.options.mac = Mac::error, scene.options.theta = 0.7;
        scene.targets.set_all(scene.executor, scene.tree, group);
        for (int64_t g = 0; g < scene.targets.group_count(); ++g)
            scene.targets.groups()[g].target.factor = 0.5 + 0.1 * static_cast<double>(g % 3);
        scene.fill();
        scene.walk();
        upload(scene);
        magnitudes.clear();
        for (const tree::Node& node : scene.tree.nodes)
            magnitudes.push_back(1e-3 * static_cast<double>(node.count));
        put(magnitudes, numbers->magnitude);
    }
    /// Lists of one batch, sorted, and what is shared.
    void make(const Scene& scene, bool one_sign, int batch, int batches, InteractionLists& to,
              Shared& shared) {
        put(std::vector<int32_t>{one_sign ? 1 : 0}, numbers->sign);
        const lists::DeviceFarChoice far{numbers->magnitude.data(), numbers->sign.data(), order, degree};
        const int64_t all = scene.targets.group_count();
        const int64_t begin = lists::batch_begin(all, batch, batches),
                      count = lists::batch_begin(all, batch + 1, batches) - begin;
        queue->clear_status();
        builder->build(*queue, *tree, *criterion, *targets, DeviceWalk::super_group, batch, batches, *lists,
                       &far);
        lists->download(*queue, count, to);
        EXPECT_EQ(status().stop, backend::go);
        sort_lists(to);
        shared.layout = lists->shared;
        const int64_t supers = count == 0 ? 0 : shared.layout.super_of(begin, count - 1) + 1;
        const auto counts = get(shared.layout.count, supers);
        shared.cells.clear();
        for (int64_t s = 0; s < supers; ++s) { // at the end of each one's room
            const int64_t count = counts[static_cast<size_t>(s)];
            shared.cells.push_back(get(shared.layout.nodes + (s + 1) * shared.layout.room - count, count));
        }
    }
    /// Each group's own cells and the shared ones are the host's list of the group.
    void expect_whole(Scene& scene, const InteractionLists& own, const Shared& shared, int64_t begin) {
        for (int64_t g = 0; g < own.group_count(); ++g) {
            const auto list = [&](const InteractionLists& of, int64_t at, bool leaves) {
                const auto& offset = leaves ? of.leaf_offset : of.node_offset;
                const auto& entries = leaves ? of.leaves : of.nodes;
                std::vector<int32_t> all(entries.data() + offset[at], entries.data() + offset[at + 1]);
                if (!leaves && &of == &own) {
                    const auto& more = shared.cells[static_cast<size_t>(shared.layout.super_of(begin, g))];
                    all.insert(all.end(), more.begin(), more.end());
                }
                std::sort(all.begin(), all.end());
                return all;
            };
            for (const bool leaves : {false, true})
                ASSERT_EQ(list(own, g, leaves), list(scene.lists, begin + g, leaves)) << "group " << g;
        }
    }
    /// The same lists, made without and with the split: near entries in their order, far ones from the end on.
    /// Returns how many are far.
    int64_t expect_cut(Scene& scene, DeviceWalk kind) {
        const auto& p = scene.properties[0];
        std::vector<lists::DeviceFarNode> nodes;
        for (size_t k = 0; k < magnitudes.size(); ++k)
            nodes.push_back({p.cx[k], p.cy[k], p.cz[k], magnitudes[k]});
        lists::DeviceFarLists split(*memory);
        put(nodes, split.nodes);
        put(std::vector<int32_t>{0}, numbers->sign);
        lists::DeviceFarChoice far{numbers->magnitude.data(), numbers->sign.data(), order, degree};
        builder->build(*queue, *tree, *criterion, *targets, kind, 0, 1, *lists, &far);
        EXPECT_FALSE(lists->split);
        InteractionLists plain(scene.memory);
        const int64_t groups = scene.targets.group_count();
        lists->download(*queue, groups, plain);
        far.split = &split;
        builder->build(*queue, *tree, *criterion, *targets, kind, 0, 1, *lists, &far);
        EXPECT_TRUE(lists->split);
        EXPECT_EQ(status().stop, backend::go);
        const auto entries = get(split.entries.data(), plain.nodes.size());
        const auto near_count = get(split.near_count.data(), groups);
        const auto offset = get(lists->node_offset.data(), groups + 1);
        const auto leaves = get(lists->leaves.data(), plain.leaves.size());
        int64_t far_entries = 0;
        for (int64_t g = 0; g < groups; ++g) {
            const int64_t begin = plain.node_offset[g], end = plain.node_offset[g + 1];
            EXPECT_EQ(offset[static_cast<size_t>(g) + 1], end);
            const Group& group = scene.targets.groups()[g];
            const lists::FarLimit limit = lists::far_limit(group.target, order, degree);
            std::vector<int32_t> near, distant;
            for (int64_t e = begin; e < end; ++e) {
                const auto& node = nodes[static_cast<size_t>(plain.nodes[e])];
                const bool is = group.count >= lists::least_far_targets &&
                                lists::is_far(limit, node.magnitude, node.x, node.y, node.z);
                (is ? distant : near).push_back(plain.nodes[e]);
            }
            EXPECT_EQ(near_count[static_cast<size_t>(g)], static_cast<int32_t>(near.size()));
            far_entries += static_cast<int64_t>(distant.size());
            near.insert(near.end(), distant.rbegin(), distant.rend());
            EXPECT_EQ(std::vector<int32_t>(entries.begin() + begin, entries.begin() + end), near);
            if (HasFailure())
                return far_entries;
        }
        for (int64_t e = 0; e < plain.leaves.size(); ++e)
            EXPECT_EQ(leaves[static_cast<size_t>(e)], plain.leaves[e]);
        return far_entries;
    }
    void expect_far(const Scene& scene, const Shared& shared, int64_t begin) {
        const int width = 1 << shared.layout.log_width;
        for (size_t s = 0; s < shared.cells.size(); ++s) {
            lists::Target all;
            const int64_t first = (begin / width + static_cast<int64_t>(s)) * width;
            for (int64_t g = first; g < std::min(first + width, scene.targets.group_count()); ++g) {
                const lists::Target& one = scene.targets.groups()[g].target;
                all.box.include(one.box);
                all.factor = g == first ? one.factor : std::max(all.factor, one.factor);
            }
            const lists::FarLimit limit = lists::far_limit(all, order, degree);
            const auto& p = scene.properties[0];
            for (const int32_t k : shared.cells[s]) {
                const auto i = static_cast<size_t>(k);
                ASSERT_TRUE(lists::is_far(limit, magnitudes[i], p.cx[i], p.cy[i], p.cz[i])) << k;
            }
        }
    }
    void SetUp() override {
        ListsTest::SetUp();
        if (IsSkipped())
            return;
        numbers = std::make_unique<Numbers>(*memory);
    }
    void TearDown() override {
        numbers.reset();
        ListsTest::TearDown();
    }

    struct Numbers {
        explicit Numbers(backend::DeviceMemory& memory) : magnitude(memory, "test"), sign(memory, "test") {}
        backend::DeviceBuffer<double> magnitude;
        backend::DeviceBuffer<int32_t> sign;
    };
    std::unique_ptr<Numbers> numbers;
    std::vector<double> magnitudes;
};

TEST_F(SharedFarTest, WithTheGroupsOwnListsTheyAreTheHosts) {
    Scene scene(test_size(40000, 6000));
    for (const int group : {5, 32}) {
        prepare(scene, group);
        for (const int batches : {1, 2, 7}) {
            size_t cells = 0;
            for (int batch = 0; batch < batches; ++batch) {
                SCOPED_TRACE(testing::Message() << group << " batch " << batch << " of " << batches);
                const int64_t begin = lists::batch_begin(scene.targets.group_count(), batch, batches);
                InteractionLists own(scene.memory);
                Shared shared;
                make(scene, true, batch, batches, own, shared);
                expect_whole(scene, own, shared, begin);
                expect_far(scene, shared, begin);
                ASSERT_FALSE(HasFatalFailure());
                for (const auto& some : shared.cells)
                    cells += some.size();
            }
            EXPECT_GT(cells, 100u);
        }
    }
}

TEST_F(SharedFarTest, NothingIsSharedWhereChargesHaveBothSignsOrNobodyAsks) {
    Scene scene(test_size(20000, 6000));
    prepare(scene, 32);
    InteractionLists own(scene.memory);
    Shared shared;
    make(scene, false, 0, 1, own, shared);
    for (const auto& some : shared.cells)
        EXPECT_TRUE(some.empty());
    expect_whole(scene, own, shared, 0);
    build(DeviceWalk::super_group);
    EXPECT_FALSE(lists->shared.any());
}

TEST_F(SharedFarTest, CutWhileBuiltIsTheCutOfTheList) {
    Scene scene(test_size(40000, 20000), TreeType::octree, 4);
    prepare(scene, 32);
    for (int64_t g = 0; g < scene.targets.group_count(); ++g)
        scene.targets.groups()[g].target.factor *= 3;
    scene.fill();
    scene.walk();
    upload(scene);
    // Some groups keep all that a first walk finds, and some find too much even beside their super group.
    const auto groups_of = [&](int64_t least, int64_t most) {
        int64_t groups = 0;
        for (int64_t g = 0; g < scene.targets.group_count(); ++g) {
            const int64_t entries = scene.lists.node_offset[g + 1] - scene.lists.node_offset[g];
            const int64_t leaves = scene.lists.leaf_offset[g + 1] - scene.lists.leaf_offset[g];
            groups += entries >= least && entries <= most && leaves <= lists::device::kept_leaf_room;
        }
        return groups;
    };
    ASSERT_GT(groups_of(0, lists::device::kept_node_room_below_super), 10);
    ASSERT_GT(groups_of(lists::device::kept_node_room + 1, INT64_MAX), 10);
    for (const DeviceWalk kind : {DeviceWalk::warp_per_group, DeviceWalk::super_group}) {
        SCOPED_TRACE(testing::Message() << "walk " << static_cast<int>(kind));
        EXPECT_GT(expect_cut(scene, kind), 1000);
    }
}

} // namespace
} // namespace graft::test
