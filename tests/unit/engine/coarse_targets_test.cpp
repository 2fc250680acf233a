// SPDX-License-Identifier: BSD-3-Clause
// Single precision where the frame of a block of targets is too coarse for it, against the reference.
#include "array_view.hpp"
#include "engine/solver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace graft::engine {
namespace {

struct Bodies {
    std::vector<double> x[3], charge;
    Bodies(size_t n, unsigned seed) {
        std::mt19937_64 random(seed);
        std::normal_distribution<double> normal;
        for (size_t i = 0; i < n; ++i) {
            for (auto& axis : x)
                axis.push_back(normal(random));
            charge.push_back(1 + 0.5 * std::tanh(normal(random)));
        }
    }
    size_t size() const { return charge.size(); }
};

using support::view;

struct Field {
    std::vector<double> a[3], potential;
};

Field field_of(Bodies& bodies, settings::Settings settings, settings::Method method) {
    core::Memory memory;
    settings.method = method, settings.theta = 0.3;
    Solver solver(settings, memory);
    Field field;
    ParticleInput input;
    Outputs outputs;
    input.n = static_cast<int64_t>(bodies.size());
    input.charge = view(bodies.charge);
    field.potential.resize(bodies.size());
    outputs.potential = view(field.potential);
    for (int c = 0; c < 3; ++c) {
        field.a[c].resize(bodies.size());
        input.position[c] = view(bodies.x[c]);
        outputs.acceleration[c] = view(field.a[c]);
    }
    solver.compute(input, outputs);
    return field;
}

/// Largest error of a target, relative to its acceleration and potential.
double worst_error(Bodies& bodies, const settings::Settings& settings, settings::Method method) {
    const Field found = field_of(bodies, settings, method),
                right = field_of(bodies, settings, settings::Method::reference);
    double worst = 0;
    for (size_t i = 0; i < bodies.size(); ++i) {
        double wrong = 0, size = 0;
        for (int c = 0; c < 3; ++c)
            wrong = std::hypot(wrong, found.a[c][i] - right.a[c][i]), size = std::hypot(size, right.a[c][i]);
        worst = std::max({worst, wrong / size,
                          std::abs(found.potential[i] - right.potential[i]) / std::abs(right.potential[i])});
    }
    return worst;
}

TEST(Coarse, BlocksThatStraddleFarClumpsKeepTheirDigits) {
    for (const double apart : {1e6, 1e14, 1e30})
        for (const size_t n : {13, 300}) // one block; some, of which one may straddle
            for (const settings::Precision precision : {settings::Precision::fp32, settings::Precision::mixed})
                for (const settings::Softening softening :
                     {settings::Softening::none, settings::Softening::plummer, settings::Softening::spline}) {
                    Bodies bodies(n, 4);
                    for (size_t i = 0; i < n; i += 2)
                        bodies.x[0][i] += apart;
                    settings::Settings settings;
                    settings.precision = precision, settings.softening = softening;
                    settings.softening_length = 1e-3;
                    for (const settings::Method method : {settings::Method::direct, settings::Method::tree})
                        EXPECT_LT(worst_error(bodies, settings, method), 1e-4)
                            << apart << " apart, n " << n << ", softening " << static_cast<int>(softening)
                            << ", method " << static_cast<int>(method);
                }
}

TEST(Coarse, AFarSourceDoesNotMakeFramesTooSmall) {
    Bodies bodies(40, 5);
    bodies.x[1][3] = -1e29;
    for (const settings::Method method : {settings::Method::direct, settings::Method::tree})
        EXPECT_LT(worst_error(bodies, settings::Settings(), method), 1e-4) << static_cast<int>(method);
}

TEST(Coarse, WhatATargetAddsToItsOwnPotentialIsTakenOffAgain) {
    // Softening is far below what is added to every r^2 in single precision.
    for (const settings::Softening softening : {settings::Softening::plummer, settings::Softening::spline}) {
        Bodies bodies(40, 6);
        for (auto& axis : bodies.x)
            for (double& x : axis)
                x *= 1e12;
        settings::Settings settings;
        settings.softening = softening, settings.softening_length = 1e3; // potentials of 1e-12 beside 1e-3
        for (const settings::Method method : {settings::Method::direct, settings::Method::tree})
            EXPECT_LT(worst_error(bodies, settings, method), 1e-4) << static_cast<int>(method);
    }
}

} // namespace
} // namespace graft::engine
