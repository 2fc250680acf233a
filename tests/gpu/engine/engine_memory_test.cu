// SPDX-License-Identifier: BSD-3-Clause
// Memory of the engine: less of it means more batches and the same bits; too little is an error that says how
// much, and the engine lives on. Lists kept over steps: used as long as they hold, built anew when they do
// not.
#include "engine_scene.cuh"

#include <cstdio>

namespace {

using namespace graft::test;

class EngineMemory : public OnDevice {
  protected:
    static Error error_of(const std::function<void()>& body) {
        try {
            body();
        } catch (const Error& error) {
            return error;
        }
        return Error(Status::ok, "no error");
    }
    static bool same_bits(const Answer& a, const Answer& b) {
        return a.ax == b.ax && a.ay == b.ay && a.az == b.az && a.potential == b.potential &&
               a.virial == b.virial && a.energy == b.energy;
    }
};

/// For every precision and walk: the free run's bits from 0.9 of its memory down to what cannot be less.
TEST_F(EngineMemory, LessMemoryMoreBatchesSameBits) {
    const Cloud cloud = make_cloud(test_size(60000, 6000), 41);
    const std::vector<double> shares =
        small_inputs() ? std::vector{0.5, 0.1} : std::vector{0.9, 0.6, 0.5, 0.4, 0.35, 0.3, 0.2, 0.1};
    for (const int walk : {1, 2})
        for (const Precision precision : {Precision::mixed, Precision::fp64}) {
            if (small_inputs() && (walk == 1 || precision == Precision::mixed))
                continue; // as in the other tests
            Settings s;
            s.precision = precision, s.device.walk = walk, s.accuracy = 3e-4;
            Engine free_engine;
            const Answer expected = free_engine.run(s, cloud, {}, Layout::soa64, MemorySpace::device);
            const auto bytes = static_cast<double>(free_engine.report.bytes_device);
            EXPECT_EQ(free_engine.report.batches, 1);
            int64_t most_batches = 1;
            int refused = 0;
            for (const double share : shares) {
                s.device.memory_limit = static_cast<int64_t>(share * bytes);
                Engine engine;
                Answer answer;
                const Error error =
                    error_of([&] { answer = engine.run(s, cloud, {}, Layout::soa64, MemorySpace::device); });
                std::printf("walk %d precision %d: %.2f of %.1f MB: %s, %lld batches, %lld repeats\n", walk,
                            static_cast<int>(precision), share, 1e-6 * bytes,
                            error.status() == Status::ok ? "done" : "refused",
                            static_cast<long long>(engine.report.batches),
                            static_cast<long long>(engine.report.repeats));
                if (error.status() != Status::ok) {
                    ++refused;
                    EXPECT_EQ(error.status(), Status::memory) << error.what();
                    const std::string words = error.what();
                    EXPECT_NE(words.find("bytes wanted"), std::string::npos) << words;
                    EXPECT_NE(words.find("free"), std::string::npos) << words;
                    s.device.memory_limit = 0;
                    EXPECT_TRUE(
                        same_bits(engine.run(s, cloud, {}, Layout::soa64, MemorySpace::device), expected))
                        << "after an error";
                    continue;
                }
                EXPECT_EQ(refused, 0) << "more was refused";
                EXPECT_LE(engine.report.bytes_device_peak, s.device.memory_limit);
                EXPECT_TRUE(same_bits(answer, expected)) << share;
                most_batches = std::max(most_batches, engine.report.batches);
                const int64_t repeats = engine.report.repeats;
                EXPECT_TRUE(
                    same_bits(engine.run(s, cloud, {}, Layout::soa64, MemorySpace::device), expected));
                EXPECT_EQ(engine.report.repeats, repeats) << "what was learnt is kept";
            }
            EXPECT_GT(most_batches, 2);
            EXPECT_GT(refused, 0) << "a tenth cannot hold the particles";
        }
}

/// A smaller limit, then none, then one again: one engine, the same bits.
TEST_F(EngineMemory, LimitsMayChange) {
    Engine engine;
    const Cloud cloud = make_cloud(test_size(40000, 4500), 42);
    Settings s;
    const Answer expected = engine.run(s, cloud, {}, Layout::soa64, MemorySpace::host);
    const int64_t bytes = engine.report.bytes_device;
    for (const int64_t limit : {bytes * 7 / 10, int64_t{0}, bytes * 6 / 10, int64_t{1} << 20, bytes * 2}) {
        s.device.memory_limit = limit;
        Answer answer;
        const Error error =
            error_of([&] { answer = engine.run(s, cloud, {}, Layout::soa64, MemorySpace::host); });
        if (limit == int64_t{1} << 20) {
            EXPECT_EQ(error.status(), Status::memory) << error.what();
            continue;
        }
        EXPECT_EQ(error.status(), Status::ok) << error.what();
        EXPECT_TRUE(same_bits(answer, expected)) << limit;
        if (limit > 0) {
            EXPECT_LE(engine.report.bytes_device_peak, limit);
        }
    }
}

/// More particles after fewer: what the lists hold makes way for particles and tree.
TEST_F(EngineMemory, ListsMakeWayForParticles) {
    const Cloud small = make_cloud(test_size(20000, 2100), 43),
                large = make_cloud(test_size(60000, 6000), 44);
    Settings s;
    Engine sizes;
    sizes.run(s, large, {}, Layout::soa32, MemorySpace::device);
    s.device.memory_limit = sizes.report.bytes_device * 6 / 10;
    Engine fresh, engine;
    const Answer expected = fresh.run(s, large, {}, Layout::soa32, MemorySpace::device);
    engine.run(s, small, {}, Layout::soa32, MemorySpace::device);
    EXPECT_TRUE(same_bits(engine.run(s, large, {}, Layout::soa32, MemorySpace::device), expected));
    EXPECT_LE(engine.report.bytes_device_peak, s.device.memory_limit);
}

TEST_F(EngineMemory, PartialSumsByNeed) {
    Engine engine;
    Settings s;
    Wish wish;
    wish.sums = wish.potential = false;
    engine.run(s, make_cloud(test_size(200000, 1500), 45), wish, Layout::soa32, MemorySpace::device);
    std::printf("2e5 particles: %.1f MB on the device, %lld repeats\n",
                1e-6 * engine.report.bytes_device_peak, static_cast<long long>(engine.report.repeats));
    EXPECT_LT(engine.report.bytes_device_peak, int64_t{300} << 20);
}

class EngineReuse : public OnDevice {
  protected:
    static void drift(Cloud& cloud, double step) {
        for (int64_t i = 0; i < cloud.size(); ++i) {
            const double angle = 0.7 * static_cast<double>(i);
            const auto k = static_cast<size_t>(i);
            cloud.x[k] += step * std::cos(angle), cloud.y[k] += step * std::sin(angle);
        }
    }
    static Settings settings_of(MacType mac, int reuse, double skin) {
        Settings s;
        s.mac = mac, s.theta = 0.6, s.accuracy = 1e-3;
        s.device.reuse = reuse, s.device.skin = skin;
        return s;
    }
};

/// Ten steps of a drift within the skin: built once every reuse + 1 computations; errors stay those of fresh
/// lists.
TEST_F(EngineReuse, SlowDrift) {
    graft::test::Cases cases(7);
    constexpr double skin = 1e-3;
    Wish wish;
    wish.sums = wish.potential = false;
    for (const MacType mac : {MacType::error, MacType::box, MacType::edge})
        for (const int graph : {0, 1}) {
            if (cases.skip())
                continue;
            const int64_t n = test_size(30000, 1500);
            const auto p99 = static_cast<size_t>(n * 99 / 100);
            Cloud cloud = make_cloud(n, 51);
            Settings s = settings_of(mac, 4, skin), exact;
            s.device.graph = graph;
            exact.method = Method::direct, exact.precision = Precision::fp64;
            Engine engine, fresh, direct;
            for (int step = 0; step < test_size(10, 6); ++step) {
                const Answer kept = engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device);
                EXPECT_EQ(engine.report.lists_built, step / 5 + 1) << step;
                EXPECT_EQ(engine.report.lists_reused, step + 1 - engine.report.lists_built);
                if (step % 5 == 4 || step == 0) {
                    const Answer truth = direct.run(exact, cloud, wish, Layout::soa64, MemorySpace::device);
                    const std::vector<double> of_kept = errors(kept, truth),
                                              of_fresh = errors(fresh.run(settings_of(mac, 0, 0), cloud, wish,
                                                                          Layout::soa64, MemorySpace::device),
                                                                truth);
                    EXPECT_LT(of_kept[p99], (small_inputs() ? 1.3 : 1.1) * of_fresh[p99])
                        << "p99, step " << step;
                    EXPECT_GT(engine.report.tree.nodes, 0);
                }
                drift(cloud, skin / 4.01);
            }
        }
}

