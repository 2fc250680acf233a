// SPDX-License-Identifier: BSD-3-Clause
// See build_in_place_gpu.cuh. Bytes a particle: 24 (box), 32 + 12 (keys), the sort, then 4 times 4 + 32 + 8: a
// sector is read for every number. As many as build_sort_gpu.cu's gather takes beyond its packed_limit.
#include "tree/build_in_place_gpu.cuh"

#include "backend/exact_memory_gpu.cuh"
#include "tree/build_steps_gpu.cuh"
#include "tree/tree_checks.hpp"

#include <algorithm>

namespace graft::tree {

namespace {

constexpr int threads = 256, items = 4; // of a thread, on their way together

__global__ void __launch_bounds__(threads) gather_column(const double* from, const int32_t* order, int64_t n,
                                                         double* to, const backend::DeviceStatus* status) {
    const int64_t begin = int64_t{blockIdx.x} * (threads * items) + threadIdx.x;
    if (backend::stopped(status))
        return;
    double value[items];
#pragma unroll
    for (int r = 0; r < items; ++r)
        if (begin + r * threads < n)
            value[r] = from[order[begin + r * threads]];
#pragma unroll
    for (int r = 0; r < items; ++r)
        if (begin + r * threads < n)
            to[begin + r * threads] = value[r];
}

__global__ void __launch_bounds__(threads)
    scatter_column(const double* from, const int32_t* order, int64_t n, double* to) {
    const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i < n)
        to[order[i]] = from[i];
}

backend::DeviceBuffer<double>& sorted_column(DeviceTree& tree, int column) {
    backend::DeviceBuffer<double>* const columns[] = {&tree.x, &tree.y, &tree.z, &tree.charge};
    return *columns[column];
}

uint64_t* as_keys(backend::DeviceBuffer<double>& column) {
    static_assert(sizeof(uint64_t) == sizeof(double));
    return reinterpret_cast<uint64_t*>(column.data());
}

} // namespace

int64_t likely_nodes_within(int64_t n, int leaf) {
    return std::min<int64_t>(2 * n, static_cast<int64_t>(4.2 * static_cast<double>(n) / leaf) + 4096) + 1;
}

DeviceTreeInPlace::DeviceTreeInPlace(backend::DeviceMemory& memory)
    : work_(new DeviceTreeBuilder::Work(memory)) {}

DeviceTreeInPlace::~DeviceTreeInPlace() {
    delete work_;
}

void DeviceTreeInPlace::build(backend::Queue& queue, const TreeOptions& options, const DeviceColumns& columns,
                              DeviceTree& tree) {
    const int64_t n = columns.own[0]->size();
    if (options.dimension != 3 || options.type != TreeType::octree || options.has_range || n < 1)
        core::fail(core::Status::internal, "tree within lent memory: octrees of three dimensions only");
    check_count_gpu(n);
    DeviceTreeBuilder::Work& work = *work_;
    tree.options = options, tree.n = n;
    tree.keys.release(), tree.softening.release();
    for (int c = 0; c < 4; ++c)
        sorted_column(tree, c).release();
    backend::resize_exactly(tree.order, n + 1); // either may become the other, which has leaves + 1 entries
    backend::resize_exactly(work.index, n + 1);
    if (tree.node_capacity() == 0)
        tree.resize_nodes(likely_nodes_within(n, options.leaf));
    work.resize_nodes(queue, n, tree.node_capacity());
    const DeviceParticleView particles{n,
                                       columns.own[0]->data(),
                                       columns.own[1]->data(),
                                       columns.own[2]->data(),
                                       columns.own[3]->data(),
                                       nullptr};
    work.sort_within(queue, particles, as_keys(*columns.lent[0]), as_keys(*columns.lent[1]), tree);
    tree.order.resize(n);
    backend::DeviceBuffer<double>& free = *columns.lent[2];
    for (int c = 0; c < 4; ++c) {
        gather_column<<<backend::blocks_for(n, threads * items), threads, 0, queue.stream()>>>(
            columns.own[c]->data(), tree.order.data(), n, free.data(), queue.status());
        GRAFT_CUDA_LAUNCHED("gather of a column");
        ++queue.launches;
        sorted_column(tree, c).swap(free); // free is empty now
        free.swap(*columns.own[c]);        // and has the column's place
    }
    holds_ = true;
    work.make_tree(queue, tree);
}

void DeviceTreeInPlace::give_back(backend::Queue& queue, const DeviceColumns& columns, DeviceTree& tree,
                                  bool with_contents) {
    if (!holds_)
        return;
    const int64_t n = tree.n;
    backend::DeviceBuffer<double>& free = *columns.lent[2];
    for (int c = 3; c >= 0; --c) {
        columns.own[c]->swap(free);
        if (with_contents) {
            scatter_column<<<backend::blocks_for(n, threads), threads, 0, queue.stream()>>>(
                sorted_column(tree, c).data(), tree.order.data(), n, columns.own[c]->data());
            GRAFT_CUDA_LAUNCHED("return of a column");
            ++queue.launches;
        }
        free.swap(sorted_column(tree, c));
    }
    holds_ = false;
}

} // namespace graft::tree
