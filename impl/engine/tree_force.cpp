// SPDX-License-Identifier: BSD-3-Clause
// The tree method on the CPU; see docs/map.md for the way of the data.
#include "engine/tree_force.hpp"

#include "lists/error_reach.hpp"
#include "lists/field_estimate.hpp"
#include "lists/target_cells.hpp"
#include "forces/m2l/m2l_choice.hpp"
#include "periodic/periodic.hpp"
#include "engine/tree_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::engine {

namespace {

/// What neighbours at random places add to the field of a group's targets, in typical fields (Chandrasekhar 1943, Rev. Mod.
/// Phys. 15, 1: the median is 4.5): one target in a hundred feels a tenth of it. Where the field of the whole is no larger
/// the typical one is what errors are measured by.
constexpr double neighbours = 5;

double problem_cutoff(const particles::Problem& problem) {
    return problem.periodic != nullptr ? problem.periodic->cutoff() : std::numeric_limits<double>::infinity();
}

} // namespace

TreeForce::TreeForce(core::Memory& memory) : state_(std::make_unique<State>(memory)) {}
TreeForce::~TreeForce() = default;

void TreeForce::State::build_tree(const Job& job) {
    const settings::Settings& settings = job.settings;
    const particles::Problem& problem = job.problem;
    tree::TreeOptions options;
    options.type = settings.tree_type;
    options.dimension = settings.dimension;
    options.leaf = settings.leaf;
    options.two_phase = settings.device.build == settings::build_two_phase;
    options.top_depth = settings.device.top_depth;
    if (problem.range.has_root) {
        options.has_root = true;
        options.has_range = problem.range.has_range;
        std::copy_n(problem.range.root_lower, 3, options.root_lower);
        options.root_edge = problem.range.root_edge;
        options.key_begin = problem.range.begin;
        options.key_end = problem.range.end;
        if (problem.range.counted) {
            options.cut_by_begin = problem.range.cut_by_begin.data();
            options.cut_by_end = problem.range.cut_by_end.data();
        }
    } else if (settings.has_box && !settings.periodic && settings.tree_type == tree::TreeType::octree) {
        options.has_root = true;
        for (int a = 0; a < settings.dimension; ++a) {
            options.root_lower[a] = settings.box_lower[a];
            options.root_edge = std::max(options.root_edge, settings.box_upper[a] - settings.box_lower[a]);
        }
    }
    tree::BuildTimes times;
    builder.build(job.executor, options, problem.n, problem.x.data(), problem.y.data(), problem.z.data(),
                  problem.charge.data(), problem.softening.empty() ? nullptr : problem.softening.data(),
                  forest.tree, times);
    job.report.time_s.sort = times.sort_s;
    job.report.time_s.tree = times.tree_s;
    forest.find_heaps(settings.leaf);
}

void TreeForce::State::choose_targets(const Job& job) {
    const settings::Settings& settings = job.settings;
    const particles::Problem& problem = job.problem;
    if (problem.points)
        targets.set_points(job.executor, settings.dimension, problem.target_count(), problem.target_x(),
                           problem.target_y(), problem.target_z(), problem.target_length(), settings.group);
    else if (problem.all_targets)
        targets.set_all(job.executor, forest.tree, settings.group);
    else
        targets.set_particles(job.executor, forest.tree, problem.target_count(), problem.target.data(),
                              settings.group);
}

/// Periodic box: the images that the walk begins with; or each group of targets as often as it meets an image of the
/// sources, moved, those of one group together.
void TreeForce::State::choose_images(const Job& job) {
    shifts.resize(0);
    image_force.resize(0);
    walk.images.resize(1);
    walk.images[0] = {0, 0, 0};
    walk.furthest_image = 0;
    if (job.problem.periodic == nullptr)
        return;
    const core::Buffer<lists::Group>& groups = targets.groups();
    std::vector<geometry::Vec3> images;
    if (has_hierarchy(job)) {
        job.problem.periodic->images({}, images);
        walk.images.resize(static_cast<int64_t>(images.size()));
        std::copy(images.begin(), images.end(), walk.images.begin());
        for (const geometry::Vec3& shift : images)
            walk.furthest_image = std::max(walk.furthest_image, std::hypot(shift.x, shift.y, shift.z));
        return;
    }
    moved.resize(0);
    for (int64_t g = 0; g < groups.size(); ++g) {
        job.problem.periodic->images(groups[g].target.box, images);
        if (images.empty()) // no source is near: the field of its pairs is nothing, and somebody must say so
            images.push_back({0, 0, 0});
        for (const geometry::Vec3& shift : images) {
            lists::Group group = groups[g];
            for (int a = 0; a < 3; ++a) {
                group.target.box.lower[a] += shift[a];
                group.target.box.upper[a] += shift[a];
            }
            moved.push_back(group);
            shifts.push_back(shift);
        }
    }
    targets.groups().resize(moved.size());
    std::copy(moved.begin(), moved.end(), targets.groups().begin());
    image_force.resize(3 * moved.size());
    std::fill(image_force.begin(), image_force.end(), 0.0);
}

