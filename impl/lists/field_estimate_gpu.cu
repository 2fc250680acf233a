// SPDX-License-Identifier: BSD-3-Clause
// See field_estimate_gpu.cuh. A warp walks for one group, or for four neighbours at once, whose walks are nearly
// the same: a lane has a node and a group. The stack in shared memory holds opened nodes, each with a bit for
// every group that opened it; a step looks at the children of four of them, or of one for four groups.
#include "lists/field_estimate_gpu.cuh"

#include "lists/skin_gpu.cuh"
#include "lists/estimate_step.hpp"
#include "lists/error_reach.hpp"

#include <algorithm>

namespace graft::lists {

namespace {

constexpr int threads = 256;
constexpr int walk_threads = 128;
constexpr int stack_size = 512; // opened nodes a warp; those that do not fit count as they are
constexpr int most_children = 8;
constexpr int64_t enough_groups = 8192; // for four a warp
constexpr unsigned all_lanes = 0xffffffffu;

struct NodeArrays {
    const tree::DeviceTreeCounts* counts;
    const tree::Node* nodes;
    const geometry::Box* boxes;
    const double *cx, *cy, *cz, *magnitude, *radius, *spread, *softening, *softening_square;
};

__global__ void prepare_kernel(const NodeArrays m, int order, double skin, EstimateSoftening softening,
                               EstimateNode* out, double* reach, const backend::DeviceStatus* status) {
    const int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (backend::stopped(status) || k >= m.counts->nodes)
        return;
    const bool lengths = m.softening != nullptr, plummer = lengths && !softening.spline;
    const double spread = skin > 0 ? lists::grown_spread(m.magnitude[k], m.spread[k], skin) : m.spread[k];
    reach[k] = error_reach(order, m.magnitude[k], spread, m.radius[k] + skin, plummer,
                           plummer ? m.softening[k] : 0, plummer ? m.softening_square[k] : 0);
    const geometry::Box& box = m.boxes[k];
    const double edge =
        fmax(fmax(box.upper[0] - box.lower[0], box.upper[1] - box.lower[1]), box.upper[2] - box.lower[2]);
    out[k] = {m.cx[k],
              m.cy[k],
              m.cz[k],
              m.magnitude[k],
              edge,
              lengths ? softening.of_node(m.softening[k], m.softening_square[k]) : 0,
              m.nodes[k].first_child,
              m.nodes[k].child_count};
}

struct TargetCentre {
    double x, y, z, extent, softening;
};

__device__ TargetCentre centre_of(const Target& target) {
    const geometry::Box& box = target.box;
    TargetCentre place;
    place.softening = target.softening;
    place.x = 0.5 * box.lower[0] + 0.5 * box.upper[0];
    place.y = 0.5 * box.lower[1] + 0.5 * box.upper[1];
    place.z = 0.5 * box.lower[2] + 0.5 * box.upper[2];
    place.extent =
        fmax(fmax(box.upper[0] - box.lower[0], box.upper[1] - box.lower[1]), box.upper[2] - box.lower[2]);
    return place;
}

/// The children of a node that the groups of the mask have opened.
struct alignas(8) Opened {
    int32_t first;
    int16_t count;
    uint16_t mask;
};

/// Sum over the lanes of one group.
template <int groups>
__device__ double sum_of_lanes(double value) {
    for (int step = 16; step >= groups; step /= 2)
        value += __shfl_xor_sync(all_lanes, value, step);
    return value;
}

/// Adds what lane l finds for its group, l % groups, at `at`; `wanted`: a bit a group that there is.
template <int groups>
__device__ void walk(const EstimateNode* nodes, const TargetCentre& at, unsigned wanted,
                     const EstimateSoftening& softening, Opened* stack, EstimateSum& sum) {
    constexpr int at_once = 32 / groups / most_children;
    const int lane = static_cast<int>(threadIdx.x % 32), group = lane % groups, slot = lane / groups;
    int top = 1;
    if (lane == 0)
        stack[0] = {0, 1, static_cast<uint16_t>(wanted)};
    __syncwarp();
    while (top > 0) {
        const int taken = min(top, at_once), child = slot % most_children;
        top -= taken;
        const Opened from =
            slot / most_children < taken ? stack[top + slot / most_children] : Opened{0, 0, 0};
        __syncwarp();
        const bool mine = child < from.count && (from.mask >> group & 1) != 0;
        const EstimateNode node = mine ? nodes[from.first + child] : EstimateNode{};
        const double x = node.x - at.x, y = node.y - at.y, z = node.z - at.z;
        const double r2 = x * x + y * y + z * z;
        const bool opens = mine && node.child_count > 0 && coarse_opens(node.edge, r2);
        const unsigned all = __ballot_sync(all_lanes, opens) >> (slot * groups),
                       opened = all & ((1u << groups) - 1);
        // One of the node's lanes has the node's record, the first of those that opened it.
        const bool writes = opens && (opened & ((1u << group) - 1)) == 0;
        const unsigned records = __ballot_sync(all_lanes, writes);
        const int record =
            top +
            __popc(records &
                   ((2u << (slot * groups + __ffs(static_cast<int>(opened | 1u << (groups - 1))) - 1)) - 1)) -
            1;
        const bool fits = record < stack_size;
        if (writes && fits)
            stack[record] = {node.first_child, static_cast<int16_t>(node.child_count),
                             static_cast<uint16_t>(opened)};
        if (mine && !(opens && fits))
            coarse_add(node.magnitude, node.edge, at.extent, x, y, z, r2,
                       softening.square(r2, node.softening, at.softening), sum);
        top = min(top + __popc(records), stack_size);
        __syncwarp();
    }
}

template <int groups>
__global__ void __launch_bounds__(walk_threads)
    factor_kernel(const EstimateNode* nodes, const EstimateNode* others, Group* group,
                  const int32_t* group_count, int order, double accuracy, EstimateSoftening softening,
                  const backend::DeviceStatus* status) {
    __shared__ Opened stacks[walk_threads / 32][stack_size];
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const int64_t first = (int64_t{blockIdx.x} * (walk_threads / 32) + warp) * groups;
    if (backend::stopped(status) || first >= *group_count)
        return;
    const int64_t there = min(int64_t{groups}, *group_count - first),
                  g = first + min(int64_t{lane % groups}, there - 1);
    const TargetCentre at = centre_of(group[g].target);
    const unsigned wanted = (1u << there) - 1;
    EstimateSum sum;
    for (const EstimateNode* tree : {nodes, others})
        if (tree != nullptr)
            walk<groups>(tree, at, wanted, softening, stacks[warp], sum);
    sum = {sum_of_lanes<groups>(sum.x), sum_of_lanes<groups>(sum.y), sum_of_lanes<groups>(sum.z),
           sum_of_lanes<groups>(sum.total)};
    if (lane < there)
        group[g].target.factor = error_factor(order, accuracy, coarse_size(sum));
}

__global__ void last_factor_kernel(const double* last, const int32_t* origin, Group* groups,
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

void DeviceEstimate::prepare(backend::Queue& queue, const settings::Settings& settings, bool per_particle_softening,
                             const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                             double skin) {
    nodes_.resize(tree.node_capacity());
    reach_.resize(tree.node_capacity());
    const NodeArrays arrays{tree.counts.data(),
                            tree.nodes.data(),
                            tree.boxes.data(),
                            moments.cx.data(),
                            moments.cy.data(),
                            moments.cz.data(),
                            moments.magnitude.data(),
                            moments.radius.data(),
                            moments.spread.data(),
                            per_particle_softening ? moments.softening.data() : nullptr,
                            per_particle_softening ? moments.softening_square.data() : nullptr};
    prepare_kernel<<<backend::blocks_for(tree.node_capacity(), threads), threads, 0, queue.stream()>>>(
        arrays, settings.order, skin, {settings, per_particle_softening}, nodes_.data(), reach_.data(), queue.status());
    GRAFT_CUDA_LAUNCHED("reach of nodes");
    ++queue.launches;
}

void DeviceEstimate::scale_groups(backend::Queue& queue, const settings::Settings& settings,
                                  bool per_particle_softening, DeviceTargets& targets, bool own,
                                  const EstimateNode* others) {
    const int64_t groups = targets.groups.size();
    const bool many =
        targets.n / std::max(targets.group_size, 1) >= enough_groups; // not by what there is room for
    const auto kernel = many ? factor_kernel<4> : factor_kernel<1>;
    kernel<<<backend::blocks_for(groups, walk_threads / 32 * (many ? 4 : 1)), walk_threads, 0,
             queue.stream()>>>(own ? nodes_.data() : nullptr, others, targets.groups.data(),
                               targets.group_count.data(), settings.order, settings.accuracy,
                               EstimateSoftening(settings, per_particle_softening), queue.status());
    GRAFT_CUDA_LAUNCHED("estimate of accelerations");
    ++queue.launches;
}

void scale_groups_by_last(backend::Queue& queue, const settings::Settings& settings, const double* last,
                          DeviceTargets& targets) {
    last_factor_kernel<<<backend::blocks_for(targets.groups.size(), threads / 32), threads, 0,
                         queue.stream()>>>(last, targets.origin, targets.groups.data(),
                                           targets.group_count.data(), settings.order, settings.accuracy,
                                           queue.status());
    GRAFT_CUDA_LAUNCHED("factors of groups");
    ++queue.launches;
}

} // namespace graft::lists
