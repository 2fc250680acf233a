// SPDX-License-Identifier: BSD-3-Clause
// See batches_that_fit_gpu.cuh.
#include "engine/gpu/steps_gpu.cuh"

#include "particles/scatter_gpu.cuh"

#include <algorithm>

namespace graft::engine {

namespace {

constexpr int64_t usual_list_limit = int64_t{8} << 30;
constexpr int64_t least_list_limit = 1 << 16; // bytes that are always allowed
constexpr int64_t held_back = 1 << 20;        // for scratch of scans

/// The output takes the node lists' memory for its records (WriteStep): they get as much as that needs,
/// where memory is ample.
void hold_records(const DeviceJob& job, int64_t bytes_free, lists::DeviceLists& lists) {
    const int64_t bytes = job.targets * int64_t{sizeof(particles::ExportRow)};
    if (!job.some() && particles::serves_records(job.targets) && bytes <= bytes_free / 4)
        lists.nodes.resize(bytes / int64_t{sizeof(int32_t)});
}

} // namespace

BatchShape BatchCapacity::shape_for(const Steps& s) const {
    return {s.targets.targets.groups.size(), s.lists.builder.bytes_a_group(s.c.job.walk()),
            planned_.in_double, planned_.with_tasks, planned_.with_local};
}

/// With the room of batches given back: what there is.
BatchLimits BatchCapacity::limits_for(const Steps& s) const {
    const settings::DeviceOptions& options = s.c.job.settings.device;
    const int64_t free = s.c.memory.bytes_free();
    const bool all = options.memory_limit > 0 || s.c.in_place();
    const int64_t allowed = all ? free - free / 32 - held_back : free / 2;
    return {std::max<int64_t>(allowed, 0),
            options.list_limit > 0 ? std::max(options.list_limit, least_list_limit) : usual_list_limit};
}

/// What evaluation and output allocate whatever the batches.
void BatchCapacity::hold_fixed(Steps& s) {
    s.lists.lists.node_offset.resize(s.targets.targets.groups.size() + 2);
    s.lists.lists.leaf_offset.resize(s.targets.targets.groups.size() + 2);
    if (s.c.job.uses_tasks())
        s.evaluate.evaluator.hold_cells(s.c.job.evaluation(), s.tree.tree);
    s.output.hold(s.c, s.raw());
}

void BatchCapacity::release(Steps& s) {
    s.lists.lists.nodes.release(), s.lists.lists.leaves.release();
    s.lists.builder.release_room();
    s.evaluate.evaluator.release_room();
    capacity_ = {};
    s.kept.forget();
    if (s.c.tree_from == TreeFrom::kept)
        s.c.tree_from = TreeFrom::build;
}

/// room_ is set last: what has none is planned anew, also after a failure in here.
void BatchCapacity::take_plan(Steps& s, const BatchPlan& plan) {
    Computation& c = s.c;
    lists::DeviceLists& lists = s.lists.lists;
    capacity_ = {};
    batches_ = static_cast<int>(plan.batches);
    if (c.job.settings.device.memory_limit == 0 && !c.in_place() && batches_ == 1)
        hold_records(c.job, c.memory.bytes_free(), lists);
    lists.nodes.resize(plan.capacity.node_entries);
    lists.leaves.resize(plan.capacity.leaf_entries);
    take_groups(s, plan.capacity);
    capacity_ = plan.capacity;
}

void BatchCapacity::hold(Steps& s) {
    const DeviceJob& job = s.c.job;
    const settings::DeviceOptions& options = job.settings.device;
    const bool in_double = job.settings.precision == settings::Precision::fp64, tasks = job.uses_tasks();
    const bool local = job.evaluation().local;
    if (planned_.memory != options.memory_limit || planned_.lists != options.list_limit ||
        (in_double && !planned_.in_double) || (tasks && !planned_.with_tasks) ||
        (local && !planned_.with_local))
        release(s);
    planned_ = {options.memory_limit, options.list_limit, in_double || planned_.in_double,
                tasks || planned_.with_tasks, local || planned_.with_local};
    hold_fixed(s);
    if (capacity_.node_entries > 0) {
        take_groups(s, capacity_); // there may be more of them now
        return;
    }
    const BatchShape shape = shape_for(s);
    BatchShape likely = shape;
    likely.groups = std::min(3 * job.targets / (2 * std::max(1, job.settings.group)) + 64, shape.groups);
    BatchPlan plan =
        plan_batches(shape, limits_for(s), 1, guess_numbers(likely, job.targets, job.settings.leaf));
    if (!plan.fits) // a guess that does not fit is no reason to give up
        plan.capacity = {1024, 1024, 256, 16384};
    take_plan(s, plan);
    guessed_ = true;
}

/// What the room takes beside the lists; frames go by the number of groups.
void BatchCapacity::take_groups(Steps& s, const BatchNumbers& capacity) {
    const BatchShape shape = shape_for(s);
    if (shape.with_tasks)
        s.evaluate.evaluator.set_capacity(evaluator_capacity(shape, batches_, capacity));
}

bool BatchCapacity::grow(Steps& s, const backend::DeviceStatus& status) {
    const DeviceJob& job = s.c.job;
    BatchNumbers needed{status.node_entries_needed, status.leaf_entries_needed, status.tasks_needed,
                        status.slots_needed};
    const bool lists =
        needed.node_entries > capacity_.node_entries || needed.leaf_entries > capacity_.leaf_entries;
    const bool tasks = needed.tasks > capacity_.tasks || needed.slots > capacity_.slots;
    if (!lists && !tasks)
        return false;
    const BatchShape shape = shape_for(s);
    if (needed.tasks == 0 && shape.with_tasks)
        guess_tasks(shape, batches_, job.targets, job.settings.leaf, needed);
    const BatchNumbers before = capacity_;
    release(s);
    const BatchLimits limits = limits_for(s);
    // Batches behind the one that stopped may need what this one did not: as much as before, if it fits.
    const auto both = [](int64_t now, int64_t then) { return std::max(now, then - then / 6); };
    BatchPlan plan = plan_batches(shape, limits, batches_,
                                  {both(needed.node_entries, guessed_ ? 0 : before.node_entries),
                                   both(needed.leaf_entries, guessed_ ? 0 : before.leaf_entries),
                                   both(needed.tasks, guessed_ ? 0 : before.tasks),
                                   both(needed.slots, guessed_ ? 0 : before.slots)});
    if (!plan.fits || plan.batches != batches_)
        plan = plan_batches(shape, limits, batches_, needed);
    if (!plan.fits)
        core::fail(
            core::Status::memory,
            "device %d: no memory for the lists and partial sums of one group of targets at a time: %lld "
            "bytes wanted, %lld free%s, %lld held by Graft; allow more, or use a smaller tree.group or "
            "a less accurate criterion",
            s.c.memory.device(), static_cast<long long>(plan.bytes), static_cast<long long>(limits.bytes),
            planned_.memory > 0 ? " of what gpu.memory allows" : "",
            static_cast<long long>(s.c.memory.bytes_held()));
    take_plan(s, plan);
    return true;
}

void BatchCapacity::tighten(Steps& s) {
    const Computation& c = s.c;
    if (!guessed_ || c.tree_from == TreeFrom::kept || !c.job.is_tree() || c.job.empty())
        return;
    guessed_ = false;
    const auto less = [](int64_t& capacity, int64_t needed) {
        capacity = std::min(capacity, std::max<int64_t>(with_spare_room(needed), 1024));
    };
    less(capacity_.node_entries, c.status.node_entries_needed);
    less(capacity_.leaf_entries, c.status.leaf_entries_needed);
    s.lists.lists.nodes.resize(capacity_.node_entries), s.lists.lists.leaves.resize(capacity_.leaf_entries);
    take_groups(s, capacity_);
}

} // namespace graft::engine
