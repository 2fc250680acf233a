// SPDX-License-Identifier: BSD-3-Clause
// Tree method, last part: lists and sums, group by group.
#include "forces/m2p/cell_rows.hpp"
#include "forces/p2p/gather.hpp"
#include "forces/m2p/m2p.hpp"
#include "forces/p2p/p2p.hpp"
#include "lists/far_cells.hpp"
#include "forces/p2p/coarse_targets.hpp"
#include "forces/m2l/m2l_choice.hpp"
#include "periodic/periodic.hpp"
#include "engine/tree_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::engine {

namespace {

/// `frame` for targets that stand where they are before they are moved.
forces::Frame unmoved(forces::Frame frame, const geometry::Vec3& shift) {
    for (int a = 0; a < 3; ++a)
        frame.centre[a] -= shift[a];
    return frame;
}

/// Sources gathered before the kernel runs: they stay in the first-level cache.
constexpr int64_t source_batch = 2048;

} // namespace

/// P2P with the particles of the leaves [entry_begin ... entry_end), in batches that stay in cache.
template <typename T>
void TreeForce::State::gather(const int32_t* entry_begin, const int32_t* entry_end, const forces::Frame& frame,
                              const forces::PairVariant& variant, double length, int64_t chunk,
                              const forces::Screening& screening, forces::Workspace<T>& work, int64_t& sources) {
    work.sources.clear();
    for (const int32_t* e = entry_begin; e < entry_end; ++e) {
        const essential::Forest::Source source = forest.source_of(*e);
        work.sources.append(source.from, source.first, source.count, frame, variant);
        if (work.sources.particle_count() < source_batch && e + 1 < entry_end)
            continue;
        sources += work.sources.particle_count();
        forces::p2p(variant, length, work.sources.view(), work.targets.view(), chunk, work.targets.sums(),
                     screening);
        work.sources.clear();
    }
}

/// How near or large the nearest sources of targets at one place are: the length of their frame; that of the frame
/// from above where all that acts is far. 0 where every source is at that place, and for groups with an extent,
/// which need no other length.
double TreeForce::State::nearest_length(const lists::Group& group, const CellField& above,
                                        const WalkThread& lists) const {
    const geometry::Box& box = group.target.box;
    if (box.longest_edge() > 0)
        return 0;
    double nearest = std::numeric_limits<double>::infinity();
    const auto look_at = [&](int32_t node) {
        const double length = forest.tree.boxes[node].furthest(box.lower);
        nearest = length > 0 ? std::min(nearest, length) : nearest;
    };
    std::for_each(lists.leaves.begin(), lists.leaves.end(), look_at);
    std::for_each(lists.near.begin(), lists.near.end(), look_at);
    return std::isfinite(nearest) ? nearest : above.empty ? 0 : 1 / above.frame.scale;
}

forces::ParticleArrays TreeForce::State::target_arrays() const {
    return {targets.x(), targets.y(), targets.z(), nullptr, targets.softening(), targets.count()};
}

/// What the virial needs of an image: the force on all targets of the group.
void TreeForce::State::add_image_force(const Job& job, const GroupImage& of, const forces::Frame& frame,
                                       const forces::FieldSums& sums) {
    if (image_force.empty() || job.problem.points)
        return;
    const lists::Group& group = of.group;
    const double square = frame.scale * frame.scale;
    double* const to = image_force.data() + 3 * of.index;
    for (int64_t k = 0; k < group.count; ++k) {
        const double q = job.problem.charge[targets.origin()[group.first + k]] * square;
        to[0] += q * sums.ax[k];
        to[1] += q * sums.ay[k];
        to[2] += q * sums.az[k];
    }
}

/// Puts the cells that must be summed target by target first; returns their end.
int32_t* TreeForce::State::near_end(const Job& job, const lists::Group& group,
                                    const forces::CellVariant& variant, int32_t* begin, int32_t* end) const {
    if (forces::why_not_local(job.settings, variant.per_particle, forces::M2lDevice::cpu) != nullptr ||
        group.count < lists::least_far_targets)
        return end;
    const lists::FarLimit limit =
        lists::far_limit(group.target, variant.order, forces::local_order(variant.order));
    const moments::Moments& m = forest.moments;
    return lists::put_far_last(begin, end, [&](int32_t k) {
        return lists::is_far(limit, m.magnitude[k], m.cx[k], m.cy[k], m.cz[k]);
    });
}

