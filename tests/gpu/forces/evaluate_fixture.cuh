// SPDX-License-Identifier: BSD-3-Clause
// Evaluations of one scene on the device, and what they are compared with.
#pragma once

#include "device_fixture.cuh"
#include "evaluate_scene.hpp"

namespace graft::test {

using forces::DevicePrecision;
using forces::Softening;

class Evaluations : public DeviceTest {
  protected:
    struct Result {
        Sums sums{0};
        double pairs = 0, cells = 0;
    };

    forces::DeviceEvaluation how_for(const Scene& scene, DevicePrecision precision, bool potential) {
        forces::DeviceEvaluation how;
        how.pairs = scene.variant(potential);
        how.softening_length = scene.options.length;
        how.precision = precision;
        how.order = scene.options.order, how.group = scene.options.group, how.leaf = scene.options.leaf;
        how.local = scene.options.local_error > 0;
        return how;
    }

    /// Fills the field with NaN, evaluates, repeats with more room if asked to.
    void evaluate(const forces::DeviceEvaluation& how, DeviceScene& on, forces::DeviceEvaluator& evaluator,
                  forces::DeviceField& field, int64_t n) {
        field.resize(n, how.pairs.potential);
        for (int attempt = 0;; ++attempt) {
            queue->clear_status();
            for (auto* values : {&field.ax, &field.ay, &field.az, &field.potential})
                if (!values->empty() && !how.add)
                    GRAFT_CUDA(cudaMemsetAsync(values->data(), 0xff, static_cast<size_t>(values->size()) * 8,
                                               queue->stream()));
            evaluator.evaluate(*queue, how, on.tree, on.moments, on.targets, on.lists, field);
            const backend::DeviceStatus words = status();
            if (words.stop == backend::go)
                return;
            ASSERT_EQ(words.stop, backend::too_small);
            ASSERT_LT(attempt, 2) << "more room did not help";
            evaluator.reserve(words.tasks_needed, words.slots_needed);
        }
    }

    Result fetch(const forces::DeviceField& field) {
        Result result;
        const int64_t n = field.ax.size();
        result.sums.ax = get(field.ax.data(), n), result.sums.ay = get(field.ay.data(), n);
        result.sums.az = get(field.az.data(), n),
        result.sums.potential = get(field.potential.data(), field.potential.size());
        result.pairs = queue->fetched_status().pairs, result.cells = queue->fetched_status().cells;
        return result;
    }

    Result run(const Scene& scene, DevicePrecision precision, bool potential = true) {
        DeviceScene on(*memory);
        on.upload(*queue, scene);
        forces::DeviceEvaluator evaluator(*memory);
        forces::DeviceField field(*memory);
        evaluate(how_for(scene, precision, potential), on, evaluator, field, scene.targets.count());
        return fetch(field);
    }

    /// Largest error of the device over its bound (float), or over 1e-12 of the bound's float part (double).
    void compare(const Scene& scene, DevicePrecision precision, bool potential = true) {
        double pairs = 0, cells = 0;
        const Sums expected = scene.evaluate<double>(pairs, cells), bounds = scene.float_bounds();
        const Result result = run(scene, precision, potential);
        EXPECT_EQ(result.pairs, pairs);
        EXPECT_EQ(result.cells, cells);
        const double factor = precision == DevicePrecision::fp64 ? 2e-9 : 1;
        const WorstErrors worst = worst_errors(result.sums, expected, bounds, potential, factor);
        EXPECT_LE(worst.force, 1) << "force";
        EXPECT_LE(worst.potential, 1) << "potential";
        RecordProperty("worst_force", std::to_string(worst.force));
        RecordProperty("worst_potential", std::to_string(worst.potential));
    }
};

} // namespace graft::test
