// SPDX-License-Identifier: BSD-3-Clause
// How much work each particle was: Solver::work_of_particles on the device.
#include "backend/context_gpu.cuh"
#include "engine/gpu/engine_gpu.cuh"
#include "engine/ranks/ranks_engine_gpu.cuh"

#include <algorithm>

namespace graft::engine {

namespace {

constexpr int threads = 256;
constexpr unsigned all_lanes = 0xffffffffu;

struct BatchLists {
    const lists::Group* groups;
    const int32_t* group_count;
    const int64_t *node_offset, *leaf_offset;
    const int32_t* leaves;
    const tree::Node* nodes;
    const int32_t* origin;
    int batch, batches;
    bool add;
};

/// A warp a group: all its targets meet the same sources.
__global__ void work_kernel(const BatchLists l, double expansion_pairs, double* work) {
    const int64_t all = *l.group_count;
    const int64_t first = lists::batch_begin(all, l.batch, l.batches);
    const int64_t in_batch = int64_t{blockIdx.x} * (threads / 32) + threadIdx.x / 32;
    if (first + in_batch >= lists::batch_begin(all, l.batch + 1, l.batches))
        return;
    const int lane = static_cast<int>(threadIdx.x % 32);
    double sources = 0;
    for (int64_t e = l.leaf_offset[in_batch] + lane; e < l.leaf_offset[in_batch + 1]; e += 32)
        sources += static_cast<double>(l.nodes[l.leaves[e]].count);
    for (int step = 16; step > 0; step /= 2)
        sources += __shfl_xor_sync(all_lanes, sources, step);
    const double cells = static_cast<double>(l.node_offset[in_batch + 1] - l.node_offset[in_batch]);
    const lists::Group& group = l.groups[first + in_batch];
    for (int64_t k = lane; k < group.count; k += 32)
        work[l.origin[group.first + k]] =
            (l.add ? work[l.origin[group.first + k]] : 0) + sources + expansion_pairs * cells;
}

__global__ void even_work_kernel(const int32_t* origin, int64_t targets, double value, double* work) {
    const int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (k < targets)
        work[origin != nullptr ? origin[k] : k] = value;
}

} // namespace

namespace {

/// Over the own tree, or adds that over other ranks' nodes. Lists of several batches are built once more.
void add_tree_work(Steps& s, const tree::DeviceTree& tree, const lists::DeviceCriterion& criterion,
                   double expansion_pairs, bool add, double* work) {
    Computation& c = s.c;
    const lists::DeviceTargets& targets = s.targets.targets;
    const lists::DeviceLists& lists = s.lists.lists;
    const int batches = s.capacity.batches();
    for (int b = 0; b < batches; ++b) {
        if (batches > 1 || c.job.over_ranks || lists.shared.any())
            s.lists.build(c, tree, criterion, targets, b, batches);
        const BatchLists batch{targets.groups.data(),
                               targets.group_count.data(),
                               lists.node_offset.data(),
                               lists.leaf_offset.data(),
                               lists.leaves.data(),
                               tree.nodes.data(),
                               targets.origin,
                               b,
                               batches,
                               add};
        work_kernel<<<backend::blocks_for(targets.groups.size(), threads / 32), threads, 0,
                      c.queue.stream()>>>(batch, expansion_pairs, work);
        GRAFT_CUDA_LAUNCHED("work of particles");
    }
}

} // namespace

/// Waits.
bool DeviceForce::work(double expansion_pairs, double* work, int64_t n) {
    Computation& c = s_.c;
    const DeviceJob& job = c.job;
    if (c.phase != Phase::done || job.with_points || n != job.n)
        return false;
    GRAFT_CUDA(backend::use_device(c.memory.device()));
    c.use_stream(nullptr);
    work_.resize(n);
    particles::fill(c.queue, work_.data(), 0, n);
    if (!job.empty() && !job.is_tree()) {
        even_work_kernel<<<backend::blocks_for(job.targets, threads), threads, 0, c.queue.stream()>>>(
            s_.origin(), job.targets, static_cast<double>(n), work_.data());
        GRAFT_CUDA_LAUNCHED("work of particles");
    }
    if (!job.empty() && job.is_tree())
        add_tree_work(s_, s_.tree.tree, s_.lists.criterion, expansion_pairs, false, work_.data());
    if (job.over_ranks && job.targets > 0 && ranks_->forest().nodes > 0)
        add_tree_work(s_, ranks_->forest().tree, ranks_->forest().criterion, expansion_pairs, true,
                      work_.data());
    if (n > 0)
        GRAFT_CUDA(cudaMemcpyAsync(work, work_.data(), static_cast<size_t>(n) * sizeof *work,
                                   cudaMemcpyDeviceToHost, c.queue.stream()));
    c.queue.wait();
    return true;
}

} // namespace graft::engine
