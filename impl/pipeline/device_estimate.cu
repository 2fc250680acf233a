// See device_estimate.cuh. The walk keeps a stack of nodes in shared memory and takes up to 32 of them at a
// time.
#include "pipeline/device_estimate.cuh"

#include "lists/device_skin.cuh"
#include "pipeline/coarse_walk.hpp"
#include "pipeline/error_reach.hpp"

namespace graft::pipeline {

namespace {

constexpr int threads = 256;
constexpr int walk_threads = 128;
constexpr int stack_size = 1024; // nodes a warp; what does not fit counts as it is
constexpr unsigned all_lanes = 0xffffffffu;

struct NodeArrays {
    const tree::DeviceTreeCounts* counts;
    const tree::Node* nodes;
    const geometry::Box* boxes;
    const double *cx, *cy, *cz, *magnitude, *radius, *spread, *softening, *softening_square;
};

__global__ void prepare_kernel(const NodeArrays m, int order, double skin, CoarseNode* out, double* reach,
                               const backend::DeviceStatus* status) {
    const int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (backend::stopped(status) || k >= m.counts->nodes)
        return;
    const bool plummer = m.softening != nullptr;
    const double spread = skin > 0 ? lists::grown_spread(m.magnitude[k], m.spread[k], skin) : m.spread[k];
    reach[k] = error_reach(order, m.magnitude[k], spread, m.radius[k] + skin, plummer,
                           plummer ? m.softening[k] : 0, plummer ? m.softening_square[k] : 0);
    const geometry::Box& box = m.boxes[k];
    const double edge =
        fmax(fmax(box.upper[0] - box.lower[0], box.upper[1] - box.lower[1]), box.upper[2] - box.lower[2]);
    out[k] = {
        m.cx[k], m.cy[k], m.cz[k], m.magnitude[k], edge, m.nodes[k].first_child, m.nodes[k].child_count};
}

struct Place {
    double x, y, z, extent;
};

__device__ Place place_of(const geometry::Box& box) {
    Place place;
    place.x = 0.5 * box.lower[0] + 0.5 * box.upper[0];
    place.y = 0.5 * box.lower[1] + 0.5 * box.upper[1];
    place.z = 0.5 * box.lower[2] + 0.5 * box.upper[2];
    place.extent =
        fmax(fmax(box.upper[0] - box.lower[0], box.upper[1] - box.lower[1]), box.upper[2] - box.lower[2]);
    return place;
}

/// Sum of `count` over the lanes before this one, and over all.
__device__ int lanes_before(int count, int lane, int& total) {
    int before = count;
    for (int step = 1; step < 32; step *= 2) {
        const int from = __shfl_up_sync(all_lanes, before, step);
        before += lane >= step ? from : 0;
    }
    total = __shfl_sync(all_lanes, before, 31);
    return before - count;
}

__device__ double sum_of_lanes(double value) {
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(all_lanes, value, step);
    return value;
}

/// The sums of the whole warp for a group at `at`, in all lanes.
__device__ CoarseSum walk(const CoarseNode* nodes, const Place& at, int lane, int* stack) {
    CoarseSum sum;
    int top = 1;
    if (lane == 0)
        stack[0] = 0;
    __syncwarp();
    while (top > 0) {
        const int taken = min(top, 32);
        top -= taken;
        const bool mine = lane < taken;
        const CoarseNode node = mine ? nodes[stack[top + lane]] : CoarseNode{};
        __syncwarp();
        const double x = node.x - at.x, y = node.y - at.y, z = node.z - at.z;
        const double r2 = x * x + y * y + z * z;
        const int wanted = mine && coarse_opens(node.edge, r2) ? node.child_count : 0;
        int total = 0;
        const int before = lanes_before(wanted, lane, total);
        const bool opened = wanted > 0 && top + before + wanted <= stack_size;
        for (int c = 0; opened && c < wanted; ++c)
            stack[top + before + c] = node.first_child + c;
        if (mine && !opened)
            coarse_add(node.magnitude, node.edge, at.extent, x, y, z, r2, sum);
        // What is opened comes first: lanes whose children did not fit are the last ones.
        const unsigned lost = __ballot_sync(all_lanes, wanted > 0 && !opened);
        top += lost == 0 ? total : __shfl_sync(all_lanes, before, __ffs(static_cast<int>(lost)) - 1);
        __syncwarp();
    }
    return {sum_of_lanes(sum.x), sum_of_lanes(sum.y), sum_of_lanes(sum.z), sum_of_lanes(sum.total)};
}

__global__ void __launch_bounds__(walk_threads)
    factor_kernel(const CoarseNode* nodes, const CoarseNode* others, lists::Group* groups,
                  const int32_t* group_count, int order, double accuracy,
                  const backend::DeviceStatus* status) {
    __shared__ int stacks[walk_threads / 32][stack_size];
    const int64_t g = int64_t{blockIdx.x} * (walk_threads / 32) + threadIdx.x / 32;
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (backend::stopped(status) || g >= *group_count)
        return;
    const Place at = place_of(groups[g].target.box);
    CoarseSum sum;
    if (nodes != nullptr)
        sum = walk(nodes, at, lane, stacks[threadIdx.x / 32]);
    if (others != nullptr) {
        const CoarseSum more = walk(others, at, lane, stacks[threadIdx.x / 32]);
        sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.total += more.total;
    }
    if (lane == 0)
        groups[g].target.factor = error_factor(order, accuracy, coarse_size(sum));
}

__global__ void last_factor_kernel(const double* last, const int32_t* origin, lists::Group* groups,
                                   const int32_t* group_count, int order, double accuracy,
                                   const backend::DeviceStatus* status) {
    const int64_t g = int64_t{blockIdx.x} * (threads / 32) + threadIdx.x / 32;
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (backend::stopped(status) || g >= *group_count)
        return;
    const int64_t first = groups[g].first, count = groups[g].count;
    double least = last[origin[first]];
    for (int64_t k = lane; k < count; k += 32)
        least = fmin(least, last[origin[first + k]]);
    for (int step = 16; step > 0; step /= 2)
        least = fmin(least, __shfl_xor_sync(all_lanes, least, step));
    if (lane == 0)
        groups[g].target.factor = error_factor(order, accuracy, least);
}

} // namespace

void DeviceEstimate::prepare(backend::Queue& queue, const Settings& settings, bool per_particle_softening,
                             const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                             double skin) {
    nodes_.resize(tree.node_capacity());
    reach_.resize(tree.node_capacity());
    const bool plummer = per_particle_softening && settings.softening == Softening::plummer;
    const NodeArrays arrays{tree.counts.data(),
                            tree.nodes.data(),
                            tree.boxes.data(),
                            moments.cx.data(),
                            moments.cy.data(),
                            moments.cz.data(),
                            moments.magnitude.data(),
                            moments.radius.data(),
                            moments.spread.data(),
                            plummer ? moments.softening.data() : nullptr,
                            plummer ? moments.softening_square.data() : nullptr};
    prepare_kernel<<<backend::blocks_for(tree.node_capacity(), threads), threads, 0, queue.stream()>>>(
        arrays, settings.order, skin, nodes_.data(), reach_.data(), queue.status());
    GRAFT_CUDA_LAUNCHED("reach of nodes");
    ++queue.launches;
}

void DeviceEstimate::scale_groups(backend::Queue& queue, const Settings& settings, const tree::DeviceTree&,
                                  lists::DeviceTargets& targets, bool own, const CoarseNode* others) {
    factor_kernel<<<backend::blocks_for(targets.groups.size(), walk_threads / 32), walk_threads, 0,
                    queue.stream()>>>(own ? nodes_.data() : nullptr, others, targets.groups.data(),
                                      targets.group_count.data(), settings.order, settings.accuracy,
                                      queue.status());
    GRAFT_CUDA_LAUNCHED("estimate of accelerations");
    ++queue.launches;
}

void scale_groups_by_last(backend::Queue& queue, const Settings& settings, const double* last,
                          lists::DeviceTargets& targets) {
    last_factor_kernel<<<backend::blocks_for(targets.groups.size(), threads / 32), threads, 0,
                         queue.stream()>>>(last, targets.origin, targets.groups.data(),
                                           targets.group_count.data(), settings.order, settings.accuracy,
                                           queue.status());
    GRAFT_CUDA_LAUNCHED("factors of groups");
    ++queue.launches;
}

} // namespace graft::pipeline
