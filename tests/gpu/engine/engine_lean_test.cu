// SPDX-License-Identifier: BSD-3-Clause
// Particles that nearly fill the device: the bits of a computation with plenty of memory, whatever happens on
// the way (rooms too small, cells too deep, bad values, host arrays), in as much memory as the model says. At
// full size: GRAFT_LEAN="1.3e8 2.7e8" gpu_engine --gtest_filter='EngineLean.Model' prints model and peak.
#include "engine_scene.cuh"

#include "engine/gpu/tight_memory.hpp"

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>

namespace {

using namespace graft::test;
using graft::engine::footprint_bytes;
using graft::engine::footprint_shape;

class EngineLean : public OnDevice {
  protected:
    /// So little that arrays must share, and enough for lists.
    static Settings lean_settings(int64_t n, int leaf = 32, int group = 128) {
        Settings s;
        s.tuned = true, s.leaf = leaf, s.group = group;
        if (small_inputs())
            s.accuracy = 1e-2; // short lists
        s.device.memory_limit =
            footprint_bytes(footprint_shape(n, leaf, group, s.order, false, true)) * 95 / 100;
        return s;
    }
    static Settings free_settings(Settings s) {
        s.device.memory_limit = 0;
        return s;
    }
    static bool same_field(const Answer& a, const Answer& b) {
        return a.ax == b.ax && a.ay == b.ay && a.az == b.az;
    }
    static bool was_lean(const Engine& engine) {
        return std::string(engine.report.note).find("share") != std::string::npos;
    }
    static Wish field_alone() {
        Wish wish;
        wish.potential = wish.sums = false;
        return wish;
    }
};

/// Device and host arrays, the same engine again and again, and between them a computation with all memory.
TEST_F(EngineLean, SameBitsInLessMemory) {
    const Cloud cloud = make_cloud(test_size(200000, 20000), 61);
    const Wish wish = field_alone();
    const Settings s = lean_settings(cloud.size());
    Engine free_engine;
    const Answer expected =
        free_engine.run(free_settings(s), cloud, wish, Layout::soa32, MemorySpace::device);
    EXPECT_FALSE(was_lean(free_engine));
    for (const MemorySpace space : {MemorySpace::device, MemorySpace::host}) {
        if (small_inputs() && space == MemorySpace::device)
            continue; // as the other tests
        Engine engine;
        EXPECT_TRUE(same_field(engine.run(s, cloud, wish, Layout::soa32, space), expected));
        EXPECT_TRUE(was_lean(engine));
        EXPECT_LE(engine.report.bytes_device_peak, s.device.memory_limit);
        const DeviceReport first = engine.report;
        EXPECT_TRUE(same_field(engine.run(s, cloud, wish, Layout::soa32, space), expected));
        EXPECT_EQ(engine.report.allocations, first.allocations)
            << "a second one of the same size takes nothing";
        EXPECT_EQ(engine.report.repeats, first.repeats);
        EXPECT_GT(engine.report.tree.nodes, 0);
        EXPECT_TRUE(same_field(engine.run(free_settings(s), cloud, wish, Layout::soa32, space), expected));
        EXPECT_FALSE(was_lean(engine));
    }
}

/// Lists in more batches, found in repeats that begin behind the tree: nodes and groups are told all the
/// same.
TEST_F(EngineLean, ResumesBehindTheTree) {
    const Cloud cloud = make_cloud(test_size(100000, 20000), 62);
    const Wish wish = field_alone();
    Settings s = lean_settings(cloud.size());
    s.accuracy = small_inputs() ? 1e-3 : 1e-4; // long lists
    Engine free_engine, engine;
    const Answer expected =
        free_engine.run(free_settings(s), cloud, wish, Layout::soa64, MemorySpace::device);
    s.device.memory_limit =
        footprint_bytes(footprint_shape(cloud.size(), s.leaf, s.group, s.order, true, true)) +
        84 * cloud.size();
    EXPECT_TRUE(same_field(engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device), expected));
    ASSERT_TRUE(was_lean(engine));
    EXPECT_GT(engine.report.batches, 1);
    EXPECT_GT(engine.report.repeats, 0) << "nothing was tested";
    EXPECT_EQ(engine.report.tree.nodes, free_engine.report.tree.nodes);
    EXPECT_EQ(engine.report.tree.levels, free_engine.report.tree.levels);
    EXPECT_EQ(engine.report.tree.groups, free_engine.report.tree.groups);
    EXPECT_EQ(engine.report.pairs, free_engine.report.pairs);
    std::printf("%lld batches, %lld repeats\n", static_cast<long long>(engine.report.batches),
                static_cast<long long>(engine.report.repeats));
}

