// SPDX-License-Identifier: BSD-3-Clause
// See list_reuse_gpu.cuh.
#include "engine/gpu/list_reuse_gpu.cuh"

#include "engine/gpu/job_key_gpu.cuh"

namespace graft::engine {

namespace {

/// What kept lists depend on, beside the particles.
std::vector<uint64_t> lists_key(const DeviceJob& job) {
    JobKey key;
    key.add_settings(job.settings);
    key.add(job.n).add(job.per_particle).add(static_cast<int>(job.pairs.softening));
    return std::move(key).words();
}

lists::WatchedParticles watched(const DeviceJob& job, const ImportStep& from) {
    return {job.n,         from.x.data(),      from.y.data(),
            from.z.data(), from.charge.data(), job.per_particle ? from.softening.data() : nullptr};
}

} // namespace

bool KeptLists::take(const DeviceJob& job) {
    valid_ = job.keeps_lists() && valid_ && served_ < job.settings.device.reuse && key_ == lists_key(job);
    return valid_;
}

void KeptLists::remember(Computation& c, const ImportStep& from) {
    watch_.remember(c.queue, watched(c.job, from));
}

void KeptLists::watch(Computation& c, const ImportStep& from) {
    watch_.measure(c.queue, watched(c.job, from));
    watch_.stop_beyond(c.queue, c.job.settings.device.skin);
}

void KeptLists::account(Computation& c, int batches) {
    if (!c.job.is_tree() || c.job.empty())
        return;
    if (c.tree_from == TreeFrom::kept) {
        ++served_, ++reused_;
        c.status.nodes_needed = status_.nodes_needed, c.status.leaves = status_.leaves;
        c.status.levels = status_.levels;
        c.status.node_entries_needed = status_.node_entries_needed;
        c.status.leaf_entries_needed = status_.leaf_entries_needed;
        return;
    }
    ++built_;
    valid_ = c.job.keeps_lists() && batches == 1 && c.tree_from != TreeFrom::host &&
             c.root_of_most.edge == 0;
    if (valid_)
        key_ = lists_key(c.job);
    served_ = 0, status_ = c.status;
}

} // namespace graft::engine