/// The groups wherever sources meet them.
const core::Buffer<lists::Group>& TreeForce::State::groups_met() {
    if (walk.images.size() == 1)
        return targets.groups();
    moved.resize(0);
    for (const geometry::Vec3& shift : walk.images)
        for (const lists::Group& group : targets.groups())
            moved.push_back({group.first, group.count, lists::moved(group.target, shift)});
    return moved;
}

/// Whether the size of the field is estimated from the tree: in a periodic box it is where images of the sources act
/// as they are, and not with charges that cancel.
bool TreeForce::State::estimates(const Job& job) const {
    return job.problem.periodic == nullptr || (has_hierarchy(job) && job.problem.periodic->one_sign());
}

/// All that needs no other rank.
void TreeForce::State::build_own(const Job& job) {
    Report& report = job.report;
    report.bytes.lists = 0;
    build_tree(job);
    core::Timer timer;
    moments::compute_moments(job.executor, forest.tree, job.settings.order, forest.moments);
    report.time_s.moments = timer.lap();
    choose_targets(job);
    choose_images(job);
    if (!has_hierarchy(job))
        lists::cells_of_groups(targets.groups(), targets.cells());
    walk.far.resize(targets.cells().size());
    std::fill(walk.far.begin(), walk.far.end(), 0);
    forest.fill_own_criterion(job.executor, job.settings);
    forest.criterion.cutoff = problem_cutoff(job.problem);
    report.time_s.lists = timer.lap();
    forest.fill_expansions(job.executor, job.settings, has_traces(job), 0);
    forest.own_end = forest.top_end = forest.tree.node_count();
    pair_counts.resize(targets.group_count());
    cell_counts.resize(targets.group_count());
    report.time_s.moments += timer.lap();
}

/// Whether expansions need the traces of the moments.
bool TreeForce::State::has_traces(const Job& job) const {
    return (job.problem.periodic != nullptr && job.problem.periodic->screened()) ||
           forces::pair_variant(job.settings, job.problem, false).softening == forces::Softening::plummer;
}

bool TreeForce::State::has_last(const Job& job) const {
    return job.settings.mac_history && !job.problem.points && job.problem.last.size() == job.problem.n;
}

/// f_g of the error MAC: a node's error S / d^(p+3) may be accuracy * (size of the group's acceleration).
void TreeForce::State::scale_groups(const Job& job, bool use_last) {
    const lists::OwnParticles own{targets.tree_place(), forest.own_end, forest.alias};
    const lists::EstimateInput input{forest.tree, forest.moments, forest.criterion.root, targets.groups(),
                                     {job.settings, job.problem.per_particle_softening}, job.problem.points ? nullptr : &own};
    if (!use_last && job.problem.periodic != nullptr) {
        const periodic::PeriodicSum& periodic = *job.problem.periodic;
        const core::Buffer<lists::Group>& groups = targets.groups();
        acceleration.resize(groups.size());
        std::fill(acceleration.begin(), acceleration.end(), 0.0);
        if (estimates(job)) {
            lists::EstimateInput with_images = input;
            with_images.images = &walk.images;
            with_images.beyond = [&](const geometry::Vec3& at) { return periodic.distant_field(at); };
            lists::estimate_accelerations(job.executor, with_images, acceleration);
        }
        job.executor.for_each(groups.size(), [&](int64_t g) {
            const lists::Group& group = groups[g];
            double square_sum = 0, total = 0, heaviest = 0;
            for (int64_t k = group.first; k < group.first + group.count && !job.problem.points; ++k) {
                const double q = std::abs(job.problem.charge[targets.origin()[k]]);
                square_sum += q * q;
                total += q;
                heaviest = std::max(heaviest, q);
            }
            const bool one = lists::dominates(heaviest, total); // does not feel what it makes
            const double typical = periodic.typical_field(job.problem.points ? 0 : group.count - (one ? 1 : 0),
                                                          square_sum - (one ? heaviest * heaviest : 0),
                                                          group.target.box.longest_edge());
            acceleration[g] = std::max(acceleration[g] - neighbours * typical, typical);
        });
    } else if (!use_last)
        lists::estimate_accelerations(job.executor, input, acceleration);
    else
        acceleration.resize(targets.group_count());
    const core::Buffer<double>& last = job.problem.last;
    job.executor.for_each(
        targets.group_count(),
        [&](int64_t g) {
            lists::Group& group = targets.groups()[g];
            double size = use_last ? last[targets.origin()[group.first]] : acceleration[g];
            for (int64_t k = group.first; use_last && k < group.first + group.count; ++k)
                size = std::min(size, last[targets.origin()[k]]);
            group.target.factor = lists::error_factor(job.settings.order, job.settings.accuracy, size);
        },
        256);
}

