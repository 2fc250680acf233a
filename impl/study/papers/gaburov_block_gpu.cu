// SPDX-License-Identifier: BSD-3-Clause
// gaburov2010's evaluation (section 3.2.3, lists 3.3 and 3.4): a block a group, a thread a particle of it.
//
// Nodes: each thread loads one cell of the list into shared memory, barrier, all threads meet all of them.
// Leaves: each thread loads where one leaf of the list begins and ends; then leaf by leaf, the threads load
// its particles into shared memory, barrier, meet them. Coordinates are relative to the group's box (ours:
// his were the host's floats). No atomics: the same bits every run. A long list keeps one block busy alone,
// which is why it is a variant only (docs/gpu/direct.md).
#include "forces/frame_gpu.cuh"
#include "study/papers/paper_lists_gpu.cuh"

#include <algorithm>

namespace graft::study {

namespace {

struct GroupInput {
    PaperView view;
    const double *x, *y, *z, *charge; // sources
    const double *tx, *ty, *tz;       // targets
    const double *cx, *cy, *cz, *rho; // cells
    const float* records;
    const geometry::Box* root; // tight box of all sources
    int record_stride;
    double *ax, *ay, *az, *potential; // potential: null without
    bool add;
};

template <typename Sum>
struct GroupSum {
    Sum x = 0, y = 0, z = 0, w = 0;
    __device__ void add(const float4& part) { x += part.x, y += part.y, z += part.z, w += part.w; }
};

/// A point group has no length of its own: its coordinates are exact at any scale, and a millionth of the
/// way to the furthest source keeps near and far ones in range.
__device__ forces::Frame group_frame(const geometry::Box& box, const geometry::Box& root) {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const double far = fmax(box.lower[axis] - root.lower[axis], root.upper[axis] - box.lower[axis]);
        square += far * far;
    }
    const double reach = sqrt(square);
    return forces::make_device_frame<float>(box.lower, box.upper, reach * 0x1p-20, reach);
}

template <int order, bool with_potential, typename Sum>
__device__ void meet_nodes(const GroupInput& in, int64_t g, const forces::Frame& f, const float4& target, float soft,
                           PaperCell* cells, GroupSum<Sum>& sum) {
    const PaperView& v = in.view;
    const int width = static_cast<int>(blockDim.x);
    const double eps = v.plummer ? v.length * f.scale : 0;
    for (int64_t first = v.node_offset[g], end = v.node_offset[g + 1]; first < end; first += width) {
        const int count = static_cast<int>(min(end - first, int64_t{width}));
        __syncthreads();
        if (static_cast<int>(threadIdx.x) < count) {
            const int32_t k = v.node_list[first + threadIdx.x];
            cells[threadIdx.x] =
                make_paper_cell(order, in.records + int64_t{k} * in.record_stride,
                                (in.cx[k] - f.centre[0]) * f.scale, (in.cy[k] - f.centre[1]) * f.scale,
                                (in.cz[k] - f.centre[2]) * f.scale, in.rho[k] * f.scale, eps);
        }
        __syncthreads();
        float4 part = make_float4(0, 0, 0, 0);
        for (int j = 0; j < count; ++j)
            add_paper_cell<order, with_potential>(cells[j], target.x, target.y, target.z, soft, part);
        sum.add(part);
    }
}

template <bool with_potential, typename Sum>
__device__ void meet_leaf(const GroupInput& in, int64_t begin, int64_t end, const forces::Frame& f,
                          const float4& target, float soft, float4* bodies, GroupSum<Sum>& sum) {
    const int width = static_cast<int>(blockDim.x);
    for (int64_t first = begin; first < end; first += width) {
        const int count = static_cast<int>(min(end - first, int64_t{width}));
        const int64_t k = first + threadIdx.x;
        if (static_cast<int>(threadIdx.x) < count)
            bodies[threadIdx.x] = make_float4(static_cast<float>((in.x[k] - f.centre[0]) * f.scale),
                                              static_cast<float>((in.y[k] - f.centre[1]) * f.scale),
                                              static_cast<float>((in.z[k] - f.centre[2]) * f.scale),
                                              static_cast<float>(in.charge[k]));
        __syncthreads();
        float4 part = make_float4(0, 0, 0, 0);
        add_paper_particles<with_potential>(bodies, count, target.x, target.y, target.z, soft, part);
        sum.add(part);
        __syncthreads();
    }
}

template <bool with_potential, typename Sum>
__device__ void meet_leaves(const GroupInput& in, int64_t g, const forces::Frame& f, const float4& target, float soft,
                            longlong2* leaves, float4* bodies, GroupSum<Sum>& sum) {
    const PaperView& v = in.view;
    const int width = static_cast<int>(blockDim.x);
    for (int64_t first = v.leaf_offset[g], end = v.leaf_offset[g + 1]; first < end; first += width) {
        const int count = static_cast<int>(min(end - first, int64_t{width}));
        __syncthreads();
        if (static_cast<int>(threadIdx.x) < count) {
            const tree::Node& leaf = v.nodes[v.leaf_list[first + threadIdx.x]];
            leaves[threadIdx.x] = make_longlong2(leaf.first, leaf.first + leaf.count);
        }
        __syncthreads();
        for (int j = 0; j < count; ++j)
            meet_leaf<with_potential>(in, leaves[j].x, leaves[j].y, f, target, soft, bodies, sum);
    }
}

template <bool with_potential, typename Sum>
__device__ void write_target(const GroupInput& in, int64_t k, double scale, const GroupSum<Sum>& sum) {
    const double square = scale * scale;
    const auto put = [&](double& to, double value) { to = in.add ? to + value : value; };
    put(in.ax[k], sum.x * square), put(in.ay[k], sum.y * square), put(in.az[k], sum.z * square);
    if constexpr (with_potential)
        put(in.potential[k], sum.w * scale);
}

template <int order, bool with_potential, typename Sum>
__global__ void block_per_group(const GroupInput in) {
    extern __shared__ float4 shared[]; // cells, or leaves and their particles
    const PaperView& v = in.view;
    if (backend::stopped(v.status))
        return;
    const PaperBatch batch = paper_batch(v);
    const int64_t g = blockIdx.x;
    if (g >= batch.count)
        return;
    const lists::Group& group = v.groups[batch.begin + g];
    const forces::Frame f = group_frame(group.target.box, *in.root);
    const float soft = forces::common_soft<float>(v.plummer, v.length, f.scale);
    for (int64_t base = 0; base < group.count; base += blockDim.x) { // heaps are larger than a block
        const int64_t k = group.first + min(base + threadIdx.x, group.count - 1);
        const float4 target = make_float4(static_cast<float>((in.tx[k] - f.centre[0]) * f.scale),
                                          static_cast<float>((in.ty[k] - f.centre[1]) * f.scale),
                                          static_cast<float>((in.tz[k] - f.centre[2]) * f.scale), 0);
        GroupSum<Sum> sum;
        meet_nodes<order, with_potential>(in, g, f, target, soft, reinterpret_cast<PaperCell*>(shared), sum);
        meet_leaves<with_potential>(in, g, f, target, soft, reinterpret_cast<longlong2*>(shared + blockDim.x),
                                    shared, sum);
        if (base + threadIdx.x < group.count)
            write_target<with_potential>(in, k, f.scale, sum);
    }
}

GroupInput group_input(backend::Queue& queue, const forces::DeviceEvaluation& how, const tree::DeviceTree& tree,
                       const moments::DeviceMoments& moments, const lists::DeviceTargets& targets,
                       const lists::DeviceLists& lists, forces::DeviceField& field) {
    GroupInput in{};
    in.view.nodes = tree.nodes.data(), in.view.groups = targets.groups.data();
    in.view.group_count = targets.group_count.data();
    in.view.node_offset = lists.node_offset.data(), in.view.leaf_offset = lists.leaf_offset.data();
    in.view.node_list = lists.nodes.data(), in.view.leaf_list = lists.leaves.data();
    in.view.batch = lists.batch, in.view.batches = lists.batches;
    in.view.leaf = how.leaf;
    in.view.length = how.softening_length, in.view.plummer = how.pairs.softening == forces::Softening::plummer;
    in.view.status = queue.status();
    in.x = tree.x.data(), in.y = tree.y.data(), in.z = tree.z.data(), in.charge = tree.charge.data();
    in.tx = targets.x, in.ty = targets.y, in.tz = targets.z;
    in.cx = moments.cx.data(), in.cy = moments.cy.data(), in.cz = moments.cz.data();
    in.rho = moments.rho.data(), in.records = moments.single.data(), in.root = tree.boxes.data();
    in.record_stride = moments::record_size(how.order, in.view.plummer);
    in.ax = field.ax.data(), in.ay = field.ay.data(), in.az = field.az.data();
    in.potential = how.pairs.potential ? field.potential.data() : nullptr, in.add = how.add;
    return in;
}

} // namespace

