// SPDX-License-Identifier: BSD-3-Clause
// See targets.hpp.
#include "lists/targets.hpp"

#include "backend/scan.hpp"
#include "core/error.hpp"
#include "lists/groups.hpp"

namespace graft::lists {

void check_group_size(int group_size) {
    if (group_size < 1)
        core::fail(core::Status::argument, "tree.group: expected at least 1 target per group, found %d",
                   group_size);
}

TargetSet::TargetSet(core::Memory& memory)
    : builder_(memory), own_(memory), groups_(memory, "target groups"), cells_(memory, "target cells"),
      active_(memory, "active targets"), before_(memory, "targets before"), block_sums_(memory, "scan of targets"),
      place_(memory, "target places"), host_(memory, "target indices"), sorted_place_(memory, "sorted target places"),
      copy_x_(memory, "target x"), copy_y_(memory, "target y"), copy_z_(memory, "target z"),
      copy_softening_(memory, "target softening") {}

void TargetSet::set_all(const backend::Executor& executor, const tree::Tree& tree, int group_size) {
    check_group_size(group_size);
    count_ = tree.order.size();
    if (tree.options.type == tree::TreeType::orb) {
        place_.resize(count_);
        executor.for_each(count_, [&](int64_t i) { place_[i] = static_cast<int32_t>(i); });
        gather_selected(executor, tree);
        sort_selected(executor, tree, group_size);
    } else {
        x_ = tree.x.data();
        y_ = tree.y.data();
        z_ = tree.z.data();
        softening_ = tree.softening.empty() ? nullptr : tree.softening.data();
        origin_ = tree.order.data();
        tree_place_ = nullptr;
        cut_groups(tree, nullptr, group_size, groups_, cells_);
    }
    bound_groups(executor);
}

void TargetSet::set_particles(const backend::Executor& executor, const tree::Tree& tree, int64_t count,
                              const int32_t* host_index, int group_size) {
    check_group_size(group_size);
    select(executor, tree, count, host_index);
    gather_selected(executor, tree);
    if (tree.options.type == tree::TreeType::orb)
        sort_selected(executor, tree, group_size);
    else
        cut_groups(tree, before_.data(), group_size, groups_, cells_);
    bound_groups(executor);
}

void TargetSet::set_points(const backend::Executor& executor, int dimension, int64_t count, const double* x,
                           const double* y, const double* z, const double* softening, int group_size) {
    check_group_size(group_size);
    tree::TreeOptions options;
    options.dimension = dimension;
    options.leaf = group_size;
    tree::BuildTimes times;
    builder_.build(executor, options, tree::ParticleView{count, x, y, z, nullptr, softening}, own_, times);
    set_all(executor, own_, group_size);
}

/// before_ and place_ of the particles asked for.
void TargetSet::select(const backend::Executor& executor, const tree::Tree& tree, int64_t count,
                       const int32_t* host_index) {
    const int64_t n = tree.order.size();
    active_.resize(n);
    executor.for_each(n, [&](int64_t i) { active_[i] = 0; });
    for (int64_t i = 0; i < count; ++i) {
        if (host_index[i] < 0 || host_index[i] >= n)
            core::fail(core::Status::argument, "target %lld is particle %d: expected an index in [0, %lld)",
                       static_cast<long long>(i), host_index[i], static_cast<long long>(n));
        active_[host_index[i]] = 1;
    }
    before_.resize(n + 1);
    count_ = backend::exclusive_scan<int32_t>(
        executor, n, [&](int64_t i) { return static_cast<int32_t>(active_[tree.order[i]]); }, before_.data(),
        block_sums_);
    before_[n] = static_cast<int32_t>(count_);
    place_.resize(count_);
    executor.for_each(n, [&](int64_t i) {
        if (before_[i] < before_[i + 1])
            place_[before_[i]] = static_cast<int32_t>(i);
    });
}

/// Coordinates and origin of the targets at place_, which become the arrays of the set.
void TargetSet::gather_selected(const backend::Executor& executor, const tree::Tree& tree) {
    host_.resize(count_);
    copy_x_.resize(count_);
    copy_y_.resize(count_);
    copy_z_.resize(count_);
    copy_softening_.resize(tree.softening.empty() ? 0 : count_);
    executor.for_each(count_, [&](int64_t i) {
        const int32_t place = place_[i];
        host_[i] = tree.order[place];
        copy_x_[i] = tree.x[place];
        copy_y_[i] = tree.y[place];
        copy_z_[i] = tree.z[place];
        if (!copy_softening_.empty())
            copy_softening_[i] = tree.softening[place];
    });
    x_ = copy_x_.data();
    y_ = copy_y_.data();
    z_ = copy_z_.data();
    softening_ = copy_softening_.empty() ? nullptr : copy_softening_.data();
    origin_ = host_.data();
    tree_place_ = place_.data();
}

/// Gives the gathered targets a key order of their own, and groups.
void TargetSet::sort_selected(const backend::Executor& executor, const tree::Tree& tree, int group_size) {
    tree::TreeOptions options;
    options.dimension = tree.options.dimension;
    options.leaf = group_size;
    tree::BuildTimes times;
    builder_.build(executor, options, tree::ParticleView{count_, x_, y_, z_, nullptr, softening_}, own_,
                   times);
    sorted_place_.resize(count_);
    executor.for_each(count_, [&](int64_t i) { sorted_place_[i] = place_[own_.order[i]]; });
    place_.swap(sorted_place_);
    gather_selected(executor, tree);
    cut_groups(own_, nullptr, group_size, groups_, cells_);
}

void TargetSet::bound_groups(const backend::Executor& executor) {
    executor.for_each(
        groups_.size(),
        [&](int64_t g) {
            Group& group = groups_[g];
            group.target = Target{};
            for (int64_t i = group.first; i < group.first + group.count; ++i) {
                group.target.box.include(x_[i], y_[i], z_[i]);
                if (softening_ != nullptr)
                    group.target.softening = std::max(group.target.softening, softening_[i]);
            }
        },
        256);
}

} // namespace graft::lists
