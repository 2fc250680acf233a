// SPDX-License-Identifier: BSD-3-Clause
// All pairs, by kernels or by the reference.
#include "engine/direct_force.hpp"

#include "forces/p2p/coarse_targets.hpp"
#include "forces/p2p/gather.hpp"
#include "forces/p2p/p2p.hpp"
#include "forces/workspace.hpp"
#include "periodic/periodic.hpp"
#include "reference/direct_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::engine {

namespace {

constexpr int target_block = 256;
constexpr int64_t source_block = 2048;

/// Distance of the nearest source at another place than targets in `box`, which are at one place; 0: there is
/// none, or the targets have an extent and need no other length for their frame.
double nearest_length(const Sources& sources, const geometry::Box& box) {
    if (box.longest_edge() > 0)
        return 0;
    double nearest = std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < sources.count; ++i) {
        const double distance =
            std::max({std::abs(sources.x[i] - box.lower[0]), std::abs(sources.y[i] - box.lower[1]),
                      std::abs(sources.z[i] - box.lower[2])});
        nearest = distance > 0 ? std::min(nearest, distance) : nearest;
    }
    return std::isfinite(nearest) ? nearest : 0;
}

geometry::Box box_of_sources(const Sources& sources) {
    geometry::Box box;
    for (int64_t i = 0; i < sources.count; ++i)
        box.include(sources.x[i], sources.y[i], sources.z[i]);
    return box;
}

/// The longest softening length of sources and targets.
double longest_softening(const settings::Settings& settings, const Sources& sources,
                         const lists::TargetSet& targets, const forces::PairVariant& variant) {
    if (variant.softening == forces::Softening::none)
        return 0;
    if (!variant.per_particle)
        return settings.softening_length;
    const auto longest = [](const double* lengths, int64_t count) {
        return lengths != nullptr && count > 0 ? *std::max_element(lengths, lengths + count) : 0.0;
    };
    return std::max(longest(sources.softening, sources.count), longest(targets.softening(), targets.count()));
}

/// What is the same for all blocks of targets.
struct Pass {
    const settings::Settings& settings;
    const Sources& sources;
    geometry::Box box; // of the sources
    double softening;  // the longest
    forces::PairVariant variant;
    const lists::TargetSet& set;
    bool add;
    particles::RawField& field;
    const particles::Problem& problem;
    core::Buffer<double>& image_virial; // periodic box: 6 a block
};

void add_virial(const Pass& pass, const lists::Group& block, const geometry::Vec3& shift, double factor,
                const forces::FieldSums& sums, double (&virial)[6]) {
    if (pass.problem.points)
        return;
    double force[3] = {};
    for (int64_t k = 0; k < block.count; ++k) {
        const int32_t target = pass.set.origin()[block.first + k];
        const double q =
            pass.problem.charge[pass.problem.all_targets ? target : pass.problem.target[target]] * factor;
        force[0] += q * sums.ax[k];
        force[1] += q * sums.ay[k];
        force[2] += q * sums.az[k];
    }
    periodic::add_image_virial(shift, force, virial);
}

geometry::Box moved(geometry::Box box, const geometry::Vec3& shift) {
    for (int a = 0; a < 3; ++a) {
        box.lower[a] += shift[a];
        box.upper[a] += shift[a];
    }
    return box;
}

/// The sources act on the block's targets, moved by `shift`.
template <typename T>
void direct_image(const Pass& pass, const lists::Group& block, const geometry::Vec3& shift, bool add,
                  double (*virial)[6], forces::Workspace<T>& work) {
    const lists::TargetSet& set = pass.set;
    const forces::ParticleArrays targets{set.x(), set.y(), set.z(), nullptr, set.softening(), set.count()};
    const geometry::Box box = moved(block.target.box, shift);
    const periodic::PeriodicSum* periodic = pass.problem.periodic;
    const double nearest = nearest_length(pass.sources, box), reach = pass.box.furthest(box.lower);
    const forces::Frame frame = periodic != nullptr
                                    ? periodic->frame<T>(box, nearest, reach)
                                    : forces::make_frame<T>(box, nearest, reach, pass.softening);
    forces::Frame place = frame;
    for (int a = 0; a < 3; ++a)
        place.centre[a] -= shift[a];
    const forces::Screening screening =
        periodic != nullptr ? periodic->screening(frame.scale) : forces::Screening();
    work.targets.fill(targets, block.first, block.count, place, pass.variant);
    for (int64_t first = 0; first < pass.sources.count; first += source_block) {
        work.sources.clear();
        work.sources.append(pass.sources, first, std::min(source_block, pass.sources.count - first), frame,
                            pass.variant);
        forces::p2p(pass.variant, pass.settings.softening_length * frame.scale, work.sources.view(),
                    work.targets.view(), forces::sum_chunk(pass.settings), work.targets.sums(), screening);
    }
    if (virial != nullptr)
        add_virial(pass, block, shift, frame.scale * frame.scale, work.targets.sums(), *virial);
    work.store(frame, block.count, pass.variant.potential, add, pass.field,
               [&](int64_t k) { return set.origin()[block.first + k]; });
}

