// SPDX-License-Identifier: BSD-3-Clause
// The split of node lists, see far_cells_gpu.cuh. A warp a group.
#include "lists/far_cells_warp_gpu.cuh"

#include <algorithm>

namespace graft::lists {

namespace {

constexpr int threads = 128;

struct Lists {
    const Group* groups;
    const int32_t* group_count;
    const int64_t* offset;
    const int32_t* list;
    int batch, batches;
};

__global__ void pack_kernel(const double* x, const double* y, const double* z, const double* magnitude,
                            const tree::DeviceTreeCounts* counts, const backend::DeviceStatus* status,
                            DeviceFarNode* nodes) {
    if (backend::stopped(status))
        return;
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t k = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; k < counts->nodes; k += step)
        nodes[k] = {x[k], y[k], z[k], magnitude[k]};
}

__global__ void split_kernel(const Lists l, const device::NearFarSplit split,
                             const backend::DeviceStatus* status) {
    if (backend::stopped(status))
        return;
    const int64_t all = *l.group_count, first = batch_begin(all, l.batch, l.batches);
    const int64_t g = (int64_t{blockIdx.x} * threads + threadIdx.x) / 32;
    if (first + g >= batch_begin(all, l.batch + 1, l.batches))
        return;
    const int64_t begin = l.offset[g];
    device::split_list(split, l.groups[first + g], g, begin, l.offset[g + 1] - begin,
                       [&](int64_t k) { return l.list[begin + k]; });
}

} // namespace

void pack_far_nodes(backend::Queue& queue, const tree::DeviceTree& tree,
                    const moments::DeviceMoments& moments, DeviceFarLists& far) {
    const unsigned blocks =
        std::min(backend::blocks_for(tree.nodes.size(), 256), 16u * queue.multiprocessors());
    pack_kernel<<<blocks, 256, 0, queue.stream()>>>(moments.cx.data(), moments.cy.data(), moments.cz.data(),
                                                    moments.magnitude.data(), tree.counts.data(),
                                                    queue.status(), far.nodes.data());
    GRAFT_CUDA_LAUNCHED("cells for the far test");
    ++queue.launches;
}

void split_far(backend::Queue& queue, const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
               const DeviceTargets& targets, const DeviceLists& lists, int order, int degree,
               DeviceFarLists& far) {
    if (lists.batch == 0) // the others read what the first one has packed
        pack_far_nodes(queue, tree, moments, far);
    const Lists those{targets.groups.data(),
                      targets.group_count.data(),
                      lists.node_offset.data(),
                      lists.nodes.data(),
                      lists.batch,
                      lists.batches};
    const int64_t groups = targets.groups.size() / lists.batches + 1;
    split_kernel<<<backend::blocks_for(groups * 32, threads), threads, 0, queue.stream()>>>(
        those, device::make_split(far, order, degree), queue.status());
    GRAFT_CUDA_LAUNCHED("near and far cells");
    ++queue.launches;
}

} // namespace graft::lists
