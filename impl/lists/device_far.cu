// The cut of node lists, see device_far.cuh. A warp a group, 128 entries at a time: four a lane, whose loads
// are under way together.
#include "lists/device_far.cuh"

#include "lists/far_cells.hpp"

#include <algorithm>

namespace graft::lists {

namespace {

constexpr int threads = 128, a_lane = 4;
constexpr unsigned all_lanes = ~0u;

struct Cut {
    const Group* groups;
    const int32_t* group_count;
    const int64_t* offset;
    const int32_t* list;
    const DeviceFarNode* nodes;
    int batch, batches, order, degree;
    int32_t *entries, *near_count;
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

__global__ void cut_kernel(const Cut c, const backend::DeviceStatus* status) {
    if (backend::stopped(status))
        return;
    const int64_t all = *c.group_count, first = batch_begin(all, c.batch, c.batches);
    const int64_t g = (int64_t{blockIdx.x} * threads + threadIdx.x) / 32;
    if (first + g >= batch_begin(all, c.batch + 1, c.batches))
        return;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const unsigned before = (1u << lane) - 1;
    const Group& group = c.groups[first + g];
    const FarLimit limit = far_limit(group.target, c.order, c.degree);
    const bool few = group.count < least_far_targets;
    const int64_t end = c.offset[g + 1];
    int64_t near = c.offset[g], far = end - 1;
    for (int64_t base = c.offset[g]; base < end; base += 32 * a_lane) {
        int32_t k[a_lane];
        DeviceFarNode node[a_lane];
#pragma unroll
        for (int i = 0; i < a_lane; ++i)
            k[i] = base + 32 * i + lane < end ? c.list[base + 32 * i + lane] : -1;
#pragma unroll
        for (int i = 0; i < a_lane; ++i)
            node[i] = c.nodes[max(k[i], 0)];
#pragma unroll
        for (int i = 0; i < a_lane; ++i) {
            const bool valid = k[i] >= 0;
            const bool is =
                valid && !few && is_far(limit, node[i].magnitude, node[i].x, node[i].y, node[i].z);
            const unsigned fars = __ballot_sync(all_lanes, is),
                           nears = __ballot_sync(all_lanes, valid && !is);
            if (is)
                c.entries[far - __popc(fars & before)] = k[i];
            else if (valid)
                c.entries[near + __popc(nears & before)] = k[i];
            near += __popc(nears), far -= __popc(fars);
        }
    }
    if (lane == 0)
        c.near_count[g] = static_cast<int32_t>(near - c.offset[g]);
}

} // namespace

void cut_far(backend::Queue& queue, const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
             const DeviceTargets& targets, const DeviceLists& lists, int order, int degree,
             DeviceFarLists& far) {
    const unsigned blocks =
        std::min(backend::blocks_for(tree.nodes.size(), 256), 16u * queue.multiprocessors());
    if (lists.batch == 0) { // the others read what the first one has packed
        pack_kernel<<<blocks, 256, 0, queue.stream()>>>(moments.cx.data(), moments.cy.data(),
                                                        moments.cz.data(), moments.magnitude.data(),
                                                        tree.counts.data(), queue.status(), far.nodes.data());
        GRAFT_CUDA_LAUNCHED("cells for the far test");
        ++queue.launches;
    }
    const Cut cut{targets.groups.data(),
                  targets.group_count.data(),
                  lists.node_offset.data(),
                  lists.nodes.data(),
                  far.nodes.data(),
                  lists.batch,
                  lists.batches,
                  order,
                  degree,
                  far.entries.data(),
                  far.near_count.data()};
    const int64_t groups = targets.groups.size() / lists.batches + 1;
    cut_kernel<<<backend::blocks_for(groups * 32, threads), threads, 0, queue.stream()>>>(cut,
                                                                                          queue.status());
    GRAFT_CUDA_LAUNCHED("near and far cells");
    ++queue.launches;
}

} // namespace graft::lists
