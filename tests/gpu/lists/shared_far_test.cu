// Far cells that super groups share: in no group's list, far for the box around all their groups, and with
// the groups' own lists just what the lists are without sharing.
#include "device_scene.cuh"
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

} // namespace
} // namespace graft::test
