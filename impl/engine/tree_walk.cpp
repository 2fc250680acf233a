// SPDX-License-Identifier: BSD-3-Clause
// Tree method: the walk over the cells of targets, from the largest down to the groups, where the sums are made.
//
// Small sister cells together are a task for one thread; what cells above tasks hand down is found level by level.
// Tasks and lists depend on the tree alone, so that any number of threads gives the same bits.
#include "core/timer.hpp"
#include "engine/tree_state.hpp"
#include "forces/m2l/l2l.hpp"
#include "forces/m2l/m2l_choice.hpp"
#include "lists/far_cells.hpp"
#include "lists/target_cells.hpp"
#include "periodic/periodic.hpp"

#include <algorithm>

namespace graft::engine {

namespace {

/// Targets and groups of a task, about. transposed: groups that one pass over the sources serves.
constexpr int64_t task_targets = 4096, task_groups = 8, transposed_groups = 32;

int64_t bytes_of(const Inherited& some) {
    return some.left.capacity() * static_cast<int64_t>(sizeof(lists::Undecided)) + static_cast<int64_t>(sizeof some);
}

} // namespace

void CellField::inherit(const CellField& above, int order, const geometry::Box& box, const forces::Frame& own) {
    frame = own;
    for (int a = 0; a < 3; ++a)
        local.centre[a] = (box.centre(a) - frame.centre[a]) * frame.scale;
    empty = above.empty;
    if (empty)
        local.value = {};
    else
        forces::l2l(order, above.local, above.frame, frame, local);
}

int64_t WalkThread::bytes() const {
    int64_t sum = 4 * (far.capacity() + near.capacity() + leaves.capacity());
    for (const Inherited& level : levels)
        sum += bytes_of(level);
    return sum;
}

Inherited& TargetWalk::next_upper() {
    if (upper.size() == static_cast<size_t>(upper_count))
        upper.emplace_back(memory);
    Inherited& fresh = upper[static_cast<size_t>(upper_count++)];
    fresh.left.clear();
    fresh.field.empty = true;
    return fresh;
}

int64_t TargetWalk::bytes() const {
    int64_t sum = 0;
    for (const WalkThread& thread : threads)
        sum += thread.bytes();
    for (const Inherited& some : upper)
        sum += bytes_of(some);
    return sum;
}

/// Whether cells above the groups have polynomials, which the groups inherit. Groups alone have them where a tree is
/// to give the bits that it gives over ranks, in a periodic box whose pairs end or whose virial is wanted (which needs the
/// force from each image), and where groups are summed while others are not known.
bool TreeForce::State::has_hierarchy(const Job& job) const {
    const bool moves = job.problem.periodic == nullptr ||
                       (!job.problem.periodic->screened() && !job.problem.with_virial);
    return (job.comm.alone() || job.settings.exchange == settings::Exchange::push) && moves &&
           forces::inherits(job.settings) &&
           forces::why_not_local(job.settings, cell_variant(job).per_particle, forces::M2lDevice::cpu) ==
               nullptr;
}

/// The cells [begin, end), sisters: small ones together to a task each, large ones to the next level's.
void TreeForce::State::share_out(const Job& job, int32_t begin, int32_t end, int32_t above) {
    const core::Buffer<lists::TargetCell>& cells = targets.cells();
    const int64_t most_groups = job.settings.walk == settings::Walk::transposed ? transposed_groups : task_groups;
    CellTask task{begin, begin, above};
    int64_t count = 0, groups = 0;
    const auto close = [&](int32_t next) {
        if (task.end > task.begin)
            walk.tasks.push_back(task);
        task.begin = task.end = next;
        count = groups = 0;
    };
    for (int32_t i = begin; i < end; i = cells[i].next) {
        const lists::TargetCell& cell = cells[i];
        const bool large = cell.group < 0 && cell.count > task_targets;
        const bool image = cell.group >= 0 && !leads(cell.group); // stays with the first of them
        if (large || (!image && (count + cell.count > task_targets || groups >= most_groups)))
            close(i);
        if (large) {
            walk.next.push_back({i, above});
            close(cell.next);
            continue;
        }
        task.end = cell.next;
        count += cell.count;
        groups += cell.group >= 0 ? 1 : 0;
    }
    close(end);
}

/// Level by level what the cells above tasks hand down, and the tasks below them.
template <typename T>
void TreeForce::State::walk_upper(const Job& job) {
    const core::Buffer<lists::TargetCell>& cells = targets.cells();
    while (!walk.next.empty()) {
        walk.frontier.swap(walk.next);
        walk.next.clear();
        const auto count = static_cast<int32_t>(walk.frontier.size()), first = walk.upper_count;
        for (int32_t k = 0; k < count; ++k)
            walk.next_upper();
        job.executor.for_blocks(count, 1, [&](int64_t k, int64_t, int thread) {
            const UpperCell own = walk.frontier[static_cast<size_t>(k)];
            inherit<T>(job, own.cell, walk.upper[static_cast<size_t>(own.above)],
                       walk.upper[static_cast<size_t>(first + k)], thread);
        });
        for (int32_t k = 0; k < count; ++k) {
            const int32_t cell = walk.frontier[static_cast<size_t>(k)].cell;
            share_out(job, cell + 1, cells[cell].next, first + k);
        }
    }
}

/// Whether a frame of T for these targets serves all sources.
template <typename T>
bool TreeForce::State::serves_all(const Job& job, const geometry::Box& box, const forces::Frame& frame,
                                  double softening) const {
    return forest.tree.boxes[forest.criterion.root].furthest(box.lower) + walk.furthest_image <
           forces::served_distance<T>(frame, softening, job.problem.lightest);
}

/// What a cell hands down: the field from above and of its own far cells, and what it leaves undecided.
template <typename T>
void TreeForce::State::inherit(const Job& job, int32_t cell, const Inherited& above, Inherited& own, int thread) {
    const forces::CellVariant variant = cell_variant(job);
    const lists::Target& target = targets.cells()[cell].target;
    WalkThread& lists = walk.threads[static_cast<size_t>(thread)];
    const double softening = variant.softened ? job.settings.softening_length : 0;
    const bool is_point = target.box.longest_edge() <= 0; // a box that says nothing of lengths
    const forces::Frame frame =
        is_point ? above.field.frame : forces::make_frame<T>(target.box, 0, 0, sizeof(T) == 8 ? softening : 0);
    own.field.inherit(above.field, variant.order, target.box, frame);
    own.left.clear();
    if (is_point || !serves_all<T>(job, target.box, frame, softening)) { // what is far is the groups' own affair
        own.left.resize(above.left.size());
        std::copy(above.left.begin(), above.left.end(), own.left.begin());
        return;
    }
    core::Timer timer;
    for (std::span<const lists::Undecided> rest = above.left; !rest.empty();) {
        const std::span<const lists::Undecided> from = lists::first_image(rest);
        const geometry::Vec3 shift = walk.images[from[0].image];
        const lists::Target at = lists::moved(target, shift);
        timer.lap();
        lists.far.clear();
        lists::walk_cell(lists::walk_input(forest.tree, forest.criterion), walk.nodes, at,
                         {at, variant.order, forces::local_order(variant.order)}, from, lists.stack.data(), lists.far,
                         own.left);
        lists.walk_s += timer.lap();
        add_far_cells<T>(lists.far.data(), lists.far.size(), variant, softening * frame.scale, shift, own.field,
                         job.workspaces.of<T>()[thread]);
        walk.far[cell] += lists.far.size();
        rest = rest.subspan(from.size());
    }
}

/// What acts on a group beside the field from above. Far cells are told apart where the group has that field.
template <typename T>
void TreeForce::State::list_group(const Job& job, const GroupImage& of, std::span<const lists::Undecided> from,
                                  WalkThread& lists) const {
    const lists::Group& group = of.group;
    const forces::CellVariant variant = cell_variant(job);
    const double softening = variant.softened ? job.settings.softening_length : 0;
    const forces::Frame frame = forces::make_frame<T>(group.target.box, 0, 0, sizeof(T) == 8 ? softening : 0);
    const lists::CellFarLimit limit(group.target, variant.order, forces::local_order(variant.order));
    const bool tells = has_hierarchy(job) && group.count >= lists::least_far_targets && limit.radius > 0 &&
                       serves_all<T>(job, group.target.box, frame, softening);
    lists.far.clear();
    lists.near.clear();
    lists.leaves.clear();
    lists::walk_group(lists::walk_input(forest.tree, forest.criterion), walk.nodes, group.target,
                      tells ? &limit : nullptr, from, lists.stack.data(), lists.far, lists.near, lists.leaves);
}

TreeForce::State::GroupImage TreeForce::State::group_image(int32_t cell, bool remote) const {
    const int64_t g = targets.cells()[cell].group;
    return {cell,   g, targets.groups()[g], shifts.empty() ? geometry::Vec3{} : shifts[g], remote || !leads(g),
            remote};
}

/// The lists and sums of a group.
template <typename T>
void TreeForce::State::visit_group(const Job& job, int32_t cell, const Inherited& above, bool remote, int thread) {
    const GroupImage own = group_image(cell, remote);
    if (walk.images.size() > 1)
        return visit_images<T>(job, own, above, remote, thread);
    WalkThread& lists = walk.threads[static_cast<size_t>(thread)];
    core::Timer timer;
    list_group<T>(job, own, above.left, lists);
    lists.walk_s += timer.lap();
    evaluate_group<T>(job, own, above.field, remote, thread);
}

/// Image by image; far cells of all of them meet the targets as one polynomial, with the box's own, which is the last.
template <typename T>
void TreeForce::State::visit_images(const Job& job, const GroupImage& own, const Inherited& above, bool remote, int thread) {
    WalkThread& lists = walk.threads[static_cast<size_t>(thread)];
    const forces::CellVariant variant = cell_variant(job);
    const geometry::Box& box = own.group.target.box;
    CellField field = above.field;
    if (box.longest_edge() > 0)
        field.inherit(above.field, variant.order, box, forces::make_frame<T>(box, 0));
    GroupImage of = own;
    const auto visit_image = [&](std::span<const lists::Undecided> from, uint16_t image) {
        of.shift = walk.images[image];
        of.group.target = lists::moved(own.group.target, of.shift);
        core::Timer timer;
        list_group<T>(job, of, from, lists);
        lists.walk_s += timer.lap();
        add_far_cells<T>(lists.far.data(), lists.far.size(), variant, 0, of.shift, field, job.workspaces.of<T>()[thread]);
        walk.far[own.cell] += lists.far.size();
        lists.far.clear();
        evaluate_group<T>(job, of, image == 0 ? field : CellField{}, remote, thread);
        of.adds = of.counts_on = true;
    };
    std::span<const lists::Undecided> rest = above.left, own_box, from;
    if (!rest.empty() && rest[0].image == 0)
        own_box = lists::first_image(rest);
    for (rest = rest.subspan(own_box.size()); !rest.empty(); rest = rest.subspan(from.size())) {
        from = lists::first_image(rest);
        visit_image(from, from[0].image);
    }
    visit_image(own_box, 0);
}

/// A cell and all below it.
template <typename T>
void TreeForce::State::visit(const Job& job, int32_t index, const Inherited& above, size_t depth, bool remote,
                             int thread) {
    const core::Buffer<lists::TargetCell>& cells = targets.cells();
    WalkThread& lists = walk.threads[static_cast<size_t>(thread)];
    if (cells[index].group >= 0) {
        visit_group<T>(job, index, above, remote, thread);
        return;
    }
    while (lists.levels.size() <= depth)
        lists.levels.emplace_back(walk.memory);
    Inherited& own = lists.levels[depth];
    inherit<T>(job, index, above, own, thread);
    for (int32_t child = index + 1; child < cells[index].next; child = cells[child].next)
        visit<T>(job, child, own, depth + 1, remote, thread);
}

/// A task's groups, whose lists one pass over the sources has made.
template <typename T>
void TreeForce::State::visit_transposed(const Job& job, const CellTask& task, bool remote, int thread) {
    const core::Buffer<lists::TargetCell>& cells = targets.cells();
    WalkThread& lists = walk.threads[static_cast<size_t>(thread)];
    core::Timer timer;
    lists.builder.build(backend::Executor{walk.memory, 1}, forest.tree, forest.criterion,
                        targets.groups().data() + cells[task.begin].group, task.end - task.begin,
                        lists::WalkKind::transposed, lists.transposed);
    lists.walk_s += timer.lap();
    const auto take = [](const core::Buffer<int32_t>& from, const core::Buffer<int64_t>& offset, int32_t k,
                         core::Buffer<int32_t>& to) {
        to.resize(offset[k + 1] - offset[k]);
        std::copy(from.begin() + offset[k], from.begin() + offset[k + 1], to.begin());
    };
    for (int32_t cell = task.begin; cell < task.end; ++cell) {
        lists.far.clear();
        take(lists.transposed.nodes, lists.transposed.node_offset, cell - task.begin, lists.near);
        take(lists.transposed.leaves, lists.transposed.leaf_offset, cell - task.begin, lists.leaves);
        evaluate_group<T>(job, group_image(cell, remote), CellField{}, remote, thread);
    }
}

/// Cells whose targets are those of the groups [begin, end).
template <typename T>
void TreeForce::State::evaluate_cells(const Job& job, int64_t begin, int64_t end, bool remote) {
    core::Timer timer;
    const bool hierarchy = has_hierarchy(job);
    job.workspaces.of<T>().prepare(job.executor.threads);
    job.workspaces.full.prepare(job.executor.threads);
    lists::bound_cells(targets.groups(), targets.cells());
    if (hierarchy) {
        walk.nodes.fill(job.executor, forest.moments, forest.criterion, job.settings.theta,
                        forest.tree.node_count());
        walk.nodes.own = forest.own_end;
    }
    while (static_cast<int>(walk.threads.size()) < job.executor.threads)
        walk.threads.emplace_back(walk.memory);
    for (WalkThread& thread : walk.threads) {
        thread.stack.resize(lists::dual_walk_stack(forest.criterion.levels));
        thread.walk_s = 0;
    }
    walk.tasks.clear();
    walk.next.clear();
    walk.upper_count = 0;
    Inherited& root = walk.next_upper();
    const lists::WalkInput input = lists::walk_input(forest.tree, forest.criterion);
    for (int64_t i = 0; i < walk.images.size(); ++i) {
        const auto image = static_cast<uint16_t>(i);
        if (hierarchy && !remote)
            for (int32_t k = 0; k < forest.own_roots(); ++k)
                root.left.push_back(lists::root_at(input, k, image));
        else if (forest.tree.node_count() > 0)
            root.left.push_back(lists::all_of(input, image));
    }
    share_out(job, hierarchy ? 0 : static_cast<int32_t>(begin),
              static_cast<int32_t>(hierarchy ? targets.cells().size() : end), 0);
    walk_upper<T>(job);
    const bool transposed = job.settings.walk == settings::Walk::transposed;
    job.executor.for_blocks(static_cast<int64_t>(walk.tasks.size()), 1, [&](int64_t k, int64_t, int thread) {
        const CellTask& task = walk.tasks[static_cast<size_t>(k)];
        if (transposed)
            return visit_transposed<T>(job, task, remote, thread);
        for (int32_t cell = task.begin; cell < task.end; cell = targets.cells()[cell].next)
            visit<T>(job, cell, walk.upper[static_cast<size_t>(task.above)], 0, remote, thread);
    });
    double walk_s = 0;
    for (const WalkThread& thread : walk.threads)
        walk_s += thread.walk_s;
    Report& report = job.report;
    report.bytes.lists = std::max(report.bytes.lists, walk.bytes());
    const double time_s = timer.lap(), walk_share = walk_s / job.executor.threads;
    report.time_s.lists += walk_share;
    report.time_s.forces += time_s - walk_share;
}

template void TreeForce::State::evaluate_cells<float>(const Job&, int64_t, int64_t, bool);
template void TreeForce::State::evaluate_cells<double>(const Job&, int64_t, int64_t, bool);

} // namespace graft::engine