void evaluate_block_per_group(VariantBuffers&, backend::Queue& queue, const forces::DeviceEvaluation& how,
                              const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                              const lists::DeviceTargets& targets, const lists::DeviceLists& lists,
                              forces::DeviceField& field) {
    check_paper_variant("gaburov2010's block per group", how, true);
    if (targets.n == 0)
        return;
    const GroupInput in = group_input(queue, how, tree, moments, targets, lists, field);
    const int wanted = how.block_x > 0 ? how.block_x : how.group;
    const int threads = std::min(512, std::max(32, (wanted + 31) / 32 * 32));
    const int64_t groups = std::max<int64_t>(targets.groups.size(), 1);
    const bool single = how.precision == forces::DevicePrecision::fp32;
    with_paper_order(how.order, [&]<int order>() {
        const auto kernel =
            how.pairs.potential
                ? (single ? block_per_group<order, true, float> : block_per_group<order, true, double>)
                : (single ? block_per_group<order, false, float> : block_per_group<order, false, double>);
        kernel<<<static_cast<unsigned>(groups), threads, sizeof(PaperCell) * static_cast<size_t>(threads),
                 queue.stream()>>>(in);
    });
    GRAFT_CUDA_LAUNCHED("block_per_group");
    ++queue.launches;
    count_paper(queue, in.view, groups);
}

} // namespace graft::study
