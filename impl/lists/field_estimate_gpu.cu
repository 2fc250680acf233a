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
constexpr int walk_blocks = 9; // that a multiprocessor has registers for
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

/// Particles of the tree, which targets are; charge is null of points, which are none.
struct OwnParticles {
    const tree::Node* nodes;
    const geometry::Box* boxes;
    const double *x, *y, *z, *charge, *softening;
    const int32_t* place; // target -> place in tree order, or null: the same

    __device__ int64_t place_of(int64_t target) const { return place != nullptr ? place[target] : target; }
};

/// The target of a group that dominates() it, with those at its place, which it does not feel either: its place in the
/// tree; else -1. Lane l looks for group l % groups.
template <int groups>
__device__ int64_t dominating(const OwnParticles& own, const Group& group) {
    double heaviest = -1, total = 0, there = 0;
    int64_t found = -1;
    const int64_t first = group.first + threadIdx.x % 32 / groups, end = group.first + group.count;
    for (int64_t k = first; k < end; k += 32 / groups) {
        const int64_t i = own.place_of(k);
        const double charge = fabs(own.charge[i]);
        total += charge;
        if (charge > heaviest)
            heaviest = charge, found = i;
    }
    total = sum_of_lanes<groups>(total);
    for (int step = 16; step >= groups; step /= 2) {
        const double other = __shfl_xor_sync(all_lanes, heaviest, step);
        const int64_t where = __shfl_xor_sync(all_lanes, found, step);
        if (other > heaviest || (other == heaviest && where < found))
            heaviest = other, found = where;
    }
    for (int64_t k = first; k < end; k += 32 / groups) {
        const int64_t i = own.place_of(k);
        if (own.x[i] == own.x[found] && own.y[i] == own.y[found] && own.z[i] == own.z[found])
            there += fabs(own.charge[i]);
    }
    return dominates(sum_of_lanes<groups>(there), total) ? found : -1;
}

/// The particles of a leaf one by one; what is at the place itself makes no field there.
__device__ void add_leaf(const OwnParticles& own, int32_t leaf, double edge, const TargetCentre& at,
                         const EstimateSoftening& softening, EstimateSum& sum) {
    const int64_t first = own.nodes[leaf].first, count = own.nodes[leaf].count;
    for (int64_t i = first; i < first + count; ++i) {
        const double x = own.x[i] - at.x, y = own.y[i] - at.y, z = own.z[i] - at.z, r2 = x * x + y * y + z * z;
        coarse_add(fabs(own.charge[i]), edge, at.extent, x, y, z, r2,
                   softening.square(r2, own.softening != nullptr ? own.softening[i] : 0, at.softening), sum);
    }
}

/// Adds what lane l finds for its group, l % groups, at `at`; `wanted`: a bit a group that there is. `own`: `at` is a
/// particle of this tree, which does not feel itself.
template <int groups>
__device__ __forceinline__ void walk(const EstimateNode* nodes, const OwnParticles* own, const TargetCentre& at,
                                     unsigned wanted, const EstimateSoftening& softening, Opened* stack,
                                     EstimateSum& sum) {
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
        const bool around = own != nullptr && mine && own->boxes[from.first + child].holds(at.x, at.y, at.z);
        const bool opens = mine && node.child_count > 0 && (around || coarse_opens(node.edge, r2));
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
        if (around && node.child_count == 0)
            add_leaf(*own, from.first + child, node.edge, at, softening, sum);
        else if (mine && !(opens && fits))
            coarse_add(node.magnitude, node.edge, at.extent, x, y, z, r2,
                       softening.square(r2, node.softening, at.softening), sum);
        top = min(top + __popc(records), stack_size);
        __syncwarp();
    }
}

template <int groups>
__device__ double size_of_lanes(const EstimateSum& sum) {
    return coarse_size({sum_of_lanes<groups>(sum.x), sum_of_lanes<groups>(sum.y), sum_of_lanes<groups>(sum.z),
                        sum_of_lanes<groups>(sum.total)});
}

/// The size of the acceleration that lane l's group's particle at this place has from all others. Rare: a function of
/// its own, so that the walks of all groups keep their registers.
template <int groups>
__device__ __noinline__ double size_without(const EstimateNode* nodes, const EstimateNode* others,
                                            const OwnParticles& own, int64_t place, unsigned wanted,
                                            const EstimateSoftening& softening, Opened* stack) {
    const TargetCentre at{own.x[place], own.y[place], own.z[place], 0,
                          own.softening != nullptr ? own.softening[place] : 0};
    EstimateSum sum;
    walk<groups>(nodes, &own, at, wanted, softening, stack, sum);
    if (others != nullptr)
        walk<groups>(others, nullptr, at, wanted, softening, stack, sum);
    return size_of_lanes<groups>(sum);
}

template <int groups>
__global__ void __launch_bounds__(walk_threads, walk_blocks)
    factor_kernel(const EstimateNode* nodes, const EstimateNode* others, const OwnParticles own, Group* group,
                  const int32_t* group_count, int order, double accuracy, EstimateSoftening softening,
                  const backend::DeviceStatus* status) {
    __shared__ Opened stacks[walk_threads / 32][stack_size];
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const int64_t first = (int64_t{blockIdx.x} * (walk_threads / 32) + warp) * groups;
    if (backend::stopped(status) || first >= *group_count)
        return;
    const int64_t there = min(int64_t{groups}, *group_count - first),
                  g = first + min(int64_t{lane % groups}, there - 1);
    const unsigned all = (1u << there) - 1;
    const int64_t heavy = own.charge != nullptr ? dominating<groups>(own, group[g]) : -1;
    const bool alone = heavy >= 0 && group[g].count == 1;
    double size = 1e300;
    if (const unsigned wanted = all & ~__ballot_sync(all_lanes, alone); wanted != 0) {
        const TargetCentre at = centre_of(group[g].target);
        EstimateSum sum;
        for (const EstimateNode* tree : {nodes, others})
            if (tree != nullptr)
                walk<groups>(tree, nullptr, at, wanted, softening, stacks[warp], sum);
        const double found = size_of_lanes<groups>(sum);
        size = alone ? size : found;
    }
    if (const unsigned wanted = all & __ballot_sync(all_lanes, heavy >= 0); wanted != 0) {
        const double without =
            size_without<groups>(nodes, others, own, heavy >= 0 ? heavy : 0, wanted, softening, stacks[warp]);
        size = heavy >= 0 ? fmin(size, without) : size;
    }
    if (lane < there)
        group[g].target.factor = error_factor(order, accuracy, size);
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
                                  bool per_particle_softening, DeviceTargets& targets, const tree::DeviceTree* tree,
                                  bool of_points, const EstimateNode* others) {
    const int64_t groups = targets.groups.size();
    const bool many =
        targets.n / std::max(targets.group_size, 1) >= enough_groups; // not by what there is room for
    OwnParticles own{};
    if (tree != nullptr && !of_points)
        own = {tree->nodes.data(),
               tree->boxes.data(),
               tree->x.data(),
               tree->y.data(),
               tree->z.data(),
               tree->charge.data(),
               per_particle_softening ? tree->softening.data() : nullptr,
               targets.own_place.empty() ? nullptr : targets.own_place.data()};
    const auto kernel = many ? factor_kernel<4> : factor_kernel<1>;
    kernel<<<backend::blocks_for(groups, walk_threads / 32 * (many ? 4 : 1)), walk_threads, 0,
             queue.stream()>>>(tree != nullptr ? nodes_.data() : nullptr, others, own, targets.groups.data(),
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
