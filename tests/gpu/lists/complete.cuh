// SPDX-License-Identifier: BSD-3-Clause
// Unit charges: what a group's lists hold, summed over entries, must be every particle once.
#pragma once

#include "device_scene.cuh"

namespace graft::test {

/// A number for each particle that no other set of as many particles is likely to add up to.
__host__ __device__ inline uint64_t mark_of(uint64_t particle) {
    uint64_t z = particle + 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

struct GroupSum {
    unsigned long long particles, marks; // modulo 2^64
};

/// before[p] = sum of the marks of particles < p. A block a group adds up all its entries.
__global__ void add_up(const tree::Node* nodes, const uint64_t* before, const int64_t* node_offset,
                       const int64_t* leaf_offset, const int32_t* node_list, const int32_t* leaf_list,
                       GroupSum* sums) {
    const int64_t g = blockIdx.x;
    unsigned long long particles = 0, marks = 0;
    const auto add = [&](int32_t index) {
        const tree::Node node = nodes[index];
        particles += static_cast<unsigned long long>(node.count);
        marks += before[node.first + node.count] - before[node.first];
    };
    for (int64_t k = node_offset[g] + threadIdx.x; k < node_offset[g + 1]; k += blockDim.x)
        add(node_list[k]);
    for (int64_t k = leaf_offset[g] + threadIdx.x; k < leaf_offset[g + 1]; k += blockDim.x)
        add(leaf_list[k]);
    atomicAdd(&sums[g].particles, particles);
    atomicAdd(&sums[g].marks, marks);
}

/// Groups of the batch whose lists do not hold every one of n particles exactly once.
inline int64_t count_incomplete(backend::Queue& queue, const tree::DeviceTree& tree, int64_t n,
                                const DeviceLists& lists, int64_t groups) {
    std::vector<uint64_t> before(static_cast<size_t>(n + 1));
    for (int64_t p = 0; p < n; ++p)
        before[static_cast<size_t>(p + 1)] =
            before[static_cast<size_t>(p)] + mark_of(static_cast<uint64_t>(p));
    backend::DeviceBuffer<uint64_t> marks(queue.memory(), "marks");
    backend::DeviceBuffer<GroupSum> sums(queue.memory(), "sums");
    marks.resize(n + 1), sums.resize(groups);
    GRAFT_CUDA(cudaMemcpyAsync(marks.data(), before.data(), before.size() * 8, cudaMemcpyHostToDevice,
                               queue.stream()));
    GRAFT_CUDA(
        cudaMemsetAsync(sums.data(), 0, static_cast<size_t>(groups) * sizeof(GroupSum), queue.stream()));
    add_up<<<static_cast<unsigned>(groups), 128, 0, queue.stream()>>>(
        tree.nodes.data(), marks.data(), lists.node_offset.data(), lists.leaf_offset.data(),
        lists.nodes.data(), lists.leaves.data(), sums.data());
    GRAFT_CUDA_LAUNCHED("unit charges");
    std::vector<GroupSum> found(static_cast<size_t>(groups));
    GRAFT_CUDA(cudaMemcpyAsync(found.data(), sums.data(), found.size() * sizeof(GroupSum),
                               cudaMemcpyDeviceToHost, queue.stream()));
    queue.wait();
    int64_t wrong = 0;
    for (const GroupSum& sum : found)
        wrong += sum.particles != static_cast<unsigned long long>(n) || sum.marks != before.back();
    return wrong;
}

} // namespace graft::test
