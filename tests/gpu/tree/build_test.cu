// SPDX-License-Identifier: BSD-3-Clause
// Trees built on the device, every array byte for byte as the CPU builds them.
#include "geometry/morton.hpp"
#include "tree/buckets.hpp"
#include "tree/tree_gpu.cuh"

#include "device_fixture.cuh"
#include "same_tree.cuh"
#include "tree_inputs.cuh"

#include <cstring>

namespace {

using namespace graft;
using test::Cloud;
using test::Shape;

class TreeBuild : public test::DeviceTest {
  protected:
    void SetUp() override {
        DeviceTest::SetUp();
        if (memory != nullptr)
            builder = std::make_unique<tree::DeviceTreeBuilder>(*memory);
    }
    void TearDown() override {
        builder.reset();
        held.reset();
        arrays.clear();
        DeviceTest::TearDown();
    }

    tree::DeviceParticleView send(const Cloud& cloud, bool with_charge = true, bool with_softening = true) {
        arrays.clear();
        const std::vector<double>* all[] = {&cloud.x, &cloud.y, &cloud.z, &cloud.charge, &cloud.softening};
        for (const auto* values : all) {
            arrays.emplace_back(*memory, "an input");
            put(*values, arrays.back());
        }
        return {cloud.size(),
                arrays[0].data(),
                arrays[1].data(),
                arrays[2].data(),
                with_charge ? arrays[3].data() : nullptr,
                with_softening ? arrays[4].data() : nullptr};
    }

    /// Fills everything that a build may write with a pattern that no tree has.
    void poison(tree::DeviceTree& tree, int64_t n) {
        tree.resize_particles(n, true, true);
        for (auto* values : {&tree.x, &tree.y, &tree.z, &tree.charge, &tree.softening, &tree.edges})
            GRAFT_CUDA(cudaMemsetAsync(values->data(), 0xa5, static_cast<size_t>(values->size()) * 8,
                                       queue->stream()));
        GRAFT_CUDA(cudaMemsetAsync(tree.nodes.data(), 0xa5,
                                   static_cast<size_t>(tree.nodes.size()) * sizeof(tree::Node),
                                   queue->stream()));
        GRAFT_CUDA(cudaMemsetAsync(tree.boxes.data(), 0xa5,
                                   static_cast<size_t>(tree.boxes.size()) * sizeof(geometry::Box),
                                   queue->stream()));
    }

    /// Builds as the engine does: again with more room when nodes_needed says so.
    backend::DeviceStatus build(const Cloud& cloud, const tree::TreeOptions& options,
                                tree::DeviceTree& device, tree::DeviceBuild kind,
                                const tree::TwoPhase& two_phase = {}) {
        const tree::DeviceParticleView view = send(cloud);
        for (int attempt = 0;; ++attempt) {
            queue->clear_status();
            if (device.node_capacity() > 0)
                poison(device, cloud.size());
            builder->build(*queue, options, view, device, kind, two_phase);
            const backend::DeviceStatus found = status();
            if (found.stop != backend::too_small || attempt > 8)
                return found;
            device.resize_nodes(found.nodes_needed);
        }
    }

    void expect_cpu_tree(const Cloud& cloud, const tree::TreeOptions& options, tree::DeviceBuild kind,
                         const tree::TwoPhase& two_phase = {}) {
        SCOPED_TRACE(cloud.name + " n " + std::to_string(cloud.size()) + " leaf " +
                     std::to_string(options.leaf) + " dimension " + std::to_string(options.dimension) +
                     " kind " + std::to_string(static_cast<int>(kind)) + " top " +
                     std::to_string(two_phase.top_depth) + " of " + std::to_string(two_phase.top_threads) +
                     ", " + std::to_string(two_phase.subtree_threads) + " threads");
        if (held == nullptr)
            held = std::make_unique<tree::DeviceTree>(*memory);
        tree::DeviceTree& device = *held;
        const test::HostTree host(cloud, options);
        const backend::DeviceStatus found = build(cloud, options, device, kind, two_phase);
        if (needed_new_keys(host.tree)) {
            ASSERT_EQ(found.stop, backend::deep_cell);
            return;
        }
        ASSERT_EQ(found.stop, 0u);
        ++compared;
        test::HostTree back;
        device.download(*queue, back.tree);
        test::expect_same_tree(back.tree, host.tree);
        if (cloud.size() > 0) {
            EXPECT_EQ(found.nodes_needed, host.tree.node_count());
            EXPECT_EQ(found.levels, host.tree.levels());
        }
    }

