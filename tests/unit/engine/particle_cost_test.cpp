// SPDX-License-Identifier: BSD-3-Clause
// Work per particle: adds up to the interactions that the report counts, and lies where they were evaluated.
#include "array_view.hpp"
#include "essential/forest.hpp"
#include "forces/m2l/m2l_choice.hpp"
#include "engine/solver.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace graft::engine {
namespace {

using support::view;

struct Sphere {
    std::vector<double> x[3];
    std::vector<int32_t> active;
    std::vector<double> field;
    explicit Sphere(size_t n) : field(n) {
        std::mt19937_64 random(3);
        std::normal_distribution<double> normal;
        for (size_t i = 0; i < n; ++i)
            for (auto& axis : x)
                axis.push_back(std::pow(normal(random), 3)); // a dense core
        for (size_t i = 0; i < n; ++i)
            active.push_back(i % 3 == 0 ? 1 : 0);
    }
    ParticleInput input(bool some) {
        ParticleInput input;
        input.n = static_cast<int64_t>(x[0].size());
        for (int a = 0; a < 3; ++a)
            input.position[a] = view(x[a]);
        input.has_active = some;
        if (some)
            input.active = {
                reinterpret_cast<char*>(active.data()), particles::ElementType::i32, 1, input.n, 4, 4};
        return input;
    }
};

TEST(Work, AddsUpToTheInteractions) {
    core::Memory memory;
    for (const settings::Method method : {settings::Method::direct, settings::Method::tree})
        for (const bool some : {false, true}) {
            Sphere sphere(3000);
            settings::Settings settings;
            settings.method = method;
            Solver solver(settings, memory);
            std::vector<double> work(3000);
            EXPECT_THROW(solver.work_of_particles(work.data()), core::Error);
            Outputs outputs;
            outputs.acceleration[0] = view(sphere.field);
            solver.compute(sphere.input(some), outputs);
            solver.work_of_particles(work.data());
            const Report& report = solver.report();
            const double cells = report.cells + static_cast<double>(forces::m2l_cells) * report.far_cells;
            const double expected = report.pairs + static_cast<double>(essential::direct_count(settings)) * cells;
            EXPECT_NEAR(std::accumulate(work.begin(), work.end(), 0.0), expected, 1e-9 * expected);
            for (size_t i = 0; i < work.size(); ++i)
                EXPECT_EQ(work[i] > 0, !some || sphere.active[i] != 0);
            solver.field_at(sphere.input(false), sphere.input(false), outputs);
            EXPECT_THROW(solver.work_of_particles(work.data()), core::Error);
        }
}

} // namespace
} // namespace graft::engine
