// SPDX-License-Identifier: BSD-3-Clause
// Times of periodic boxes against N, and by how much alpha may be off: printed, for
// docs/lab/gpu/periodic.md.
#include "../engine/engine_scene.cuh"

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

} // namespace
