// SPDX-License-Identifier: BSD-3-Clause
// The engine against the CPU's solver: methods, precisions, criteria, softening, orders, subsets, layouts.
#include "engine_scene.cuh"

#include <algorithm>
#include <limits>

namespace {

using namespace graft::test;

double tolerance(Precision precision) {
    return precision == Precision::fp64 ? 1e-11 : 3e-5;
}

/// A node that flips at the edge of the error MAC changes one group by about the accuracy asked for.
void expect_equal(const Answer& gpu, const Answer& cpu, const Settings& s, const std::string& what) {
    ASSERT_EQ(gpu.ax.size(), cpu.ax.size());
    const std::vector<double> error = errors(gpu, cpu);
    if (error.empty())
        return;
    const double limit = tolerance(s.precision);
    EXPECT_LE(error[error.size() / 2], limit) << what;
    EXPECT_LE(error[error.size() - 1 - error.size() / 100], 4 * limit) << what;
    EXPECT_LE(error.back(), s.mac == MacType::error && s.method == Method::tree ? s.accuracy : 40 * limit)
        << what;
    EXPECT_LE(worst(gpu.potential, cpu.potential), 4 * limit) << what;
    EXPECT_LE(worst(gpu.virial, cpu.virial), 4 * limit) << what;
    EXPECT_NEAR(gpu.energy, cpu.energy, 4 * limit * std::abs(cpu.energy)) << what;
}

class EngineMatches : public OnDevice {
  protected:
    void check(const Settings& settings, const Cloud& cloud, const Wish& wish, const std::string& what,
               Layout layout = Layout::soa64, MemorySpace space = MemorySpace::device) {
        const Answer cpu = on_cpu(settings, cloud, wish, layout);
        try {
            expect_equal(engine().run(settings, cloud, wish, layout, space), cpu, settings, what);
        } catch (const graft::core::Error& error) {
            FAIL() << what << ": " << error.what();
        }
    }
    Engine& engine() {
        if (!engine_)
            engine_ = std::make_unique<Engine>();
        return *engine_;
    }
    std::unique_ptr<Engine> engine_;
};

TEST_F(EngineMatches, MethodsAndPrecisions) {
    const Cloud cloud = make_cloud(test_size(5000, 400));
    for (Method method : {Method::direct, Method::tree})
        for (Precision precision : {Precision::fp32, Precision::mixed, Precision::fp64}) {
            Settings s;
            s.method = method, s.precision = precision;
            check(s, cloud, {},
                  "method " + std::to_string(int(method)) + " precision " + std::to_string(int(precision)));
        }
}

TEST_F(EngineMatches, CriteriaAndOrders) {
    const Cloud cloud = make_cloud(test_size(7001, 1001), 2);
    Cases cases(7);
    for (MacType mac : {MacType::edge, MacType::box, MacType::error})
        for (int order = 0; order <= 4; ++order)
            for (Precision precision : {Precision::mixed, Precision::fp64}) {
                if (cases.skip())
                    continue;
                Settings s;
                s.mac = mac, s.order = order, s.precision = precision;
                s.theta = mac == MacType::error ? 1.0 : 0.6;
                s.leaf = 16, s.group = 48;
                check(s, cloud, {}, "mac " + std::to_string(int(mac)) + " order " + std::to_string(order));
            }
}

TEST_F(EngineMatches, Softenings) {
    const Cloud cloud = make_cloud(test_size(4000, 700), 3, true);
    Cases cases(5);
    for (Softening softening : {Softening::plummer, Softening::spline})
        for (bool per_particle : {false, true})
            for (Method method : {Method::direct, Method::tree})
                for (Precision precision : {Precision::mixed, Precision::fp64}) {
                    if (cases.skip())
                        continue;
                    Settings s;
                    s.softening = softening, s.softening_length = 0.02, s.method = method;
                    s.precision = precision, s.interaction = Interaction::coulomb, s.constant = 3.5;
                    s.leaf = 20;
                    Wish wish;
                    wish.softening = per_particle;
                    check(s, cloud, wish,
                          "softening " + std::to_string(int(softening)) + (per_particle ? " each" : " one") +
                              " method " + std::to_string(int(method)));
                }
}

/// The estimate that errors are measured by is softened as the forces are, on both sides.
TEST_F(EngineMatches, SofteningThatLimitsTheField) {
    for (Softening softening : {Softening::plummer, Softening::spline})
        for (bool per_particle : {false, true})
            for (bool clumps : {false, true}) {
                const double length = clumps ? 4.6e4 : 0.1;
                const int64_t n = test_size(4000, 700);
                Settings s;
                s.softening = softening, s.softening_length = per_particle ? 0 : length;
                s.precision = Precision::fp64, s.accuracy = 1e-5;
                s.tree_type = clumps ? graft::tree::TreeType::orb : graft::tree::TreeType::octree;
                Wish wish;
                wish.softening = per_particle, wish.sums = wish.potential = false;
                const Cloud cloud = clumps ? make_clumps(n, length) : make_cusp(n, length);
                const std::string what = "softening " + std::to_string(int(softening)) + (per_particle ? " each" : " one") +
                                         (clumps ? " in clumps" : " in a cusp");
                check(s, cloud, wish, what);
                Settings all = s;
                all.method = Method::direct;
                const std::vector<double> error = errors(engine().run(s, cloud, wish, Layout::soa64, MemorySpace::device),
                                                         on_cpu(all, cloud, wish, Layout::soa64));
                EXPECT_LT(error[error.size() / 2], s.accuracy) << what;
                EXPECT_LT(error[error.size() - 1 - error.size() / 20], 10 * s.accuracy) << what;
            }
}

TEST_F(EngineMatches, Layouts) {
    const Cloud cloud = make_cloud(test_size(3000, 700), 4);
    Cases cases(7);
    Settings s;
    for (Layout layout : {Layout::soa64, Layout::soa32, Layout::aos64, Layout::xyzh32, Layout::packed31})
        for (MemorySpace space : {MemorySpace::host, MemorySpace::device, MemorySpace::managed})
            for (bool add : {false, true}) {
                if (cases.skip())
                    continue;
                Wish wish;
                wish.add = add;
                wish.force = add;
                check(s, cloud, wish,
                      "layout " + std::to_string(int(layout)) + " space " + std::to_string(int(space)),
                      layout, space);
            }
}

TEST_F(EngineMatches, Subsets) {
    const auto n = static_cast<int32_t>(test_size(6000, 800));
    const Cloud cloud = make_cloud(n, 5);
    Cases cases(5);
    for (Method method : {Method::tree, Method::direct})
        for (MemorySpace space : {MemorySpace::host, MemorySpace::device})
            for (int step : {1, 3, 977, 100000}) {
                if (cases.skip())
                    continue;
                Settings s;
                s.method = method;
                s.softening = Softening::plummer, s.softening_length = 0.01;
                Wish active, target;
                active.active.assign(cloud.x.size(), 0);
                target.has_target = target.target_from_1 = true;
                for (int32_t i = n - 1; i >= 0; --i)
                    if (i % step == step / 2)
                        active.active[static_cast<size_t>(i)] = 2, target.target.push_back(i + 1);
                const std::string what =
                    "every " + std::to_string(step) + " method " + std::to_string(int(method));
                check(s, cloud, active, "active " + what, Layout::soa64, space);
                check(s, cloud, target, "target " + what, Layout::aos64, space);
            }
}

TEST_F(EngineMatches, FieldAtPoints) {
    const Cloud cloud = make_cloud(test_size(6000, 800), 6), points = make_cloud(test_size(2000, 300), 7);
    Cases cases(3);
    for (Method method : {Method::tree, Method::direct})
        for (MemorySpace space : {MemorySpace::host, MemorySpace::device})
            for (bool each : {false, true}) {
                if (cases.skip())
                    continue;
                Settings s;
                s.method = method;
                s.softening = Softening::plummer, s.softening_length = 0.01;
                Wish wish;
                wish.points = &points;
                wish.softening = each;
                check(s, cloud, wish, "points", Layout::soa32, space);
            }
}

TEST_F(EngineMatches, FewAndCoincident) {
    Cases cases(11), heaps(3);
    for (int64_t n : {0, 1, 2, 3, 33, 64, 65, 129, 1000})
        for (Method method : {Method::tree, Method::direct})
            for (MemorySpace space : {MemorySpace::host, MemorySpace::device}) {
                if (cases.skip())
                    continue;
                Settings s;
                s.method = method;
                check(s, make_cloud(n, 8), {}, "n = " + std::to_string(n), Layout::soa64, space);
            }
    Cloud heap = make_cloud(700, 9);
    for (size_t i = 0; i < 500; ++i)
        heap.x[i] = 1, heap.y[i] = 2, heap.z[i] = 3;
    Cloud all = heap;
    for (size_t i = 0; i < 700; ++i)
        all.x[i] = 1, all.y[i] = 2, all.z[i] = 3;
    for (Method method : {Method::tree, Method::direct})
        for (Softening softening : {Softening::none, Softening::plummer}) {
            if (heaps.skip())
                continue;
            Settings s;
            s.method = method, s.softening = softening, s.softening_length = 0.1;
            check(s, heap, {}, "500 of 700 at one place");
            check(s, all, {}, "all at one place");
        }
}

/// Both clusters fall into one cell of the 63-bit keys each: the tree comes from the host, and the report
/// says so.
TEST_F(EngineMatches, ClustersFarApart) {
    Cloud cloud = make_cloud(3000, 10);
    for (size_t i = 0; i < 1500; ++i)
        cloud.x[i] += 1e12;
    for (Method method : {Method::tree, Method::direct}) {
        Settings s;
        s.method = method;
        s.precision = Precision::fp64;
        s.mac = MacType::box, s.theta = 0.5;
        Wish wish;
        wish.sums = false; // of forces that cancel, times 1e12
        check(s, cloud, wish, "1e12 apart, method " + std::to_string(int(method)));
    }
}

TEST_F(EngineMatches, FlatBoxesAndOrb) {
    const Cloud cloud = make_cloud(test_size(3000, 700), 11);
    for (bool orb : {false, true})
        for (int dimension : {2, 3}) {
            Settings s;
            s.dimension = dimension;
            s.mac = MacType::box, s.theta = 0.5;
            s.precision = Precision::fp64;
            s.tree_type = orb ? graft::tree::TreeType::orb : graft::tree::TreeType::octree;
            s.has_box = true;
            for (int a = 0; a < 3; ++a)
                s.box_lower[a] = -2000, s.box_upper[a] = 2000;
            Cloud flat = cloud;
            if (dimension == 2)
                std::fill(flat.z.begin(), flat.z.end(), 0.0);
            Wish wish;
            wish.sums = dimension == 3;
            check(s, flat, wish, std::string(orb ? "orb" : "octree") + " in " + std::to_string(dimension));
            if (orb)
                EXPECT_NE(std::string(engine().report.note).find("orb"), std::string::npos);
        }
}

TEST_F(EngineMatches, HistoryOfAccelerations) {
    const Cloud cloud = make_cloud(test_size(5000, 400), 12);
    Settings s;
    s.mac_history = true, s.precision = Precision::fp64;
    s.local = graft::settings::Local::off; // as on a GPU
    graft::core::Memory memory;
    graft::engine::Solver solver(s, memory);
    for (int call = 0; call < 3; ++call) {
        Wish wish;
        Call host(cloud, wish, Layout::soa64, MemorySpace::host);
        solver.compute(host.input, host.outputs);
        expect_equal(engine().run(s, cloud, wish, Layout::soa64, MemorySpace::device), host.answer(), s,
                     "call " + std::to_string(call));
        EXPECT_NEAR(engine().report.pairs, solver.report().pairs, 1e-3 * solver.report().pairs);
        EXPECT_NEAR(engine().report.cells, solver.report().cells, 1e-3 * solver.report().cells);
    }
}

TEST_F(EngineMatches, WorkOfParticles) {
    const int64_t n = test_size(5000, 400);
    const Cloud cloud = make_cloud(n, 13);
    Settings s;
    s.mac = MacType::box, s.theta = 0.5, s.leaf = 8, s.group = 16;
    graft::core::Memory memory;
    graft::engine::Solver solver(s, memory);
    Wish wish;
    Call host(cloud, wish, Layout::soa64, MemorySpace::host);
    solver.compute(host.input, host.outputs);
    std::vector<double> expected(cloud.x.size());
    solver.work_of_particles(expected.data());
    for (int64_t limit : {int64_t{0}, int64_t{1} << 16}) {
        s.device.list_limit = limit;
        engine().run(s, cloud, wish, Layout::soa64, MemorySpace::device);
        EXPECT_EQ(engine().report.batches > 1, limit > 0);
        EXPECT_LE(worst(engine().work(3, n), expected), 1e-12) << "limit " << limit;
    }
}

} // namespace
