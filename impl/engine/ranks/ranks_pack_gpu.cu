// SPDX-License-Identifier: BSD-3-Clause
// Kernels of a computation over ranks: boxes, runs of groups, pieces, and the bodies of gpu_message.hpp.
//
// Bytes: open_level reads 40 B a node and 8 of its parent, and tests only children of opened nodes; put_nodes
// and take_nodes move about 200 B a sent node at order 2.
#include "engine/ranks/ranks_engine_gpu.cuh"

#include "lists/split_cells.hpp"

#include <cub/block/block_reduce.cuh>

#include <algorithm>

namespace graft::engine {

namespace {

constexpr int threads = 256;
constexpr unsigned all_lanes = 0xffffffffu;
constexpr int64_t corner_block = 2048;

struct Larger {
    __device__ double operator()(double a, double b) const { return fmax(a, b); }
};

/// The largest of each of six values over the block, in thread 0.
__device__ void reduce_corners(double (&values)[6]) {
    using Reduce = cub::BlockReduce<double, threads>;
    __shared__ typename Reduce::TempStorage storage;
    for (double& value : values) {
        value = Reduce(storage).Reduce(value, Larger());
        __syncthreads();
    }
}

__global__ void __launch_bounds__(threads)
    corners_kernel(const double* x, const double* y, const double* z, int64_t n, double* partial) {
    double values[6] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
    const int64_t begin = int64_t{blockIdx.x} * corner_block, end = min(n, begin + corner_block);
    for (int64_t i = begin + threadIdx.x; i < end; i += threads) {
        const double point[3] = {x[i], y[i], z[i]};
        for (int a = 0; a < 3; ++a)
            values[a] = fmax(values[a], -point[a]), values[3 + a] = fmax(values[3 + a], point[a]);
    }
    reduce_corners(values);
    for (int c = 0; c < 6 && threadIdx.x == 0; ++c)
        partial[6 * int64_t{blockIdx.x} + c] = values[c];
}

__global__ void __launch_bounds__(threads)
    all_corners_kernel(const double* partial, int64_t blocks, double* corners) {
    double values[6] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int64_t b = threadIdx.x; b < blocks; b += threads)
        for (int c = 0; c < 6; ++c)
            values[c] = fmax(values[c], partial[6 * b + c]);
    reduce_corners(values);
    for (int c = 0; c < 6 && threadIdx.x == 0; ++c)
        corners[c] = values[c];
}

__global__ void rescale_kernel(double* charge, int64_t n, double scale,
                               const particles::DeviceImportState* state) {
    const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i < n)
        charge[i] = charge[i] / state->scale * scale; // powers of two
}

__global__ void set_scale_kernel(double scale, particles::DeviceImportState* state) {
    state->scale = scale;
}

/// A warp a run of groups [groups * r / runs, groups * (r + 1) / runs).
__global__ void cover_kernel(const lists::Group* groups, int64_t group_count, int64_t runs,
                             lists::Group* out) {
    const int64_t r = int64_t{blockIdx.x} * (threads / 32) + threadIdx.x / 32;
    if (r >= runs)
        return;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int64_t begin = group_count * r / runs, end = group_count * (r + 1) / runs;
    double values[8] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 0, 0};
    int64_t targets = 0;
    for (int64_t g = begin + lane; g < end; g += 32) {
        const lists::Group& group = groups[g];
        for (int a = 0; a < 3; ++a) {
            values[a] = fmax(values[a], -group.target.box.lower[a]);
            values[3 + a] = fmax(values[3 + a], group.target.box.upper[a]);
        }
        values[6] = fmax(values[6], group.target.factor);
        values[7] = fmax(values[7], group.target.softening);
        targets += group.count;
    }
    for (int step = 16; step > 0; step /= 2) {
        for (double& value : values)
            value = fmax(value, __shfl_xor_sync(all_lanes, value, step));
        targets += __shfl_xor_sync(all_lanes, targets, step);
    }
    if (lane != 0)
        return;
    lists::Group& run = out[r];
    run.first = groups[begin].first, run.count = targets;
    for (int a = 0; a < 3; ++a)
        run.target.box.lower[a] = -values[a], run.target.box.upper[a] = values[3 + a];
    run.target.factor = values[6], run.target.softening = values[7];
}