/// A jump of one particle beyond the skin, or a changed charge: the lists are built anew, and the numbers are
/// those of an engine that keeps nothing but has the same margin.
TEST_F(EngineReuse, JumpsAndChargesBuildAnew) {
    Wish wish;
    Cloud cloud = make_cloud(test_size(20000, 1000), 52);
    Settings s = settings_of(MacType::error, 100, 1e-3);
    Engine engine;
    engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device);
    engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device);
    EXPECT_EQ(engine.report.lists_reused, 1);
    const auto expect_new = [&](const char* what) {
        const int64_t built = engine.report.lists_built, repeats = engine.report.repeats;
        const Answer again = engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device);
        EXPECT_EQ(engine.report.lists_built, built + 1) << what;
        EXPECT_EQ(engine.report.repeats, repeats + 1) << what;
        Engine other;
        EXPECT_EQ(again.ax, other.run(s, cloud, wish, Layout::soa64, MemorySpace::device).ax) << what;
    };
    cloud.z[777] += 1.5e-3;
    expect_new("a jump");
    cloud.x[5] += 100;
    expect_new("out of the root");
    cloud.q[3] *= 1.25;
    expect_new("a charge");
    const int64_t reused = engine.report.lists_reused;
    cloud.z[777] += 0.9e-3;
    engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device);
    EXPECT_EQ(engine.report.lists_reused, reused + 1) << "a move within the skin";
}

