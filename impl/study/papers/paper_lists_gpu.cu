// SPDX-License-Identifier: BSD-3-Clause
// Packing for the papers' list kernels and back, see paper_lists_gpu.cuh.
//
// Bytes: 32 read and 16 written a particle, 24 and 32 a target, about 100 and 64 a cell; 16 and 24 a target
// at the end.
#include "forces/frame_gpu.cuh"
#include "study/papers/paper_lists_gpu.cuh"

#include <algorithm>

namespace graft::study {

namespace {

constexpr int threads = 256;

__global__ void make_root_frame(const backend::DeviceStatus* status, const tree::DeviceTreeCounts* counts,
                                forces::Frame* frame) {
    if (backend::stopped(status))
        return;
    double lower[3], upper[3];
    for (int axis = 0; axis < 3; ++axis)
        lower[axis] = counts->root_lower[axis], upper[axis] = lower[axis] + counts->root_edge;
    *frame = forces::make_device_frame<float>(lower, upper, 1, 0);
}

__global__ void pack_points(const PaperView v, int64_t n, const double* x, const double* y, const double* z,
                            const double* charge, float4* to) {
    const int64_t k = blockIdx.x * int64_t{threads} + threadIdx.x;
    if (k >= n || backend::stopped(v.status))
        return;
    const forces::Frame f = *v.frame;
    to[k] = make_float4(static_cast<float>((x[k] - f.centre[0]) * f.scale),
                        static_cast<float>((y[k] - f.centre[1]) * f.scale),
                        static_cast<float>((z[k] - f.centre[2]) * f.scale),
                        charge != nullptr ? static_cast<float>(charge[k]) : 0.0f);
    if (charge == nullptr)
        v.sums[k] = make_float4(0, 0, 0, 0);
}

struct CellInput {
    const tree::DeviceTreeCounts* counts;
    const double *cx, *cy, *cz, *rho;
    const float* records;
    int order, stride;
};

__global__ void pack_cells(const PaperView v, const CellInput in, PaperCell* to) {
    const int64_t k = blockIdx.x * int64_t{threads} + threadIdx.x;
    if (backend::stopped(v.status) || k >= in.counts->nodes)
        return;
    const forces::Frame f = *v.frame;
    to[k] = make_paper_cell(in.order, in.records + k * in.stride, (in.cx[k] - f.centre[0]) * f.scale,
                            (in.cy[k] - f.centre[1]) * f.scale, (in.cz[k] - f.centre[2]) * f.scale,
                            in.rho[k] * f.scale, v.plummer ? v.length * f.scale : 0);
}

/// As the CPU counts them.
__device__ unsigned long long sources_of(const PaperView& v, const tree::Node& node) {
    const bool heap = node.child_count == 0 && node.count > v.leaf;
    return heap ? 1 : static_cast<unsigned long long>(node.count);
}

__global__ void count_groups(const PaperView v) {
    if (backend::stopped(v.status))
        return;
    const PaperBatch batch = paper_batch(v);
    const int64_t g = blockIdx.x;
    if (g >= batch.count)
        return;
    __shared__ unsigned long long sources;
    if (threadIdx.x == 0)
        sources = 0;
    __syncthreads();
    unsigned long long own = 0;
    for (int64_t e = v.leaf_offset[g] + threadIdx.x; e < v.leaf_offset[g + 1]; e += blockDim.x)
        own += sources_of(v, v.nodes[v.leaf_list[e]]);
    atomicAdd(&sources, own);
    __syncthreads();
    if (threadIdx.x == 0) { // whole numbers: any order gives the same bits
        const double count = static_cast<double>(v.groups[batch.begin + g].count);
        atomicAdd(&v.status->pairs, static_cast<double>(sources) * count);
        atomicAdd(&v.status->cells, static_cast<double>(v.node_offset[g + 1] - v.node_offset[g]) * count);
    }
}

struct FieldOut {
    double *ax, *ay, *az, *potential;
    bool add;
};

__global__ void unpack_sums(const PaperView v, const FieldOut out) {
    if (backend::stopped(v.status))
        return;
    const PaperBatch batch = paper_batch(v);
    const int64_t k = batch.first + blockIdx.x * int64_t{threads} + threadIdx.x;
    if (k >= batch.end)
        return;
    const double scale = v.frame->scale, square = scale * scale;
    const float4 sum = v.sums[k];
    const auto put = [&](double& to, double value) { to = out.add ? to + value : value; };
    put(out.ax[k], sum.x * square), put(out.ay[k], sum.y * square), put(out.az[k], sum.z * square);
    if (out.potential != nullptr)
        put(out.potential[k], sum.w * scale);
}

} // namespace

void check_paper_variant(const char* name, const forces::DeviceEvaluation& how, bool mixed) {
    if (how.pairs.softening == forces::Softening::spline || how.pairs.per_particle)
        core::fail(core::Status::unsupported,
                   "%s: softening is none or one Plummer length; choose these, or study.kernel units", name);
    if (how.precision == forces::DevicePrecision::fp64 || (how.precision == forces::DevicePrecision::mixed && !mixed))
        core::fail(core::Status::unsupported, "%s: precision is fp32%s; choose it, or study.kernel units",
                   name, mixed ? " or mixed" : "");
    if (how.order > 2)
        core::fail(core::Status::unsupported,
                   "%s: order %d; it does 0 to 2 (quadrupoles); choose these, or study.kernel units", name,
                   how.order);
}

PaperBlock paper_block(const forces::DeviceEvaluation& how) {
    const auto side = [](int given, int his) { return given > 0 ? given : his; };
    if (how.kernel != forces::DeviceKernel::tiles_2d)
        return {std::min(side(how.block_x, 256), 1024), 1};
    const PaperBlock block{side(how.block_x, 16), side(how.block_y, 32)};
    if (int64_t{block.x} * block.y > 1024)
        core::fail(core::Status::argument, "liu2022's 2-D kernel: BX %d times BY %d; expected at most 1,024",
                   block.x, block.y);
    return block;
}

PaperView prepare_paper(VariantBuffers& work, backend::Queue& queue, const forces::DeviceEvaluation& how,
                        const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                        const lists::DeviceTargets& targets, const lists::DeviceLists& lists) {
    constexpr int64_t frame_size = sizeof(forces::Frame) / 8, cell_size = sizeof(PaperCell) / 8;
    const int64_t cells = tree.node_capacity(),
                  sources = tree.charge.size(); // n of a forest is that of all ranks
    work.reals.resize(frame_size + cell_size * cells + 2 * sources + 4 * targets.n);
    forces::Frame* frame = reinterpret_cast<forces::Frame*>(work.reals.data());
    PaperCell* cell = reinterpret_cast<PaperCell*>(work.reals.data() + frame_size);
    float4* source = reinterpret_cast<float4*>(cell + cells);
    float4* target = source + sources;
    const PaperView view{source,
                         target,
                         cell,
                         target + targets.n,
                         frame,
                         tree.nodes.data(),
                         targets.groups.data(),
                         targets.group_count.data(),
                         lists.node_offset.data(),
                         lists.leaf_offset.data(),
                         lists.nodes.data(),
                         lists.leaves.data(),
                         lists.batch,
                         lists.batches,
                         how.leaf,
                         how.softening_length,
                         how.pairs.softening == forces::Softening::plummer,
                         queue.status()};
    const CellInput input{tree.counts.data(), moments.cx.data(),
                          moments.cy.data(),  moments.cz.data(),
                          moments.rho.data(), moments.single.data(),
                          how.order,          moments::record_size(how.order, view.plummer)};
    const auto blocks = [](int64_t n) { return backend::blocks_for(n, threads); };
    make_root_frame<<<1, 1, 0, queue.stream()>>>(queue.status(), tree.counts.data(), frame);
    pack_points<<<blocks(sources), threads, 0, queue.stream()>>>(view, sources, tree.x.data(), tree.y.data(),
                                                                 tree.z.data(), tree.charge.data(), source);
    pack_points<<<blocks(targets.n), threads, 0, queue.stream()>>>(view, targets.n, targets.x, targets.y,
                                                                   targets.z, nullptr, target);
    pack_cells<<<blocks(cells), threads, 0, queue.stream()>>>(view, input, cell);
    GRAFT_CUDA_LAUNCHED("packing for a paper's kernel");
    queue.launches += 4;
    return view;
}

void count_paper(backend::Queue& queue, const PaperView& view, int64_t group_capacity) {
    count_groups<<<static_cast<unsigned>(group_capacity > 0 ? group_capacity : 1), 64, 0, queue.stream()>>>(
        view);
    GRAFT_CUDA_LAUNCHED("count_groups");
    ++queue.launches;
}

void finish_paper(backend::Queue& queue, const PaperView& view, bool add, bool potential, int64_t targets,
                  forces::DeviceField& field) {
    unpack_sums<<<backend::blocks_for(targets, threads), threads, 0, queue.stream()>>>(
        view, {field.ax.data(), field.ay.data(), field.az.data(),
               potential ? field.potential.data() : nullptr, add});
    GRAFT_CUDA_LAUNCHED("unpack_sums");
    ++queue.launches;
}

} // namespace graft::study