struct RegionCells {
    const tree::DeviceTreeCounts* counts;
    const geometry::Box* boxes;
    const double *edges, *radius;
    lists::DeviceMacZA* za;
    lists::DeviceMacLink* links;
    const geometry::Box* regions;
    int64_t region_count;
    geometry::Box all_regions;
    bool error;
};

__global__ void region_cells_kernel(const RegionCells p) {
    const int32_t k = static_cast<int32_t>(blockIdx.x * threads + threadIdx.x);
    if (k >= p.counts->nodes)
        return;
    const geometry::Box cell = lists::cell_around(p.boxes[k], p.counts->root_lower, p.edges[k]);
    if (!lists::meet(cell, p.all_regions))
        return;
    bool met = false;
    for (int64_t r = 0; r < p.region_count && !met; ++r)
        met = lists::meet(cell, p.regions[r]);
    if (met)
        lists::keep_off_piece(p.error, p.radius[k], p.za[k].a, p.links[k].b);
}

__global__ void open_kernel(const essential::OwnNodes own, const lists::Target* boxes, int count, int32_t begin,
                            int32_t end, const essential::Extraction to) {
    const int64_t k = begin + int64_t{blockIdx.x} * threads + threadIdx.x;
    if (k < end)
        essential::open_node(own, boxes, count, static_cast<int32_t>(k), to);
}

__global__ void put_nodes_kernel(const essential::OwnNodes own, const essential::RankShape shape,
                                 const essential::Extraction from, int32_t nodes, const essential::RankSections to) {
    const int64_t k = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (k < nodes && from.sent[k] != 0)
        essential::put_node(own, shape, from, static_cast<int32_t>(k), to);
}

/// A warp a node.
__global__ void put_particles_kernel(const essential::OwnNodes own, const essential::RankShape shape,
                                     const essential::Extraction from, int32_t nodes, const essential::RankSections to) {
    const int64_t k = int64_t{blockIdx.x} * (threads / 32) + threadIdx.x / 32;
    const int32_t count = k < nodes ? from.wanted[k] : 0;
    for (int32_t i = static_cast<int32_t>(threadIdx.x % 32); i < count; i += 32)
        essential::put_particle(own, shape, from, static_cast<int32_t>(k), i, to);
}

__global__ void take_nodes_kernel(const essential::RankSections from, const essential::RankShape shape,
                                  const essential::RankOffsets place, int64_t nodes, const essential::RemoteNodes to) {
    const int64_t j = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (j < nodes)
        essential::take_node(from, shape, place, static_cast<int32_t>(j), to);
}

__global__ void supers_kernel(const essential::SuperNode* supers, int32_t count, const essential::RankShape shape,
                              const essential::RemoteNodes to) {
    const int32_t k = static_cast<int32_t>(blockIdx.x * threads + threadIdx.x);
    if (k < count)
        essential::put_super(supers[k], shape, k, to);
}

__global__ void close_kernel(int32_t nodes, int32_t levels, double charge, double magnitude,
                             tree::DeviceTreeCounts* counts, double* values, double* magnitudes) {
    *counts = {nodes, 0, levels, 0, {0, 0, 0}, 0};
    values[0] = charge, magnitudes[0] = magnitude;
}

} // namespace

void find_corners(backend::Queue& queue, const double* x, const double* y, const double* z, int64_t n,
                  double* partial, double* corners) {
    const unsigned blocks = backend::blocks_for(n, static_cast<int>(corner_block));
    corners_kernel<<<blocks, threads, 0, queue.stream()>>>(x, y, z, n, partial);
    GRAFT_CUDA_LAUNCHED("corners of blocks");
    all_corners_kernel<<<1, threads, 0, queue.stream()>>>(partial, blocks, corners);
    GRAFT_CUDA_LAUNCHED("corners");
    queue.launches += 2;
}