/// Where nothing moves, kept lists give the bits of the computation that built them; coincident particles may
/// come apart.
TEST_F(EngineReuse, AtRestAndCoincident) {
    Wish wish;
    Cloud cloud = make_cloud(test_size(20000, 2100), 53);
    for (size_t i = 1000; i < 1300; ++i)
        cloud.x[i] = cloud.x[1000], cloud.y[i] = cloud.y[1000], cloud.z[i] = cloud.z[1000];
    Settings s = settings_of(MacType::box, 10, 1e-3);
    Engine engine;
    const Answer first = engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device);
    const Answer second = engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device);
    EXPECT_EQ(engine.report.lists_reused, 1);
    EXPECT_LT(worst(second.ax, first.ax), 1e-6);
    for (size_t i = 1000; i < 1300; ++i)
        cloud.x[i] += 3e-6 * static_cast<double>(i - 1000);
    const Answer apart = engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device);
    EXPECT_EQ(engine.report.lists_reused, 2);
    Settings exact;
    exact.method = Method::direct, exact.precision = Precision::fp64;
    const std::vector<double> error =
        errors(apart, engine.run(exact, cloud, wish, Layout::soa64, MemorySpace::device));
    EXPECT_LT(error[error.size() * 99 / 100], 1e-2);
    EXPECT_LT(error.back(), 0.2) << "those that were one source";
}

/// Subsets, points and other settings end the lists; what they compute is right.
TEST_F(EngineReuse, OtherComputationsBetween) {
    const Cloud cloud = make_cloud(test_size(10000, 1000), 54);
    const Cloud points = make_cloud(500, 55);
    Settings s = settings_of(MacType::box, 10, 1e-3);
    Engine engine;
    Wish all, some, at;
    some.active.assign(cloud.x.size(), 0);
    for (size_t i = 0; i < cloud.x.size(); i += 7)
        some.active[i] = 1;
    at.points = &points;
    const Answer first = engine.run(s, cloud, all, Layout::soa64, MemorySpace::device);
    for (const Wish* other : {&some, &at}) {
        engine.run(s, cloud, *other, Layout::soa64, MemorySpace::device);
        const int64_t reused = engine.report.lists_reused;
        EXPECT_EQ(engine.run(s, cloud, all, Layout::soa64, MemorySpace::device).ax, first.ax);
        EXPECT_EQ(engine.report.lists_reused, reused) << "built anew";
        engine.run(s, cloud, all, Layout::soa64, MemorySpace::device);
        EXPECT_EQ(engine.report.lists_reused, reused + 1);
    }
    s.theta = 0.5;
    const int64_t built = engine.report.lists_built;
    engine.run(s, cloud, all, Layout::soa64, MemorySpace::device);
    EXPECT_EQ(engine.report.lists_built, built + 1);
}

} // namespace
