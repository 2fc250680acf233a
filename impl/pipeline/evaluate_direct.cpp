// All pairs, by kernels or by the reference.
#include "pipeline/evaluate_direct.hpp"

#include "kernels/gather.hpp"
#include "kernels/p2p.hpp"
#include "pipeline/workspace.hpp"
#include "reference/direct_sum.hpp"

#include <algorithm>

namespace graft::pipeline {

namespace {

constexpr int64_t target_block = 256;
constexpr int64_t source_block = 2048;

geometry::Box box_of(const Problem& problem, int64_t begin, int64_t end) {
    geometry::Box box;
    for (int64_t k = begin; k < end; ++k)
        box.include(problem.target_x()[k], problem.target_y()[k], problem.target_z()[k]);
    return box;
}

template <typename T>
void direct_block(const Settings& settings, const Problem& problem, int64_t begin, int64_t end, bool with_potential,
                  Workspace<T>& work, RawField& field) {
    const kernels::PairVariant variant = pair_variant(settings, problem, with_potential);
    const kernels::ParticleArrays sources{problem.x.data(), problem.y.data(), problem.z.data(), problem.charge.data(),
                                          problem.softening.empty() ? nullptr : problem.softening.data(), problem.n};
    const kernels::ParticleArrays targets{problem.target_x(),      problem.target_y(),    problem.target_z(), nullptr,
                                          problem.target_length(), problem.target_count()};
    const kernels::Frame frame = kernels::make_frame<T>(box_of(problem, begin, end), 0);
    work.targets.fill(targets, begin, end - begin, frame, variant);
    for (int64_t first = 0; first < problem.n; first += source_block) {
        work.sources.clear();
        work.sources.append(sources, first, std::min(source_block, problem.n - first), frame, variant);
        kernels::p2p(variant, settings.softening_length * frame.scale, work.sources.view(), work.targets.view(),
                     sum_chunk(settings), work.targets.sums());
    }
    work.store(frame, begin, end - begin, with_potential, field);
}

template <typename T>
void direct(const backend::Executor& executor, const Settings& settings, const Problem& problem, bool with_potential,
            AllWorkspaces& all, RawField& field) {
    Workspaces<T>& workspaces = all.of<T>();
    workspaces.prepare(executor.threads);
    executor.for_blocks(problem.target_count(), target_block, [&](int64_t begin, int64_t end, int thread) {
        direct_block(settings, problem, begin, end, with_potential, workspaces[thread], field);
    });
}

} // namespace

void evaluate_direct(const backend::Executor& executor, const Settings& settings, const Problem& problem,
                     bool with_potential, AllWorkspaces& workspaces, RawField& field) {
    if (settings.precision == Precision::fp64)
        direct<double>(executor, settings, problem, with_potential, workspaces, field);
    else
        direct<float>(executor, settings, problem, with_potential, workspaces, field);
}

void evaluate_reference(const backend::Executor& executor, const Settings& settings, const Problem& problem,
                        bool with_potential, RawField& field) {
    const auto lengths = problem.softening.empty() ? nullptr : problem.softening.data();
    const reference::Points sources{problem.n, problem.x.data(), problem.y.data(), problem.z.data(), lengths};
    const reference::Points targets{problem.target_count(), problem.target_x(), problem.target_y(), problem.target_z(),
                                    problem.target_length()};
    reference::direct_sum(sources, problem.charge.data(), targets, nullptr,
                          static_cast<reference::Softening>(settings.softening), settings.softening_length,
                          executor.threads,
                          {field.ax.data(), field.ay.data(), field.az.data(),
                           with_potential ? field.potential.data() : nullptr});
}

} // namespace graft::pipeline