/// Cells that hold one and a half leaves, or one particle more than a leaf and one in each octant: more nodes
/// than expected, so that the columns go back and come again.
TEST_F(EngineLean, MoreNodesThanExpected) {
    std::mt19937_64 random(63);
    std::uniform_real_distribution<double> uniform;
    Cloud cloud;
    const auto add = [&](double x, double y, double z) {
        cloud.x.push_back(x), cloud.y.push_back(y), cloud.z.push_back(z);
        cloud.q.push_back(0.5 + uniform(random)), cloud.softening.push_back(0);
    };
    const int leaf = small_inputs() ? 7 : 32, side = 32;
    for (int i = 0; !small_inputs() && i < 4096 * 48; ++i)
        add(uniform(random), uniform(random), uniform(random));
    for (int i = 0; small_inputs() && i < side * side * side; ++i) {
        const int x = i % side, y = i / side % side, z = i / side / side;
        if (x % 2 + y % 2 + z % 2 > 0 || (x + 3 * y + 5 * z) % 20 >= 6) // a leaf in three of ten
            add((x + 0.5) / side, (y + 0.5) / side, (z + 0.5) / side);
    }
    if (small_inputs())
        add(0, 0, 0), add(1, 1, 1);
    const Wish wish = field_alone();
    Settings s = lean_settings(cloud.size(), leaf);
    Engine free_engine, engine;
    const Answer expected =
        free_engine.run(free_settings(s), cloud, wish, Layout::soa64, MemorySpace::device);
    ASSERT_GT(free_engine.report.tree.nodes, footprint_shape(cloud.size(), leaf, 128, 2, true, true).nodes);
    EXPECT_TRUE(same_field(engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device), expected));
    EXPECT_TRUE(was_lean(engine));
    EXPECT_EQ(engine.report.tree.nodes, free_engine.report.tree.nodes);
}

/// Coincident particles make leaves and groups of any size; two that nearly coincide make the host build.
TEST_F(EngineLean, HeapsAndDeepCells) {
    const Wish wish = field_alone();
    for (const bool deep : {false, true}) {
        if (small_inputs() && deep)
            continue; // few particles leave no room for the host's tree
        Cloud cloud = make_cloud(test_size(150000, 40000), 64);
        const size_t first = 5000, end = first + static_cast<size_t>(test_size(900, 200));
        for (size_t i = first; i < end; ++i)
            cloud.x[i] = cloud.x[first], cloud.y[i] = cloud.y[first], cloud.z[i] = cloud.z[first];
        for (size_t i = first; deep && i < end; i += 2)
            cloud.x[i] *= 1 + 1e-14;
        Settings s = lean_settings(cloud.size());
        Engine free_engine, engine;
        const Answer expected =
            free_engine.run(free_settings(s), cloud, wish, Layout::soa64, MemorySpace::device);
        EXPECT_EQ(std::string(free_engine.report.note).find("host") != std::string::npos, deep);
        if (deep) // which takes more
            s.device.memory_limit = s.device.memory_limit * 20 / 19 - 1;
        EXPECT_TRUE(same_field(engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device), expected))
            << deep;
        EXPECT_EQ(was_lean(engine), !deep);
    }
}

TEST_F(EngineLean, BadValuesAreNamed) {
    Cloud cloud = make_cloud(test_size(150000, 10000), 65);
    const Wish wish = field_alone();
    const Settings s = lean_settings(cloud.size());
    Engine engine;
    const Answer expected = engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device);
    const double good = cloud.y[777];
    cloud.y[777] = std::numeric_limits<double>::quiet_NaN();
    try {
        engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device);
        ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::value);
        EXPECT_NE(std::string(error.what()).find("777"), std::string::npos) << error.what();
    }
    cloud.y[777] = good;
    EXPECT_TRUE(same_field(engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device), expected));
}

TEST_F(EngineLean, TooLittleIsAnError) {
    const Cloud cloud = make_cloud(test_size(100000, 10000), 66);
    const Wish wish = field_alone();
    Settings s = lean_settings(cloud.size());
    Engine free_engine, engine;
    const Answer expected =
        free_engine.run(free_settings(s), cloud, wish, Layout::soa64, MemorySpace::device);
    s.device.memory_limit = 70 * cloud.size();
    for (int again = 0; again < 2; ++again)
        try {
            engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device);
            ADD_FAILURE() << "not refused";
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::memory);
            EXPECT_NE(std::string(error.what()).find("bytes wanted"), std::string::npos) << error.what();
        }
    EXPECT_TRUE(
        same_field(engine.run(free_settings(s), cloud, wish, Layout::soa64, MemorySpace::device), expected));
}

/// The model is not below what is held, and not far above it.
TEST_F(EngineLean, Model) {
    std::vector<int64_t> sizes{test_size(300000, 10000)};
    if (const char* const list = std::getenv("GRAFT_LEAN")) {
        std::istringstream words(list);
        for (double n; words >> n;)
            sizes.push_back(static_cast<int64_t>(n));
    }
    for (const int64_t n : sizes) {
        const Cloud cloud = make_cloud(n, 67);
        for (const bool lean : {false, true}) {
            Engine engine;
            const Settings s = lean_settings(n);
            engine.run(lean ? s : free_settings(s), cloud, field_alone(), Layout::soa32, MemorySpace::device);
            const int64_t model = footprint_bytes(footprint_shape(n, 32, 128, 2, lean, true));
            const int64_t lists = engine.report.bytes_lists;
            std::printf("%lld particles, %s: model %.1f B a particle, peak %.1f, of these lists %.1f\n",
                        static_cast<long long>(n), lean ? "lean" : "whole",
                        static_cast<double>(model) / static_cast<double>(n),
                        static_cast<double>(engine.report.bytes_device_peak) / static_cast<double>(n),
                        static_cast<double>(lists) / static_cast<double>(n));
            EXPECT_GT(engine.report.bytes_device_peak, model * 9 / 10);
        }
    }
}

} // namespace