    /// Did the host go on below the cells of the last level?
    static bool needed_new_keys(const tree::Tree& host) {
        const geometry::KeyFrame frame(host.root_lower, std::max(host.root_edge, 1e-290),
                                       host.options.dimension);
        for (int64_t i = 0; i < host.particle_count(); ++i)
            if (frame.key(host.x[i], host.y[i], host.z[i]) != host.keys[i])
                return true;
        return false;
    }

    int compared = 0; // trees that were equal
    std::unique_ptr<tree::DeviceTreeBuilder> builder;
    std::vector<backend::DeviceBuffer<double>> arrays;
    std::unique_ptr<tree::DeviceTree> held;
};

constexpr Shape shapes[] = {Shape::plummer, Shape::uniform, Shape::clustered, Shape::disc,  Shape::equal,
                            Shape::heaps,   Shape::far,     Shape::line,      Shape::zeros, Shape::mixed};

class TreeKinds : public TreeBuild, public ::testing::WithParamInterface<tree::DeviceBuild> {};

TEST_P(TreeKinds, ShapesAndSizes) {
    graft::test::Cases cases(11);
    for (const Shape shape : shapes)
        for (const int64_t n : {0, 1, 2, 3, 31, 32, 33, 1000, 20011})
            for (const int dimension : {3, 2}) {
                if (cases.skip())
                    continue;
                tree::TreeOptions options;
                options.dimension = dimension;
                expect_cpu_tree(test::make_cloud(shape, std::min(n, test::test_size(20011, 5011))), options,
                                GetParam());
                if (HasFatalFailure())
                    return;
            }
    EXPECT_GE(compared, graft::test::test_size(160, 14)); // of 180 (17): few need keys below the keys
}

TEST_P(TreeKinds, LeafSizes) {
    graft::test::Cases cases(5);
    for (const Shape shape : {Shape::plummer, Shape::heaps, Shape::clustered})
        for (const int leaf : {1, 2, 7, 64, 1000, 100000}) {
            if (cases.skip())
                continue;
            tree::TreeOptions options;
            options.leaf = leaf;
            expect_cpu_tree(test::make_cloud(shape, 5003), options, GetParam());
            if (HasFatalFailure())
                return;
        }
}

TEST_P(TreeKinds, ManyParticles) {
    graft::test::Cases cases(3);
    for (const Shape shape : {Shape::plummer, Shape::uniform, Shape::clustered, Shape::zeros}) {
        if (cases.skip())
            continue;
        tree::TreeOptions options;
        expect_cpu_tree(test::make_cloud(shape, graft::test::test_size(300007, 10007)), options, GetParam());
        if (HasFatalFailure())
            return;
    }
}

/// Samples of the keys say nothing about the particles: nearly all are in one bucket of the sort, and many at
/// one place.
TEST_P(TreeKinds, BucketsThatAreTooLarge) {
    const int64_t n = test::test_size(30011, 5011);
    Cloud cloud = test::make_cloud(Shape::uniform, n);
    cloud.name = "all but samples in one cell";
    const int64_t samples = tree::sample_count(n);
    std::vector<bool> is_sample(static_cast<size_t>(n));
    for (int64_t s = 0; s < samples; ++s)
        is_sample[static_cast<size_t>(tree::sampled_particle(s, samples, n))] = true;
    for (size_t i = 0; i < is_sample.size(); ++i)
        if (!is_sample[i] && i % 3 == 0)
            cloud.x[i] = 0.25, cloud.y[i] = -0.25, cloud.z[i] = 0.125;
        else if (!is_sample[i])
            cloud.x[i] = 0.25 + 1e-3 * cloud.x[i], cloud.y[i] = -0.25 + 1e-3 * cloud.y[i],
            cloud.z[i] = 0.125 + 1e-3 * cloud.z[i];
    ASSERT_GT(tree::bucket_count(n), 1);
    expect_cpu_tree(cloud, {}, GetParam());
    EXPECT_EQ(compared, 1);
}

/// Particles closer to each other than codes of the sort by buckets can tell: only their keys can.
TEST_F(TreeBuild, KeysThatCodesCannotTell) {
    Cloud cloud = test::make_cloud(Shape::uniform, test::test_size(300007, 30011));
    cloud.name = "heaps far smaller than buckets";
    constexpr size_t heap = 150;
    for (size_t i = 0; i + heap < cloud.x.size(); i += 8 * heap)
        for (size_t k = i + 1; k < i + heap; ++k) { // a few cells of the last level wide
            cloud.x[k] = cloud.x[i] + 5e-6 * cloud.x[k];
            cloud.y[k] = cloud.y[i] + 5e-6 * cloud.y[k];
            cloud.z[k] = cloud.z[i] + 5e-6 * cloud.z[k];
        }
    expect_cpu_tree(cloud, {}, tree::DeviceBuild::fused);
    EXPECT_EQ(compared, 1);
}

/// As many that buckets are sorted by large blocks.
TEST_F(TreeBuild, LargeBlocks) {
    if (test::small_inputs())
        GTEST_SKIP() << "millions of particles";
    constexpr int64_t n = 5300003;
    ASSERT_EQ(tree::bucket_threads(n), tree::large_block);
    expect_cpu_tree(test::make_cloud(Shape::plummer, n), {}, tree::DeviceBuild::fused);
    EXPECT_EQ(compared, 1);
}

TEST_P(TreeKinds, GivenRoot) {
    tree::TreeOptions options;
    options.has_root = true;
    options.root_edge = 10;
    for (double& lower : options.root_lower)
        lower = -3.5;
    expect_cpu_tree(test::make_cloud(Shape::uniform, 5000), options, GetParam());
    options.root_edge = 1e4; // all particles in few cells, deep down
    expect_cpu_tree(test::make_cloud(Shape::uniform, 5000), options, GetParam());
    EXPECT_EQ(compared, 2);
}

TEST_P(TreeKinds, RangesOfKeys) {
    tree::TreeOptions options;
    options.has_root = true;
    options.root_edge = 2;
    for (double& lower : options.root_lower)
        lower = -1;
    const Cloud cloud = test::make_cloud(Shape::uniform, test::test_size(30000, 8000));
    const test::HostTree whole(cloud, options);
    const int64_t n = cloud.size();
    for (const auto& [first, last] :
         {std::pair<int64_t, int64_t>{0, n}, {1, n}, {0, 1}, {777, n * 2 / 3}, {n / 2, n / 2 + 100}}) {
        Cloud part;
        for (int64_t i = first; i < last; ++i) {
            const int32_t k = whole.tree.order[i];
            part.add(cloud.x[k], cloud.y[k], cloud.z[k], 1);
        }
        part.name = "range";
        options.has_range = true;
        options.key_begin = first == 0 ? 0 : whole.tree.keys[first];
        options.key_end = last == n ? uint64_t{1} << 63 : whole.tree.keys[last];
        expect_cpu_tree(part, options, GetParam());
        if (HasFatalFailure())
            return;
    }
}

TEST_P(TreeKinds, CellsBelowTheKeysStop) {
    const Cloud cloud = test::make_cloud(Shape::deep, test::test_size(20000, 5000));
    tree::DeviceTree device(*memory);
    const backend::DeviceStatus found = build(cloud, {}, device, GetParam());
    EXPECT_EQ(found.stop, backend::deep_cell);
    EXPECT_GT(found.rekey, 0);
    held = std::make_unique<tree::DeviceTree>(*memory); // and the next build is right
    expect_cpu_tree(test::make_cloud(Shape::plummer, 5000), {}, GetParam());
}

TEST_P(TreeKinds, TooFewNodesAreNamed) {
    const Cloud cloud = test::make_cloud(Shape::plummer, test::test_size(20000, 5000));
    const test::HostTree host(cloud, {});
    for (const int64_t capacity : {int64_t{1}, int64_t{10}, int64_t{host.tree.node_count() - 1}}) {
        tree::DeviceTree device(*memory);
        device.resize_nodes(capacity);
        const tree::DeviceParticleView view = send(cloud);
        queue->clear_status();
        builder->build(*queue, {}, view, device, GetParam());
        const backend::DeviceStatus found = status();
        EXPECT_EQ(found.stop, backend::too_small);
        if (GetParam() == tree::DeviceBuild::fused) {
            EXPECT_EQ(found.nodes_needed, host.tree.node_count());
        } else {
            EXPECT_GT(found.nodes_needed, capacity); // they cannot know
        }
    }
}

/// As large as whole evaluations are; the last one is sorted without buckets.
TEST_F(TreeBuild, MillionsInBucketsAndBeyond) {
    if (test::small_inputs())
        GTEST_SKIP() << "sizes of the others do for a sanitizer";
    for (const int64_t n : {int64_t{1} << 21, tree::most_in_buckets + 1}) {
        expect_cpu_tree(test::make_cloud(Shape::plummer, n), {}, tree::DeviceBuild::fused);
        if (HasFatalFailure())
            return;
    }
    EXPECT_EQ(compared, 2);
}

TEST_F(TreeBuild, DepthsOfTheTop) {
    for (int depth = 1; depth <= 9; depth += test::small_inputs() ? 4 : 1)
        for (const Shape shape : {Shape::plummer, Shape::uniform}) {
            tree::TwoPhase two_phase;
            two_phase.top_depth = depth;
            expect_cpu_tree(test::make_cloud(shape, graft::test::test_size(30011, 3011)), {},
                            tree::DeviceBuild::two_phase, two_phase);
        }
    EXPECT_EQ(compared, test::test_size(18, 6));
}

TEST_F(TreeBuild, BlocksOfTheTwoPhases) {
    const Cloud cloud = test::make_cloud(Shape::clustered, graft::test::test_size(30011, 3011));
    for (const int threads : tree::TwoPhase::block_sizes) {
        tree::TwoPhase two_phase;
        two_phase.top_threads = threads;
        expect_cpu_tree(cloud, {}, tree::DeviceBuild::two_phase, two_phase);
        two_phase.top_threads = 1024, two_phase.subtree_threads = threads;
        expect_cpu_tree(cloud, {}, tree::DeviceBuild::two_phase, two_phase);
    }
    EXPECT_EQ(compared, 14);
    tree::TwoPhase wrong;
    wrong.subtree_threads = 48;
    tree::DeviceTree device(*memory);
    EXPECT_THROW(builder->build(*queue, {}, send(cloud), device, tree::DeviceBuild::two_phase, wrong),
                 core::Error);
}

std::string kind_name(const ::testing::TestParamInfo<tree::DeviceBuild>& info) {
    static const char* names[] = {"fused", "levels", "two_phase"};
    return names[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(All, TreeKinds,
                         ::testing::Values(tree::DeviceBuild::fused, tree::DeviceBuild::levels,
                                           tree::DeviceBuild::two_phase),
                         kind_name);

TEST_F(TreeBuild, ParticlesOutsideTheRootAreNamed) {
    Cloud cloud = test::make_cloud(Shape::uniform, 5000);
    cloud.y[1234] = 7, cloud.x[4000] = -9;
    tree::TreeOptions options;
    options.has_root = true;
    options.root_edge = 2;
    for (double& lower : options.root_lower)
        lower = -1;
    tree::DeviceTree device(*memory);
    const backend::DeviceStatus found = build(cloud, options, device, tree::DeviceBuild::fused);
    EXPECT_EQ(found.stop, backend::bad_value);
    EXPECT_EQ(found.first_bad, 1234);
    EXPECT_EQ(found.bad_array, tree::bad_root);
}

TEST_F(TreeBuild, SpansBeyondDoubleStop) {
    Cloud cloud = test::make_cloud(Shape::uniform, 100);
    cloud.y[12] = 1e160;
    tree::DeviceTree device(*memory);
    const backend::DeviceStatus found = build(cloud, {}, device, tree::DeviceBuild::fused);
    EXPECT_EQ(found.stop, backend::bad_value);
    EXPECT_EQ(found.bad_array, tree::bad_span);
}

TEST_F(TreeBuild, SteadyStateAllocatesAndWaitsForNothing) {
    const Cloud cloud = test::make_cloud(Shape::plummer, test::test_size(20000, 5000));
    const tree::DeviceParticleView view = send(cloud);
    tree::DeviceTree device(*memory);
    builder->build(*queue, {}, view, device);
    const int64_t allocations = memory->allocations(), waits = queue->waits();
    for (int k = 0; k < 3; ++k)
        builder->build(*queue, {}, view, device);
    EXPECT_EQ(memory->allocations(), allocations);
    EXPECT_EQ(queue->waits(), waits);
}

TEST_F(TreeBuild, BadOptionsAreRefused) {
    tree::DeviceTree device(*memory);
    tree::TreeOptions options;
    options.leaf = 0;
    EXPECT_THROW(builder->build(*queue, options, {}, device), core::Error);
    options = {};
    options.type = tree::TreeType::orb;
    EXPECT_THROW(builder->build(*queue, options, {}, device), core::Error);
    options = {};
    options.dimension = 4;
    EXPECT_THROW(builder->build(*queue, options, {}, device), core::Error);
}

} // namespace
