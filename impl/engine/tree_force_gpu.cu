// SPDX-License-Identifier: BSD-3-Clause
// The methods on the device, from the particles to the field: tree_force.cpp and direct_force.cpp there.
#include "engine/gpu/steps_gpu.cuh"

namespace graft::engine {

Steps::Steps(int wanted_device, const backend::GpuAllocator& allocator)
    : c(wanted_device, allocator), import(c.memory), tree(c.memory), targets(c.memory), lists(c.memory), kept(c.memory),
      evaluate(c.memory), lattice(c.memory), sums(c.memory), output(c.memory) {}

const int32_t* Steps::origin() const {
    switch (c.order) {
    case TargetOrder::targets:
        return targets.targets.origin;
    case TargetOrder::lattice:
        return lattice.sum.target_order();
    case TargetOrder::chosen:
        return targets.chosen_origin();
    default:
        return nullptr;
    }
}

DeviceTargetSources Steps::target_sources() const {
    const forces::DeviceSources from = import.sources(c.job);
    return {from.x, from.y, from.z, from.charge, from.softening, c.job.settings.softening_length, origin()};
}

tree::DeviceColumns Steps::columns() {
    return {{&import.x, &import.y, &import.z, &import.charge},
            {&evaluate.field.ax, &evaluate.field.ay, &evaluate.field.az}};
}

void build_tree_in_place(Steps& s) {
    s.evaluate.field.potential.release();
    s.tree.build_in_place(s.c, s.columns());
}

/// Both read the tree alone. Moments come up from leaf to root and leave most of the device to others.
void sum_tree(Steps& s) {
    Computation& c = s.c;
    c.side.follow(c.queue.stream());
    s.tree.sum_moments(c);
    {
        const backend::OnSide beside(c.queue, c.side);
        s.targets.choose(c, s.import, s.tree.tree);
    }
    c.side.join(c.queue.stream());
}

namespace {

void fill_criterion(Steps& s) {
    if (s.c.job.keeps_lists())
        s.kept.remember(s.c, s.import);
    s.lists.fill_criterion(s.c, s.tree);
    s.lists.scale_targets(s.c, s.tree, s.sums.last, s.targets.targets);
}

} // namespace

/// Tree, moments and targets are there: criterion and factors of the error MAC, and beside them expansions
/// and cells.
void prepare_walk(Steps& s) {
    Computation& c = s.c;
    c.side.follow(c.queue.stream());
    {
        const backend::OnSide beside(c.queue, c.side);
        s.tree.fill_expansion(c);
    }
    c.mark(DeviceClock::summed);
    if (c.tree_from != TreeFrom::kept)
        fill_criterion(s);
    s.capacity.hold(s);
    const forces::DeviceEvaluation how = c.job.evaluation();
    if (how.packed) {
        const backend::OnSide beside(c.queue, c.side);
        s.evaluate.pack(c, how, s.tree.tree, s.tree.moments);
    }
    c.side.join(c.queue.stream());
    c.mark(DeviceClock::prepared);
}

void evaluate_tree(Steps& s) {
    Computation& c = s.c;
    s.capacity.hold(s);
    forces::DeviceEvaluation how = c.job.evaluation();
    const int batches = s.capacity.batches();
    how.records = s.output.begin(c, s.lists.lists, batches);
    s.evaluate.begin(c.job);
    for (int b = 0; b < batches; ++b) {
        if (c.tree_from != TreeFrom::kept)
            s.lists.build(c, s.tree.tree, s.lists.criterion, s.targets.targets, b, batches,
                          s.evaluate.far(how));
        if (b < DeviceClock::timed_batches)
            c.mark(DeviceClock::batches + 2 * b);
        s.evaluate.batch(c, how, s.tree, s.targets.targets, s.lists.lists);
        if (b < DeviceClock::timed_batches)
            c.mark(DeviceClock::batches + 2 * b + 1);
    }
    if (batches > DeviceClock::timed_batches)
        c.mark(DeviceClock::rest);
    c.order = TargetOrder::targets;
}

/// All pairs: targets in compact blocks along the Morton curve, sources as the host has them.
void evaluate_direct(Steps& s) {
    Computation& c = s.c;
    const forces::DeviceSources at = s.import.targets(c);
    if (c.job.settings.periodic) {
        periodic::PeriodicTask task = s.lattice.task(c, s.import);
        task.targets = at;
        return s.lattice.evaluate(c, task, s.import, s.targets, s.evaluate.field);
    }
    if (c.tree_from != TreeFrom::host)
        s.targets.block(c, at);
    c.mark(DeviceClock::prepared);
    const lists::DeviceTargets& targets = s.targets.targets;
    c.order = TargetOrder::targets;
    if (c.job.some()) {
        s.targets.lead_to_chosen(c, s.import, targets.origin);
        c.order = TargetOrder::chosen;
    }
    s.evaluate.direct(c, s.import.sources(c.job),
                      {targets.x, targets.y, targets.z, nullptr, targets.softening, c.job.targets});
    c.mark(DeviceClock::batches); // no lists: forces begin at `prepared`
}

} // namespace graft::engine