/// Adds far cells to the polynomial of targets that stand moved by `shift` where these meet them.
template <typename T>
void TreeForce::State::add_far_cells(const int32_t* nodes, int64_t count, const forces::CellVariant& variant,
                                     double length, const geometry::Vec3& shift, CellField& field,
                                     forces::Workspace<T>& work) {
    const forces::Frame frame = unmoved(field.frame, {-shift.x, -shift.y, -shift.z});
    for (int64_t e = 0; e < count; e += forces::M2lSources<T>::capacity) {
        work.far.fill(forest.moments, forest.expansion<T>().data(), nodes + e,
                      std::min(forces::M2lSources<T>::capacity, count - e), frame, variant);
        forces::m2l(variant, length, work.far, field.local);
        field.empty = false;
    }
}

forces::CellVariant TreeForce::State::cell_variant(const Job& job) const {
    const forces::PairVariant pair = forces::pair_variant(job.settings, job.problem, job.with_potential);
    const bool plummer = pair.softening == forces::Softening::plummer;
    return {job.settings.order, plummer, plummer && pair.per_particle, pair.potential,
            job.problem.periodic != nullptr && job.problem.periodic->screened()};
}

/// The polynomial from above and of the far cells, at a group's targets.
template <typename T>
void TreeForce::State::sum_far(const lists::Group& group, const CellField& above, const int32_t* far, int64_t count,
                               const forces::Frame& frame, const forces::CellVariant& variant, double length,
                               forces::Workspace<T>& work) {
    if (count == 0 && above.empty)
        return;
    CellField field;
    field.inherit(above, variant.order, group.target.box, frame);
    add_far_cells(far, count, variant, length, geometry::Vec3{}, field, work);
    forces::l2p(variant, field.local, work.targets.view(), work.targets.sums());
}

/// The near cells [begin, end) of a group's list, which it reorders where groups have no cells above them: some
/// are then far. near_count: those that met targets one by one.
template <typename T>
void TreeForce::State::sum_cells(const Job& job, const lists::Group& group, const CellField& above, int32_t* begin,
                                 int32_t* end, const core::Buffer<int32_t>& far,
                                 const forces::Frame& frame, double length, forces::Workspace<T>& work,
                                 int64_t& near_count) {
    const periodic::PeriodicSum* const periodic = job.problem.periodic;
    const forces::CellVariant variant = cell_variant(job);
    int32_t* far_begin = end;
    if (has_hierarchy(job)) {
        sum_far(group, above, far.data(), far.size(), frame, variant, length, work);
    } else {
        far_begin = near_end(job, group, variant, begin, end);
        sum_far(group, above, far_begin, end - far_begin, frame, variant, length, work);
    }
    near_count = far_begin - begin;
    for (int64_t e = 0; e < near_count; e += forces::CellBuffer<T>::capacity) {
        work.cells.fill(forest.moments, forest.expansion<T>().data(), begin + e,
                        std::min(forces::CellBuffer<T>::capacity, near_count - e), frame, variant);
        if (variant.screened)
            forces::m2p_screened(variant, length, periodic->alpha() / frame.scale, work.cells.view(),
                                  work.targets.view(), 0, work.targets.sums());
        else
            forces::m2p(variant, length, work.cells.view(), work.targets.view(), 0, work.targets.sums());
    }
}

/// The longest softening length that acts on a group.
double TreeForce::State::longest_softening(const Job& job, const lists::Group& group,
                                           const forces::PairVariant& variant) const {
    if (variant.softening == forces::Softening::none)
        return 0;
    return variant.per_particle
               ? std::max(forest.moments.softening[forest.criterion.root], group.target.softening)
               : job.settings.softening_length;
}

/// Whether a particle of the leaves [begin, end) of the lists is too close to one of the targets.
bool TreeForce::State::has_close(const forces::CloseTargets& close, const int32_t* begin, const int32_t* end) const {
    return std::any_of(begin, end, [&](int32_t leaf) {
        if (!close.may_reach(forest.tree.boxes[leaf]))
            return false;
        const essential::Forest::Source source = forest.source_of(leaf);
        return close.has_close(source.from, source.first, source.count);
    });
}

