// SPDX-License-Identifier: BSD-3-Clause
// What DeviceForce tells of a computation that has ended.
#include "engine/gpu/engine_gpu.cuh"

#include "engine/ranks/ranks_engine_gpu.cuh"
#include "forces/m2l/m2l_choice.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace graft::engine {

void DeviceForce::report_times(DeviceReport::Times& t) const {
    using Clock = DeviceClock;
    const Clock& clock = s_.c.clock;
    const bool tree = s_.c.job.is_tree();
    const int batches = s_.capacity.batches();
    t.import = clock.between(Clock::begin, Clock::imported);
    t.tree = clock.between(Clock::imported, Clock::built);
    t.moments = clock.between(Clock::built, Clock::summed);
    t.lists = clock.between(Clock::summed, Clock::prepared);
    int before = Clock::prepared;
    for (int b = 0; tree && b < std::min(batches, Clock::timed_batches); ++b) {
        t.lists += clock.between(before, Clock::batches + 2 * b);
        t.forces += clock.between(Clock::batches + 2 * b, Clock::batches + 2 * b + 1);
        before = Clock::batches + 2 * b + 1;
    }
    if (tree && batches > Clock::timed_batches) {
        t.forces += clock.between(before, Clock::rest);
        before = Clock::rest;
    }
    if (!tree)
        t.forces = clock.between(Clock::prepared, before = Clock::batches);
    t.output = clock.between(before, Clock::last);
    t.total = clock.between(Clock::begin, Clock::last);
}

void DeviceForce::report_tree(DeviceReport& report) const {
    const DeviceJob& job = s_.c.job;
    const backend::DeviceStatus& status = s_.c.status;
    const lists::DeviceLists& lists = s_.lists.lists;
    std::snprintf(report.local, sizeof report.local, "%s", forces::local_words(job.why_not_local()).c_str());
    report.tree.nodes = status.nodes_needed, report.tree.leaves = status.leaves,
    report.tree.levels = status.levels;
    report.tree.groups = status.groups_needed;
    report.tree.leaf = job.settings.leaf, report.tree.group = job.settings.group;
    report.fed = s_.evaluate.fed();
    report.batches = s_.capacity.batches();
    report.bytes_lists = 4 * (lists.nodes.size() + lists.leaves.size()) +
                         8 * (lists.node_offset.size() + lists.leaf_offset.size());
}

void DeviceForce::report_engine(DeviceReport& report) const {
    const Computation& c = s_.c;
    report.bytes_device = c.memory.bytes_held(), report.bytes_device_peak = c.memory.bytes_peak();
    report.bytes_pinned = c.memory.bytes_pinned();
    report.allocations = c.memory.allocations() + c.host_memory.allocations();
    report.waits = c.queue.waits() + c.waits + s_.import.waits();
    report.repeats = c.repeats;
    report.lists_built = s_.kept.built(), report.lists_reused = s_.kept.reused();
    report.graph = graph_.replayed() ? 1 : 0;
    report.launches = graph_.replayed() ? graph_.launches() : c.queue.launches - c.launches_before;
    report.device = c.memory.device();
    std::memcpy(report.device_name, device_name_, sizeof report.device_name);
    std::snprintf(report.note, sizeof report.note, "%s", c.note);
}

void DeviceForce::report_on(DeviceReport& report) const {
    const Computation& c = s_.c;
    const DeviceJob& job = c.job;
    report = {};
    report_times(report.time_s);
    report.pairs = job.is_tree() || job.over_ranks || job.settings.periodic
                       ? c.status.pairs
                       : static_cast<double>(job.n) * static_cast<double>(job.targets);
    if (job.settings.periodic && (job.over_ranks ? job.all_particles > 0 : !job.empty()))
        s_.lattice.report(c, report.periodic);
    report.cells = c.status.cells;
    report.far_cells = static_cast<double>(c.status.spare[forces::far_cells_word]);
    report.targets = job.targets;
    if (job.is_tree())
        report_tree(report);
    report_engine(report);
    const DeviceOutcome& outcome = *c.host_outcome.data();
    for (int k = 0; k < device_sum_count && job.with_sums; ++k)
        report.totals[k] = outcome.totals[k] / outcome.import.scale / outcome.import.scale;
}

} // namespace graft::engine
