// SPDX-License-Identifier: BSD-3-Clause
// CpuEngine: the host's arrays to a validated Problem.
#include "engine/engine_cpu.hpp"

#include "engine/checks.hpp"
#include "particles/import_arrays.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::engine {

namespace {

constexpr double largest = std::numeric_limits<double>::max();
constexpr int64_t sum_block = 16384;

void import_positions(const backend::Executor& executor, const ParticleInput& input, int dimension,
                      core::Buffer<double>* const (&axes)[3]) {
    particles::RealImport imports[3];
    for (int a = 0; a < 3; ++a) {
        axes[a]->resize(input.n);
        imports[a] = {input.position[a], axis_names[a], axes[a]->data()};
    }
    for (int a = dimension; a < 3; ++a)
        std::fill(axes[a]->begin(), axes[a]->end(), 0.0);
    particles::import_reals(executor, dimension, imports, -largest_position, largest_position);
}

/// Over fixed blocks in fixed order: the same bits for any thread count.
ChargeSizes sizes_of_charges(const backend::Executor& executor, const double* q, int64_t n,
                             core::Buffer<double>& blocks) {
    constexpr double none = std::numeric_limits<double>::infinity();
    blocks.resize(2 * ((n + sum_block - 1) / sum_block));
    executor.for_blocks(n, sum_block, [&](int64_t begin, int64_t end, int) {
        ChargeSizes sizes{0, none};
        for (int64_t i = begin; i < end; ++i) {
            const double size = std::abs(q[i]);
            sizes.magnitude += size;
            sizes.lightest = std::min(sizes.lightest, size > 0 ? size : none);
        }
        blocks[2 * (begin / sum_block)] = sizes.magnitude;
        blocks[2 * (begin / sum_block) + 1] = sizes.lightest;
    });
    ChargeSizes all{0, none};
    for (int64_t k = 0; k < blocks.size(); k += 2) {
        all.magnitude += blocks[k];
        all.lightest = std::min(all.lightest, blocks[k + 1]);
    }
    return {all.magnitude, all.lightest < none ? all.lightest : 0};
}

} // namespace

void CpuEngine::import(const CpuComputation& c) {
    import_sources(c);
    const ParticleInput* const points = c.request.points;
    if (points == nullptr)
        return import_targets(c.request.particles);
    import_positions(c.executor, *points, c.settings.dimension,
                     {&problem_.point_x, &problem_.point_y, &problem_.point_z});
    wrap(c, {&problem_.point_x, &problem_.point_y, &problem_.point_z});
    problem_.points = true;
    problem_.all_targets = false;
}

void CpuEngine::import_sources(const CpuComputation& c) {
    const backend::Executor& executor = c.executor;
    const ParticleInput& input = c.request.particles;
    problem_.n = input.n;
    import_positions(executor, input, c.settings.dimension, {&problem_.x, &problem_.y, &problem_.z});
    wrap(c, {&problem_.x, &problem_.y, &problem_.z});
    problem_.charge.resize(input.n);
    double* q = problem_.charge.data();
    if (input.charge.present() || input.n == 0) {
        particles::import_reals(executor, input.charge, "charge", -largest, largest, q);
    } else {
        executor.for_each(input.n, [&](int64_t i) { q[i] = input.charge_all; });
    }
    charges_ = sizes_of_charges(executor, q, input.n, sums_);

    problem_.softening.resize(0);
    if (!input.softening.present())
        return;
    problem_.softening.resize(input.n);
    particles::import_reals(executor, input.softening, "softening", 0.0, largest_position,
                            problem_.softening.data());
}

void CpuEngine::import_targets(const ParticleInput& input) {
    problem_.points = false;
    problem_.all_targets = !input.has_active && !input.has_target;
    problem_.target.resize(0);
    if (input.has_target)
        list_targets(input);
    for (int64_t i = 0; i < input.n && input.has_active; ++i)
        if (particles::integer_at(input.active, i) != 0)
            problem_.target.push_back(static_cast<int32_t>(i));
}

void CpuEngine::list_targets(const ParticleInput& input) {
    const int64_t base = input.target_from_1 ? 1 : 0;
    seen_.resize(input.n);
    std::fill(seen_.begin(), seen_.end(), char{0});
    problem_.target.resize(input.target.n);
    for (int64_t k = 0; k < input.target.n; ++k) {
        const int64_t given = particles::integer_at(input.target, k);
        if (given < base || given - base >= input.n)
            refuse_target(k, given, base, input.n);
        if (seen_[given - base] != 0)
            refuse_target_twice(k, given);
        seen_[given - base] = 1;
        problem_.target[k] = static_cast<int32_t>(given - base);
    }
}

/// Positions and softening of the targets that are some of the particles; points bring their own positions
/// and take part in per-particle softening with a length of zero of their own.
void CpuEngine::gather_targets(const backend::Executor& executor) {
    if (problem_.all_targets)
        return;
    const int64_t count = problem_.target_count();
    const bool lengths = problem_.per_particle_softening;
    problem_.target_softening.resize(lengths ? count : 0);
    if (problem_.points) {
        std::fill(problem_.target_softening.begin(), problem_.target_softening.end(), 0.0);
        return;
    }
    for (core::Buffer<double>* axis : {&problem_.point_x, &problem_.point_y, &problem_.point_z})
        axis->resize(count);
    executor.for_each(count, [&](int64_t k) {
        const int32_t i = problem_.target[k];
        problem_.point_x[k] = problem_.x[i];
        problem_.point_y[k] = problem_.y[i];
        problem_.point_z[k] = problem_.z[i];
        if (lengths)
            problem_.target_softening[k] = problem_.softening[i];
    });
}

/// One power of two for the charges of all ranks, and lengths for all particles if any rank's have their own.
void CpuEngine::scale_sources(const CpuComputation& c, double scale) {
    double* q = problem_.charge.data();
    problem_.charge_scale = scale;
    problem_.lightest = c.all.charges.lightest * scale;
    c.executor.for_each(problem_.n, [&](int64_t i) { q[i] *= scale; });
    problem_.per_particle_softening = c.all.per_particle_softening;
    if (problem_.per_particle_softening && problem_.softening.empty()) {
        problem_.softening.resize(problem_.n);
        std::fill(problem_.softening.begin(), problem_.softening.end(), c.settings.softening_length);
    }
}

} // namespace graft::engine