/// The pairs of a group that a frame in single precision does not serve, to the field: set, or added.
/// Returns the number of sources.
int64_t TreeForce::State::pairs_in_double(const Job& job, const GroupImage& of, const int32_t* entry_begin,
                                          const int32_t* entry_end, const forces::Frame& frame,
                                          const forces::PairVariant& variant, bool add,
                                          forces::Workspace<double>& work) {
    const lists::Group& group = of.group;
    const periodic::PeriodicSum* const periodic = job.problem.periodic;
    work.targets.fill(target_arrays(), group.first, group.count, unmoved(frame, of.shift), variant);
    int64_t sources = 0;
    gather(entry_begin, entry_end, frame, variant, job.settings.softening_length * frame.scale,
           forces::sum_chunk(job.settings), periodic != nullptr ? periodic->screening(frame.scale) : forces::Screening(),
           work, sources);
    add_image_force(job, of, frame, work.targets.sums());
    work.store(frame, group.count, variant.potential, add, job.field,
               [&](int64_t k) { return group.first + k; });
    return sources;
}

/// Adds what acts on a group from distances that T does not serve in the group's frame: leaves from
/// `leaf_begin` on, cells from `node_begin` on, in double and in a frame that reaches all of them. Returns
/// the number of sources in the leaves.
template <typename T>
int64_t TreeForce::State::sum_beyond(const Job& job, const GroupImage& of, const int32_t* leaf_begin, const int32_t* leaf_end,
                                     const int32_t* node_begin, const int32_t* node_end, const forces::Frame& frame,
                                     const forces::PairVariant& variant, forces::Workspace<double>& work) {
    const lists::Group& group = of.group;
    const double length = job.settings.softening_length * frame.scale;
    work.targets.fill(target_arrays(), group.first, group.count, unmoved(frame, of.shift), variant);
    int64_t sources = 0;
    gather(leaf_begin, leaf_end, frame, variant, length, forces::sum_chunk(job.settings), forces::Screening(), work,
           sources);
    const forces::CellVariant cells = cell_variant(job);
    for (const int32_t* e = node_begin; e < node_end; e += forces::CellBuffer<double>::capacity) {
        work.cells.fill(forest.moments, forest.expansion<T>().data(), e,
                        std::min<int64_t>(forces::CellBuffer<double>::capacity, node_end - e), frame, cells);
        forces::m2p(cells, length, work.cells.view(), work.targets.view(), 0, work.targets.sums());
    }
    add_image_force(job, of, frame, work.targets.sums());
    work.store(frame, group.count, variant.potential, true, job.field,
               [&](int64_t k) { return group.first + k; });
    return sources;
}

/// Whether the centre of a cell is closer to the box of a group than `least` along every axis: small cells beside a
/// group that is wide.
bool TreeForce::State::is_nearer(int32_t node, const geometry::Box& box, double least) const {
    const double at[3] = {forest.moments.cx[node], forest.moments.cy[node], forest.moments.cz[node]};
    bool nearer = true;
    for (int a = 0; a < 3; ++a)
        nearer &= at[a] - box.upper[a] < least && box.lower[a] - at[a] < least;
    return nearer;
}