/// Half the sum over images of shift (x) force on the targets.
void TreeForce::State::sum_images(const Job& job) const {
    double(&sum)[6] = job.field.image_virial;
    std::fill(std::begin(sum), std::end(sum), 0.0);
    for (int64_t g = 0; g < shifts.size(); ++g) {
        const geometry::Vec3& s = shifts[g];
        const double* f = image_force.data() + 3 * g;
        periodic::add_image_virial(s, f, sum);
    }
}

void TreeForce::State::count(Report& report) const {
    report.has_tree = true;
    report.nodes = forest.own_end;
    report.leaves = 0;
    for (int32_t k = 0; k < forest.own_end; ++k)
        report.leaves += forest.tree.is_leaf(k) ? 1 : 0;
    report.groups = targets.group_count();
    report.levels = forest.tree.levels();
    for (int64_t g = 0; g < report.groups; ++g) {
        report.pairs += static_cast<double>(pair_counts[g]);
        report.cells += static_cast<double>(cell_counts[g]);
    }
    for (const int64_t count : walk.far)
        report.far_cells += static_cast<double>(count);
}

void TreeForce::State::tell(const Job& job) const {
    Report& report = job.report;
    count(report);
    report.local = forces::local_words(
        forces::why_not_local(job.settings, cell_variant(job).per_particle, forces::M2lDevice::cpu));
    if (job.log.wants(core::LogLevel::info))
        job.log.write(
            core::LogLevel::info,
            core::format("tree: %lld particles, %lld nodes, %lld groups; %.3g pairs and %.3g cells evaluated",
                         static_cast<long long>(job.problem.n), static_cast<long long>(report.nodes),
                         static_cast<long long>(report.groups), report.pairs, report.cells));
}

void TreeForce::find_small(const backend::Executor& executor, const settings::Settings& settings, double share,
                           const particles::RawField& field, char* small) const {
    const core::Buffer<lists::Group>& groups = state_->targets.groups();
    executor.for_each(
        groups.size(),
        [&](int64_t g) {
            const double least = share * lists::size_of_factor(settings.order, settings.accuracy, groups[g].target.factor);
            for (int64_t k = groups[g].first; k < groups[g].first + groups[g].count; ++k)
                small[k] = std::hypot(field.ax[k], field.ay[k], field.az[k]) < least;
        },
        64);
}

const int32_t* TreeForce::items() const {
    return state_->targets.origin();
}

void TreeForce::evaluate(const backend::Executor& executor, comm::Communicator& comm,
                         const settings::Settings& settings, const particles::Problem& problem, bool with_potential,
                         forces::AllWorkspaces& workspaces, particles::RawField& field, Report& report,
                         const core::Log& log) {
    State& s = *state_;
    const State::Job job{executor, settings, problem, with_potential, workspaces, field, report, comm, log};
    comm.together([&] { s.build_own(job); });
    if (comm.alone()) {
        if (settings.mac == settings::MacType::error) {
            core::Timer timer;
            s.scale_groups(job, s.has_last(job) && problem.n > 0);
            report.time_s.lists += timer.lap();
        }
        s.evaluate(job, 0, s.targets.group_count(), false);
    } else {
        s.evaluate_over_ranks(job);
        comm.together([&] { s.evaluate(job, 0, s.targets.group_count(), true); });
    }
    s.sum_images(job);
    s.tell(job);
}

} // namespace graft::engine
