// All pairs, by kernels or by the reference.
#include "pipeline/evaluate_direct.hpp"

#include "kernels/gather.hpp"
#include "kernels/p2p.hpp"
#include "pipeline/workspace.hpp"
#include "reference/direct_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::pipeline {

namespace {

constexpr int target_block = 256;
constexpr int64_t source_block = 2048;

/// Distance of the nearest source at another place than targets in `box`, which are at one place; 0: there is
/// none, or the targets have an extent and need no other length for their frame.
double nearest_length(const Problem& problem, const geometry::Box& box) {
    if (box.longest_edge() > 0)
        return 0;
    double nearest = std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < problem.n; ++i) {
        const double distance =
            std::max({std::abs(problem.x[i] - box.lower[0]), std::abs(problem.y[i] - box.lower[1]),
                      std::abs(problem.z[i] - box.lower[2])});
        nearest = distance > 0 ? std::min(nearest, distance) : nearest;
    }
    return std::isfinite(nearest) ? nearest : 0;
}

geometry::Box box_of_sources(const Problem& problem) {
    geometry::Box box;
    for (int64_t i = 0; i < problem.n; ++i)
        box.include(problem.x[i], problem.y[i], problem.z[i]);
    return box;
}

template <typename T>
void direct_block(const Settings& settings, const Problem& problem, const lists::TargetSet& set,
                  const lists::Group& block, const geometry::Box& all, bool with_potential,
                  Workspace<T>& work, RawField& field) {
    const kernels::PairVariant variant = pair_variant(settings, problem, with_potential);
    const kernels::ParticleArrays sources{problem.x.data(),
                                          problem.y.data(),
                                          problem.z.data(),
                                          problem.charge.data(),
                                          problem.softening.empty() ? nullptr : problem.softening.data(),
                                          problem.n};
    const kernels::ParticleArrays targets{set.x(), set.y(), set.z(), nullptr, set.softening(), set.count()};
    const geometry::Box& box = block.target.box;
    const kernels::Frame frame =
        kernels::make_frame<T>(box, nearest_length(problem, box), all.furthest(box.lower));
    work.targets.fill(targets, block.first, block.count, frame, variant);
    for (int64_t first = 0; first < problem.n; first += source_block) {
        work.sources.clear();
        work.sources.append(sources, first, std::min(source_block, problem.n - first), frame, variant);
        kernels::p2p(variant, settings.softening_length * frame.scale, work.sources.view(),
                     work.targets.view(), sum_chunk(settings), work.targets.sums());
    }
    work.store(frame, block.count, with_potential, field,
               [&](int64_t k) { return set.origin()[block.first + k]; });
}

template <typename T>
void direct(const backend::Executor& executor, const Settings& settings, const Problem& problem,
            bool with_potential, const lists::TargetSet& set, AllWorkspaces& all, RawField& field) {
    Workspaces<T>& workspaces = all.of<T>();
    workspaces.prepare(executor.threads);
    const geometry::Box all_sources = box_of_sources(problem);
    executor.for_blocks(set.group_count(), 1, [&](int64_t begin, int64_t end, int thread) {
        for (int64_t g = begin; g < end; ++g)
            direct_block(settings, problem, set, set.groups()[g], all_sources, with_potential,
                         workspaces[thread], field);
    });
}

} // namespace

void evaluate_direct(const backend::Executor& executor, const Settings& settings, const Problem& problem,
                     bool with_potential, lists::TargetSet& targets, AllWorkspaces& workspaces,
                     RawField& field) {
    targets.set_points(executor, settings.dimension, problem.target_count(), problem.target_x(),
                       problem.target_y(), problem.target_z(), problem.target_length(), target_block);
    if (settings.precision == Precision::fp64)
        direct<double>(executor, settings, problem, with_potential, targets, workspaces, field);
    else
        direct<float>(executor, settings, problem, with_potential, targets, workspaces, field);
}

void evaluate_reference(const backend::Executor& executor, const Settings& settings, const Problem& problem,
                        bool with_potential, RawField& field) {
    const auto lengths = problem.softening.empty() ? nullptr : problem.softening.data();
    const reference::Points sources{problem.n, problem.x.data(), problem.y.data(), problem.z.data(), lengths};
    const reference::Points targets{problem.target_count(), problem.target_x(), problem.target_y(),
                                    problem.target_z(), problem.target_length()};
    reference::direct_sum(sources, problem.charge.data(), targets, nullptr,
                          static_cast<reference::Softening>(settings.softening), settings.softening_length,
                          executor.threads,
                          {field.ax.data(), field.ay.data(), field.az.data(),
                           with_potential ? field.potential.data() : nullptr});
}

} // namespace graft::pipeline