void rescale_charges(backend::Queue& queue, double* charge, int64_t n, double scale,
                     particles::DeviceImportState* state) {
    rescale_kernel<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(charge, n, scale, state);
    GRAFT_CUDA_LAUNCHED("charges at the scale of all ranks");
    set_scale_kernel<<<1, 1, 0, queue.stream()>>>(scale, state);
    GRAFT_CUDA_LAUNCHED("scale of all ranks");
    queue.launches += 2;
}

void cover_groups(backend::Queue& queue, const lists::Group* groups, int64_t group_count, int64_t count,
                  lists::Group* runs) {
    cover_kernel<<<backend::blocks_for(count, threads / 32), threads, 0, queue.stream()>>>(
        groups, group_count, count, runs);
    GRAFT_CUDA_LAUNCHED("runs of groups");
    ++queue.launches;
}

void keep_off_regions(backend::Queue& queue, const tree::DeviceTree& tree,
                      const moments::DeviceMoments& moments, bool error, const geometry::Box* regions,
                      int64_t count, const geometry::Box& all, lists::DeviceCriterion& criterion) {
    const RegionCells cells{tree.counts.data(),
                            tree.boxes.data(),
                            tree.edges.data(),
                            moments.radius.data(),
                            criterion.za.data() + lists::mac_shift,
                            criterion.links.data() + lists::mac_shift,
                            regions,
                            count,
                            all,
                            error};
    region_cells_kernel<<<backend::blocks_for(tree.node_capacity(), threads), threads, 0, queue.stream()>>>(
        cells);
    GRAFT_CUDA_LAUNCHED("cells in regions");
    ++queue.launches;
}

void open_level(backend::Queue& queue, const essential::OwnNodes& own, const lists::Target* boxes, int count,
                int32_t begin, int32_t end, const essential::Extraction& to) {
    open_kernel<<<backend::blocks_for(end - begin, threads), threads, 0, queue.stream()>>>(own, boxes, count,
                                                                                           begin, end, to);
    GRAFT_CUDA_LAUNCHED("nodes to send");
    ++queue.launches;
}

void put_nodes(backend::Queue& queue, const essential::OwnNodes& own, const essential::RankShape& shape,
               const essential::Extraction& from, int32_t nodes, const essential::RankSections& to) {
    put_nodes_kernel<<<backend::blocks_for(nodes, threads), threads, 0, queue.stream()>>>(own, shape, from,
                                                                                          nodes, to);
    GRAFT_CUDA_LAUNCHED("packing of nodes");
    ++queue.launches;
    if (shape.content == essential::RankContent::masses)
        return;
    put_particles_kernel<<<backend::blocks_for(nodes, threads / 32), threads, 0, queue.stream()>>>(
        own, shape, from, nodes, to);
    GRAFT_CUDA_LAUNCHED("packing of particles");
    ++queue.launches;
}

void take_nodes(backend::Queue& queue, const essential::RankSections& from, const essential::RankShape& shape,
                const essential::RankHeader& header, const essential::RankOffsets& place,
                const essential::RemoteNodes& to) {
    take_nodes_kernel<<<backend::blocks_for(header.nodes, threads), threads, 0, queue.stream()>>>(
        from, shape, place, header.nodes, to);
    GRAFT_CUDA_LAUNCHED("nodes from other ranks");
    ++queue.launches;
}

void put_supers(backend::Queue& queue, const essential::SuperNode* supers, int32_t count, const essential::RankShape& shape,
                const essential::RemoteNodes& to) {
    supers_kernel<<<backend::blocks_for(count, threads), threads, 0, queue.stream()>>>(supers, count, shape,
                                                                                       to);
    GRAFT_CUDA_LAUNCHED("nodes above other ranks' trees");
    ++queue.launches;
}

void close_forest(backend::Queue& queue, int32_t nodes, int32_t levels, double charge, double magnitude,
                  tree::DeviceTreeCounts* counts, double* values, double* magnitudes) {
    close_kernel<<<1, 1, 0, queue.stream()>>>(nodes, levels, charge, magnitude, counts, values, magnitudes);
    GRAFT_CUDA_LAUNCHED("forest of other ranks");
    ++queue.launches;
}

} // namespace graft::engine
