// SPDX-License-Identifier: BSD-3-Clause
// Times of periodic boxes against N, and by how much alpha may be off: printed, for
// docs/lab/gpu/periodic.md.
#include "../engine/engine_scene.cuh"
#include "periodic_box.hpp"
#include "periodic/box_order_gpu.cuh"
#include "periodic/mesh/wave_mesh_gpu.cuh"

namespace {

using namespace graft::test;
using graft::engine::DeviceReport;
using graft::settings::Precision;
using graft::settings::Settings;

class PeriodicTimes : public OnDevice {
  protected:
    static Settings settings_of(Precision precision, double accuracy) {
        Settings s;
        s.method = graft::settings::Method::direct, s.precision = precision;
        s.interaction = graft::settings::Interaction::coulomb;
        s.has_box = s.periodic = true;
        s.box_upper[0] = s.box_upper[1] = s.box_upper[2] = 1;
        s.ewald_accuracy = accuracy;
        return s;
    }
    static Cloud uniform(int64_t n) {
        std::mt19937_64 random(3);
        std::uniform_real_distribution<double> place;
        Cloud cloud;
        for (int64_t i = 0; i < n; ++i) {
            cloud.x.push_back(place(random)), cloud.y.push_back(place(random)),
                cloud.z.push_back(place(random));
            cloud.q.push_back(i % 2 == 0 ? 1 : -1), cloud.softening.push_back(0);
        }
        return cloud;
    }
    /// Best of some computations, device arrays.
    static DeviceReport best(const Settings& s, const Call& call, Engine& engine) {
        DeviceReport report;
        for (int k = 0; k < 6; ++k) {
            engine.begin(s, call);
            const DeviceReport now = engine.end();
            if (k == 2 || (k > 2 && now.time_s.total < report.time_s.total))
                report = now;
        }
        return report;
    }
};

TEST_F(PeriodicTimes, AgainstN) {
    Engine engine;
    Wish wish;
    wish.potential = wish.sums = false;
    for (const auto& [precision, accuracy] :
         {std::pair{Precision::mixed, 1e-5}, {Precision::mixed, 1e-6}, {Precision::fp64, 1e-10}})
        for (const int64_t n : {1000, 3000, 10000, 30000, 100000, 300000, 1000000}) {
            const Cloud cloud = uniform(n);
            const Call call(cloud, wish, Layout::soa64, MemorySpace::device);
            if (precision == Precision::fp64 && n > 100000)
                continue;
            Settings s = settings_of(precision, accuracy);
            std::printf("precision %d accuracy %g n %lld:", static_cast<int>(precision), accuracy,
                        static_cast<long long>(n));
            // Around what is chosen for 1e-5: alpha = 3.4 / r_c.
            for (const double alpha : {0.0, 1.0, 1.4, 2.0, 2.4, 2.8, 3.4}) {
                s.ewald_alpha = alpha * 1.3 * std::pow(static_cast<double>(n), 1.0 / 6);
                const DeviceReport r = best(s, call, engine);
                std::printf("  [%.4g] %.1f us (forces %.1f, %lld launches%s)", s.ewald_alpha,
                            1e6 * r.time_s.total, 1e6 * r.time_s.forces, static_cast<long long>(r.launches),
                            r.graph != 0 ? ", graph" : "");
            }
            std::printf("\n");
            std::fflush(stdout);
        }
}

/// Both ways of the smooth part, as chosen, for charges at the density of water's atoms.
TEST_F(PeriodicTimes, OnAMesh) {
    using graft::settings::LongRange;
    Engine engine;
    Wish wish;
    wish.potential = wish.sums = false;
    for (const int64_t n : {3000, 24000, 100000, 1000000}) {
        const Cloud cloud = uniform(n);
        const Call call(cloud, wish, Layout::soa64, MemorySpace::device);
        Settings exact = settings_of(Precision::fp64, 1e-9);
        const Answer expected = n <= 100000 ? engine.run(exact, cloud, wish, Layout::soa64, MemorySpace::device) : Answer();
        for (const double accuracy : {3e-3, 5e-4, 1e-4}) {
            std::printf("n %lld accuracy %g:", static_cast<long long>(n), accuracy);
            for (const LongRange sum : {LongRange::sum, LongRange::mesh}) {
                Settings s = settings_of(Precision::mixed, accuracy);
                s.method = graft::settings::Method::tree, s.long_range = sum;
                const DeviceReport r = best(s, call, engine);
                const char* const name = sum == LongRange::mesh ? "mesh" : "sum";
                std::printf("  %s %.1f us (alpha %.4g, cut-off %.4g, mesh %lld of order %lld)", name, 1e6 * r.time_s.total,
                            r.periodic.alpha, r.periodic.cutoff, static_cast<long long>(r.periodic.mesh[1]),
                            static_cast<long long>(r.periodic.mesh[0]));
                if (n <= 100000)
                    std::printf(" rms %.2e",
                                rms_error(engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device), expected));
            }
            std::printf("\n");
            std::fflush(stdout);
        }
    }
}

/// What the mesh alone takes, and its parts.
TEST_F(PeriodicTimes, PartsOfAMesh) {
    using namespace graft;
    backend::DeviceMemory memory(0);
    backend::Queue queue(memory, nullptr);
    queue.clear_status();
    for (const int64_t n : {100000, 1000000})
        for (const int order : {4, 6, 8}) {
            const int64_t points = n == 100000 ? 108 : 216;
            const Cloud cloud = uniform(n);
            backend::DeviceBuffer<double> x(memory, "x"), y(memory, "y"), z(memory, "z"), q(memory, "q"), charge(memory, "c"),
                field(memory, "f");
            for (const auto& [to, from] : {std::pair{&x, &cloud.x}, {&y, &cloud.y}, {&z, &cloud.z}, {&q, &cloud.q}}) {
                to->resize(n);
                GRAFT_CUDA(cudaMemcpy(to->data(), from->data(), static_cast<size_t>(n) * 8, cudaMemcpyHostToDevice));
            }
            charge.resize(1), field.resize(4 * n);
            periodic::PeriodicOrder order_of_places(memory);
            const forces::DeviceSources ordered = order_of_places.sort(
                queue, geometry::Lattice{}, {x.data(), y.data(), z.data(), q.data(), nullptr, n}, {});
            periodic::DeviceWaveMesh mesh(memory);
            mesh.set(queue, geometry::Lattice{}, 50, {order, {points, points, points}}, false);
            const auto time = [&](int64_t sources, int64_t targets) {
                forces::DeviceSources s = ordered, t = ordered;
                s.n = sources, t.n = targets;
                float best = 1e9f;
                for (int k = 0; k < 6; ++k) {
                    cudaEvent_t a, b;
                    cudaEventCreate(&a), cudaEventCreate(&b);
                    cudaEventRecord(a, queue.stream());
                    mesh.clear(queue);
                    mesh.sum(queue, {s, t, std::ldexp(1.0, 20), false, charge.data(), field.data()});
                    cudaEventRecord(b, queue.stream());
                    cudaEventSynchronize(b);
                    float ms = 0;
                    cudaEventElapsedTime(&ms, a, b);
                    best = std::min(best, ms);
                }
                return 1e3 * static_cast<double>(best);
            };
            std::printf("n %lld points %lld order %d: all %.1f us, without targets %.1f, without sources %.1f, transforms %.1f\n",
                        static_cast<long long>(n), static_cast<long long>(points), order, time(n, n), time(n, 0), time(1, n),
                        time(1, 1));
        }
}

} // namespace
