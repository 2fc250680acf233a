// Periodic boxes on the GPU: random charges, the oracle's sum, and what answers are compared by.
#pragma once

#include "engine_scene.cuh"
#include "reference/ewald_sum.hpp"

#include <memory>
#include <string>

namespace graft::test {

using pipeline::DeviceReport;
using pipeline::Interaction;
using pipeline::Method;
using pipeline::Precision;
using pipeline::Settings;
using pipeline::Softening;

struct PeriodicBox {
    double edge[3] = {1, 1, 1}, lower[3] = {0, 0, 0}, tilt[3] = {0, 0, 0};
};
inline const PeriodicBox cube{}, brick{{1, 1.5, 0.7}, {-3, 2, 10}},
    tilted{{1, 1, 1.2}, {0, 0, 0}, {0.4, -0.3, 0.5}};

inline Settings periodic_settings(const PeriodicBox& box, Precision precision = Precision::fp64,
                                  Method method = Method::direct) {
    Settings s;
    s.method = method, s.precision = precision;
    s.interaction = Interaction::coulomb;
    s.theta = 0; // all pairs: what the lattice sum alone gives
    s.has_box = s.periodic = true;
    for (int a = 0; a < 3; ++a) {
        s.box_lower[a] = box.lower[a], s.box_upper[a] = box.lower[a] + box.edge[a];
        s.box_tilt[a] = box.tilt[a];
    }
    return s;
}

inline void add(Cloud& cloud, double x, double y, double z, double q) {
    cloud.x.push_back(x), cloud.y.push_back(y), cloud.z.push_back(z), cloud.q.push_back(q);
    cloud.softening.push_back(0.02 + 0.01 * static_cast<double>(cloud.x.size() % 5));
}

/// Random charges, some of them some cells away; +-1 alternating or all positive.
inline Cloud random_charges(const PeriodicBox& box, int64_t n, bool neutral = true, unsigned seed = 7) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform;
    Cloud cloud;
    for (int64_t i = 0; i < n; ++i) {
        const double far = i % 7 == 0 ? 2 : 0;
        const double a = uniform(random) + far, b = uniform(random) - far, c = uniform(random);
        add(cloud, box.lower[0] + a * box.edge[0] + b * box.tilt[0] + c * box.tilt[1],
            box.lower[1] + b * box.edge[1] + c * box.tilt[2], box.lower[2] + c * box.edge[2],
            neutral ? (i % 2 != 0 ? -1 : 1) : 0.5 + 0.5 * uniform(random));
    }
    return cloud;
}

/// What the oracle says, with Coulomb's signs.
inline Answer oracle(const Cloud& cloud, const Settings& s, double reach = 0) {
    const size_t n = cloud.x.size();
    Answer r{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n),
             std::vector<double>(n), std::vector<double>(6), 0};
    const reference::Cell cell{{{s.box_upper[0] - s.box_lower[0], 0, 0},
                                {s.box_tilt[0], s.box_upper[1] - s.box_lower[1], 0},
                                {s.box_tilt[1], s.box_tilt[2], s.box_upper[2] - s.box_lower[2]}}};
    const reference::Points points{cloud.size(), cloud.x.data(), cloud.y.data(), cloud.z.data(), nullptr};
    reference::ewald_sum(cell, points, cloud.q.data(), points, static_cast<reference::Softening>(s.softening),
                         s.softening_length, reach, 2,
                         {r.ax.data(), r.ay.data(), r.az.data(), r.potential.data()}, &r.energy,
                         r.virial.data());
    for (size_t i = 0; i < n; ++i)
        r.ax[i] *= -1, r.ay[i] *= -1, r.az[i] *= -1;
    for (double& v : r.virial)
        v *= -1;
    return r;
}

inline double rms_error(const Answer& a, const Answer& b) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < b.ax.size(); ++i) {
        const double x = a.ax[i] - b.ax[i], y = a.ay[i] - b.ay[i], z = a.az[i] - b.az[i];
        difference += x * x + y * y + z * z;
        size += b.ax[i] * b.ax[i] + b.ay[i] * b.ay[i] + b.az[i] * b.az[i];
    }
    const double error = std::sqrt(difference / size);
    return std::isfinite(error) ? error : 1e300;
}

class Periodic : public EngineTest {
  protected:
    Answer run(const Settings& s, const Cloud& cloud, const Wish& wish = {},
               MemorySpace space = MemorySpace::device) {
        return engine().run(s, cloud, wish, Layout::soa64, space);
    }
    Engine& engine() {
        if (!engine_)
            engine_ = std::make_unique<Engine>();
        return *engine_;
    }
    /// Double precision; two splittings, each as accurate as 1e-13.
    void expect_like(const Answer& gpu, const Answer& cpu, const std::string& what) {
        const double limit = 2e-12;
        EXPECT_LT(rms_error(gpu, cpu), limit) << what;
        EXPECT_LT(worst(gpu.potential, cpu.potential), 4 * limit) << what;
        EXPECT_LT(worst(gpu.virial, cpu.virial), 20 * limit) << what;
        EXPECT_NEAR(gpu.energy, cpu.energy, 20 * limit * std::abs(cpu.energy)) << what;
    }
    std::unique_ptr<Engine> engine_;
};

} // namespace graft::test