/// Whether single precision does not serve the targets, moved by `shift`.
bool needs_double(const Pass& pass, const lists::Group& block, const geometry::Vec3& shift) {
    const periodic::PeriodicSum* periodic = pass.problem.periodic;
    const geometry::Box box = moved(block.target.box, shift);
    const double nearest = nearest_length(pass.sources, box), reach = pass.box.furthest(box.lower);
    const forces::Frame frame = periodic != nullptr ? periodic->frame<float>(box, nearest, reach)
                                                    : forces::make_frame<float>(box, nearest, reach);
    return (periodic == nullptr && forces::served_distance<float>(frame, pass.softening, pass.problem.lightest) == 0) ||
           forces::is_coarse(frame, pass.set, block, shift, pass.variant, pass.settings.softening_length,
                             pass.sources.count, [&](const forces::CloseTargets& targets) {
                                 return targets.has_close(pass.sources, 0, pass.sources.count);
                             });
}

/// direct_image() in T, or in double where the targets need it.
template <typename T>
void sum_image(const Pass& pass, const lists::Group& block, const geometry::Vec3& shift, bool add,
               double (*virial)[6], forces::Workspace<T>& work, forces::Workspace<double>& full) {
    if (sizeof(T) == sizeof(double) || needs_double(pass, block, shift))
        direct_image(pass, block, shift, add, virial, full);
    else
        direct_image(pass, block, shift, add, virial, work);
}

template <typename T>
void direct_block(const Pass& pass, int64_t g, forces::Workspace<T>& work, forces::Workspace<double>& full) {
    const lists::Group& block = pass.set.groups()[g];
    if (pass.problem.periodic == nullptr)
        return sum_image(pass, block, {}, pass.add, nullptr, work, full);
    pass.problem.periodic->images(block.target.box, pass.box, work.images);
    bool add = pass.add;
    double virial[6] = {};
    for (const geometry::Vec3& shift : work.images) {
        sum_image(pass, block, shift, add, &virial, work, full);
        add = true;
    }
    std::copy_n(virial, 6, pass.image_virial.data() + 6 * g);
    if (!add) // nothing is near
        for (int64_t k = block.first; k < block.first + block.count; ++k)
            for (core::Buffer<double>* values :
                 {&pass.field.ax, &pass.field.ay, &pass.field.az, &pass.field.potential})
                if (!values->empty())
                    (*values)[pass.set.origin()[k]] = 0;
}

template <typename T>
void direct(const backend::Executor& executor, const Pass& pass, forces::AllWorkspaces& workspaces) {
    workspaces.of<T>().prepare(executor.threads);
    workspaces.full.prepare(executor.threads);
    executor.for_blocks(pass.set.group_count(), 1, [&](int64_t begin, int64_t end, int thread) {
        for (int64_t g = begin; g < end; ++g)
            direct_block(pass, g, workspaces.of<T>()[thread], workspaces.full[thread]);
    });
}

void add_to(core::Buffer<double>& sum, const core::Buffer<double>& values) {
    for (int64_t k = 0; k < values.size(); ++k)
        sum[k] += values[k];
}

} // namespace

Sources own_sources(const particles::Problem& problem) {
    return {problem.x.data(),
            problem.y.data(),
            problem.z.data(),
            problem.charge.data(),
            problem.softening.empty() ? nullptr : problem.softening.data(),
            problem.n};
}

void set_direct_targets(const backend::Executor& executor, const settings::Settings& settings,
                        const particles::Problem& problem, lists::TargetSet& targets) {
    targets.set_points(executor, settings.dimension, problem.target_count(), problem.target_x(),
                       problem.target_y(), problem.target_z(), problem.target_length(), target_block);
}

void evaluate_direct(const backend::Executor& executor, const settings::Settings& settings,
                     const particles::Problem& problem, const Sources& sources, bool with_potential, bool add,
                     const lists::TargetSet& targets, forces::AllWorkspaces& workspaces,
                     particles::RawField& field) {
    core::Buffer<double>& image_virial = workspaces.image_virial;
    image_virial.resize(problem.periodic != nullptr ? 6 * targets.group_count() : 0);
    std::fill(image_virial.begin(), image_virial.end(), 0.0);
    const forces::PairVariant variant = forces::pair_variant(settings, problem, with_potential);
    const Pass pass{settings,
                    sources,
                    box_of_sources(sources),
                    longest_softening(settings, sources, targets, variant),
                    variant,
                    targets,
                    add,
                    field,
                    problem,
                    image_virial};
    if (settings.precision == settings::Precision::fp64)
        direct<double>(executor, pass, workspaces);
    else
        direct<float>(executor, pass, workspaces);
    if (!add)
        std::fill(std::begin(field.image_virial), std::end(field.image_virial), 0.0);
    for (int64_t k = 0; k < image_virial.size(); ++k)
        field.image_virial[k % 6] += image_virial[k];
}

void evaluate_reference(const backend::Executor& executor, const settings::Settings& settings,
                        const particles::Problem& problem, const Sources& sources, bool with_potential,
                        bool add, particles::RawField& scratch, particles::RawField& field) {
    const reference::Points from{sources.count, sources.x, sources.y, sources.z, sources.softening};
    const reference::Points targets{problem.target_count(), problem.target_x(), problem.target_y(),
                                    problem.target_z(), problem.target_length()};
    scratch.resize(add ? targets.count : 0, with_potential);
    particles::RawField& to = add ? scratch : field;
    reference::direct_sum(
        from, sources.charge, targets, nullptr, static_cast<reference::Softening>(settings.softening),
        settings.softening_length, executor.threads,
        {to.ax.data(), to.ay.data(), to.az.data(), with_potential ? to.potential.data() : nullptr});
    if (!add)
        return;
    add_to(field.ax, to.ax);
    add_to(field.ay, to.ay);
    add_to(field.az, to.az);
    add_to(field.potential, to.potential);
}

} // namespace graft::engine