/// The sums of a group, from its lists. `full` serves groups that T's frames are too coarse for, and what is beyond their range.
template <typename T>
void TreeForce::State::evaluate_group(const Job& job, const GroupImage& of, const CellField& above, bool remote,
                                      int thread) {
    const forces::PairVariant variant = forces::pair_variant(job.settings, job.problem, job.with_potential);
    WalkThread& lists = walk.threads[static_cast<size_t>(thread)];
    forces::Workspace<T>& work = job.workspaces.of<T>()[thread];
    forces::Workspace<double>& full = job.workspaces.full[thread];
    const settings::Settings& settings = job.settings;
    const lists::Group& group = of.group;
    if (remote && !has_hierarchy(job)) // branches that were accepted as a whole have been summed in the first pass
        lists.near.resize_keep(std::remove_if(lists.near.begin(), lists.near.end(),
                                              [&](int32_t node) { return node < forest.top_end; }) -
                               lists.near.begin());
    int32_t *const leaf_begin = lists.leaves.begin(), *const leaf_end = lists.leaves.end();
    int32_t *const node_begin = lists.near.begin(), *const node_end = lists.near.end();
    const double reach = forest.tree.boxes[forest.criterion.root].furthest(group.target.box.lower);
    const double nearest = nearest_length(group, above, lists);
    const double softening = longest_softening(job, group, variant);
    const periodic::PeriodicSum* const periodic = job.problem.periodic;
    const bool screened = periodic != nullptr && periodic->screened();
    const forces::Frame frame =
        screened ? periodic->frame<T>(group.target.box, nearest, reach)
                 : forces::make_frame<T>(group.target.box, nearest, 0, sizeof(T) == 8 ? softening : 0);
    int32_t *leaf_mid = leaf_end, *node_mid = node_end; // where those begin that T does not serve
    const double served = screened ? std::numeric_limits<double>::infinity()
                                   : forces::served_distance<T>(frame, softening, job.problem.lightest);
    const auto beyond = [&](int32_t node) {
        return forest.tree.boxes[node].furthest(group.target.box.lower) >= served;
    };
    const bool any_beyond = reach >= served;
    const double least = sizeof(T) == 4 && !screened ? forces::frame_resolution / frame.scale : 0;
    if (any_beyond)
        leaf_mid = lists::put_far_last(leaf_begin, leaf_end, beyond);
    if (any_beyond || least > 0)
        node_mid = lists::put_far_last(node_begin, node_end, [&](int32_t node) {
            return is_nearer(node, group.target.box, least) || (any_beyond && beyond(node));
        });
    const double length = settings.softening_length * frame.scale;
    const forces::Screening screening =
        periodic != nullptr ? periodic->screening(frame.scale) : forces::Screening();
    work.targets.fill(target_arrays(), group.first, group.count, unmoved(frame, of.shift), variant);
    int64_t sources = 0;
    bool add = of.adds;
    if (sizeof(T) == sizeof(float) &&
        forces::is_coarse(
            frame, targets, group, of.shift, variant, settings.softening_length, job.problem.n,
            [&](const forces::CloseTargets& close) { return has_close(close, leaf_begin, leaf_mid); })) {
        const forces::Frame wide = screened ? periodic->frame<double>(group.target.box, nearest, reach)
                                            : forces::make_frame<double>(group.target.box, nearest, 0, softening);
        sources = pairs_in_double(job, of, leaf_begin, leaf_mid, wide, variant, add, full);
        add = true;
    } else {
        gather(leaf_begin, leaf_mid, frame, variant, length, forces::sum_chunk(settings), screening, work, sources);
    }
    int64_t near_count = 0;
    sum_cells(job, group, above, node_begin, node_mid, lists.far, frame, length, work, near_count);
    add_image_force(job, of, frame, work.targets.sums());
    work.store(frame, group.count, variant.potential, add, job.field,
               [&](int64_t k) { return group.first + k; });
    const int64_t far_count = node_mid - node_begin - near_count + lists.far.size();
    if (leaf_mid != leaf_end || node_mid != node_end)
        sources += sum_beyond<T>(job, of, leaf_mid, leaf_end, node_mid, node_end,
                                 forces::make_frame<double>(group.target.box, nearest, reach, softening),
                                 variant, full);
    const int64_t cells = (node_end - node_begin + lists.far.size() - far_count) * group.count;
    pair_counts[of.index] = (of.counts_on ? pair_counts[of.index] : 0) + sources * group.count;
    cell_counts[of.index] = (of.counts_on ? cell_counts[of.index] : 0) + cells;
    walk.far[of.cell] += far_count;
}

template void TreeForce::State::evaluate_group<float>(const Job&, const GroupImage&, const CellField&, bool, int);
template void TreeForce::State::evaluate_group<double>(const Job&, const GroupImage&, const CellField&, bool, int);
template void TreeForce::State::add_far_cells<float>(const int32_t*, int64_t, const forces::CellVariant&, double,
                                                     const geometry::Vec3&, CellField&, forces::Workspace<float>&);
template void TreeForce::State::add_far_cells<double>(const int32_t*, int64_t, const forces::CellVariant&, double,
                                                      const geometry::Vec3&, CellField&, forces::Workspace<double>&);

void TreeForce::State::evaluate(const Job& job, int64_t begin, int64_t end, bool remote) {
    job.settings.precision == settings::Precision::fp64 ? evaluate_cells<double>(job, begin, end, remote)
                                              : evaluate_cells<float>(job, begin, end, remote);
}

} // namespace graft::engine
