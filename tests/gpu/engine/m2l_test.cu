// SPDX-License-Identifier: BSD-3-Clause
// Deck key local on the GPU, through the engine: the CPU's field, the error it is without, and everything the
// engine promises (batches, graphs, kept lists, subsets, points) with it.
#include "engine_scene.cuh"
#include "lists/lists_gpu.cuh"

namespace {

using namespace graft::test;

Settings with(Local local) {
    Settings s;
    s.local = local;
    s.leaf = 32, s.group = 64;
    return s;
}

class EngineLocal : public OnDevice {
  protected:
    static bool same_bits(const Answer& a, const Answer& b) {
        return a.ax == b.ax && a.ay == b.ay && a.az == b.az && a.potential == b.potential &&
               a.virial == b.virial && a.energy == b.energy;
    }
    /// Fields of CPU and GPU, both with polynomials: on a CPU cells above the groups hand theirs down.
    void check(const Settings& s, const Cloud& cloud, const Wish& wish, MemorySpace space, const char* what) {
        const Answer cpu = on_cpu(s, cloud, wish);
        Engine engine;
        const Answer gpu = engine.run(s, cloud, wish, Layout::soa64, space);
        EXPECT_STREQ(engine.report.local, "on") << what;
        EXPECT_GT(engine.report.far_cells, 0) << what;
        const std::vector<double> error = errors(gpu, cpu);
        EXPECT_LE(error[error.size() / 2], 0.15 * s.accuracy) << what;
        EXPECT_LE(error[error.size() - 1 - error.size() / 100], 0.7 * s.accuracy) << what;
        EXPECT_LE(error.back(), 5 * s.accuracy) << what;
        EXPECT_LE(worst(gpu.potential, cpu.potential), 2e-4) << what;
    }
};

TEST_F(EngineLocal, IsTheCpus) {
    Cases cases(7);
    for (const int64_t n : {test_size(3001, 1001), test_size(20011, 2011)}) {
        const Cloud cloud = make_cloud(n, 21);
        for (const Precision precision : {Precision::fp32, Precision::mixed})
            for (const Softening softening : {Softening::none, Softening::plummer, Softening::spline})
                for (const MemorySpace space : {MemorySpace::host, MemorySpace::device}) {
                    if (cases.skip())
                        continue;
                    Settings s = with(Local::on);
                    s.precision = precision, s.softening = softening;
                    s.softening_length = softening == Softening::none ? 0 : 0.02;
                    check(s, cloud, {}, space, "all particles");
                }
    }
    const Cloud cloud = make_cloud(test_size(9000, 1600), 22), points = make_cloud(test_size(3001, 401), 23);
    Wish some, at;
    some.active.assign(cloud.x.size(), 0);
    for (size_t i = 0; i < some.active.size(); i += 3)
        some.active[i] = 1;
    at.points = &points;
    check(with(Local::on), cloud, some, MemorySpace::device, "every third");
    check(with(Local::on), cloud, at, MemorySpace::device, "points");
}

TEST_F(EngineLocal, ErrorIsWhatItIsWithoutAndFewerCellsMeetTargets) {
    const Cloud cloud = make_cloud(test_size(60000, 3000), 24);
    Settings truth = with(Local::off);
    truth.method = Method::direct, truth.precision = Precision::fp64;
    Engine engine;
    const Answer exact = engine.run(truth, cloud, {}, Layout::soa64, MemorySpace::device);
    const Answer off = engine.run(with(Local::off), cloud, {}, Layout::soa64, MemorySpace::device);
    const double cells = engine.report.cells;
    EXPECT_EQ(engine.report.far_cells, 0);
    const Answer on = engine.run(with(Local::on), cloud, {}, Layout::soa64, MemorySpace::device);
    EXPECT_LT(engine.report.cells, (small_inputs() ? 1 : 0.5) * cells);
    const std::vector<double> is = errors(on, exact), was = errors(off, exact);
    for (const double share : {0.5, 0.99}) {
        const auto at = static_cast<size_t>(share * static_cast<double>(is.size() - 1));
        EXPECT_LT(is[at], (small_inputs() ? 1.2 : 1.05) * was[at]) << share;
    }
}

TEST_F(EngineLocal, BatchesGraphsAndRepeatsGiveTheSameBits) {
    const Cloud cloud = make_cloud(test_size(30000, 4000), 25);
    const Settings s = with(Local::on);
    Engine free_engine;
    const Answer expected = free_engine.run(s, cloud, {}, Layout::soa64, MemorySpace::device);
    const auto bytes = static_cast<double>(free_engine.report.bytes_device);
    int64_t most_batches = 1;
    const std::vector<double> shares = small_inputs() ? std::vector{0.7, 0.6} : std::vector{0.7, 0.5, 0.4};
    for (const double share : shares) {
        Settings limited = s;
        limited.device.memory_limit = static_cast<int64_t>(share * bytes);
        Engine engine;
        Answer answer;
        try {
            answer = engine.run(limited, cloud, {}, Layout::soa64, MemorySpace::device);
        } catch (const graft::core::Error& error) {
            EXPECT_EQ(error.status(), graft::core::Status::memory);
            continue;
        }
        most_batches = std::max(most_batches, engine.report.batches);
        EXPECT_TRUE(same_bits(answer, expected)) << share;
    }
    EXPECT_GT(most_batches, 1);
    Settings graph = s;
    graph.device.graph = 1;
    Engine engine;
    Call call(cloud, {}, Layout::soa64, MemorySpace::device);
    for (int k = 0; k < test_size(4, 3); ++k) {
        engine.begin(graph, call);
        const auto report = engine.end();
        EXPECT_TRUE(same_bits(call.answer(), expected)) << "call " << k;
        EXPECT_EQ(report.far_cells, free_engine.report.far_cells);
    }
    // On and off in turn: rooms made for one serve the other.
    for (const Local local : {Local::off, Local::on, Local::off, Local::on})
        engine.run(with(local), cloud, {}, Layout::soa64, MemorySpace::device);
    EXPECT_TRUE(same_bits(engine.run(s, cloud, {}, Layout::soa64, MemorySpace::device), expected));
}

TEST_F(EngineLocal, KeptLists) {
    const Cloud cloud = make_cloud(test_size(20000, 1500), 26);
    Settings s = with(Local::on);
    s.device.reuse = 5, s.device.skin = 1e-3;
    Engine engine;
    const Answer first = engine.run(s, cloud, {}, Layout::soa64, MemorySpace::device);
    const double far_cells = engine.report.far_cells;
    EXPECT_GT(far_cells, 0);
    const Answer second = engine.run(s, cloud, {}, Layout::soa64, MemorySpace::device);
    EXPECT_EQ(engine.report.lists_reused, 1);
    EXPECT_EQ(engine.report.far_cells, far_cells);
    EXPECT_TRUE(same_bits(first, second));
}

/// Super groups share far cells: as good a field with fewer M2L, the same bits in any number of batches.
TEST_F(EngineLocal, SuperGroupsShareFarCells) {
    for (const Softening softening : {Softening::none, Softening::plummer}) {
        const Cloud cloud = make_cloud(test_size(60000, 8000), 29);
        Settings s = with(Local::on);
        s.softening = softening, s.softening_length = softening == Softening::none ? 0 : 0.01;
        Settings truth = s;
        truth.local = Local::off, truth.method = Method::direct, truth.precision = Precision::fp64;
        Engine engine;
        const Answer exact = engine.run(truth, cloud, {}, Layout::soa64, MemorySpace::device);
        s.device.walk = static_cast<int32_t>(graft::lists::DeviceWalk::warp_per_group);
        const Answer alone = engine.run(s, cloud, {}, Layout::soa64, MemorySpace::device);
        const double alone_cells = engine.report.far_cells;
        s.device.walk = static_cast<int32_t>(graft::lists::DeviceWalk::super_group);
        const Answer shared = engine.run(s, cloud, {}, Layout::soa64, MemorySpace::device);
        EXPECT_LT(engine.report.far_cells, (small_inputs() ? 1 : 0.8) * alone_cells);
        const std::vector<double> is = errors(shared, exact), was = errors(alone, exact);
        for (const double share : {0.5, 0.99}) {
            const auto at = static_cast<size_t>(share * static_cast<double>(is.size() - 1));
            EXPECT_LT(is[at], (small_inputs() ? 1.2 : 1.05) * was[at]) << share;
        }
        Settings limited = s;
        limited.device.memory_limit = engine.report.bytes_device / 2;
        Engine in_batches;
        const Answer again = in_batches.run(limited, cloud, {}, Layout::soa64, MemorySpace::device);
        EXPECT_GT(in_batches.report.batches, 1);
        EXPECT_TRUE(same_bits(again, shared));
        EXPECT_EQ(in_batches.report.cells, engine.report.cells);
    }
}

/// Of many particles, accelerations alone go from the partial sums to records in the host's order; arrays of
/// the host get theirs from the field.
TEST_F(EngineLocal, AccelerationsByRecordsAreThoseOfTheField) {
    const Cloud cloud = make_cloud((1 << 18) + 1017, 30), points = make_cloud((1 << 18) + 5, 31);
    for (const Local local : {Local::on, Local::off})
        for (const Cloud* at : {static_cast<const Cloud*>(nullptr), &points}) {
            if (small_inputs() && (at != nullptr || local == Local::off))
                continue;
            Wish wish;
            wish.potential = wish.sums = false;
            wish.force = wish.add = local == Local::on && at == nullptr;
            wish.points = at;
            Engine engine;
            const Answer field = engine.run(with(local), cloud, wish, Layout::soa64, MemorySpace::host);
            const Answer records = engine.run(with(local), cloud, wish, Layout::soa64, MemorySpace::device);
            EXPECT_TRUE(same_bits(records, field))
                << static_cast<int>(local) << (at != nullptr ? " points" : "");
        }
}

TEST_F(EngineLocal, OffWithWords) {
    const Cloud cloud = make_cloud(3000, 27);
    Engine engine;
    const auto words = [&](const Settings& s) {
        engine.run(s, cloud, {}, Layout::soa64, MemorySpace::device);
        EXPECT_EQ(engine.report.far_cells, 0);
        return std::string(engine.report.local);
    };
    EXPECT_EQ(words(with(Local::auto_)), "off: no faster for so few targets on a GPU");
    EXPECT_EQ(words(with(Local::off)), "off: local is off");
    Settings s = with(Local::on);
    s.precision = Precision::fp64;
    EXPECT_EQ(words(s), "off: on a GPU only for order 2 in fp32 and mixed");
    s = with(Local::on);
    s.mac = MacType::edge;
    EXPECT_EQ(words(s), "off: the criterion is not mac.type error");
    // Charges of both signs are seen on the device alone: on, and no cell is far.
    const Cloud mixed = make_cloud(3000, 28, true);
    engine.run(with(Local::on), mixed, {}, Layout::soa64, MemorySpace::device);
    EXPECT_EQ(engine.report.far_cells, 0);
}

} // namespace
