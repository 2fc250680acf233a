// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes on the GPU: random charges, the oracle's sum, and what answers are compared by.
#pragma once

#include "../engine/engine_scene.cuh"
#include "periodic_box.hpp"

#include <memory>
#include <string>

namespace graft::test {

inline const PeriodicBox cube{}, brick{{1, 1.5, 0.7}, {-3, 2, 10}},
    tilted{{1, 1, 1.2}, {0, 0, 0}, {0.4, -0.3, 0.5}};

/// Random charges, some of them some cells away, softening lengths of several sizes.
inline Cloud strewn_charges(const PeriodicBox& box, int64_t n, bool neutral = true, unsigned seed = 7) {
    Cloud cloud = random_charges(box, n, neutral, seed, 2);
    for (size_t i = 0; i < cloud.softening.size(); ++i)
        cloud.softening[i] = 0.02 + 0.01 * static_cast<double>((i + 1) % 5);
    return cloud;
}

inline Answer oracle(const Cloud& cloud, const Settings& s) {
    return ewald_field<Answer>(cloud, s, 0, nullptr, false, 2);
}

class Periodic : public OnDevice {
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
