// How much work each particle was: Solver::work_of_particles on the device.
#include "backend/context_gpu.cuh"
#include "engine/checks.hpp"
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

/// Over the own tree, or adds that over other ranks' nodes.
void DeviceForce::add_tree_work(double expansion_pairs, bool own) {
    const tree::DeviceTree& tree = own ? tree_ : ranks_->tree;
    for (int b = 0; b < batches_; ++b) {
        if (batches_ > 1 || job_.over_ranks || lists_.shared.any())
            list_builder_.build(queue_, tree, own ? criterion_ : ranks_->criterion, targets_,
                                static_cast<lists::DeviceWalk>(job_.settings.device.walk), b, batches_,
                                lists_);
        const BatchLists batch{targets_.groups.data(),
                               targets_.group_count.data(),
                               lists_.node_offset.data(),
                               lists_.leaf_offset.data(),
                               lists_.leaves.data(),
                               tree.nodes.data(),
                               targets_.origin,
                               b,
                               batches_,
                               !own};
        work_kernel<<<backend::blocks_for(targets_.groups.size(), threads / 32), threads, 0,
                      queue_.stream()>>>(batch, expansion_pairs, work_.data());
        GRAFT_CUDA_LAUNCHED("work of particles");
    }
}

/// Waits. Lists of several batches are built once more.
void DeviceForce::work(double expansion_pairs, double* work, int64_t n) {
    if (!valid_ || job_.with_points || n != job_.n)
        refuse_work();
    GRAFT_CUDA(backend::use_device(memory_.device()));
    queue_.borrow(nullptr);
    work_.resize(n);
    particles::fill(queue_, work_.data(), 0, n);
    if (!job_.empty() && !job_.is_tree()) {
        even_work_kernel<<<backend::blocks_for(job_.targets, threads), threads, 0, queue_.stream()>>>(
            origin_, job_.targets, static_cast<double>(n), work_.data());
        GRAFT_CUDA_LAUNCHED("work of particles");
    }
    if (!job_.empty() && job_.is_tree())
        add_tree_work(expansion_pairs, true);
    if (job_.over_ranks && job_.targets > 0 && ranks_->nodes > 0)
        add_tree_work(expansion_pairs, false);
    if (n > 0)
        GRAFT_CUDA(cudaMemcpyAsync(work, work_.data(), static_cast<size_t>(n) * sizeof *work,
                                   cudaMemcpyDeviceToHost, queue_.stream()));
    queue_.wait();
}

} // namespace graft::engine
