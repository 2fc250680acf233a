// SPDX-License-Identifier: BSD-3-Clause
// liu2022's 1-D kernels, see liu_1d_gpu.cuh.
#include "study/papers/liu_1d_gpu.cuh"

#include <algorithm>

namespace graft::study {

namespace {

/// Which group each list entry belongs to.
__global__ void name_targets(const PaperView v, int32_t* of_nodes, int32_t* of_leaves) {
    if (backend::stopped(v.status))
        return;
    const PaperBatch batch = paper_batch(v);
    const int64_t g = blockIdx.x;
    if (g >= batch.count)
        return;
    const int32_t name = static_cast<int32_t>(batch.begin + g);
    for (int64_t e = v.node_offset[g] + threadIdx.x; e < v.node_offset[g + 1]; e += blockDim.x)
        of_nodes[e] = name;
    for (int64_t e = v.leaf_offset[g] + threadIdx.x; e < v.leaf_offset[g + 1]; e += blockDim.x)
        of_leaves[e] = name;
}

/// Number of pairs; entries of the lists are counted on the device.
__device__ int64_t pair_count(const PaperView& v, const PaperPairs& pairs) {
    return pairs.device_count != nullptr ? pairs.device_count[paper_batch(v).count] : pairs.count;
}

template <bool with_potential, bool atomic>
__device__ __forceinline__ void write_sum(float4* to, const float4& sum) {
    if constexpr (atomic)
        add_atomically<with_potential>(to, sum);
    else
        *to = sum; // a study's: wrong, but as many bytes
}

template <bool with_potential, bool atomic>
__global__ void leaf_pairs_1d(const PaperView v, const PaperPairs pairs) {
    const int64_t k = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
    if (backend::stopped(v.status) || k >= pair_count(v, pairs))
        return;
    const lists::Group& group = v.groups[pairs.target[k]];
    const tree::Node& leaf = v.nodes[pairs.source[k]];
    const float soft = forces::common_soft<float>(v.plummer, v.length, v.frame->scale);
    const int64_t first = group.first, end = first + group.count;
    const float4* sources = v.sources + leaf.first;
    const int64_t count = leaf.count;
    for (int64_t t = first; t < end; ++t) {
        const float4 target = v.targets[t];
        float4 sum = make_float4(0, 0, 0, 0);
        add_paper_particles<with_potential>(sources, count, target.x, target.y, target.z, soft, sum);
        write_sum<with_potential, atomic>(v.sums + t, sum);
    }
}

template <int order, bool with_potential, bool atomic>
__global__ void node_pairs_1d(const PaperView v, const PaperPairs pairs) {
    const int64_t k = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
    if (backend::stopped(v.status) || k >= pair_count(v, pairs))
        return;
    const lists::Group& group = v.groups[pairs.target[k]];
    const PaperCell cell = v.cells[pairs.source[k]];
    const float soft = forces::common_soft<float>(v.plummer, v.length, v.frame->scale);
    const int64_t first = group.first, end = first + group.count;
    for (int64_t t = first; t < end; ++t) {
        const float4 target = v.targets[t];
        float4 sum = make_float4(0, 0, 0, 0);
        add_paper_cell<order, with_potential>(cell, target.x, target.y, target.z, soft, sum);
        write_sum<with_potential, atomic>(v.sums + t, sum);
    }
}

} // namespace

void launch_leaf_pairs_1d(cudaStream_t stream, int threads, bool potential, const PaperView& view,
                          const PaperPairs& pairs, int64_t capacity, PaperWrites writes) {
    const bool atomic = writes == PaperWrites::atomic;
    const auto kernel = potential ? (atomic ? leaf_pairs_1d<true, true> : leaf_pairs_1d<true, false>)
                                  : (atomic ? leaf_pairs_1d<false, true> : leaf_pairs_1d<false, false>);
    kernel<<<backend::blocks_for(capacity, threads), threads, 0, stream>>>(view, pairs);
    GRAFT_CUDA_LAUNCHED("leaf_pairs_1d");
}

void launch_node_pairs_1d(cudaStream_t stream, int threads, int order, bool potential, const PaperView& view,
                          const PaperPairs& pairs, int64_t capacity, PaperWrites writes) {
    const bool atomic = writes == PaperWrites::atomic;
    with_paper_order(order, [&]<int fixed>() {
        const auto kernel =
            potential ? (atomic ? node_pairs_1d<fixed, true, true> : node_pairs_1d<fixed, true, false>)
                      : (atomic ? node_pairs_1d<fixed, false, true> : node_pairs_1d<fixed, false, false>);
        kernel<<<backend::blocks_for(capacity, threads), threads, 0, stream>>>(view, pairs);
    });
    GRAFT_CUDA_LAUNCHED("node_pairs_1d");
}

void evaluate_pairs_1d(VariantBuffers& work, backend::Queue& queue, const forces::DeviceEvaluation& how,
                       const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                       const lists::DeviceTargets& targets, const lists::DeviceLists& lists,
                       forces::DeviceField& field) {
    check_paper_variant("liu2022's 1-D kernel", how, false);
    if (targets.n == 0)
        return;
    const PaperView view = prepare_paper(work, queue, how, tree, moments, targets, lists);
    const int64_t nodes = lists.nodes.size(), leaves = lists.leaves.size();
    const int64_t groups = std::max<int64_t>(targets.groups.size(), 1);
    work.integers.resize(nodes + leaves);
    int32_t *of_nodes = work.integers.data(), *of_leaves = of_nodes + nodes;
    name_targets<<<static_cast<unsigned>(groups), 128, 0, queue.stream()>>>(view, of_nodes, of_leaves);
    GRAFT_CUDA_LAUNCHED("name_targets");
    const int threads = paper_block(how).x;
    const bool potential = how.pairs.potential;
    launch_leaf_pairs_1d(queue.stream(), threads, potential, view,
                         {of_leaves, view.leaf_list, 0, view.leaf_offset}, leaves);
    launch_node_pairs_1d(queue.stream(), threads, how.order, potential, view,
                         {of_nodes, view.node_list, 0, view.node_offset}, nodes);
    queue.launches += 3;
    count_paper(queue, view, groups);
    finish_paper(queue, view, how.add, potential, targets.n, field);
}

} // namespace graft::study
