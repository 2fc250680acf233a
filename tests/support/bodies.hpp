// SPDX-License-Identifier: BSD-3-Clause
// Bodies in plain arrays of the host, and their accelerations by a solver.
#pragma once

#include "array_view.hpp"
#include "study/bench/cloud_points.hpp"
#include "engine/solver.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace support {

using namespace graft;

struct Bodies {
    std::vector<double> x, y, z, mass, a[3];

    explicit Bodies(int64_t n, study::Cloud cloud = study::Cloud::plummer_cut) {
        for (int64_t i = 0; i < n; ++i) {
            double p[3];
            study::cloud_point(cloud, 3, i, p);
            x.push_back(p[0]), y.push_back(p[1]), z.push_back(p[2]);
            mass.push_back(1.0 / static_cast<double>(n));
        }
        for (std::vector<double>& axis : a)
            axis.resize(x.size());
    }
    void compute(engine::Solver& solver) {
        engine::ParticleInput input;
        engine::Outputs outputs;
        std::vector<double>* const axes[] = {&x, &y, &z};
        for (int axis = 0; axis < 3; ++axis)
            input.position[axis] = view(*axes[axis]), outputs.acceleration[axis] = view(a[axis]);
        input.n = static_cast<int64_t>(x.size());
        input.charge = view(mass);
        solver.compute(input, outputs);
    }
    /// |a - b| / |b| of all, ascending.
    std::vector<double> errors_against(const Bodies& exact) const {
        std::vector<double> errors;
        for (size_t i = 0; i < x.size(); ++i) {
            const auto off = [&](int axis) { return a[axis][i] - exact.a[axis][i]; };
            errors.push_back(std::hypot(off(0), off(1), off(2)) /
                             std::hypot(exact.a[0][i], exact.a[1][i], exact.a[2][i]));
        }
        std::sort(errors.begin(), errors.end());
        return errors;
    }
};

} // namespace support
